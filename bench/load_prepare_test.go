//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/sysbench"
)

// benchPrepare measures how fast a table is made, on a sandbox: by sysbench, by Dyno for the first time, and by Dyno
// again.
func benchPrepare(t *testing.T, flavor string, places map[string]place) (goals tally) {
	rounds, size := number("LOAD_PREPARE", 3), number("LOAD_ROWS", 1_000_000)
	if rounds == 0 {
		return goals
	}
	home, err := os.MkdirTemp("/var/tmp", "dyno-bench-") // the server's account must be able to enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	p, ok := places[ownCPU]
	if !ok {
		p = places[sharedCPU]
	}
	dyno := func(args ...string) *exec.Cmd {
		if tree := os.Getenv("DYNO_TEST_MYSQL"); tree != "" && args[0] == "sandbox" {
			args = append(args, "--server-dir="+tree)
		}
		c := exec.Command(os.Getenv("DYNO"), args...)
		c.Env = append(os.Environ(), "DYNO_HOME="+home)
		return c
	}
	defer func() {
		if out, err := dyno("sandbox", "rm", "--all").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	b := &loadBench{}
	up := []string{"sandbox", "up", "bench", "--quiet", "--server=" + flavor}
	for _, s := range append(settings(flavor), "innodb-flush-log-at-trx-commit=2", "local-infile=ON") {
		up = append(up, "--set="+strings.ReplaceAll(s, "-", "_"))
	}
	b.must(t, dyno(up...))
	out, err := dyno("sandbox", "ls", "--output=json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var box struct {
		Socket string
		PID    int
		Server struct{ Version string }
	}
	if err := json.Unmarshal(out, &box); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bindAll(t, box.PID, p.server)

	login := sysbench.Server(box.Socket, "root")
	table := []string{"oltp_read_write", "--tables=1", "--threads=1", "--table-size=" + strconv.Itoa(size)}
	client := func(c *exec.Cmd) *exec.Cmd {
		c.Args = append([]string{"taskset", "-c", strconv.Itoa(p.client), c.Path}, c.Args[1:]...)
		c.Path, c.Err = exec.LookPath("taskset")
		return c
	}
	ours := func(verb string, options ...string) time.Duration {
		t.Helper()
		return b.must(t, client(dyno(append(append(append([]string{"load"}, table...), "--target=sandbox:bench", verb),
			options...)...)))
	}
	theirs := func(verb string) time.Duration {
		t.Helper()
		return b.must(t, client(sysbench.Command(t.Context(),
			append(append(login[:len(login):len(login)], table...), verb)...)))
	}
	rate := func(d time.Duration) float64 { return float64(size) / 1000 / d.Seconds() }

	var first, again, peer []float64
	ours("prepare", "--table-size=10", "--rand-seed=1")
	ours("cleanup")
	for i := range rounds {
		seed := fmt.Sprintf("--rand-seed=%d", i+2) // rows that have never been made
		mine := func() {
			first = append(first, rate(ours("prepare", seed)))
			ours("cleanup")
			again = append(again, rate(ours("prepare", seed)))
			ours("cleanup")
		}
		if i%2 == 0 {
			mine()
		}
		peer = append(peer, rate(theirs("prepare")))
		theirs("cleanup")
		if i%2 == 1 {
			mine()
		}
	}
	newTable(fmt.Sprintf("%s %s, one table of %d rows with its index, one thread, %s; thousand rows a second, the "+
		"whole command", flavor, box.Server.Version, size, p.name))
	goals.add(row("prepare, for the first time", "1000 rows/s", first, peer, 1.6, 0))
	goals.add(row("prepare, the same table again", "1000 rows/s", again, peer, 10, 0))
	return goals
}
