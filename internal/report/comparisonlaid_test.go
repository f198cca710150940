package report_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/trial"
)

// TestLaidIsTheReport holds what is laid out to the text report: every figure of a cell stands in it as it is written
// there.
func TestLaidIsTheReport(t *testing.T) {
	for name, r := range map[string]*trial.Result{"load": sampleResult(), "probes": probeResult()} {
		var b bytes.Buffer
		if err := report.Markdown(&b, report.Comparison(r, time.Unix(1e9, 0))); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		l := report.Lay(r)
		if len(l.Cells) != len(r.Cells) {
			t.Fatalf("%s: %d cells of %d", name, len(l.Cells), len(r.Cells))
		}
		has := func(s string) {
			t.Helper()
			if s != "" && !strings.Contains(text, s) {
				t.Errorf("%s: the report has no %q", name, s)
			}
		}
		ratios := 0
		for i, c := range l.Cells {
			if c.Row >= len(l.Rows) || c.Col >= len(l.Cols) || len(c.Figures) != len(l.Values) {
				t.Fatalf("%s: cell %+v is not of the table", name, c)
			}
			for k, f := range c.Figures {
				has(f.Value)
				has(f.Ratio)
				if f.Ratio != "" {
					ratios++
				}
				want, ok := cellOf(r, c.Variant).Values[l.Values[k].Name]
				if ok != (f.At != nil) || ok && *f.At != want {
					t.Errorf("%s: cell %d has %v, the result %v", name, i, f.At, want)
				}
			}
			if v := cellOf(r, c.Variant).Verdict; v != nil && c.Word != string(v.Result) && c.Word != "failed" {
				t.Errorf("%s: %s is called %s, the verdict is %s", name, c.Label, c.Word, v.Result)
			}
		}
		if ratios == 0 {
			t.Errorf("%s: not one ratio", name)
		}
		for _, x := range l.Tally {
			has(x.Word)
		}
		if b, err := json.Marshal(l); err != nil || bytes.Contains(b, []byte(":null")) {
			t.Errorf("%s: %v: a list is null in %s", name, err, b)
		}
	}
}

func cellOf(r *trial.Result, key string) trial.Cell {
	for _, c := range r.Cells {
		if c.Variant == key {
			return c
		}
	}
	return trial.Cell{}
}

// TestLaidApart: where nothing was measured in pairs nothing is said of pairs.
func TestLaidApart(t *testing.T) {
	r := sampleResult()
	if l := report.Lay(r); l.Samples != "pairs of trials" || l.Judged == nil ||
		!slices.Contains(l.Judged.Head, "pairs") {
		t.Errorf("%s, %+v", l.Samples, l.Judged)
	}
	r.Unpaired = true
	l := report.Lay(r)
	if said := strings.Join(append(l.Legend, l.Judged.Head...),
		"; "); l.Samples != "trials of the side that has fewer" || strings.Contains(said, "pair") ||
		strings.Count(said, l.Samples) != 2 {
		t.Errorf("%s: %s", l.Samples, said)
	}
}

// TestLaidStrips keeps strips small and stalls in them.
func TestLaidStrips(t *testing.T) {
	r := sampleResult()
	for i := range r.Trials {
		x := &r.Trials[i]
		x.Seconds = nil
		for k := range 5000 {
			s := trial.Second{At: x.From, Length: 1, Ops: 100}
			if k == 1234 {
				s.Ops = 0
			}
			x.Seconds = append(x.Seconds, s)
		}
	}
	strips := report.Lay(r).Strips
	if len(strips) == 0 {
		t.Fatal("no strips")
	}
	for _, s := range strips {
		n := 0
		for _, x := range s.Trials {
			n += len(x.Rates)
			low := x.Rates[0]
			for _, v := range x.Rates {
				low = min(low, v)
			}
			if low != 0 || x.Seconds != 5000 {
				t.Fatalf("%s trial %d: lowest second %v of %v", s.Label, x.Seq, low, x.Seconds)
			}
		}
		if n > 600 {
			t.Errorf("%s: %d points", s.Label, n)
		}
	}
	if l := report.Lay(&trial.Result{}); len(l.Strips) != 0 || len(l.Cells) != 0 {
		t.Errorf("an empty result has %+v", l)
	}
}
