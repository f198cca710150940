package report_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
)

// comparisonForms are all the forms of a comparison.
var comparisonForms = map[string]func(io.Writer, *digest.Comparison) error{
	"txt": func(w io.Writer, c *digest.Comparison) error {
		return report.DigestComparisonText(w, c, report.Options{Width: 120})
	},
	"md": report.DigestComparisonMarkdown,
	"html": func(w io.Writer, c *digest.Comparison) error {
		return report.DigestComparisonHTML(w, c, digestOptions)
	},
	"json": report.DigestComparisonJSON,
}

func comparisonIn(t *testing.T, form string, c *digest.Comparison) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return comparisonForms[form](w, c) }))
}

// comparedSample has a class of every kind.
func comparedSample() *digest.Comparison {
	r := digestSample()
	at := r.Global.First
	side := func(name string, n uint64, sec float64) digest.Side {
		return digest.Side{
			Name: name, Source: "slow_log", First: at, Last: at.Add(time.Hour),
			Seconds: known.Of(3600.0), Count: n, Classes: 9, QuerySec: sec, Concurrency: known.Of(sec / 3600),
		}
	}
	half := func(n uint64, mean, share float64) *digest.SideFigures {
		return &digest.SideFigures{
			Count: n, PerSec: known.Of(float64(n) / 3600), QuerySec: mean * float64(n),
			Share: share, Mean: known.Of(mean), P95: known.Of(mean * 3), Median: known.Of(mean * 0.8),
			Max: known.Of(mean * 20),
		}
	}
	ratio := func(c, lo, hi float64) known.Value[stat.Interval] {
		return known.Of(stat.Interval{Center: c, Lo: lo, Hi: hi, N: 60, Confidence: 0.95})
	}
	c := &digest.Comparison{
		Version: digest.ComparisonVersion, Dialect: mytext.Dialect{},
		A: side("monday.log", 120000, 900), B: side("tuesday.log", 118000, 1400),
		Result: stat.Worse, Margin: 0.1, Confidence: 0.95, Judged: 4,
		Reasons: []string{"SELECT shop.orders takes ×3.1 as long and is 40 % of B's query time"},
		Notes:   []string{"B skipped 3 parts of its log"},
		Totals: map[digest.ClassVerdict]int{
			digest.Slower: 1, digest.Appeared: 1, digest.Faster: 1, digest.Vanished: 1,
			digest.Unclear: 1, digest.Unchanged: 1,
		},
		Classes: []digest.ClassCompared{
			{
				ID: r.Classes[0].ID, Fingerprint: r.Classes[0].Fingerprint, Item: "SELECT shop.orders",
				Change: digest.Slower, A: half(1000, 0.1, 0.1), B: half(1200, 0.31, 0.4), Mean: ratio(3.1, 2.8, 3.4),
				Adjusted: known.Of(0.0001), P95: known.Of(3.3), Median: known.Of(2.9), Calls: known.Of(1.2),
				Impact: 252, Worst: r.Classes[0].Worst,
				Attributes: map[string]digest.Averages{
					"rows_examined": {Info: attribute.RowsExamined, A: 12, B: 250000},
					"lock_time":     {Info: attribute.LockTime, A: 0.0001, B: 0.0002},
					"bytes_sent":    {Info: infoOf(slowlog.BytesSent), A: 1024, B: 2048},
				},
			},
			{
				ID: r.Classes[2].ID, Fingerprint: r.Classes[2].Fingerprint, Item: "INSERT log", Change: digest.Appeared,
				B: half(100, 0.03, 0.01), Impact: 3, Worst: r.Classes[2].Worst,
			},
			{
				ID: r.Classes[1].ID, Fingerprint: r.Classes[1].Fingerprint,
				Item: "UPDATE orders", Change: digest.Faster,
				A: half(1000, 0.025, 0.08), B: half(900, 0.002, 0.01), Mean: ratio(0.08, 0.07, 0.09),
				Calls: known.Of(0.9), Impact: -20.7,
			},
			{
				ID: r.Classes[3].ID, Fingerprint: r.Classes[3].Fingerprint, Item: "ADMIN QUIT", Change: digest.Vanished,
				A: half(100, 0.0075, 0.002), Impact: -0.75,
			},
			{
				ID: "0000000000000000000000000000000E", Fingerprint: "select ?", Change: digest.Unclear,
				Reason: "fewer than 30 statements", A: half(3, 0.001, 0), B: half(2, 0.001, 0), Calls: known.Of(0.67),
			},
			{
				ID: "0000000000000000000000000000000F", Fingerprint: "commit", Item: "COMMIT", Change: digest.Unchanged,
				A: half(5000, 0.001, 0), B: half(5000, 0.001, 0), Mean: ratio(1.001, 0.995, 1.007),
				Calls: known.Of(1.0), Impact: 0.005,
			},
		},
	}
	return c
}

