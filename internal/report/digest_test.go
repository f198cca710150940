package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/report"

	"github.com/google/go-cmp/cmp"
)

var digestOptions = report.DigestOptions{
	At: time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC), Host: "db1", User: 210 * time.Millisecond,
	System: 70 * time.Millisecond,
	RSS:    12 << 20, Virtual: 1200 << 20, Dyno: "v0.1.0", OrderBy: "Query_time:sum",
}

// digestForms are all the forms of a digest.
var digestForms = map[string]func(io.Writer, *digest.Report, report.DigestOptions) error{
	"txt": report.DigestText, "md": report.DigestMarkdown, "html": report.DigestHTML, "json": report.DigestJSON,
}

func digestIn(t *testing.T, form string, r *digest.Report, o report.DigestOptions) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return digestForms[form](w, r, o) }))
}

func TestDigestGoldens(t *testing.T) {
	for _, form := range []string{"txt", "md", "json"} {
		golden(t, "digest."+form, []byte(digestIn(t, form, digestSample(), digestOptions)))
	}
	golden(t, "digest-users.txt", []byte(digestIn(t, "txt", byUser(), report.DigestOptions{GroupBy: "user"})))
	golden(t, "digest-empty.txt", []byte(digestIn(t, "txt", &digest.Report{}, report.DigestOptions{})))
}

// byUser is a digest grouped by something else, of a source with little to tell.
func byUser() *digest.Report {
	return &digest.Report{
		Global: digest.Global{
			Source: "performance_schema", Target: "prod", Began: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC),
			Ended: time.Date(2026, 5, 4, 10, 0, 10, 0, time.UTC), Count: 7, Classes: 1,
			Attributes: map[string]digest.Figures{"query_time": {Count: 7, Sum: 1.5, Avg: 1.5 / 7}},
		},
		Classes: []digest.Row{{
			Rank: 1, ID: "0000000000000000000000000000000D", Fingerprint: "shop", Count: 7, Share: 1, Sampled: true,
			Attributes: map[string]digest.Figures{"query_time": {Count: 7, Sum: 1.5, Estimated: true}},
		}},
	}
}

// TestDigestJSONIsTheReport reads the JSON back: nothing is lost but what is not of the JSON.
func TestDigestJSONIsTheReport(t *testing.T) {
	for name, r := range map[string]*digest.Report{"sample": digestSample(), "user": byUser(), "empty": {}} {
		out := digestIn(t, "json", r, report.DigestOptions{})
		var back digest.Report
		if err := json.Unmarshal([]byte(out), &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		whole, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var want digest.Report
		if err := json.Unmarshal(whole, &want); err != nil {
			t.Fatal(err)
		}
		if want.Classes == nil {
			want.Classes = []digest.Row{}
		}
		if want.Skipped == nil {
			want.Skipped = []digest.Skip{}
		}
		if want.Global.Attributes == nil {
			want.Global.Attributes = map[string]digest.Figures{}
		}
		if d := cmp.Diff(want, back, cmp.Comparer(func(a, b known.Value[float64]) bool { return a == b })); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		lines := 1
		if n := len(r.Classes); n > 0 {
			lines += n + 1
		}
		if n := strings.Count(out, "\n"); n != lines {
			t.Errorf("%s: %d lines for %d classes", name, n, len(r.Classes))
		}
	}
}

// TestDigestOfWildNumbers: no form fails on numbers that JSON cannot say, and none of them gets out.
func TestDigestOfWildNumbers(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1} {
		r := digestSample()
		var set func(x reflect.Value)
		set = func(x reflect.Value) {
			switch x.Kind() {
			case reflect.Float64:
				x.SetFloat(v)
			case reflect.Pointer:
				if !x.IsNil() {
					set(x.Elem())
				}
			case reflect.Slice:
				for i := range x.Len() {
					set(x.Index(i))
				}
			case reflect.Map:
				for _, k := range x.MapKeys() {
					y := reflect.New(x.Type().Elem()).Elem()
					y.Set(x.MapIndex(k))
					set(y)
					x.SetMapIndex(k, y)
				}
			case reflect.Struct:
				if x.Type() == reflect.TypeFor[known.Value[float64]]() {
					x.Set(reflect.ValueOf(known.Of(v)))
					return
				}
				if x.Type() == reflect.TypeFor[time.Time]() {
					return
				}
				for i := range x.NumField() {
					set(x.Field(i))
				}
			}
		}
		set(reflect.ValueOf(r))
		before := fmt.Sprintf("%+v", r)
		for form := range digestForms {
			out := digestIn(t, form, r, digestOptions)
			if strings.Contains(out, "NaN") || strings.Contains(out, "+Inf") || strings.Contains(out, "-Inf") {
				t.Errorf("%s of %v: has it", form, v)
			}
		}
		if after := fmt.Sprintf("%+v", r); after != before {
			t.Errorf("rendering %v changed the report", v)
		}
	}
}

