//go:build bench

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// benchTPCC compares the TPC-C-like workload with sysbench-tpcc on the same tables, made by Dyno. The figures are not
// TPC-C's, of either.
func benchTPCC(t *testing.T, b *loadBench, places map[string]place) (goals tally) {
	rounds, seconds, scale := number("LOAD_TPCC", 3), number("LOAD_TIME", 5), number("LOAD_SCALE", 2)
	if rounds == 0 {
		return goals
	}
	dir := os.Getenv("SYSBENCH_TPCC")
	if dir == "" {
		fmt.Print("\nTPC-C-like: left out. SYSBENCH_TPCC names no folder with sysbench-tpcc (tpcc.lua and its other " +
			"files).\n")
		return goals
	}
	if _, err := os.Stat(filepath.Join(dir, "tpcc.lua")); err != nil {
		t.Errorf("SYSBENCH_TPCC: %v", err)
		return goals
	}
	data := fmt.Sprintf("--mysql-db=tpcc --tables=1 --scale=%d", scale)
	b.must(t, b.dyno(strings.Fields("tpcc prepare --threads=2 "+data)...))
	x := newTable(fmt.Sprintf("TPC-C-like, %d warehouses, 8 threads, no think times; Dyno and sysbench-tpcc on the "+
		"same tables", scale))
	for _, name := range []string{sharedCPU, ownCPU} {
		p, ok := places[name]
		if !ok {
			continue
		}
		args := strings.Fields("run --threads=8 --report-interval=0 " + data)
		ours := func(seconds int) measured {
			return b.run(t, p, b.dyno(append(append([]string{"tpcc"}, args...), timed(seconds)...)...))
		}
		theirs := func(seconds int) measured {
			c := b.sysbench(append(append([]string{"./tpcc.lua"}, args...), timed(seconds)...)...)
			c.Dir = dir // its files find each other from there
			return b.run(t, p, c)
		}
		goals.add(x.rows(name+", tpcc, 8", interleave(rounds, seconds, ours, theirs), 1, 0))
	}
	x.notes()
	return goals
}
