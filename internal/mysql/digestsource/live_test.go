package digestsource

import (
	"context"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestLive(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := table(t, s)
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			if _, _, err := Live(t.Context(), tg, LiveOptions{Window: time.Millisecond}); err == nil {
				t.Error("a window of 1ms was accepted")
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan uint64)
			go func() {
				n := uint64(0)
				for ctx.Err() == nil {
					run(t, db, "SELECT v FROM t WHERE id=3")
					n++
				}
				done <- n
			}()
			var last progress.Progress
			rep, sources, err := Live(t.Context(), tg, LiveOptions{
				Window:   2 * time.Second,
				Progress: func(p progress.Progress) { last = p },
			})
			stop()
			n := <-done
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := inReport(rep, "SELECT v FROM t WHERE id=1"); !ok || c.Count == 0 || c.Count > n ||
				c.Attributes["rows_sent"].Sum != float64(c.Count) || rep.Classes[0].ID != c.ID {
				t.Errorf("%d ran: %s", n, short(rep))
			}
			if !last.End || len(sources) != 3 {
				t.Errorf("%+v %+v", last, sources)
			}
			// Stopped in the middle, what was seen is kept.
			ctx, stop = context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer stop()
			go func() {
				for ctx.Err() == nil {
					run(t, db, "SELECT v FROM t WHERE id=3")
				}
				done <- 0
			}()
			began := time.Now()
			rep, _, err = Live(ctx, tg, LiveOptions{Window: time.Hour})
			<-done
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := inReport(rep, "SELECT v FROM t WHERE id=1"); !ok || !noted(rep, "stopped after") ||
				time.Since(began) > time.Minute {
				t.Errorf("%+v", rep.Global)
			}
		})
	}
}