// hostileDigest is the sample with a hostile text at the end of every text it has, in turn.
func hostileDigest(shift int) *digest.Report {
	r := digestSample()
	n := shift
	var spoil func(v reflect.Value)
	spoil = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + hostile[n%len(hostile)])
			n++
		case reflect.Pointer:
			if !v.IsNil() {
				spoil(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				spoil(v.Index(i))
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				x := reflect.New(v.Type().Elem()).Elem()
				x.Set(v.MapIndex(k))
				spoil(x)
				v.SetMapIndex(k, x)
				if k.Kind() == reflect.String {
					v.SetMapIndex(reflect.ValueOf(k.String()+hostile[n%len(hostile)]), x)
				}
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					spoil(v.Field(i))
				}
			}
		}
	}
	spoil(reflect.ValueOf(r))
	return r
}

// TestDigestOfHostileTexts: whatever strangers put into a log, no form lets it out as anything but text.
func TestDigestOfHostileTexts(t *testing.T) {
	unseen := regexp.MustCompile(
		`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{e0000}-\x{e007f}]`)
	for shift := range hostile {
		r := hostileDigest(shift)
		for form := range digestForms {
			out := digestIn(t, form, r, digestOptions)
			if m := unseen.FindString(out); m != "" {
				t.Errorf("%s: holds %q", form, m)
			}
			if form == "html" {
				for _, bad := range []string{"<script", "<img", "</style></script>", "</script></svg>", "<b>three"} {
					if strings.Contains(out, bad) {
						t.Errorf("html: holds %s", bad)
					}
				}
			}
			if form == "json" && !json.Valid([]byte(out)) {
				t.Error("json: is none")
			}
			if form == "txt" {
				for _, l := range strings.Split(out, "\n") {
					if l != "" && l[0] != '#' && !strings.HasPrefix(l, "SELECT * FROM") &&
						!strings.HasPrefix(l, "WHERE customer_id") && !strings.HasPrefix(l, "UPDATE") &&
						!strings.HasPrefix(l, "select") && l != `\G` && !strings.HasPrefix(l, "- two") &&
						!strings.HasPrefix(l, "<b>three") && !strings.HasPrefix(l, "INSERT") {
						t.Errorf("text: a line is no comment and no sample: %q", l)
					}
				}
			}
		}
	}
}

// TestDigestRedacted: no form has a literal of the statements, from wherever in the report it might come.
func TestDigestRedacted(t *testing.T) {
	r := digestSample()
	for i := range r.Classes {
		k := &r.Classes[i]
		if k.Worst != nil {
			k.Worst.SQL = "SELECT * FROM orders /* zq7secret */ WHERE customer_id = 990077123 AND state = 'zq7secret'"
		}
		if k.Typical != nil {
			k.Typical.SQL = "SELECT * FROM orders WHERE customer_id = 990077123 -- zq7secret"
		}
		k.Plan = []string{
			"id\tselect_type\ttable\ttype\tkey\trows\tExtra", "1\tPRIMARY\t<derived2>\tALL\tNULL\t2500000\tUsing " +
				"where; Using join buffer (flat, BNL join)",
			`"attached_condition": "orders.state = 'zq7secret'"`, "-> Filter: (orders.customer_id = 990077123)",
			"attached: orders.id < 990077123", "'zq7secret'",
		}
	}
	o := digestOptions
	o.Redact = true
	for form := range digestForms {
		out := digestIn(t, form, r, o)
		for _, literal := range []string{"zq7secret", "990077123"} {
			if strings.Contains(out, literal) {
				t.Errorf("%s: holds %s", form, literal)
			}
		}
		if !strings.Contains(out, "BNL join") || !strings.Contains(out, "may hold literals") {
			t.Errorf("%s: the plan's table is gone, or nothing says that lines are", form)
		}
	}
	if !strings.Contains(r.Classes[0].Plan[2], "zq7secret") || !strings.Contains(r.Classes[0].Worst.SQL, "zq7secret") {
		t.Error("the caller's report was changed")
	}

	// A report of somebody else, to be compared: redacted before.
	other := digestSample()
	other.Classes[1].Worst.SQL = "UPDATE orders SET state = 'zq7secret'"
	report.RedactDigest(r)
	report.RedactDigest(other)
	c := digest.Compare(*r, *other, "a", "b", digest.CompareOptions{})
	for form := range comparisonForms {
		if out := comparisonIn(t, form, &c); strings.Contains(out, "zq7secret") || strings.Contains(out, "990077123") {
			t.Errorf("%s of a comparison holds a literal", form)
		}
	}
}

