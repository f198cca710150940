package scrape

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/nodeexporter"
)

func TestTurnsOfThreadsAddUp(t *testing.T) {
	s := &processThreads{}
	s.add(map[int]host.Turns{1: {Count: 10, WaitSec: 1}, 2: {Count: 5, WaitSec: 2}})
	s.add(map[int]host.Turns{1: {Count: 12, WaitSec: 1.5}, 3: {Count: 4, WaitSec: 0}}) // 2 ended, 3 is new
	s.add(map[int]host.Turns{1: {Count: 12, WaitSec: 1.5}, 3: {Count: 1, WaitSec: 0}}) // 3 is another one now
	if s.turns.Count != 2+4+1 || s.turns.WaitSec != 0.5 {                              // from the first reading on
		t.Errorf("%+v", s.turns)
	}
}

// TestNotBack: the kernel may take a little back of what it counted as idle, which is no start from 0. A real one is
// told.
func TestNotBack(t *testing.T) {
	last := 0.0
	for _, x := range []struct {
		read, want float64
		cpus       int
	}{
		{100, 100, 1},
		{101, 101, 1},
		{100.99, 101, 1},
		{101.5, 101.5, 1},
		{95, 95, 1},
		{90, 95, 4},
		{0, 0, 4},
		{2, 2, 0},
		{0, 2, 0},
	} {
		if got := notBack(&last, x.read, x.cpus); got != x.want {
			t.Errorf("%v after %v: %v", x.read, last, got)
		}
	}
}

// TestCPUsThatComeAndGo: the sum of a machine's CPUs counts on when one is switched off and on, and starts again with
// the machine.
func TestCPUsThatComeAndGo(t *testing.T) {
	var c cpuSum
	f := func(boot int64, want float64, cpus map[string]*[8]float64) {
		t.Helper()
		if got := c.next(&nodeexporter.Page{Boot: time.Unix(boot, 0), CPUs: cpus}); got[0] != want {
			t.Errorf("%v, want %v", got[0], want)
		}
	}
	f(1000, 300, map[string]*[8]float64{"0": {100}, "1": {200}})
	f(1001, 303, map[string]*[8]float64{"0": {101}, "1": {202}})
	f(1000, 304, map[string]*[8]float64{"0": {102}})
	f(1000, 305, map[string]*[8]float64{"0": {103}, "1": {202}})
	f(1000, 307, map[string]*[8]float64{"0": {102.9}, "1": {204}})
	f(2000, 3, map[string]*[8]float64{"0": {1}, "1": {2}})
}