func TestDigestComparisonGoldens(t *testing.T) {
	for _, form := range []string{"txt", "md", "json"} {
		golden(t, "digestcomparison."+form, []byte(comparisonIn(t, form, comparedSample())))
	}
	golden(t, "digestcomparison-100.txt", render(t, func(w io.Writer) error {
		return report.DigestComparisonText(w, comparedSample(), report.Options{})
	}))
	for form := range comparisonForms {
		if out := comparisonIn(t, form, &digest.Comparison{}); out == "" {
			t.Errorf("%s of nothing is empty", form)
		}
	}
}

func TestDigestComparisonJSONIsTheComparison(t *testing.T) {
	c := comparedSample()
	var back digest.Comparison
	if err := json.Unmarshal([]byte(comparisonIn(t, "json", c)), &back); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestDigestComparisonOfWildNumbersAndTexts: no form fails on either or lets them out.
func TestDigestComparisonOfWildNumbersAndTexts(t *testing.T) {
	unseen := regexp.MustCompile(
		`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{e0000}-\x{e007f}]`)
	for i, bad := range hostile {
		v := [...]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}[i%4]
		c := comparedSample()
		c.A.Name += bad
		c.A.QuerySec, c.A.Concurrency, c.Margin, c.Confidence = v, known.Of(v), v, v
		c.Reasons = append(c.Reasons, bad)
		c.Notes = append(c.Notes, bad)
		for j := range c.Classes {
			k := &c.Classes[j]
			k.ID, k.Item, k.Fingerprint, k.Reason = k.ID+bad, k.Item+bad, k.Fingerprint+bad, bad
			k.Impact, k.P95, k.Calls, k.Median, k.Adjusted, k.Mean = v, known.Of(v), known.Of(v), known.Of(v),
				known.Of(v), known.Of(stat.Interval{Center: v, Lo: v, Hi: v, Confidence: 0.95})
			if k.A != nil {
				k.A.Mean, k.A.QuerySec = known.Of(v), v
			}
			k.Attributes = map[string]digest.Averages{"x" + bad: {A: v, B: v}}
			k.Worst = &digest.Sample{SQL: "SELECT 1" + bad, QuerySec: v, User: bad, File: bad}
		}
		for form := range comparisonForms {
			out := comparisonIn(t, form, c)
			if strings.Contains(out, "NaN") || strings.Contains(out, "+Inf") || strings.Contains(out, "-Inf") {
				t.Errorf("%s of %v: has it", form, v)
			}
			if m := unseen.FindString(out); m != "" {
				t.Errorf("%s: holds %q", form, m)
			}
			if form == "html" && (strings.Contains(out, "<script") || strings.Contains(out, "<img") ||
				strings.Contains(out, "<b>three")) {
				t.Error("html: a text is more than text")
			}
			if form == "json" && !json.Valid([]byte(out)) {
				t.Error("json: is none")
			}
		}
	}
}

// TestDigestComparisonOfMany: reports for people are bounded and say so, the JSON has all.
func TestDigestComparisonOfMany(t *testing.T) {
	c := comparedSample()
	k := c.Classes[0]
	c.Classes = nil
	for range 3000 {
		c.Classes = append(c.Classes, k)
	}
	for form := range comparisonForms {
		out := comparisonIn(t, form, c)
		if form == "json" {
			if n := strings.Count(out, k.ID); n != 3000 {
				t.Errorf("json: %d classes", n)
			}
			continue
		}
		if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat,
			"2900 classes more are left out here") {
			t.Errorf("%s does not say what it leaves out", form)
		}
	}
	for form, f := range comparisonForms {
		n := len(comparisonIn(t, form, c))
		if err := f(&failing{n - 1}, c); !errors.Is(err, errFull) {
			t.Errorf("%s: an error of the writer is lost: %v", form, err)
		}
	}
}
