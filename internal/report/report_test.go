package report_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got), -update writes it anew\n%s", name, d)
	}
}

func render(t *testing.T, f func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(t *testing.T, d *report.Document, o report.Options) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return report.Text(w, d, o) }))
}

func markdown(t *testing.T, d *report.Document) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return report.Markdown(w, d) }))
}

func html(t *testing.T, d *report.Document) string {
	t.Helper()
	return string(render(t, func(w io.Writer) error { return report.HTML(w, d) }))
}

// diagnosis is a document without a comparison, and loadRun one of a single run.
func diagnosis() *report.Document {
	d := sample()
	return &report.Document{
		Kind: report.Diagnosis, ID: "g-2m4k1", Title: "Diagnosis of demo", Sentence: d.Findings[0].Title,
		At: d.At, From: d.From, To: d.From.Add(9 * time.Second), Place: d.Place, Charts: d.Charts[2:],
		Findings: d.Findings, Sources: d.Sources,
	}
}

func loadRun() *report.Document {
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	var ticks []loadresult.Tick
	for i := range 12 {
		h := hist.New()
		if i != 5 { // a second in which nothing ended
			for j := range 200 + 10*i {
				h.Record(time.Duration(j+1) * 50 * time.Microsecond)
			}
		}
		tick := loadresult.Tick{
			Seq: i, At: start.Add(time.Duration(i) * time.Second), Length: time.Second, Threads: 8,
			ClientCPU: 100 * time.Millisecond,
			Ops:       []loadresult.Op{{Name: "read", Reads: h.Count(), Latency: h}},
		}
		if i == 7 {
			tick.Errors = map[string]uint64{"1213": 2, "1205": 1}
		}
		ticks = append(ticks, tick)
	}
	r := loadresult.Run{
		ID: "r-9x2c4", Target: "demo", Workload: "oltp_point_select", Options: map[string]string{
			"threads": "8",
			"time":    "12",
		}, Started: start,
		Elapsed: 12 * time.Second, State: loadresult.Stopped, Total: loadresult.Merged(ticks),
	}
	return &report.Document{
		Kind: report.Run, ID: r.ID, Title: "oltp_point_select on demo", At: start.Add(12 * time.Second), From: start,
		To:     start.Add(12 * time.Second),
		Charts: report.RunCharts(ticks), Run: &r,
	}
}

// bad is a document whose verdict is not the one hoped for.
func bad(r stat.Result) *report.Document {
	d := sample()
	d.Findings, d.Classes, d.Story, d.Sources, d.Change, d.Charts = nil, nil, nil, nil, nil, nil
	d.Sentence = ""
	d.Verdict = &stat.Verdict{Result: r, Metric: "qps", Margin: 0.05, Ratio: stat.Interval{
		Center: 0.98, Lo: 0.71,
		Hi: 1.3, N: 6, Confidence: 0.95,
	}, Reasons: []string{"errors in 2 of 12 windows"}}
	return d
}

func TestGolden(t *testing.T) {
	for name, d := range map[string]*report.Document{
		"demo": sample(), "diagnosis": diagnosis(), "run": loadRun(),
		"unstable": bad(stat.Unstable), "invalid": bad(stat.Invalid),
	} {
		golden(t, name+".txt", []byte(text(t, d, report.Options{Width: 100})))
		golden(t, name+".md", []byte(markdown(t, d)))
	}
	golden(t, "demo-80.txt", []byte(text(t, sample(), report.Options{Width: 80})))
	golden(t, "demo.json", render(t, func(w io.Writer) error { return report.JSON(w, sample()) }))
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func TestTextFits(t *testing.T) {
	for i, d := range []*report.Document{
		sample(), diagnosis(), loadRun(), bad(stat.Worse), hostileDocument(0),
		hostileDocument(4),
		{Title: "empty"},
	} {
		for _, width := range []int{60, 80, 100, 120} {
			for _, color := range []bool{false, true} {
				s := text(t, d, report.Options{Width: width, Color: color})
				if color != strings.Contains(s, "\x1b[") {
					t.Errorf("document %d: color %v, but ANSI codes %v", i, color, !color)
				}
				for _, l := range strings.Split(ansi.ReplaceAllString(s, ""), "\n") {
					if n := utf8.RuneCountInString(l); n > width {
						t.Errorf("document %d at width %d: %d columns: %q", i, width, n, l)
					}
				}
			}
		}
	}
}

// seen fails for every character that a terminal would act upon or hide.
func seen(t *testing.T, what, s string) {
	t.Helper()
	for _, r := range s {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%s holds %U", what, r)
			return
		}
	}
	if !utf8.ValidString(s) {
		t.Errorf("%s is not valid UTF-8", what)
	}
}

func TestHostileText(t *testing.T) {
	for shift := range hostile {
		d := hostileDocument(shift)
		seen(t, "text", text(t, d, report.Options{}))
		if s := ansi.ReplaceAllString(text(t, d, report.Options{Color: true}), ""); strings.Contains(s, "\x1b") {
			t.Error("an escape sequence that is not ours")
		}
		if s := text(t, d, report.Options{}); !strings.Contains(s, "␛[31m") || !strings.Contains(s, "⟨U+202E⟩") {
			t.Error("what cannot be seen is not shown")
		}
	}
}

