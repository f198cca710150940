package loader

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/pace"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestOpenLoopAccountsForEveryArrival runs at a rate that the server keeps up with, and at one that it cannot.
func TestOpenLoopAccountsForEveryArrival(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		s.Exec(t, "CREATE DATABASE x")
		f := func(sql string, rate float64, threads int, dropped bool) {
			t.Helper()
			const seconds = 3
			var acknowledged atomic.Uint64
			r, err := on(tg).Run(t.Context(), load.Config{
				Driver: driver, Workload: texts(sql), Threads: threads, Rate: pace.Constant(rate),
				RateKind: pace.Uniform, Time: seconds * time.Second,
				Acknowledged: func(workload.Op) { acknowledged.Add(1) },
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			o := r.Total.Open
			if o == nil {
				t.Fatal("no word of arrivals")
			}
			due, done := float64(o.Due), r.Total.Operations()
			if math.Abs(due-rate*seconds) > 1 {
				t.Errorf("%s: %v arrivals were due, want %v", sql, due, rate*seconds)
			}
			if o.Due != done+o.Dropped || o.Busy != 0 || acknowledged.Load() != done {
				t.Errorf("%s: of %d due, %d are done (%d acknowledged), %d dropped, %d under way", sql, o.Due, done,
					acknowledged.Load(), o.Dropped, o.Busy)
			}
			if dropped && o.Dropped <= o.Due/5 {
				// at a rate that is kept up with, a busy machine may drop some all the same
				t.Errorf("%s: %d of %d were dropped", sql, o.Dropped, o.Due)
			}
			service, response := r.Total.Latency(), r.Total.Response()
			if response == nil || response.Count() != done || response.Max() < service.Max() ||
				r.Options["rate"] == "" {
				t.Fatalf("%s: response times %v beside %v of service, options %v", sql, response, service, r.Options)
			}
			if dropped && response.Max() < time.Second {
				t.Errorf("%s: a queue of %d shows in no response time: %v at most", sql, o.Dropped, response.Max())
			}
		}
		f("SELECT 1", 50, 4, false)
		f("SELECT SLEEP(0.1)", 50, 2, true) // 20 a second are possible
	})
}

// TestStalledServerShowsInResponseTimes stops the server for a second: the arrivals of that second wait, the first of
// them all of it.
func TestStalledServerShowsInResponseTimes(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		s.Exec(t, "CREATE DATABASE x")
		aside, err := s.DB(t, "").Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer aside.Close()
		const rate = 200
		var stopped, silent time.Duration // it may be silent longer than it is stopped: the machine has others to serve
		stop := make(chan error, 1)
		r, err := on(tg).Run(t.Context(), load.Config{
			Driver: driver, Workload: texts("SELECT 1"), Threads: 8,
			Rate: pace.Constant(rate), RateKind: pace.Uniform, Time: 4 * time.Second,
		}, func(x loadresult.Tick) {
			if x.Seq != 0 {
				return
			}
			go func() {
				begin := time.Now()
				syscall.Kill(s.PID, syscall.SIGSTOP)
				for time.Since(begin) < time.Second && !stands(s.PID) {
					time.Sleep(time.Millisecond)
				}
				all := time.Now()
				time.Sleep(time.Second)
				stopped = time.Since(all)
				syscall.Kill(s.PID, syscall.SIGCONT)
				_, err := aside.ExecContext(t.Context(), "DO 1")
				silent = time.Since(begin)
				stop <- err
			}()
		})
		if err == nil {
			err = <-stop
		}
		if err != nil {
			t.Fatal(err)
		}
		// Nothing is answered before the server goes on: the first arrival of the stall waits for all of it, and half
		// of the stall's arrivals for half of it, but for those that were not begun within the run. How long the server
		// takes for the queue comes on top.
		t.Logf("stopped for %v, silent for %v", stopped, silent)
		response, dropped := r.Total.Response(), float64(r.Total.Open.Dropped)
		latest := func(n float64) time.Duration {
			return response.Quantile(min(1, max(0, 1-n/float64(response.Count()))))
		}
		if got := response.Max(); got < stopped*98/100 || got > silent*102/100+spare {
			t.Errorf("the first waited %v, want %v to %v and what the queue took", got, stopped, silent)
		}
		if got := latest(stopped.Seconds()/2*rate - dropped); got < stopped/2*98/100 {
			t.Errorf("half of them waited %v, want %v at least; %v were dropped", got, stopped/2, dropped)
		}
		if got := latest(silent.Seconds() / 2 * rate); got > silent/2*102/100+spare {
			t.Errorf("half of them waited %v, want %v and what the queue took", got, silent/2)
		}
	})
}

// stands reports that all threads of a process are stopped, which on a busy machine takes a while after it was told to.
func stands(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return len(threads) > 0 && !slices.ContainsFunc(threads, func(f string) bool {
		text, _ := os.ReadFile(f)
		return !bytes.Contains(text, []byte(") T "))
	})
}

// spare is what a server on a busy machine may take for a queue of a few hundred.
const spare = time.Second

