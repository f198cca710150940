package loader

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/pace"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// bent is a way to a real server that spoils what comes from it. It passes on at most chunk bytes at once, and cuts the
// connection after so many bytes when cut says so.
type bent struct {
	net.Listener
	chunk int
	cut   func() int64 // of each connection; below 0 for never
	conns sync.WaitGroup
}

func bend(t *testing.T, s *servers.Server, chunk int, cut func() int64) *target.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bent{Listener: l, chunk: chunk, cut: cut}
	b.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.conns.Go(func() { b.pass(c, s.Socket) })
		}
	})
	spec, err := endpoint.ParseURL(fmt.Sprintf("mysql://root@%s/?tls=disabled", l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tg.Close()
		l.Close()
		b.conns.Wait()
	})
	return tg
}

func (b *bent) pass(c net.Conn, socket string) {
	defer c.Close()
	up, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer up.Close()
	b.conns.Go(func() {
		io.Copy(up, c)
		up.Close()
	})
	left := b.cut()
	buf := make([]byte, b.chunk)
	for {
		n, err := up.Read(buf)
		if left >= 0 && int64(n) > left {
			c.Write(buf[:left])
			return
		}
		left -= int64(n)
		if _, werr := c.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func never() int64 { return -1 }

// TestAnswersInPieces reads answers that come a few bytes at a time, some larger than all that is read at once, and
// sends statements larger than the connection takes.
func TestAnswersInPieces(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, _ *target.Target) {
		s.Exec(t, "CREATE DATABASE x")
		tg := bend(t, s, 7, never)
		big := bend(t, s, 1<<20, never)
		prepared(t, big, map[string]string{"table-size": "2000"})
		f := func(tg *target.Target, w workload.Workload, o map[string]string, events, queries uint64) {
			t.Helper()
			for _, mode := range []load.PSMode{load.Auto, load.Disable} {
				r, err := on(tg).Run(t.Context(), load.Config{
					Workload: w, Options: o, Threads: 2,
					Events: events, PSMode: mode,
				}, nil)
				if err != nil || r.Path != "loops" || r.Total.Operations() != events || r.Total.Queries() != queries {
					t.Errorf("%s %s by %s: %d operations, %d queries, %v", w.Name(), mode, r.Path, r.Total.Operations(),
						r.Total.Queries(), err)
				}
			}
		}
		size := map[string]string{"table-size": "2000"}
		f(tg, workload.ReadOnly{}, size, 4, 4*16)
		f(big, workload.ReadOnly{}, map[string]string{"table-size": "2000", "range-size": "2000"}, 20, 20*16)

		// 3 MB there and back in one value.
		long := texts("SELECT '" + strings.Repeat("x", 3<<20) + "'")
		f(big, long, nil, 5, 5)
	}, "max_allowed_packet=16M")
}

// seen is a workload of one operation whose rows are looked at.
type seen struct {
	fixed
	row func([]workload.Datum)
}

func (w seen) Build(o map[string]string) (*workload.Plan, error) {
	p, err := w.fixed.Build(o)
	inner := p.Generator
	p.Generator = func(seed uint64, i int) workload.Generator { return &seeing{inner(seed, i), w.row} }
	return p, err
}

type seeing struct {
	workload.Generator
	row func([]workload.Datum)
}

func (g *seeing) Row(r []workload.Datum) { g.row(r) }

// TestRowsReachTheGenerator compares what both ways and both protocols make of the same values.
func TestRowsReachTheGenerator(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		s.Exec(t, "CREATE DATABASE x")
		const sql = "SELECT 1, -2, 18446744073709551615, 1.50, 2.5e0, 'text', NULL, DATE '2024-02-29', TIME '12:34:56'"
		var first string
		for _, driver := range []bool{false, true} {
			for _, mode := range []load.PSMode{load.Auto, load.Disable} {
				var got []string
				w := seen{
					fixed{schema: "x", calls: []workload.Statement{{SQL: sql, Kind: workload.Read, Rows: true}}},
					func(r []workload.Datum) {
						for _, d := range r {
							got = append(got, d.String())
						}
					},
				}
				if _, err := on(tg).Run(t.Context(), load.Config{Workload: w, Events: 1, Driver: driver, PSMode: mode},
					nil); err != nil {
					t.Fatal(err)
				}
				text := strings.Join(got, "|")
				if first == "" {
					first = text
				}
				if text != "1|-2|18446744073709551615|1.50|2.5|text|NULL|2024-02-29|12:34:56" {
					t.Errorf("driver %v, %s: %s", driver, mode, text)
				}
			}
		}
	})
}

