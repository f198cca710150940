package sources

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestClientsOnly watches a server that nobody uses, as a watcher does, and one that somebody does: what Dyno itself
// made it count is not there. After an answer that did not come in time Dyno's part is an estimate, so that the watch
// begins anew then.
func TestClientsOnly(t *testing.T) {
	for _, x := range []struct{ flavor, pfs string }{
		{"mariadb", "OFF"},
		{"mariadb", "ON"},
		{"mysql", "OFF"},
		{"mysql", "ON"},
	} {
		t.Run(x.flavor+" P_S "+x.pfs, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, x.flavor, "performance_schema="+x.pfs)
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			tg := open(t, s, "root")
			sc, err := New(tg, scrape.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer sc.Close()
			first, rounds, sent := map[string]float64(nil), 0, -1
			db := s.DB(t, "")
			run, end := context.WithCancel(ctx)
			defer end()
			err = sc.Run(run, 200*time.Millisecond, func(r reading.Reading) {
				rounds++
				if slices.ContainsFunc(r.Sources, func(s source.Source) bool { return s.State == source.Slow }) {
					first, rounds, sent = nil, 0, -1
					return
				}
				if rounds%3 == 0 && sent < 0 { // as a diagnosis asks
					if _, err := catalog.Variables(ctx, tg.Reading()); err != nil {
						t.Error(err)
						end()
						return
					}
				}
				now := map[string]float64{}
				for _, m := range r.Samples {
					if m.Name == metric.ClientStatusTotal || m.Name == metric.ClientStatus {
						now[m.Labels.Get("variable")] = m.Value
					}
				}
				switch {
				case first == nil:
					if _, ok := now["questions"]; ok && rounds >= 5 {
						first, rounds = now, 5
					}
				case rounds == 25:
					for name, v := range now {
						// A session cannot count how its answer to the question about itself is read, which shows when
						// one of Dyno's begins or ends.
						least := 0.0
						switch {
						case strings.HasPrefix(name, "handler_"), strings.HasPrefix(name, "bytes_"),
							strings.HasPrefix(name, "rows_"):
							least = 5000
						case strings.HasPrefix(name, "table_open_cache_"), strings.HasPrefix(name, "opened_"):
							least = 10
						}
						if d := v - first[name]; d != 0 && d > least {
							t.Errorf("nobody but Dyno uses the server, and %s grew by %g", name, d)
						}
					}
					first, sent = now, 0
				}
				if sent < 0 {
					return
				}
				got := now["questions"] - first["questions"]
				if got > float64(sent) {
					t.Errorf("%d statements of a client are %g", sent, got)
				}
				if got >= 100 { // what Dyno may have done meanwhile is known a little later
					end()
				}
				for range 50 {
					if _, err := db.ExecContext(ctx, "DO 1"); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					sent++
				}
			})
			if err != nil || ctx.Err() != nil {
				t.Fatalf("%v after %d rounds", err, rounds)
			}
		})
	}
}

func TestClientsFallNever(t *testing.T) {
	var c clients
	uptime := 1.0
	at := func(total, own, unsure float64) float64 {
		c.begin()
		c.own, c.known = target.Spent{
			Counted: map[string]float64{"questions": own},
			Unsure:  map[string]float64{"questions": unsure},
		}, true
		c.note("questions", total)
		c.note("uptime", uptime)
		out := -1.0
		c.emit(0, func(m metric.Sample) {
			if m.Name == metric.ClientStatusTotal {
				out = m.Value
			}
		})
		return out
	}
	f := func(total, own, unsure, want float64) {
		t.Helper()
		if got := at(total, own, unsure); got != want {
			t.Errorf("%v", fmt.Sprint(total, own, unsure, " gives ", got, ", want ", want))
		}
	}
	f(1000, 10, 0, 1000)
	f(1010, 15, 0, 1005)
	f(1020, 15, 20, 1005) // perhaps all of it is Dyno's
	f(1020, 25, 0, 1005)  // it was
	f(1060, 25, 20, 1025) // some is not
	f(1060, 25, 0, 1045)  // nothing was
	f(1060, 30, 0, 1045)  // what is learned too late hides what comes next
	f(1070, 30, 0, 1050)
	f(1040, 35, 0, 1050) // the server forgot some: as if it stood still
	f(1050, 36, 0, 1059)
	uptime = 0
	f(5, 36, 0, 5) // a restart
	f(15, 41, 0, 10)
	uptime, c = 1, clients{} // beside others that are always at work there are figures soon
	f(100, 10, 5, -1)
	f(110, 20, 5, -1)
	f(120, 30, 5, 120)
	f(135, 43, 2, 120)
	f(150, 48, 2, 130)
}
