package testbed

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/trial"
)

func TestTurnsFor(t *testing.T) {
	f := func(all, one time.Duration, n, perSecond int) {
		t.Helper()
		if a, b := turnsFor(all, one); a != n || b != perSecond {
			t.Errorf("%v in turns of %v: %d, %d a second; want %d, %d", all, one, a, b, n, perSecond)
		}
	}
	ms := time.Millisecond
	f(20*time.Second, 180*ms, 112, 6)
	f(1800*ms, 180*ms, 10, 6)
	f(1801*ms, 180*ms, 12, 6)
	f(time.Second, 9*time.Second, 2, 1)
}

// TestBlocks shows that every strand has one turn in each block, that a drift cancels over two of them, and that seed
// and round decide.
func TestBlocks(t *testing.T) {
	p := plan.Plan{Trials: plan.Trials{Seed: 7}}
	bs := blocks(p, 3, 40, 3)
	seen := map[string]bool{}
	for b, order := range bs {
		if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, []int{0, 1, 2}) {
			t.Fatalf("block %d: %v", b, order)
		}
		if b%2 == 1 {
			was := slices.Clone(bs[b-1])
			slices.Reverse(was)
			if !slices.Equal(order, was) {
				t.Errorf("block %d is %v after %v", b, order, bs[b-1])
			}
			continue
		}
		seen[string([]byte{byte('0' + order[0]), byte('0' + order[1]), byte('0' + order[2])})] = true
	}
	if len(seen) < 4 {
		t.Errorf("the orders are hardly random: %v", seen)
	}
	again, other := blocks(p, 3, 40, 3), blocks(p, 4, 40, 3)
	same := func(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal[[]int]) }
	if !same(bs, again) || same(bs, other) {
		t.Error("the order is not that of seed and round")
	}
}