// TestServerThatDiesWithinAnAnswer cuts connections in the middle of what the server sends.
func TestServerThatDiesWithinAnAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		prepared(t, tg, map[string]string{"table-size": "2000"})
		var conns atomic.Int64 // once more than 0, connections are cut
		cut := bend(t, s, 4096, func() int64 {
			if conns.Load() == 0 {
				return -1
			}
			return 20_000 + 997*conns.Add(1)
		})
		conns.Store(1)
		within(t, 120*time.Second, "a run over connections that break", func(ctx context.Context) {
			r, err := on(cut).Run(ctx, load.Config{
				Workload: workload.ReadOnly{},
				Options:  map[string]string{"table-size": "2000"}, Threads: 2, Events: 10,
			}, nil)
			if err != nil || r.Path != "loops" || r.Total.Operations() != 10 || r.Total.Errors["lost"] == 0 ||
				r.Total.Errors["lost"] != r.Total.Reconnects {
				t.Errorf("%s: %d operations, errors %v, %d reconnects, %v", r.Path, r.Total.Operations(),
					r.Total.Errors, r.Total.Reconnects, err)
			}
		})
	})
}

// TestIdleConnectionsThatAreClosed kills sessions that wait, for the queue or for their own terminal.
func TestIdleConnectionsThatAreClosed(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		s.Exec(t, "CREATE DATABASE x")
		thinking := texts("SELECT 1")
		thinking.think = 700 * time.Millisecond
		f := func(c load.Config) {
			t.Helper()
			c.Threads, c.Time = 4, 5*time.Second
			var after uint64
			r, err := on(tg).Run(t.Context(), c, func(x loadresult.Tick) {
				if x.Seq > 0 {
					after += x.Operations()
					return
				}
				rows, err := s.DB(t, "").Query("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'x'")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var id int
					if err := rows.Scan(&id); err != nil {
						t.Fatal(err)
					}
					s.Exec(t, fmt.Sprintf("KILL %d", id))
				}
				if err := rows.Err(); err != nil {
					t.Error(err)
				}
			})
			if err != nil || r.State != loadresult.Done || r.Total.Threads != 4 || r.Total.Errors["lost"] != 4 ||
				r.Total.Reconnects != 4 || after == 0 {
				t.Errorf("%s with %d sessions, %d operations after the kill, errors %v, %d reconnects, %v", r.State,
					r.Total.Threads, after, r.Total.Errors, r.Total.Reconnects, err)
			}
			if o := r.Total.Open; o != nil && o.Due != r.Total.Operations()+o.Dropped {
				t.Errorf("of %d due, %d are done and %d dropped", o.Due, r.Total.Operations(), o.Dropped)
			}
		}
		f(load.Config{Workload: texts("SELECT 1"), Rate: pace.Constant(5)})
		f(load.Config{Workload: thinking})
	})
}

// TestEncryptedTargetsTakeTheDriver runs where loops cannot.
func TestEncryptedTargetsTakeTheDriver(t *testing.T) {
	s := servers.Start(t, "mysql")
	spec, err := endpoint.ParseURL(fmt.Sprintf("mysql://root@127.0.0.1:%d/?tls=required", s.Port))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	s.Exec(t, "CREATE DATABASE x")
	r, err := on(tg).Run(t.Context(), load.Config{Workload: texts("SELECT 1"), Threads: 2, Events: 10}, nil)
	if err != nil || r.Path != "driver" || r.Total.Operations() != 10 {
		t.Errorf("by %q: %d operations, %v", r.Path, r.Total.Operations(), err)
	}
}

// TestOperationsAllocateNothing compares a long run with a short one: what an operation allocates shows in the
// difference.
func TestOperationsAllocateNothing(t *testing.T) {
	// From 11.6 on MariaDB refuses more of the sessions' updates of the same rows, each an error that allocates.
	s := servers.Start(t, "mariadb", "loose-innodb-snapshot-isolation=OFF")
	tg := open(t, s)
	o := map[string]string{"table-size": "1000"}
	prepared(t, tg, o)
	f := func(w workload.Workload, mode load.PSMode) {
		t.Helper()
		mallocs := func(events uint64) (n, ticks uint64) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := on(tg).Run(t.Context(), load.Config{
				Workload: w, Options: o, Threads: 4, Events: events, PSMode: mode,
				Seed: 1,
			}, func(loadresult.Tick) { ticks++ }); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs, ticks
		}
		const few, many = 50, 1050
		mallocs(few)
		a, ticksA := mallocs(few)
		b, ticksB := mallocs(many)
		const perTick = 400   // a tick is made of fresh histograms
		const deadlocks = 200 // an error of the server is no steady state
		if extra := int64(b) - int64(a) - int64((ticksB-ticksA)*perTick); extra > deadlocks {
			t.Errorf("%s %s: %d more operations allocated %d times", w.Name(), mode, many-few, extra)
		}
	}
	f(workload.PointSelect{}, load.Auto)
	f(workload.PointSelect{}, load.Disable)
	f(workload.ReadOnly{}, load.Auto)
	f(workload.ReadWrite{}, load.Auto)
}

