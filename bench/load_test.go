//go:build bench

package bench

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sysbench"
)

// place says which CPU the server and the client run on.
type place struct {
	name           string
	server, client int
}

// loadCase is one row of the comparison with its goals, the bounds of the median ratio; 0 where nothing is promised.
type loadCase struct {
	place    string
	workload string
	threads  int
	tps      float64 // at least
	cpu      float64 // of the client for each query, at most
}

const (
	sharedCPU = "shared CPU"
	ownCPU    = "own CPU each"
)

var loadCases = []loadCase{
	{sharedCPU, "oltp_point_select", 16, 1.1, 0.60},
	{sharedCPU, "oltp_read_write", 16, 1.3, 0.40},
	{sharedCPU, "oltp_read_only", 16, 1.0, 0.75},
	{sharedCPU, "oltp_point_select", 1, 0, 0.95},
	{sharedCPU, "oltp_read_write", 1, 0, 0.95},
	{sharedCPU, "oltp_read_only", 1, 0, 0.95},
	{ownCPU, "oltp_point_select", 16, 0.92, 0},
	{ownCPU, "oltp_read_write", 16, 0.92, 0},
	{ownCPU, "oltp_read_only", 16, 0.92, 0},
	{ownCPU, "oltp_point_select", 1, 0.92, 0},
	{ownCPU, "oltp_read_write", 1, 0.92, 0},
	{ownCPU, "oltp_read_only", 1, 0.92, 0},
}

func (c loadCase) String() string { return fmt.Sprintf("%s %s %d", c.place, c.workload, c.threads) }

// TestLoad prints the table of bench/load.sh.
func TestLoad(t *testing.T) {
	if os.Getenv("DYNO") == "" {
		t.Skip("bench/load.sh runs it")
	}
	wanted, err := regexp.Compile(os.Getenv("LOAD_CASES"))
	if err != nil {
		t.Fatalf("LOAD_CASES: %v", err)
	}
	known := "mariadb"
	if os.Getenv("DYNO_TEST_MYSQL") != "" {
		known += " mysql"
	}
	places := map[string]place{}
	cpus := ownCPUs(t)
	last := cpus[len(cpus)-1]
	places[sharedCPU] = place{sharedCPU, last, last}
	if len(cpus) > 1 {
		places[ownCPU] = place{ownCPU, cpus[0], last}
	}
	busy, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d CPUs, load average before: %s\n", len(cpus), strings.Join(strings.Fields(string(busy))[:3], " "))
	var goals tally
	for _, flavor := range strings.Fields(cmp.Or(os.Getenv("LOAD_SERVERS"), known)) {
		goals.add(benchServer(t, flavor, wanted, places))
		goals.add(benchPrepare(t, flavor, places))
	}
	fmt.Printf("\n%d of %d goals hold. An interval of a few pairs is no proof: repeat with more rounds what is near "+
		"its bound.\n", goals.held, goals.all)
}

// settings make a server that waits for no disk: what is measured is the work of CPUs.
func settings(flavor string) []string {
	s := []string{
		"innodb-buffer-pool-size=1G", "innodb-flush-method=O_DIRECT", "max-connections=300",
		"thread-cache-size=100", "table-open-cache=2000", "performance-schema=OFF",
	}
	if flavor == "mysql" {
		return append(s, "innodb-redo-log-capacity=1G", "skip-log-bin=1")
	}
	return append(s, "innodb-log-file-size=1G")
}

// benchServer runs the cases, then TPC-C-like, on one server.
func benchServer(t *testing.T, flavor string, wanted *regexp.Regexp, places map[string]place) (goals tally) {
	s := servers.Start(t, flavor, settings(flavor)...)
	defer s.Kill(t)
	b := newBench(t, s)
	defer b.db.Close()
	var version string
	if err := b.db.QueryRow("SELECT VERSION()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	rounds, seconds := number("LOAD_ROUNDS", 3), number("LOAD_TIME", 5)
	tables, size := number("LOAD_TABLES", 4), number("LOAD_SIZE", 100_000)
	data := fmt.Sprintf("--tables=%d --table-size=%d", tables, size)
	shown := func(c loadCase) bool { return rounds > 0 && wanted.MatchString(c.String()) }

	var table *table
	for _, c := range loadCases {
		p, possible := places[c.place]
		switch {
		case !shown(c):
			continue
		case !possible:
			fmt.Printf("%s: left out, this machine has one CPU\n", c)
			continue
		}
		if table == nil {
			s.Exec(t, "CREATE DATABASE sbtest")
			b.must(t, sysbench.Command(t.Context(),
				append(b.login(), strings.Fields("oltp_read_write prepare --threads=2 "+data)...)...))
			table = newTable(fmt.Sprintf("%s %s, %d tables of %d rows, over its socket; runs of %d s, pairs "+
				"interleaved; medians, and the range of the ratios of the pairs",
				flavor, version, tables, size, seconds))
		}
		args := strings.Fields(fmt.Sprintf("%s %s %s --threads=%d --report-interval=0 run", c.workload, data,
			os.Getenv("LOAD_OPTIONS"), c.threads))
		ours := func(seconds int) measured { return b.run(t, p, b.dyno(append(args, timed(seconds)...)...)) }
		theirs := func(seconds int) measured { return b.run(t, p, b.sysbench(append(args, timed(seconds)...)...)) }
		pairs := interleave(rounds, seconds, ours, theirs)
		goals.add(table.rows(fmt.Sprintf("%s, %s, %d", c.place, strings.TrimPrefix(c.workload, "oltp_"), c.threads),
			pairs, c.tps, c.cpu))
	}
	table.notes()
	goals.add(benchTPCC(t, b, places))
	return goals
}

func timed(seconds int) []string { return []string{fmt.Sprintf("--time=%d", seconds)} }

// pair is a run of each.
type pair struct{ ours, theirs measured }

// interleave runs both in turn, the one that begins changes from pair to pair. A short run of each before makes the
// caches warm.
func interleave(rounds, seconds int, ours, theirs func(seconds int) measured) (pairs []pair) {
	ours(1)
	theirs(1)
	for i := range rounds {
		var p pair
		if i%2 == 0 {
			p.ours = ours(seconds)
			p.theirs = theirs(seconds)
		} else {
			p.theirs = theirs(seconds)
			p.ours = ours(seconds)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// must runs a command of which only the success counts, within a bound.
func (b *loadBench) must(t *testing.T, c *exec.Cmd) time.Duration {
	t.Helper()
	begin := time.Now()
	timer := time.AfterFunc(20*time.Minute, func() { c.Process.Kill() })
	defer timer.Stop()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
	return time.Since(begin)
}
