package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
)

func TestTurns(t *testing.T) {
	ms := func(n int) plan.Duration { return plan.Duration(time.Duration(n) * time.Millisecond) }
	f := func(text string, turns plan.Duration, fresh plan.Fresh) {
		t.Helper()
		p := good(t, text, plan.Options{})
		if p.Trials.Turns != turns || p.Trials.Fresh != fresh {
			t.Errorf("%s\nturns %v, fresh %s; want %v, %s", text, p.Trials.Turns, p.Trials.Fresh, turns, fresh)
		}
	}
	const quota = "axes: [{limit: cpu, values: [none, 50%]}]\n"
	const writes = head + "workload: oltp_read_write\n"
	f(load, 0, plan.FreshServer)
	f(load+"limits: {cpu: 50%}\n", 0, plan.FreshServer) // nothing differs
	f(load+"limits: {cpu: 50%}\ntrials: {fresh: live}\n", 0, plan.FreshLive)
	f(load+quota, ms(200), plan.FreshLive)
	f(load+quota+"trials: {fresh: live}\n", ms(200), plan.FreshLive)
	f(load+quota+"trials: {turns: 0}\n", 0, plan.FreshServer)
	f(load+quota+"trials: {fresh: live, turns: 0}\n", 0, plan.FreshLive)
	f(load+quota+"trials: {fresh: server}\n", 0, plan.FreshServer)
	f(load+quota+"trials: {settle: true}\n", 0, plan.FreshServer)
	f(load+quota+"trials: {turns: 1s}\n", ms(1000), plan.FreshLive)
	f(load+quota+"before: {sql: SELECT 1}\n", 0, plan.FreshServer)
	f(load+"axes: [{limit: cpu, values: [none, 50%]}, {threads: [1, 2]}]\n", 0, plan.FreshServer)
	f(load+"axes: [{limit: write_iops, values: [none, 500]}]\n", 0, plan.FreshServer)
	f(load+"axes: [{set: innodb_io_capacity, values: [100, 200]}]\n", 0, plan.FreshServer)
	f(load+"axes: [{set: innodb_io_capacity, values: [100, 200]}]\ntrials: {turns: 100ms}\n", ms(100), plan.FreshLive)
	f(load+"trials: {turns: 200ms}\n", ms(200), plan.FreshLive)
	f(writes+quota, 0, plan.FreshData) // who writes says whether the same server will do
	f(writes+quota+"trials: {turns: 200ms}\n", ms(200), plan.FreshLive)
	f(writes+quota+"trials: {fresh: live}\n", ms(200), plan.FreshLive)

	bad := func(text string, want ...string) {
		t.Helper()
		_, err := parse([]byte(text), plan.Options{})
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s\n%v lacks %q", text, err, w)
			}
		}
	}
	const turns = "trials: {turns: 200ms}\n"
	bad(load+"trials: {turns: 1ms}\n", "trials.turns: turns of 1ms cannot be", "from 50ms to 1m")
	bad(load+"trials: {turns: 2m}\n", "turns of 2m cannot be")
	bad(load+"trials: {time: 1s, turns: 500ms}\n", "fewer than 3 turns")
	bad(load+"trials: {turns: 200ms, fresh: data}\n", "leave out turns or fresh: data")
	bad(load+"trials: {turns: 200ms, settle: true}\n", "nothing is waited for")
	bad(load+"axes: [{threads: [1, 2]}]\n"+turns, "threads=1 and threads=2 differ in more than the CPU quota")
	bad(load+"axes: [{setting: sync_binlog, values: [0, 1]}]\n"+turns, "differ in more than the CPU quota")
	bad(load+"axes: [{limit: memory, values: [1G, 2G]}]\n"+turns, "felt long after")
	bad(load+"axes: [{limit: read_iops, values: [none, 500]}]\n"+turns, "felt long after")
	bad(load+"axes: [{name: a, levels: [{name: x, set: {sync_binlog: 0}}, {name: y, set: {flush_time: 0}}]}]\n"+turns,
		"a=x sets sync_binlog, a=y sets flush_time")
	bad(load+"axes: [{name: a, levels: [{name: x, set: {sync_binlog: 0}}, {name: y}]}]\n"+turns, "a=y sets none")
	bad(load+"after: {sql: SELECT 1}\n"+turns, "no place between turns")
	bad(load+"read: {a: SELECT 1}\n"+turns, "those of all variants")
	bad(head+"probe: {sql: SELECT 1, name: a}\n"+turns, "only variants of a workload take turns")
}

func TestGuard(t *testing.T) {
	f := func(turn, want time.Duration) {
		t.Helper()
		if got := (plan.Trials{Turns: plan.Duration(turn)}).Guard(); got != plan.Duration(want) {
			t.Errorf("turns of %v: %v, want %v", turn, got, want)
		}
	}
	f(0, 0)
	f(50*time.Millisecond, 20*time.Millisecond)
	f(200*time.Millisecond, 20*time.Millisecond)
	f(time.Second, 100*time.Millisecond)
}

// TestEstimateOfTurns counts what is left out of the figures, and one warm-up.
func TestEstimateOfTurns(t *testing.T) {
	p := good(t, load+"axes: [{limit: cpu, values: [none, 50%]}]\ntrials: {time: 18s, warmup: 1s..2s, rounds: 3..10}\n",
		plan.Options{})
	if least, most := plan.Estimate(p, 0); least != 3*3*20*time.Second+time.Second ||
		most != 10*3*20*time.Second+2*time.Second {
		t.Errorf("%v to %v", least, most)
	}
}