// TestClientThatIsTheLimitSaysSo keeps the only loop so busy that answers and arrivals wait for it.
func TestClientThatIsTheLimitSaysSo(t *testing.T) {
	s := servers.Start(t, "mariadb")
	tg := open(t, s)
	s.Exec(t, "CREATE DATABASE x")
	spin := func(workload.Op) {
		for end := time.Now().Add(10 * time.Millisecond); time.Now().Before(end); {
		}
	}
	f := func(c load.Config, invalid bool) {
		t.Helper()
		c.Workload, c.Threads, c.Time = texts("SELECT 1"), 8, 3*time.Second
		r, err := on(tg).Run(t.Context(), c, nil)
		if err != nil || invalid != (r.Invalid != "") {
			t.Errorf("rate %v: invalid %q, %v", c.Rate, r.Invalid, err)
		}
		if r.Total.Delay <= 0 {
			t.Error("no delay was measured")
		}
		t.Log(r.Invalid)
	}
	f(load.Config{Acknowledged: spin}, true)
	f(load.Config{Acknowledged: spin, Rate: pace.Constant(80)}, true)
}

// oneCPU is set in the environment of a test that runs itself again on one CPU, with the server's URL.
const oneCPU = "DYNO_TEST_ONE_CPU"

// TestOneCPU runs a load with GOMAXPROCS=1 on one CPU, together with the server: ticks, garbage collection and the end
// must not wait.
func TestOneCPU(t *testing.T) {
	if url := os.Getenv(oneCPU); url != "" {
		loadOnOneCPU(t, url)
		return
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Fatal(err)
	}
	s := servers.Start(t, "mariadb")
	prepared(t, open(t, s), nil)
	s.Exec(t, "CREATE DATABASE x")
	if out, err := exec.Command(taskset, "-a", "-cp", "0", fmt.Sprint(s.PID)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), taskset, "-c", "0", os.Args[0], "-test.run=^TestOneCPU$",
		"-test.v", "-test.timeout=120s")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", oneCPU+"="+s.URL("root"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// within this, something on a CPU that is shared with a busy server and with strangers is in time.
const inTime = time.Second

func loadOnOneCPU(t *testing.T, url string) {
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Fatalf("GOMAXPROCS is %d", n)
	}
	spec, err := endpoint.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	for _, loops := range []int{1, 2} { // two are more than run at the same time
		for _, w := range []workload.Workload{workload.PointSelect{}, texts("SELECT SLEEP(3600)")} {
			// a loop without rest, and one that only waits
			ctx, cancel := context.WithCancel(t.Context())
			var last loadresult.Tick
			var collected time.Duration
			var stopped time.Time
			begin := time.Now()
			r, err := on(tg).Run(ctx, load.Config{Workload: w, Threads: 16, Loops: loops}, func(x loadresult.Tick) {
				if x.Seq < 3 && (x.Length < time.Second-inTime/2 || x.Length > time.Second+inTime) {
					t.Errorf("%s: tick %d took %v", w.Name(), x.Seq, x.Length)
				}
				at := time.Now()
				runtime.GC()
				collected = max(collected, time.Since(at))
				if x.Seq == 2 {
					stopped = time.Now()
					cancel()
				}
				last = x
			})
			took := time.Since(stopped)
			cancel()
			if err != nil || r.State != loadresult.Stopped || r.Path != "loops" {
				t.Errorf("%s: %s by %s, %v", w.Name(), r.State, r.Path, err)
			}
			if took > 2*inTime {
				t.Errorf("%s: it ended %v after it was stopped", w.Name(), took)
			}
			if collected > inTime {
				t.Errorf("%s: garbage was collected for %v", w.Name(), collected)
			}
			t.Logf("%s with %d loops: %d operations in %v, ended %v after the stop, collection %v, delay %v", w.Name(),
				loops, r.Total.Operations(), time.Since(begin), took, collected, last.Delay)
		}
	}
}