func TestHostileMarkdown(t *testing.T) {
	// Headings and fences, outside of fences, are what the same document without the hostile texts has.
	shape := func(s string) (headings, fences int, rest string) {
		fence := ""
		var b strings.Builder
		for _, l := range strings.Split(s, "\n") {
			ticks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
			switch {
			case fence == "" && len(ticks) >= 3:
				fence = ticks
				fences++
			case fence != "" && strings.HasPrefix(ticks, fence) && strings.Trim(l, "` ") == "":
				fence = ""
			case fence == "":
				if strings.HasPrefix(l, "#") {
					headings++
				}
				b.WriteString(l + "\n")
			}
		}
		if fence != "" {
			t.Error("a fence is not closed")
		}
		return headings, fences, b.String()
	}
	wantH, wantF, _ := shape(markdown(t, sample()))
	for shift := range hostile {
		s := markdown(t, hostileDocument(shift))
		seen(t, "Markdown", s)
		h, f, rest := shape(s)
		if h != wantH || f != wantF {
			t.Errorf("shift %d: %d headings and %d fences, want %d and %d", shift, h, f, wantH, wantF)
		}
		rest = withoutCode(rest)
		if i := strings.IndexAny(rest, "<>"); i >= 0 {
			t.Errorf("shift %d: HTML: %q", shift, rest[max(0, i-20):min(len(rest), i+20)])
		}
		// Names of people are looked for after the escapes.
		rest = strings.ReplaceAll(rest, "&#64;", "@")
		if m := regexp.MustCompile(`[^\\]\]\(|(^|[^\\])!\[|://|(?i:www\.)|(^|\W)@\w`).FindString(rest); m != "" {
			t.Errorf("shift %d: a link: %q", shift, m)
		}
	}
}

// withoutCode drops the code spans of Markdown: from a run of ticks that is not escaped to the next run of as many.
func withoutCode(s string) string {
	ticks := func(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) {
			b.WriteString(s[i : i+2])
			i += 2
			continue
		}
		n := ticks(s[i:])
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		i += n
		for j := i; j < len(s); {
			if m := ticks(s[j:]); m == n {
				i = j + m
				break
			} else {
				j += max(1, m)
			}
		}
	}
	return b.String()
}

func TestHostileJSON(t *testing.T) {
	for shift := range hostile {
		d := hostileDocument(shift)
		b := render(t, func(w io.Writer) error { return report.JSON(w, d) })
		seen(t, "JSON", string(b))
		back, err := report.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(d.Findings[0].Cause, "\ufffd"); back.Findings[0].Cause != want &&
			!strings.Contains(d.Findings[0].Cause, "\xff") {
			t.Errorf("a text came back as %q, want %q", back.Findings[0].Cause, want)
		}
	}
}

func TestHostileHTML(t *testing.T) {
	for shift := range hostile {
		s := html(t, hostileDocument(shift))
		seen(t, "HTML", s)
		for _, bad := range []string{"<script>alert", "<img", "</style></script>", "<b>three", "onerror=alert(1)>"} {
			if strings.Contains(s, bad) {
				t.Errorf("shift %d: %s", shift, bad)
			}
		}
		if n := strings.Count(s, "<script"); n != 1 {
			t.Errorf("shift %d: %d scripts", shift, n)
		}
		if strings.Contains(s, "ZgotmplZ") {
			t.Errorf("shift %d: the template refused a value", shift)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for _, d := range []*report.Document{sample(), diagnosis(), bad(stat.Worse)} {
		b, err := report.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		back, err := report.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := report.Encode(back)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, again) {
			t.Error("another encoding after decoding")
		}
		d.Format = report.Format
		if !reflect.DeepEqual(d, back) {
			t.Error("another document after decoding")
		}
		if s := html(t, back); s != html(t, d) {
			t.Error("another page after decoding")
		}
	}
	if _, err := report.Decode([]byte(`{"dyno_report": 99}`)); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("another format: %v", err)
	}
	if _, err := report.Decode([]byte("{")); err == nil {
		t.Error("broken JSON was read")
	}
}

// TestNotANumber: no renderer fails or lies when a figure is infinite or not a number, and the document is left alone.
func TestNotANumber(t *testing.T) {
	d := sample()
	inf := math.Inf(1)
	d.Verdict.Ratio.Hi = inf
	d.Measures[0].Before, d.Measures[0].Ratio = known.Of(math.NaN()), stat.Interval{}
	d.Charts[0].Lines[0].Points[3].Value = math.NaN()
	d.Classes[0].Before.PerSec = known.Of(inf)
	d.Experiment.Windows[0].Values["qps"] = math.NaN()
	for name, s := range map[string]string{
		"text": text(t, d, report.Options{}), "Markdown": markdown(t, d), "HTML": html(t, d),
		"JSON": string(render(t, func(w io.Writer) error { return report.JSON(w, d) })),
	} {
		if m := regexp.MustCompile(`NaN|Inf\b|∞`).FindString(s); m != "" {
			t.Errorf("%s holds %s", name, m)
		}
		if !strings.Contains(s, "the interval of the verdict has no finite bounds") {
			t.Errorf("%s does not warn", name)
		}
	}
	if d.Verdict.Ratio.Hi != inf || len(d.Warnings) != 1 || !math.IsNaN(d.Experiment.Windows[0].Values["qps"]) {
		t.Error("rendering changed the document")
	}
}

