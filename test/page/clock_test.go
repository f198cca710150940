package page

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// TestClockSetBack starts the program on what it kept while the clock was ahead: the page shows the present from the
// first second, what was kept stays as it was, and figures go on where it ends.
func TestClockSetBack(t *testing.T) {
	s := stage(t)
	home := folder(t)
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	st, err := series.Open(filepath.Join(home, "store", "series"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Truncate(time.Second)
	begin, end := now.Add(-75*time.Second), now.Add(30*time.Second)
	for at := begin; !at.After(end); at = at.Add(time.Second) {
		r := reading.Reading{
			Target: "shop", At: at, Parts: []reading.Part{{Source: "global_status", Samples: 1}},
			Samples: []metric.Sample{{
				Name: "mysql_global_status_questions", Kind: metric.Counter, At: at.UnixMilli(),
				Value: 10 * at.Sub(begin).Seconds(),
			}},
		}
		if err := st.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), filepath.Join(home, "store", "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	back := "the clock was set back by 30s: the times since then come again"
	if err := l.Events.Put(t.Context(), event.Event{At: now, Target: "shop", Kind: event.Gap, Text: back}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	p := serve(t, home)
	p.waitUp(t, "shop")
	b := tab(t, p.URL)
	visit(b, "/overview?target=shop&from=-5m")
	b.Wait(".live-live")
	b.WaitText(".sv-strip", "mariadb")
	b.WaitText(".sv-happened", back)
	b.Until("a figure of this second", func() error {
		f := b.Texts(".sv-strip .figure-value")
		if len(f) == 0 || f[0] == "–" {
			return fmt.Errorf("%q", f)
		}
		return nil
	})
	b.Wait("#panel-throughput canvas")
	b.Shot("clock-set-back")

	statements := func(from, to time.Time) map[int64]float64 {
		t.Helper()
		var a struct {
			From, Step float64
			Panels     []struct{ Lines []struct{ Mean []*float64 } }
		}
		if err := getJSON(p.URL, fmt.Sprintf("graphs?target=shop&panel=throughput&from=%d&to=%d&points=2000",
			from.Unix(), to.Unix()), &a); err != nil {
			t.Fatal(err)
		}
		all := map[int64]float64{}
		if len(a.Panels) == 1 && len(a.Panels[0].Lines) > 0 {
			for i, v := range a.Panels[0].Lines[0].Mean {
				if v != nil {
					all[int64(a.From+float64(i)*a.Step)] = *v
				}
			}
		}
		return all
	}
	eventually(t, "figures of times that are new", func() error {
		if time.Until(end) > -4*time.Second {
			return errNotYet
		}
		if all := statements(end.Add(3*time.Second), time.Now().Add(time.Second)); len(all) < 3 {
			return fmt.Errorf("%d seconds have figures", len(all))
		}
		return nil
	})
	kept := statements(begin.Add(time.Second), end)
	if len(kept) < 100 {
		t.Errorf("%d seconds of 104 are left of what was kept", len(kept))
	}
	for at, v := range kept {
		if math.Abs(v-10) > 0.01 {
			t.Errorf("%s has %v statements, it had 10", time.Unix(at, 0).Format(time.TimeOnly), v)
		}
	}
	if log := p.Log(); !strings.Contains(log, "was the clock set back?") ||
		strings.Count(log, "was the clock set back?") > 5 {
		t.Errorf("it says\n%s", tail(log))
	}
}
