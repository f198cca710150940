package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/stat"
)

// TestLiveDocument: each form begins with the verdict and has the interval, n, the expected gain, the other changes and
// the classes that were left out; it reads back what it wrote.
func TestLiveDocument(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	o := proof.Outcome{
		Result: stat.Better, Ratio: stat.Interval{Center: 2, Lo: 1.8, Hi: 2.25, N: 14, Confidence: 0.95},
		MeanBefore: known.Of(0.02), MeanAfter: known.Of(0.01),
	}
	p := proof.Live{
		Outcome: o, About: "the class that uses shop.orders", Change: at, Whole: o,
		Before: proof.Stretch{From: at.Add(-time.Hour), To: at, Seconds: 3600, Windows: 60, Calls: 500},
		After: proof.Stretch{
			From: at.Add(time.Minute), To: at.Add(time.Hour), Seconds: 3540, Windows: 59, Calls: 600,
		},
		Expected: &finding.Gain{What: "time per call", Lo: 3, Hi: 5}, Compared: &o.Ratio,
		Notes: []string{"before: only the time after"},
		Classes: []proof.ClassOutcome{{
			Outcome: o, Class: "a1", Fingerprint: "select <orders>", CallsBefore: 50, CallsAfter: 60,
			Course: []proof.Point{{At: at, MeanSec: 0.02, Calls: 5}, {At: at.Add(time.Hour), MeanSec: 0.01, Calls: 5}},
		}},
	}
	p.Whole.Result, p.Whole.Unmatched = stat.Invalid, []string{"select gone"}
	e := journal.Entry{ID: "a-1", Target: "shop", State: journal.Done, Started: at, Ended: at.Add(time.Second)}
	d := LiveDocument("x-1", e, p, Place{Target: "shop"}, at)
	want := []string{
		"×2.00 ", "×1.80 to ×2.25", "n=14)", "×3.00 to ×5.00; the measured gain is smaller",
		"select gone", "only the time after", "60 windows",
	}
	var text, md, html bytes.Buffer
	if err := Text(&text, &d, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&md, &d); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&html, &d); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": text.String(), "md": md.String(), "html": html.String()} {
		flat := strings.Join(strings.Fields(out), " ")
		for _, w := range want {
			if !strings.Contains(flat, w) {
				t.Errorf("%s lacks %q", name, w)
			}
		}
		i := strings.Index(strings.ToUpper(flat), "BETTER")
		if i < 0 || i > strings.Index(flat, "n=14)") {
			t.Errorf("%s does not begin with the verdict", name)
		}
	}
	if !strings.Contains(text.String(), "━◆") {
		t.Errorf("no bar in\n%s", &text)
	}
	p.Expected, p.Compared = &finding.Gain{What: "pages written for the same changes", Lo: 3, Hi: 5}, nil
	d = LiveDocument("x-1", e, p, Place{Target: "shop"}, at)
	text.Reset()
	if err := Text(&text, &d, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(flat,
		"×3.00 to ×5.00; this proof does not measure that") || strings.Contains(flat, "expected by the finding") {
		t.Errorf("the time per call is set beside a gain of something else:\n%s", &text)
	}
	b, err := Encode(&d)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Decode(b); err != nil || back.Live == nil || back.Live.Ratio != p.Ratio {
		t.Errorf("%+v %v", back, err)
	}
}