type failing struct{ left int }

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestDigestWriteFails: an error of the writer is never lost, wherever it comes.
func TestDigestWriteFails(t *testing.T) {
	r := digestSample()
	for range 200 {
		r.Classes = append(r.Classes, r.Classes[0])
	}
	for form, f := range digestForms {
		n := len(digestIn(t, form, r, digestOptions))
		for _, left := range []int{0, n / 2, n - 1} {
			if err := f(&failing{left}, r, digestOptions); !errors.Is(err, errFull) {
				t.Errorf("%s with room for %d of %d bytes: %v", form, left, n, err)
			}
		}
		if err := f(&failing{n}, r, digestOptions); err != nil {
			t.Errorf("%s with room for all: %v", form, err)
		}
	}
}

// TestDigestPageOfManyClasses: the page stays one that a browser opens, and says what it leaves out.
func TestDigestPageOfManyClasses(t *testing.T) {
	r := digestSample()
	k := r.Classes[0]
	r.Classes = nil
	for i := range 5000 {
		k.Rank = i + 1
		r.Classes = append(r.Classes, k)
	}
	out := digestIn(t, "html", r, digestOptions)
	if !strings.Contains(out, "The details of 4800 classes are left out here") ||
		!strings.Contains(out, "3000 classes are left out here") {
		t.Error("the page does not say what it leaves out")
	}
	if len(out) > 8<<20 {
		t.Errorf("%d bytes", len(out))
	}
	if ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(out, -1); len(ids) > 0 {
		seen := map[string]bool{}
		for _, m := range ids {
			if seen[m[1]] {
				t.Fatalf("id %s is there twice", m[1])
			}
			seen[m[1]] = true
		}
	}
}

// TestDigestOfASequence: classes that are given one by one make the same report, though the caller holds one at a time.
func TestDigestOfASequence(t *testing.T) {
	whole := digestSample()
	for range 300 {
		whole.Classes = append(whole.Classes, whole.Classes[0])
	}
	bare := *whole
	bare.Classes = nil
	o := digestOptions
	o.Classes = slices.Values(whole.Classes)
	for form := range digestForms {
		if want, got := digestIn(t, form, whole, digestOptions), digestIn(t, form, &bare, o); want != got {
			t.Errorf("%s differs: %d and %d bytes", form, len(want), len(got))
		}
	}
}

// TestDigestJSONStreams: memory for one class, not for all of them.
func TestDigestJSONStreams(t *testing.T) {
	r := digestSample()
	for range 2000 {
		r.Classes = append(r.Classes, r.Classes[0])
	}
	var most, total int
	w := writerFunc(func(b []byte) (int, error) {
		most, total = max(most, len(b)), total+len(b)
		return len(b), nil
	})
	if err := report.DigestJSON(w, r, digestOptions); err != nil {
		t.Fatal(err)
	}
	if most > total/10 {
		t.Errorf("%d bytes of %d in one piece", most, total)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// What is seen in looks at the processlist is seen the more often the longer it runs: such a class has no mean.
func TestSampledClassHasNoMean(t *testing.T) {
	r := digestSample()
	for _, form := range []string{"txt", "md", "json"} {
		for _, sampled := range []bool{false, true} {
			k := r.Classes[0]
			k.Sampled, k.Count = sampled, 7
			k.Attributes = map[string]digest.Figures{"query_time": {
				Info: attribute.QueryTime, Count: 7,
				Sum: 21.5, Avg: 3.0714, Estimated: sampled,
			}}
			one := *r
			one.Classes = []digest.Row{k}
			if got := digestIn(t, form, &one, report.DigestOptions{}); strings.Contains(got, "3.07") == sampled {
				t.Errorf("%s, sampled %v:\n%s", form, sampled, got)
			}
		}
	}
}
