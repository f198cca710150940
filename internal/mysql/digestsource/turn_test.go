package digestsource

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestTurnLosesNothing takes one window after the other while statements run, and holds the sum of the counts against
// the number sent.
func TestTurnLosesNothing(t *testing.T) {
	f := func(name string, from source.Name, settings ...string) {
		for _, flavor := range servers.Flavors {
			t.Run(name+"/"+flavor, func(t *testing.T) {
				s := servers.Start(t, flavor, settings...)
				db := table(t, s)
				r := open(t, s, "root", Options{})
				if err := r.Begin(t.Context()); err != nil {
					t.Fatal(err)
				}
				var sent atomic.Int64
				stop, done := make(chan bool), make(chan bool)
				go func() {
					defer close(done)
					for i := 0; ; i++ {
						select {
						case <-stop:
							run(t, db, "DO 0")
							return
						default:
							run(t, db, fmt.Sprintf("SELECT v FROM t WHERE id=%d", i%1000))
							sent.Add(1)
						}
					}
				}()
				counted, windows := uint64(0), 0
				add := func(last bool) {
					t.Helper()
					turn := r.Turn
					if last {
						turn = r.End
					}
					cs, sources, err := turn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, x := range sources {
						if x.Name == from && (x.State != source.OK || x.Reason != "") {
							t.Errorf("%+v", x)
						}
					}
					if c, ok := of(cs, "SELECT v FROM t WHERE id=1"); ok {
						counted += c.Count
						windows++
						if c.Sampled {
							t.Errorf("sampled: %+v", c)
						}
					}
				}
				for range 8 {
					for at, end := sent.Load(), time.Now().Add(time.Minute); sent.Load() < at+20 &&
						time.Now().Before(end); {
						time.Sleep(time.Millisecond)
					}
					add(false)
				}
				close(stop)
				<-done
				add(true)
				if n := uint64(sent.Load()); counted != n || windows < 8 {
					t.Errorf("%d statements in %d windows, %d were sent", counted, windows, n)
				}
			})
		}
	}
	f("digests", source.Digests, "performance_schema=ON")
	f("slow log", source.SlowLog, "performance_schema=OFF", "slow_query_log=ON", "long_query_time=0", "log_output=FILE")
}

// TestTurnAfterReset empties the table of digests between two windows: the next one counts from there.
func TestTurnAfterReset(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := table(t, s)
			r := open(t, s, "root", Options{})
			if err := r.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			ask := func(n int) {
				for i := range n {
					run(t, db, fmt.Sprintf("SELECT v FROM t WHERE id=%d", i))
				}
				settle(t, db)
			}
			f := func(want uint64) {
				t.Helper()
				cs, _, err := r.Turn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if c, _ := of(cs, "SELECT v FROM t WHERE id=1"); c.Count != want {
					t.Errorf("%d statements, want %d", c.Count, want)
				}
			}
			ask(5)
			f(5)
			f(0)
			ask(3)
			s.Exec(t, "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
			ask(4)
			f(4)
			ask(2)
			f(2)
		})
	}
}
