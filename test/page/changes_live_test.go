package page

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestChangesLive: a stored proof on live traffic is shown with its verdict first, a bar for each interval, and the
// course of the class around the change.
func TestChangesLive(t *testing.T) {
	s := stage(t)
	l, err := ledger.Open(t.Context(), filepath.Join(s.Home, "store", "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := time.Now().Add(-time.Hour).Truncate(time.Second).UTC()
	e := journal.Entry{
		ID: "a-live", Target: "shop", State: journal.Undone, Planned: at, Started: at, Ended: at,
		UndoneAt: at.Add(50 * time.Minute),
		Action: finding.Action{
			Kind: finding.AddIndex, Table: schema.Ref{Schema: "shop", Table: "orders"},
			Index: schema.Index{Name: "by_day"}, SQL: "ALTER TABLE `shop`.`orders` ADD INDEX `by_day` (`day`)",
		},
	}
	if err := l.PutEntry(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	o := proof.Outcome{
		Result: stat.Better, Ratio: stat.Interval{Center: 2.1, Lo: 1.8, Hi: 2.4, N: 21, Confidence: 0.95},
		MeanBefore: known.Of(0.021), MeanAfter: known.Of(0.01),
	}
	whole := o
	whole.Ratio = stat.Interval{Center: 1.2, Lo: 1.02, Hi: 1.4, N: 17, Confidence: 0.95}
	c := proof.ClassOutcome{
		Outcome: o, Class: "a1", Schema: "shop", Fingerprint: "select * from orders where day = ?",
		CallsBefore: 12_000, CallsAfter: 9000,
	}
	for i := range 80 {
		mean := 0.021
		if i >= 40 {
			mean = 0.01
		}
		c.Course = append(c.Course, proof.Point{
			At: at.Add(time.Duration(i-40) * time.Minute), MeanSec: mean * (1 + 0.1*math.Sin(float64(i))), Calls: 300,
		})
	}
	d := report.LiveDocument("x-live", e, proof.Live{
		Outcome: o, About: "the class that uses shop.orders", Change: at, Whole: whole,
		Before:  proof.Stretch{From: at.Add(-40 * time.Minute), To: at, Seconds: 2400, Windows: 40, Calls: 30_000},
		After:   proof.Stretch{From: at, To: at.Add(39 * time.Minute), Seconds: 2340, Windows: 39, Calls: 25_000},
		Classes: []proof.ClassOutcome{c}, Expected: &finding.Gain{What: "time per call", Lo: 1.5, Hi: 3},
		Compared: &c.Ratio,
		Notes:    []string{"before: only the time after a changed setting counts"},
	}, report.Place{Target: "shop"}, time.Now().UTC())
	b, err := report.Encode(&d)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Documents.Put(t.Context(), string(d.Kind), d.ID, e.Target, e.ID, b); err != nil {
		t.Fatal(err)
	}
	p := s.Browser(t)
	visit(p, "/changes?target=shop&id=a-live")
	p.WaitText(".proof-verdict .badge", "Better")
	p.WaitText(".proof-verdict", "×2.10 (95 % interval ×1.80 to ×2.40, n=21)")
	p.WaitText(".live-bars", "expected by the finding")
	p.WaitText(".proof-warning", "only the time after a changed setting")
	p.Wait(".live-course polyline")
	if n := len(p.Texts(".live-row")); n != 3 {
		t.Errorf("%d bars", n)
	}
	p.Settle()
	shots(p, "changes-live", "main")
}
