package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	htmltext "html"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

func TestComparisonGolden(t *testing.T) {
	for name, d := range map[string]*report.Document{
		"comparison": comparisonSample(), "probes": probeSample(),
		"comparison-one": partial()["one comparison"],
	} {
		golden(t, name+".txt", []byte(text(t, d, report.Options{Width: 100})))
		golden(t, name+".md", []byte(markdown(t, d)))
	}
	golden(t, "comparison-80.txt", []byte(text(t, comparisonSample(), report.Options{Width: 80})))
	golden(t, "comparison-table.txt", render(t, func(w io.Writer) error {
		return report.ComparisonTable(w, sampleResult(), report.Options{Width: 100})
	}))
}

// only keeps the variants that ok likes, with their trials and cells.
func only(r *trial.Result, ok func(plan.Variant) bool) *trial.Result {
	keep := map[string]bool{}
	for _, v := range r.Variants {
		keep[v.Key] = ok(v)
	}
	r.Variants = slices.DeleteFunc(r.Variants, func(v plan.Variant) bool { return !keep[v.Key] })
	r.Cells = slices.DeleteFunc(r.Cells, func(c trial.Cell) bool { return !keep[c.Variant] })
	r.Trials = slices.DeleteFunc(r.Trials, func(t trial.Trial) bool { return !keep[t.Variant] })
	for _, ds := range [][]trial.Difference{r.AlsoDiffers, r.Explained} {
		for _, d := range ds {
			maps.DeleteFunc(d.Values, func(k, _ string) bool { return !keep[k] })
		}
	}
	return r
}

