//go:build bench

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sysbench"
)

// against is a piece of work that both programs do in turn. Its figures are costs: less is better.
type against struct {
	name    string
	rounds  int
	figures []string
	run     func(program string) (costs []float64)
}

// TestAgainst prints the table of bench/against.sh.
func TestAgainst(t *testing.T) {
	program, old := os.Getenv("DYNO"), os.Getenv("OLD")
	if program == "" || old == "" {
		t.Skip("bench/against.sh runs it")
	}
	wanted, err := regexp.Compile(os.Getenv("AGAINST_CASES"))
	if err != nil {
		t.Fatalf("AGAINST_CASES: %v", err)
	}
	home, err := os.MkdirTemp("/var/tmp", "dyno-against-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	// Each program keeps its own files: one of another format is refused.
	command := func(program string, args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), program, args...)
		own := filepath.Join(home, "new")
		if slices.Contains(c.Args, old) {
			own = filepath.Join(home, "old")
		}
		c.Env = append(os.Environ(), "DYNO_HOME="+own, "HOME="+home, "TZ=UTC")
		return c
	}
	cpus := ownCPUs(t)
	first, last := strconv.Itoa(cpus[0]), cpus[len(cpus)-1]
	// spend runs a program to its end, on the first CPU alone, and returns the milliseconds of CPU time and of time
	// that it took.
	spend := func(program string, args ...string) []float64 {
		c := command("taskset", append([]string{"-c", first, program}, args...)...)
		begin := time.Now()
		if out, err := c.Output(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
		}
		took := time.Since(begin)
		used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		return []float64{float64(used.Microseconds()) / 1000, float64(took.Microseconds()) / 1000}
	}
	log := &digestLog{name: "full, 60 classes", full: true, classes: 60, path: filepath.Join(home, "slow.log")}
	log.write(t, int64(number("AGAINST_MB", 200))<<20)
	rounds, seconds := number("AGAINST_ROUNDS", 10), number("AGAINST_TIME", 5)
	spent := []string{"CPU ms", "ms"}
	cases := []against{
		{"dyno --help", 3 * rounds, spent, func(p string) []float64 { return spend(p, "--help") }},
		{"dyno digest, 60 classes", rounds, spent, func(p string) []float64 { return spend(p, "digest", log.path) }},
	}
	flavors := []string{"mariadb"}
	if os.Getenv("DYNO_TEST_MYSQL") != "" {
		flavors = append(flavors, "mysql")
	}
	for _, flavor := range flavors {
		s := servers.Start(t, flavor, settings(flavor)...)
		defer s.Kill(t)
		b := newBench(t, s)
		s.Exec(t, "CREATE DATABASE sbtest")
		b.must(t, sysbench.Command(t.Context(),
			append(b.login(), strings.Fields("oltp_read_write prepare --tables=4 --table-size=100000")...)...))
		for _, workload := range []string{"oltp_point_select", "oltp_read_write"} {
			args := append([]string{
				"load", workload, "--tables=4", "--table-size=100000", "--threads=8", "--report-interval=0",
				fmt.Sprintf("--time=%d", seconds),
			}, b.login()...)
			own := place{client: cpus[0], server: last}
			cases = append(cases, against{
				flavor + ", " + workload + ", 8 threads", rounds,
				[]string{"client µs/query", "ms/transaction"},
				func(p string) []float64 {
					m := b.run(t, own, command(p, append(args, "run")...))
					return []float64{m.client, 1000 / m.tps}
				},
			})
		}
		cases = append(cases, against{
			flavor + ", dyno watch, 15 s", max(3, rounds/2), spent[:1], func(p string) []float64 {
				bindAll(t, s.PID, last)
				return spend(p, "watch", s.URL("root"), "--output", "json", "--count", "15")
			},
		})
	}
	fmt.Printf("| %-38s | n | %-15s | %9s | %9s | %-22s | %-14s |\n", "work", "figure", "new", "old",
		"ratio (range)", "")
	fmt.Printf("|%s|---|%s|%s:|%s:|%s|%s|\n", strings.Repeat("-", 40), strings.Repeat("-", 17), strings.Repeat("-", 10),
		strings.Repeat("-", 10), strings.Repeat("-", 24), strings.Repeat("-", 16))
	for _, c := range cases {
		if !wanted.MatchString(c.name) {
			continue
		}
		c.run(program)
		c.run(old)
		ours, theirs := make([][]float64, len(c.figures)), make([][]float64, len(c.figures))
		for i := range 2 * c.rounds {
			p, to := program, ours
			if i%4 == 1 || i%4 == 2 { // the one that begins changes from pair to pair
				p, to = old, theirs
			}
			costs := c.run(p)
			for j := range to {
				to[j] = append(to[j], costs[j])
			}
		}
		for j, figure := range c.figures {
			row(c.name, figure, ours[j], theirs[j], 0, 0)
		}
	}
	size := func(path string) []float64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return []float64{float64(info.Size()) / 1e6}
	}
	row("the program", "MB", size(program), size(old), 0, 0)
}