func TestEmptyDocument(t *testing.T) {
	d := &report.Document{}
	for name, s := range map[string]string{
		"text":     text(t, d, report.Options{}),
		"Markdown": markdown(t, d), "HTML": html(t, d),
	} {
		if s == "" {
			t.Errorf("%s of an empty document is empty", name)
		}
		for _, head := range []string{"Before and after", "Over time", "Experiment", "Query classes"} {
			if strings.Contains(s, head) {
				t.Errorf("%s of an empty document has a section %q", name, head)
			}
		}
	}
	// Charts without points, events outside, a verdict without figures: nothing panics and unknown is not zero.
	d = &report.Document{
		Charts: []report.Chart{
			{Title: "none", Unit: "ms"},
			{Title: "empty", Lines: []report.Line{{Name: "x"}}},
			{Title: "one", Lines: []report.Line{{Name: "x", Points: []metric.Point{{At: 5, Value: 1}}}}},
		},
		Events:     []event.Event{{At: time.Unix(1e9, 0), Kind: event.DDL, Text: "far away"}},
		Verdict:    &stat.Verdict{Result: stat.Invalid},
		Experiment: &report.Experiment{},
		Measures:   []report.Measure{{Metric: report.MetricNamed("qps")}},
		Classes:    []report.ClassChange{{ID: "X"}},
		Findings:   []finding.Finding{{}},
		Change:     &report.AppliedChange{},
		Run:        &loadresult.Run{},
		Story:      []report.Step{{}},
		Commands:   []report.Command{{}},
	}
	for name, s := range map[string]string{
		"text":     text(t, d, report.Options{}),
		"Markdown": markdown(t, d), "HTML": html(t, d),
	} {
		if !strings.Contains(s, "–") || !strings.Contains(strings.ToLower(s), "invalid") {
			t.Errorf("%s hides what is unknown or invalid", name)
		}
		if strings.Contains(s, "far away") {
			t.Errorf("%s shows an event outside of its time", name)
		}
	}
}

// TestVerdictsLookDifferent: no result but better may look like better.
func TestVerdictsLookDifferent(t *testing.T) {
	for _, r := range []stat.Result{stat.Better, stat.Worse, stat.Same, stat.Unstable, stat.Invalid} {
		d := bad(r)
		s := html(t, d)
		if !strings.Contains(s, fmt.Sprintf(`<section class="hero r-%s"`, r)) {
			t.Errorf("%s: HTML has no class of its own", r)
		}
		if !strings.Contains(text(t, d, report.Options{}), strings.ToUpper(string(r))) ||
			!strings.Contains(markdown(t, d), strings.ToUpper(string(r))) {
			t.Errorf("%s is not named", r)
		}
		if judged := strings.Contains(s, `class="judged"`); judged != (r == stat.Better || r == stat.Worse) {
			t.Errorf("%s: a measure is called better or worse: %v", r, judged)
		}
		for name, s := range map[string]string{
			"text":     text(t, d, report.Options{}),
			"Markdown": markdown(t, d), "HTML": s,
		} {
			if !strings.Contains(s, "errors in 2 of 12 windows") {
				t.Errorf("%s of %s hides a reason", name, r)
			}
			if r == stat.Invalid && strings.Contains(s, "×0.98") && name != "HTML" {
				t.Errorf("%s shows the ratio of an invalid comparison", name)
			}
		}
	}
}

func TestNoPasswordField(t *testing.T) {
	// The document has no place for a password: only the address without one.
	if b, _ := report.Encode(sample()); bytes.Contains(bytes.ToLower(b), []byte("password")) {
		t.Error("a report speaks of passwords")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	d := sample()
	for name, err := range map[string]error{
		"text": report.Text(full{}, d, report.Options{}), "Markdown": report.Markdown(full{}, d),
		"HTML": report.HTML(full{}, d), "JSON": report.JSON(full{}, d),
	} {
		if err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTicks(t *testing.T) {
	d := loadRun()
	tp, lat := d.Charts[0].Lines[0].Points, d.Charts[1].Lines[0].Points
	if len(tp) != 12 || tp[5].Value != 0 || tp[0].Value != 200 {
		t.Errorf("throughput: %v", tp)
	}
	if len(lat) != 11 {
		t.Errorf("%d latencies, want none for the second in which nothing ended", len(lat))
	}
	if ms := lat[0].Value; ms < 9.3 || ms > 9.7 { // 95 % of 200 durations from 0.05 to 10 ms
		t.Errorf("95 %% of the first second: %v ms", ms)
	}
}