func (s *Testbed) weave(t *testing.T, round int, vs []plan.Variant, p plan.Plan) []trial.Trial {
	t.Helper()
	var strands []experiment.Strand
	for _, v := range vs {
		strands = append(strands, experiment.Strand{Variant: v})
	}
	strands = append(strands, experiment.Strand{Variant: vs[0], Control: true})
	ts, err := s.Weave(t.Context(), round, strands, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// needsQuota skips where no process can be given a quota.
func needsQuota(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to set CPU quotas")
	}
}

// TestWeaveQuota holds a woven round against what must be: half of a quota that binds is half of the CPU time and about
// half of the rate, and the same quota the same. The quotas are small, so that a busy machine can give them; a round in
// which it did not is not judged.
func TestWeaveQuota(t *testing.T) {
	needsQuota(t)
	s := newStand(t)
	p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 64M}
workload: oltp_point_select
threads: 4
options: {table-size: 2000}
axes: [{limit: cpu, values: [10%, 5%]}]
trials: {time: 3s, warmup: 1s..1s, rounds: 3..3}
`)
	if p.Trials.Turns <= 0 {
		t.Fatal("quotas alone are not woven")
	}
	for n, judged := 1, 0; judged < 2; n++ {
		ts := s.weave(t, n, vs, p)
		for i, x := range ts {
			t.Logf("round %d: %d: %v, %+v, %v", n, i, x.Values, x.Woven, x.Warnings)
			if x.Invalid != "" {
				t.Fatalf("invalid: %s", x.Invalid)
			}
		}
		full, half, control := ts[0], ts[1], ts[2]
		if n < 20 && min(full.Values["server_cpu_cores"], control.Values["server_cpu_cores"]) < 0.08 {
			continue
		}
		judged++
		f := func(name string, a, b trial.Trial, least, most float64) {
			t.Helper()
			if got := a.Values[name] / b.Values[name]; !(got >= least && got <= most) {
				t.Errorf("round %d: %s is %v and %v: ×%.3f, want %v to %v", n, name, a.Values[name],
					b.Values[name], got, least, most)
			}
		}
		f("tps", half, full, 0.25, 0.75)
		f("tps", control, full, 0.6, 1.6)
		f("server_cpu_cores", half, full, 0.25, 0.75)
		f("server_cpu_cores", control, full, 0.6, 1.6)
		for _, x := range ts {
			w := x.Woven
			if w == nil || w.Of != 3 || w.Turns < 2 || w.Time < 1 || x.To.Sub(x.From) < 6*time.Second {
				t.Fatalf("%+v, from %v to %v", w, x.From, x.To)
			}
			ops := 0.0
			for _, sec := range x.Seconds {
				ops += float64(sec.Ops)
			}
			if want := x.Values["tps"] * w.Time; ops < want-20 || ops > want+20 {
				t.Errorf("%v operations in seconds, %v in all", ops, want)
			}
			if n := float64(x.Latency.Count()); n > 1.3*ops || n < ops*(1-w.Cut)*0.9 {
				t.Errorf("%v latencies of %v operations, %v of them cut", n, ops, w.Cut)
			}
			if x.Values["cs_per_op"] != 0 || x.Values["write_kb_per_op"] != 0 || x.Values["cpu_speed"] != 0 {
				t.Errorf("told of one variant what is known of all: %v", x.Values)
			}
		}
		if a, b := full.Env.Facts["limit"]["cpu"], half.Env.Facts["limit"]["cpu"]; a == b ||
			a[:4] != "0.1 " || b[:4] != "0.05" {
			t.Errorf("limits %q and %q", a, b)
		}
	}
	// A second round goes on under the same load on the same server.
	if got := s.status(t, "Connections"); got > 40 {
		t.Errorf("%v connections", got)
	}
}

// TestWeaveSet puts variables in force in turns, and holds what each variant says of them against the server.
func TestWeaveSet(t *testing.T) {
	for _, flavor := range []string{"mariadb", "mysql"} {
		t.Run(flavor, func(t *testing.T) {
			s := newStand(t)
			p, vs := parse(t, `
server: `+flavor+`
settings: {innodb_buffer_pool_size: 64M}
workload: oltp_point_select
threads: 2
options: {table-size: 1000}
axes: [{set: long_query_time, values: [5, 7.5]}]
trials: {time: 1s, warmup: 0s..0s, rounds: 3..3, turns: 100ms}
`)
			ts := s.weave(t, 1, vs, p)
			for i, want := range []string{"5", "7.5", "5"} {
				if got := ts[i].Env.Facts["variable"]["long_query_time"]; len(got) < len(want) ||
					got[:len(want)] != want || ts[i].Invalid != "" {
					t.Errorf("%s: long_query_time is %q, want %s…; %s", vs[i%2].Key, got, want, ts[i].Invalid)
				}
			}
			// The server saw at least what was counted.
			ops := 0.0
			for _, x := range ts {
				ops += x.Values["tps"] * x.Woven.Time
			}
			if selects := s.status(t, "Com_select"); ops == 0 || selects < ops {
				t.Errorf("%v operations, the server counts %v", ops, selects)
			}
		})
	}
}

// TestWeaveUnusable says of what cannot take turns why, before anything is measured.
func TestWeaveUnusable(t *testing.T) {
	s := newStand(t)
	const load = "server: mariadb\nsettings: {innodb_buffer_pool_size: 32M}\nworkload: oltp_point_select\noptions: " +
		"{table-size: 100}\n"
	f := func(text string) ([]trial.Trial, error) {
		t.Helper()
		p, vs := parse(t, load+text)
		return s.Weave(t.Context(), 1, []experiment.Strand{
			{Variant: vs[0]},
			{Variant: vs[1]},
			{Variant: vs[0], Control: true},
		}, p, nil)
	}
	ts, err := f("axes: [{set: slow_query_log, values: [0, nonsense]}]\ntrials: {time: 1s, turns: 100ms}\n")
	if err != nil || len(ts) != 3 || !ts[1].Unusable || !strings.Contains(ts[1].Invalid, "nonsense") ||
		ts[0].Unusable || ts[0].Invalid == "" {
		t.Errorf("%v, %+v", err, ts)
	}
	refused := func(text, want string) {
		t.Helper()
		_, err := f(text)
		var u *experiment.Unusable
		if !errors.As(err, &u) || !strings.Contains(u.Reason, want) {
			t.Errorf("%s: %v lacks %q", text, err, want)
		}
	}
	refused("axes: [{set: slow_query_log, values: [1, ON]}]\ntrials: {time: 1s, turns: 100ms}\n",
		"have the same effect on this server: 1")
	if os.Geteuid() == 0 {
		refused("axes: [{limit: cpu, values: [2%, 1%]}]\n", "use turns of 1s")
	}
}

// TestServerDiesInWeave kills the server while variants take turns: no trial of that round counts, and the next round
// has a server again.
func TestServerDiesInWeave(t *testing.T) {
	s := newStand(t)
	p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_point_select
options: {table-size: 500}
trials: {time: 4s, warmup: 0s..0s, rounds: 3..3, turns: 100ms}
`)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			box, err := s.Yard.Find(t.Context(), "t-1")
			if err != nil || box.PID == 0 {
				continue
			}
			x, err := target.Open(t.Context(), box.Spec())
			if err != nil {
				continue
			}
			var name string
			var n int
			err = x.DB().QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Com_select'").Scan(&name, &n)
			x.Close()
			if err == nil && n > 200 { // the load is on
				syscall.Kill(box.PID, syscall.SIGKILL)
				return
			}
		}
	}()
	for _, x := range s.weave(t, 1, vs, p) {
		if !strings.Contains(x.Invalid, "the server ended during the trial") {
			t.Errorf("the server was killed: invalid %q", x.Invalid)
		}
	}
	<-killed
	for _, x := range s.weave(t, 1, vs, p) {
		if x.Invalid != "" || !(x.Values["tps"] > 0) {
			t.Errorf("%q, %v", x.Invalid, x.Values)
		}
	}
}