// partial are results that are not complete, or have less than usual.
func partial() map[string]*report.Document {
	at := time.Date(2026, 6, 2, 21, 0, 0, 0, time.UTC)
	out := map[string]*report.Document{"zero": report.Comparison(&trial.Result{}, at)}

	r := sampleResult()
	r.Trials, r.Cells, r.Control, r.Sentence, r.AlsoDiffers, r.Explained = nil, nil, nil, "", nil, nil
	r.Ended = time.Time{}
	out["no trials"] = report.Comparison(r, at)

	r = sampleResult()
	r.Control, r.Sentence, r.Stopped = nil, "No variant could be measured.", "no variant starts"
	for i := range r.Cells {
		c := &r.Cells[i]
		*c = trial.Cell{Variant: c.Variant, Trials: 1, Failed: "the server did not start: [ERROR] Can't open the " +
			"mysql.plugin table"}
	}
	for i := range r.Trials {
		r.Trials[i].Values, r.Trials[i].Seconds, r.Trials[i].Invalid = nil, nil, "the server did not start"
	}
	out["all failed"] = report.Comparison(r, at)

	r = only(sampleResult(), func(v plan.Variant) bool {
		return v.Key == "server=mariadb@10.11,collation=latin1,threads=1"
	})
	r.Plan.Axes, r.Plan.Table.Rows, r.Plan.Table.Columns, r.Plan.Published, r.Plan.Skip, r.AlsoDiffers = nil,
		nil, nil, nil, nil, nil
	r.Variants[0].Key, r.Variants[0].Baseline, r.Variants[0].Levels, r.Cells[0].Variant = "base", "base", nil, "base"
	for i := range r.Trials {
		r.Trials[i].Variant = "base"
	}
	r.Sentence = "The server is the same as itself."
	out["only control"] = report.Comparison(r, at)

	r = only(sampleResult(), func(v plan.Variant) bool {
		return strings.HasPrefix(v.Key, "server=mysql@9.7,collation=") && strings.HasSuffix(v.Key, ",threads=4") &&
			!strings.Contains(v.Key, "0900")
	})
	r.Plan.Axes = r.Plan.Axes[1:2]
	r.Plan.Axes[0].Levels = r.Plan.Axes[0].Levels[:2]
	r.Plan.Table = plan.Table{Rows: []string{"collation"}, Show: []string{"tps", "p95_ms"}}
	r.Plan.Published, r.AlsoDiffers, r.Explained, r.Warnings = nil, nil, nil, nil
	r.Verdict, r.Sentence, r.Stopped = stat.Worse, "utf8mb4_general_ci does 20 % fewer transactions than latin1.",
		"the budget of 10 min was used up after 5 of 8 rounds"
	out["one comparison"] = report.Comparison(r, at)
	apart := *r
	apart.Unpaired = true
	out["side by side"] = report.Comparison(&apart, at)

	r = sampleResult()
	for i := range r.Cells {
		if v := r.Cells[i].Verdict; v != nil {
			v.Result, v.Ratio, v.Reasons = stat.Invalid, stat.Interval{},
				[]string{"2 of 4 pairs do not count: the rest is not a fair sample"}
		}
	}
	r.Control = &stat.Verdict{Result: stat.Worse, Ratio: stat.Interval{
		Center: 0.93, Lo: 0.9, Hi: 0.96,
		N: 5, Confidence: 0.95,
	}}
	out["all invalid"] = report.Comparison(r, at)

	r = sampleResult() // fewer trials than an interval needs
	for i := range r.Cells {
		for n, v := range r.Cells[i].Values {
			v.N, v.Confidence = 2, 0
			r.Cells[i].Values[n] = v
		}
		r.Cells[i].Verdict, r.Cells[i].Ratios = nil, nil
	}
	out["two rounds"] = report.Comparison(r, at)

	r = &trial.Result{Format: trial.Format, ID: "x-1", Started: at, Ended: at.Add(time.Minute), Plan: plan.Plan{
		Name: "pool-resize", Title: "What will the buffer pool really be?",
		Trials: plan.Trials{Min: 1, Max: 1, NoControl: true},
		Table: plan.Table{Rows: []string{"asked"}, Columns: []string{"server"}, Show: []string{
			"pool", "pool_predicted",
			"pool_check",
		}, Unit: "B"},
		Axes: []plan.Axis{
			{Name: "asked", Levels: []plan.Level{{Name: "1G"}, {Name: "1500M, 16 instances"}}},
			{Name: "server", Levels: []plan.Level{{Name: "a"}, {Name: "b"}}},
		},
	}}
	for i, asked := range []string{"1G", "1500M, 16 instances"} {
		for _, server := range []string{"a", "b"} {
			key := "asked=" + asked + ",server=" + server
			pool := stat.Interval{Center: float64(1+i) * (1 << 30), N: 1}
			r.Variants = append(r.Variants, plan.Variant{
				Key: key, Baseline: key,
				Levels: map[string]string{"asked": asked, "server": server},
			})
			r.Cells = append(r.Cells, trial.Cell{
				Variant: key, Trials: 1, Valid: 1, Values: map[string]stat.Interval{
					"pool":           pool,
					"pool_predicted": pool,
				}, Texts: map[string]string{"pool_check": "as predicted"},
			})
			r.Trials = append(r.Trials, trial.Trial{Seq: len(r.Trials) + 1, Round: 1, Variant: key, From: at, To: at})
		}
	}
	out["only read"] = report.Comparison(r, at)

	r = sampleResult() // other tables of the same result
	r.Plan.Table = plan.Table{Rows: []string{"server", "collation", "threads"}, Show: []string{"p95_ms", "tps"}}
	out["one column"] = report.Comparison(r, at)
	r = sampleResult()
	r.Plan.Table = plan.Table{Columns: []string{"server", "collation", "threads"}}
	out["one row"] = report.Comparison(r, at)
	return out
}