func TestWarmUpIsNotInTheFigures(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		s.Exec(t, "CREATE DATABASE x")
		f := func(c load.Config, want uint64) {
			t.Helper()
			c.Driver, c.Workload, c.Threads, c.Warmup = driver, texts("SELECT SLEEP(0.01)"), 2, 1500*time.Millisecond
			var ticks []loadresult.Tick
			r, err := on(tg).Run(t.Context(), c, func(x loadresult.Tick) { ticks = append(ticks, x) })
			if err != nil {
				t.Fatal(err)
			}
			var warm, rest time.Duration
			var counted uint64
			for i, x := range ticks {
				if x.Warm {
					warm += x.Length
					if x.Operations() == 0 {
						t.Errorf("tick %d of the warm-up is empty", i)
					}
					continue
				}
				rest += x.Length
				counted += x.Operations()
			}
			if warm < 1500*time.Millisecond || warm > 3*time.Second || len(ticks) < 3 || !ticks[0].Warm ||
				ticks[len(ticks)-1].Warm {
				t.Errorf("%d ticks, %v of warm-up", len(ticks), warm)
			}
			if counted != r.Total.Operations() || r.Elapsed != rest || r.Total.Length != rest ||
				!r.Started.Equal(ticks[0].At.Add(warm)) {
				t.Errorf("%d operations in ticks, %d in the run; %v and %v, started %v after the first tick", counted,
					r.Total.Operations(), rest, r.Elapsed, r.Started.Sub(ticks[0].At))
			}
			if n := r.Total.Operations(); want > 0 && (n < want || n > 2*want) {
				// some begin while the warm-up is being ended; all of it would be more than twice as many
				t.Errorf("%d operations, want %d", n, want)
			}
			if c.Time > 0 && (r.Elapsed < c.Time || r.State != loadresult.Done) {
				t.Errorf("%s after %v, want %v", r.State, r.Elapsed, c.Time)
			}
		}
		f(load.Config{Time: 2 * time.Second}, 0)
		f(load.Config{Events: 50}, 50)
		f(load.Config{Time: 2 * time.Second, Rate: pace.Constant(20)}, 0)
	})
}

// TestTerminalsShareSessions lets many terminals think for longer than the run lasts in sum.
func TestTerminalsShareSessions(t *testing.T) {
	bothWays(t, func(t *testing.T, s *servers.Server, tg *target.Target, driver bool) {
		s.Exec(t, "CREATE DATABASE x")
		w := texts("SELECT 1")
		w.think = 500 * time.Millisecond
		for _, loops := range []int{1, 2} {
			r, err := on(tg).Run(t.Context(), load.Config{
				Driver: driver, Loops: loops, Workload: w, Threads: 2, Terminals: 40,
				Time: 3 * time.Second,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			// At any moment each terminal thinks or has something due: what it began with, and what was due and not
			// done, is not counted.
			n, o := r.Total.Operations(), r.Total.Open
			if o == nil || r.Total.Response() == nil {
				t.Fatal("nothing is told of what was due")
			}
			spent := time.Duration(n)*w.think + r.Total.Response().Sum()
			// The end may come late, and what is under way then is waited for: no terminal can have spent more than the
			// run took.
			least, most := 40*(3*time.Second-2*w.think)-time.Duration(o.Dropped)*r.Elapsed, 40*(r.Elapsed+w.think)
			if n > 40*uint64(1+r.Elapsed/w.think) || n+o.Dropped < 40 || spent < least || spent > most {
				t.Errorf("%d operations of 40 terminals in %v, %d not done; they thought and waited for %v, want %v "+
					"to %v", n, r.Elapsed, o.Dropped, spent, least, most)
			}
			if o.Due != n+o.Dropped || r.Options["terminals"] != "40" {
				t.Errorf("%+v, options %v", o, r.Options)
			}
			if r, err = on(tg).Run(t.Context(), load.Config{
				Driver: driver, Loops: loops, Workload: w, Threads: 2,
				Terminals: 40, Events: 70,
			}, nil); err != nil || r.Total.Operations() != 70 || r.State != loadresult.Done {
				t.Errorf("%s after %d of 70 operations, %v", r.State, r.Total.Operations(), err)
			}
		}
		// As many terminals as sessions: each thinks by itself.
		r, err := on(tg).Run(t.Context(), load.Config{Driver: driver, Workload: w, Threads: 3, Time: 2 * time.Second},
			nil)
		if n := r.Total.Operations(); err != nil || n > 3*4 || n < 3 || r.Total.Open != nil {
			t.Errorf("%d operations of 3 sessions that think, %v", n, err)
		}
	})
}

func TestSteadyRunEndsBeforeItsTime(t *testing.T) {
	s := servers.Start(t, "mariadb")
	tg := open(t, s)
	s.Exec(t, "CREATE DATABASE x")
	within(t, 100*time.Second, "a steady run", func(ctx context.Context) {
		r, err := on(tg).Run(ctx, load.Config{
			Workload: texts("SELECT SLEEP(0.02)"), Threads: 2,
			Time: 90 * time.Second, Steady: true,
		}, nil)
		if err != nil || r.State != loadresult.Done || r.Elapsed < 10*time.Second-time.Second/2 {
			t.Errorf("%s after %v, %v", r.State, r.Elapsed, err)
		}
		if r.Elapsed >= 90*time.Second {
			t.Errorf("a rate that does not change did not become steady: %v", r.Warnings)
		} else if said := strings.Join(r.Warnings, "; "); strings.Contains(said, "stationary") {
			t.Errorf("it ended because the rate was stationary, and says %q", said)
		}
	})
}