func TestComparisonPartial(t *testing.T) {
	f := func(name string, want ...string) {
		t.Helper()
		d := partial()[name]
		for kind, s := range map[string]string{
			"text": text(t, d, report.Options{}), "Markdown": unmark(markdown(t, d)),
			"HTML": htmltext.UnescapeString(html(t, d)),
		} {
			flat := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>|\n---\n`).ReplaceAllString(s, " ")), " ")
			for _, w := range want {
				if !strings.Contains(flat, w) {
					t.Errorf("%s of %s does not say %q:\n%s", kind, name, w, flat[:min(len(flat), 3000)])
				}
			}
			for _, bad := range []string{"NaN", "Inf", "%!", "ZgotmplZ", "(unknown"} {
				if strings.Contains(s, bad) {
					t.Errorf("%s of %s holds %s", kind, name, bad)
				}
			}
		}
	}
	f("zero", "The plan has no variants", "No trials yet")
	f("no trials", "not run yet", "No trials yet")
	f("all failed", "Can't open the mysql.plugin table", "20 failed", "all variants", "Ended early: no variant starts")
	f("only control", "same, ×1.00 (0.99 to 1.01), 5 rounds", "414")
	f("one comparison", "98 % interval ×0.792 to ×0.808, 5 pairs of trials", "×0.800",
		"Ended early: the budget of 10 min", "▼ worse")
	f("side by side", "98 % interval ×0.792 to ×0.808, 5 trials or more a side",
		"n trials that count; next to a ratio: trials of the side that has fewer")
	f("all invalid", "! invalid", "2 of 4 pairs do not count", "11 invalid", "do not trust smaller differences")
	f("two rounds", "414", "n 2")
	f("only read", "2 GiB", "Pool, predicted", "as predicted", "1500M, 16 instances")
	f("one column", "Latency p95, ms (lower is better)", "▼ ×1.22", "mysql@9.7 · utf8mb4_0900_ai_ci · threads 64")
	f("one row", "1305", "▼ ×0.93")
}

// unmark takes the escapes of Markdown away, as far as these tests need.
func unmark(s string) string {
	s = regexp.MustCompile(`\\([\\`+"`"+`*_\[\]#|~!$])`).ReplaceAllString(s, "$1")
	return strings.NewReplacer("&#64;", "@", "**", "", "| ", "").Replace(s)
}

// spoiled returns d with a hostile text at the end of every text, the same one behind equal texts, so that names that
// refer to each other still do.
func spoiled(d *report.Document, shift int) *report.Document {
	spoil := func(s string) string {
		if s == "" || s == "no" || trial.Known(s) { // "no" stays a short text
			return s
		}
		h := fnv.New32a()
		h.Write([]byte(s))
		return s + hostile[(int(h.Sum32())%len(hostile)+shift)%len(hostile)]
	}
	var walk func(v reflect.Value) reflect.Value
	walk = func(v reflect.Value) reflect.Value {
		switch v.Kind() {
		case reflect.String:
			if v.Type() == reflect.TypeFor[string]() {
				return reflect.ValueOf(spoil(v.String()))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				w := reflect.New(v.Type().Elem())
				w.Elem().Set(walk(v.Elem()))
				return w
			}
		case reflect.Slice:
			if !v.IsNil() {
				w := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
				for i := range v.Len() {
					w.Index(i).Set(walk(v.Index(i)))
				}
				return w
			}
		case reflect.Map:
			if !v.IsNil() {
				w := reflect.MakeMap(v.Type())
				for k, x := range v.Seq2() {
					w.SetMapIndex(walk(k), walk(x))
				}
				return w
			}
		case reflect.Struct:
			w := reflect.New(v.Type()).Elem()
			w.Set(v)
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					w.Field(i).Set(walk(v.Field(i)))
				}
			}
			return w
		}
		return v
	}
	return walk(reflect.ValueOf(d)).Interface().(*report.Document)
}

func TestComparisonHostile(t *testing.T) {
	for _, clean := range []*report.Document{comparisonSample(), probeSample()} {
		headings := func(s string) (n int) {
			fence := ""
			for _, l := range strings.Split(s, "\n") {
				ticks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
				switch {
				case fence == "" && len(ticks) >= 3:
					fence = ticks
				case fence != "" && strings.HasPrefix(ticks, fence) && strings.Trim(l, "` ") == "":
					fence = ""
				case fence == "" && strings.HasPrefix(l, "#"):
					n++
				}
			}
			if fence != "" {
				t.Error("a fence is not closed")
			}
			return n
		}
		want := headings(markdown(t, clean))
		for shift := range hostile {
			d := spoiled(clean, shift)
			plain, mark, page := text(t, d, report.Options{}), markdown(t, d), html(t, d)
			seen(t, "text", plain)
			seen(t, "Markdown", mark)
			seen(t, "HTML", page)
			seen(t, "table", string(render(t, func(w io.Writer) error {
				return report.ComparisonTable(w, d.Comparison, report.Options{})
			})))
			if n := headings(mark); n != want {
				t.Errorf("shift %d: %d headings, want %d", shift, n, want)
			}
			for _, bad := range []string{"<script>alert", "<img", "</style></script>", "<b>three", "ZgotmplZ"} {
				if strings.Contains(page, bad) {
					t.Errorf("shift %d: the page holds %s", shift, bad)
				}
			}
			if n := strings.Count(page, "<script"); n != 1 {
				t.Errorf("shift %d: %d scripts", shift, n)
			}
			if strings.Count(plain, "×0.9") < 3 && clean.ID == "x-4hq8w" {
				t.Errorf("shift %d: the table lost its ratios:\n%s", shift, plain)
			}
			b := render(t, func(w io.Writer) error { return report.JSON(w, d) })
			seen(t, "JSON", string(b))
			if _, err := report.Decode(b); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestComparisonFits(t *testing.T) {
	docs := partial()
	docs["sample"], docs["probes"] = comparisonSample(), probeSample()
	docs["hostile"] = spoiled(comparisonSample(), 3)
	for name, d := range docs {
		for _, width := range []int{60, 80, 100, 200} {
			for _, color := range []bool{false, true} {
				o := report.Options{Width: width, Color: color}
				s := text(t, d, o) + string(render(t, func(w io.Writer) error {
					return report.ComparisonTable(w, d.Comparison, o)
				}))
				for _, l := range strings.Split(ansi.ReplaceAllString(s, ""), "\n") {
					if n := utf8.RuneCountInString(l); n > width {
						t.Errorf("%s at width %d: %d columns: %q", name, width, n, l)
					}
				}
				if color != strings.Contains(s, "\x1b[") {
					t.Errorf("%s: color %v, but ANSI codes %v", name, color, !color)
				}
			}
		}
	}
}

// TestComparisonNothingLost: however narrow, every value, ratio and label of the table is there whole.
func TestComparisonNothingLost(t *testing.T) {
	wide := text(t, comparisonSample(), report.Options{Width: 400})
	figure := regexp.MustCompile(`[×÷]?\d+(\.\d+)?(–\d+(\.\d+)?)? n \d|[▼▲=~] [×÷][\d.]+`)
	for _, width := range []int{60, 80, 100} {
		narrow := strings.Join(strings.Fields(text(t, comparisonSample(), report.Options{Width: width})), " ")
		for _, x := range append(figure.FindAllString(wide, -1), "mariadb@10.11", "mysql@9.7", "utf8mb4_general_ci",
			"utf8mb4_0900_ai_ci", "latin1") {
			if !strings.Contains(narrow, x) {
				t.Errorf("at width %d %q is missing", width, x)
			}
		}
	}
}

func TestComparisonJSON(t *testing.T) {
	d := comparisonSample()
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
	if html(t, d) != html(t, back) || text(t, d, report.Options{}) != text(t, back, report.Options{}) {
		t.Error("another report after decoding")
	}
	var raw map[string]any
	if err := json.Unmarshal(b, &raw); err != nil || raw["kind"] != "comparison" || raw["dyno_report"] != float64(1) {
		t.Errorf("%v, kind %v, format %v", err, raw["kind"], raw["dyno_report"])
	}
}

func TestComparisonNotANumber(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	r := sampleResult()
	r.Control.Ratio.Hi = inf
	r.Trials[0].Values["tps"] = nan
	r.Trials[0].Seconds[3].Length = nan
	r.Cells[0].Values["tps"] = stat.Interval{Center: nan, N: 5, Confidence: 0.95}
	r.Cells[4].Verdict.Ratio = stat.Interval{Center: 1, Lo: nan, Hi: inf, N: 5, Confidence: 0.95}
	r.Cells[5].Ratios["p95_ms"] = stat.Interval{Center: inf, N: 5}
	r.Cells[6].Steady.CV = nan
	r.Plan.Trials.Margin = nan
	r.Plan.Axes[2].Levels[0].Numeric = inf
	before := fmt.Sprint(r.Cells[0].Values["tps"].Center)
	d := report.Comparison(r, r.Ended)
	for name, s := range map[string]string{
		"text": text(t, d, report.Options{}), "Markdown": markdown(t, d), "HTML": html(t, d),
		"JSON": string(render(t, func(w io.Writer) error { return report.JSON(w, d) })),
	} {
		if m := regexp.MustCompile(`NaN|Inf\b|∞`).FindString(s); m != "" {
			t.Errorf("%s holds %s", name, m)
		}
		if !strings.Contains(s, "no finite number") {
			t.Errorf("%s does not warn", name)
		}
	}
	if after := fmt.Sprint(r.Cells[0].Values["tps"].Center); after != before || len(r.Warnings) != 1 {
		t.Error("rendering changed the result")
	}
}

func TestComparisonNoEmptyHero(t *testing.T) {
	if s := html(t, partial()["only read"]); strings.Contains(s, `aria-label="Verdict"`) {
		t.Error("a section for a verdict without anything in it")
	}
}

// TestComparisonNames: the marks are words too, the baseline is named, and what is invalid shows no ratio.
func TestComparisonNames(t *testing.T) {
	page := html(t, comparisonSample())
	for _, want := range []string{
		`<span class="mk" aria-hidden="true">▼</span> <span class="sr">worse</span>×0.91`, `>baseline</div>`,
		`id="h-differs"`, `aria-label="Transactions/s, and ratio to the baseline"`,
		"does not count, the client used 98 % of its CPU", "(against itself)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	r := sampleResult()
	for i := range r.Cells {
		if v := r.Cells[i].Verdict; v != nil {
			v.Result = stat.Invalid
		}
	}
	if s := text(t, report.Comparison(r, r.Ended), report.Options{}); strings.Contains(
		s[:strings.Index(s, "Compared with published")], "×0.9") {
		t.Errorf("an invalid comparison shows its ratio:\n%s", s[:strings.Index(s, "Compared with published")])
	}
}

// TestInvalidHasNoRatio: what broke its own conditions broke them for every value, in whatever form it is shown.
func TestInvalidHasNoRatio(t *testing.T) {
	ratio := regexp.MustCompile(`[×÷]\d[\d.]*`)
	for name, r := range map[string]*trial.Result{"columns": sampleResult(), "one column": probeResult()} {
		r.Control, r.Plan.Published, r.Correction = nil, nil, &trial.Correction{Used: true}
		invalid := 0
		for i := range r.Cells {
			if v := r.Cells[i].Verdict; v != nil {
				v.Result = stat.Invalid
				invalid++
			}
		}
		d := report.Comparison(r, r.Ended)
		for form, s := range map[string]string{
			"text": text(t, d, report.Options{}), "Markdown": markdown(t, d), "HTML": html(t, d),
			"table": string(render(t, func(w io.Writer) error {
				return report.ComparisonTable(w, r, report.Options{})
			})),
		} {
			s = strings.ReplaceAll(s, "above ×1 is better", "")
			if got := ratio.FindAllString(s, -1); len(got) > 0 {
				t.Errorf("%s of %s shows the ratios %q of invalid comparisons", form, name, got)
			}
			if n := strings.Count(s, "invalid"); n < 2*invalid { // of the first value and of one more
				t.Errorf("%s of %s says %d times that %d comparisons are invalid", form, name, n, invalid)
			}
		}
		l := report.Lay(r)
		for _, c := range l.Cells {
			for i, f := range c.Figures {
				if f.Ratio != "" || f.Bounds != "" || f.RatioN != 0 || f.Of != nil {
					t.Errorf("%s: %s of %s has a ratio: %+v", name, l.Values[i].Name, c.Label, f)
				}
				if c.Word == "invalid" && f.N > 0 && f.Note != "invalid" {
					t.Errorf("%s: %s of %s says %q for a ratio", name, l.Values[i].Name, c.Label, f.Note)
				}
			}
		}
		for _, x := range l.Lists {
			if strings.HasPrefix(x.Title, "Corrected") {
				t.Errorf("%s: %s: %v", name, x.Title, x.Rows)
			}
		}
		if len(l.Rungs) > 0 || slices.ContainsFunc(l.Sweeps, func(s report.LaidSweep) bool { return s.Ratio }) {
			t.Errorf("%s: invalid ratios are drawn: %+v %+v", name, l.Rungs, l.Sweeps)
		}
	}
}

// TestComparisonInBrowser looks at the pages in a real browser: nothing is wider than its window, no text leaves its
// picture, also in what is folded, and the page works by keyboard and asks for nothing.
func TestComparisonInBrowser(t *testing.T) {
	b := startBrowser(t)
	docs := partial()
	docs["sample"], docs["probes"], docs["hostile"] = comparisonSample(), probeSample(), spoiled(comparisonSample(), 1)
	dir := t.TempDir()
	for name, d := range docs {
		file := filepath.Join(dir, "page.html")
		if err := os.WriteFile(file, []byte(html(t, d)), 0o644); err != nil {
			t.Fatal(err)
		}
		widths := []int{360, 1000}
		if name == "sample" || name == "hostile" {
			widths = append(widths, 1400)
		}
		for i, width := range widths {
			dark := i == 1
			b.open(file, width, dark)
			var got struct {
				Over    int
				Charts  int
				Small   int
				Clipped []string
				Locked  []string
			}
			b.eval(`(() => {
				const shown = () => [...document.querySelectorAll("svg.chart")].filter(e => e.checkVisibility());
				const charts = shown().length;
				for (const e of document.querySelectorAll("details")) e.open = true;
				const clipped = [];
				let small = 99;
				for (const s of shown()) {
					const box = s.getBoundingClientRect();
					for (const t of s.querySelectorAll("text")) {
						const r = t.getBoundingClientRect();
						small = Math.min(small, 12 * box.width / +s.dataset.width);
						if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) clipped.push(t.textContent);
					}
				}
				const locked = [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0 && !e.closest("details")).map(e => e.textContent.slice(0, 60));
				const root = document.documentElement;
				return {Over: root.scrollWidth - root.clientWidth, Charts: charts, Small: Math.floor(small), Clipped: clipped, Locked: locked};
			})()`, &got)
			if got.Over > 0 || len(got.Clipped) > 0 || len(got.Locked) > 0 || got.Small < 8 {
				t.Errorf("%s at %d: %+v", name, width, got)
			}
			if name == "sample" && got.Charts != 4 {
				t.Errorf("%s at %d: %d pictures, want 4", name, width, got.Charts)
			}
			if c := b.complaints(); len(c) > 0 {
				t.Errorf("%s at %d: %s", name, width, strings.Join(c, "\n"))
			}
		}
	}
}
