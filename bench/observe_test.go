//go:build bench

package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/digestsource"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("DYNO_BENCH_CHILD"); url != "" {
		if err := child(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child watches as DYNO_BENCH_KIND says until its standard input ends, and prints the number of samples of each round.
func child(url string) error {
	spec, err := endpoint.ParseURL(url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t, err := target.Open(ctx, spec)
	if err != nil {
		return err
	}
	defer t.Close()
	var o scrape.Options
	digests := false
	switch kind := os.Getenv("DYNO_BENCH_KIND"); kind {
	case dynoTwo, dynoGate:
		o.Sources, digests = []string{"global_status", "innodb_metrics"}, kind == dynoGate
	case dynoDefault:
	case dynoAll:
		for _, x := range sources.List() {
			if x.Asked {
				o.Also = append(o.Also, string(x.Name))
			}
		}
		digests = true
	default:
		return fmt.Errorf("no kind is called %q", kind)
	}
	s, err := sources.New(t, o)
	if err != nil {
		return err
	}
	defer s.Close()
	go func() { io.Copy(io.Discard, os.Stdin); cancel() }()
	g, ctx := errgroup.WithContext(ctx)
	if digests {
		d, err := digestsource.Open(ctx, t, digestsource.Options{Interval: time.Second, NoSlowLog: true})
		if err != nil {
			return err
		}
		defer d.Close()
		if err := d.Begin(ctx); err != nil {
			return err
		}
		g.Go(func() error {
			for tick := time.Tick(time.Second); ; {
				select {
				case <-ctx.Done():
					return nil
				case <-tick:
					if _, _, err := d.Turn(ctx); err != nil && ctx.Err() == nil {
						return err
					}
				}
			}
		})
	}
	complained := map[string]bool{}
	sum := map[string]int{} // by source: of each the last, for not all are read in one round
	g.Go(func() error {
		return s.Run(ctx, time.Second, func(r reading.Reading) {
			for _, x := range r.Sources {
				if line := fmt.Sprintf("%s %s %s", x.Name, x.State, x.Reason); (x.State == source.Failed ||
					x.State == source.Slow || x.State == source.OK && x.Reason != "") && !complained[line] {
					complained[line] = true
					fmt.Fprintln(os.Stderr, line)
				}
			}
			rest := len(r.Samples)
			for _, p := range r.Parts {
				sum[string(p.Source)] = p.Samples
				rest -= p.Samples
			}
			n := rest
			for _, k := range sum {
				n += k
			}
			fmt.Println(n)
		})
	})
	return g.Wait()
}

// cpu returns the time that the threads of a process have run, by the scheduler's own nanoseconds: the ticks of
// /proc/PID/stat are too coarse for a scrape. Threads that end between two calls are lost; the servers keep theirs.
func cpu(t *testing.T, pid int) (d time.Duration) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, x.Name()))
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		d += time.Duration(n)
	}
	return d
}

type cost struct{ client, server []float64 } // milliseconds of CPU a scrape, one value a round

func (c *cost) both() []float64 {
	v := slices.Clone(c.client)
	for i := range v {
		v[i] += c.server[i]
	}
	return v
}

// What is compared.
const (
	dynoTwo         = "dyno: status, InnoDB metrics"
	dynoGate        = "dyno: these and digests each second"
	dynoDefault     = "dyno, default"
	dynoAll         = "dyno, every source and digests"
	exporterDefault = "exporter, default"
	exporterAll     = "exporter, every collector"
)

const digestCount = 500

// TestObserveCost runs windows of each kind in an order that is drawn anew in each round, on one server that does
// nothing else, and prints what a scrape costs with 95 % intervals over the rounds. The idle server's own use in the
// same round is subtracted.
func TestObserveCost(t *testing.T) {
	window, rounds := setting(t, "WINDOW"), count(t, "ROUNDS")
	all := collectors(t)
	for _, flavor := range strings.Fields(os.Getenv("SERVERS")) {
		s := servers.Start(t, flavor, "performance_schema=ON")
		fill(t, s)
		kinds := []string{"idle", dynoTwo, dynoGate, dynoDefault, dynoAll, exporterDefault, exporterAll}
		costs, series := map[string]*cost{}, map[string]int{}
		for _, k := range kinds {
			costs[k] = &cost{}
		}
		draw := rand.New(rand.NewPCG(1, uint64(len(flavor))))
		for range rounds {
			idle := 0.0
			got := map[string][2]float64{}
			draw.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			for _, kind := range kinds {
				var client, server time.Duration
				n := 0
				switch kind {
				case "idle":
					a := cpu(t, s.PID)
					time.Sleep(window)
					server, n = cpu(t, s.PID)-a, int(window/time.Second)
					idle = server.Seconds() * 1000 / float64(n)
				case exporterDefault:
					client, server, n, series[kind] = theirs(t, s, window)
				case exporterAll:
					client, server, n, series[kind] = theirs(t, s, window, all...)
				default:
					client, server, n, series[kind] = ours(t, s, kind, window)
				}
				got[kind] = [2]float64{client.Seconds() * 1000 / float64(n), server.Seconds() * 1000 / float64(n)}
			}
			for k, v := range got {
				costs[k].client = append(costs[k].client, v[0])
				costs[k].server = append(costs[k].server, v[1]-idle)
			}
		}
		fmt.Printf("\n%s, performance_schema on, %d digests: ms of CPU per scrape at 1 Hz, middle and 95 %% interval "+
			"over %d rounds of %v\n", flavor, digestCount, rounds, window)
		fmt.Printf("%-40s %7s  %-20s %-22s %s\n", "", "series", "client", "server", "both")
		for _, kind := range []string{dynoTwo, dynoGate, dynoDefault, dynoAll, exporterDefault, exporterAll} {
			c := costs[kind]
			fmt.Printf("%-40s %7d  %-20s %-22s %s\n", kind, series[kind], show(c.client),
				show(c.server), show(c.both()))
		}
		for _, p := range [][2]string{{dynoDefault, exporterDefault}, {dynoAll, exporterAll}} {
			a, b := costs[p[0]].both(), costs[p[1]].both()
			for i := range a {
				a[i] /= b[i]
			}
			fmt.Printf("%s ÷ %s: %s\n", p[0], p[1], show(a))
		}
		s.Kill(t)
	}
}

func setting(t *testing.T, name string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(os.Getenv(name))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func count(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fill gives a server something to tell: tables with rows, and digests.
func fill(t *testing.T, s *servers.Server) {
	t.Helper()
	q := []string{"CREATE DATABASE d"}
	for i := range 50 {
		q = append(q, fmt.Sprintf("CREATE TABLE d.t%d (id INT PRIMARY KEY AUTO_INCREMENT, a INT, KEY(a)) ENGINE=InnoDB",
			i), fmt.Sprintf("INSERT INTO d.t%d (a) VALUES (1),(2),(3)", i))
	}
	for i := range digestCount {
		q = append(q, fmt.Sprintf("SELECT c%d FROM (SELECT 1 AS c%d) x", i, i))
	}
	s.Exec(t, q...)
}

// collectors returns the exporter's flags for all its collectors, but for those of engines that no server here has, and
// of a table that pt-heartbeat makes.
func collectors(t *testing.T) (flags []string) {
	t.Helper()
	help, err := exec.Command(os.Getenv("EXPORTER"), "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, help)
	}
	for _, m := range regexp.MustCompile(`(?m)^ +--(collect\.[a-z_.]+)(?: |$)`).FindAllStringSubmatch(string(help),
		-1) {
		if !regexp.MustCompile(`heartbeat|tokudb|rocksdb|replica_host|processes_by|privileges`).MatchString(m[1]) {
			flags = append(flags, "--"+m[1])
		}
	}
	if len(flags) < 20 {
		t.Fatalf("the exporter names only %v", flags)
	}
	return flags
}

func show(v []float64) string {
	x := stat.Center(v, 0.95)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", x.Center, x.Lo, x.Hi)
}

// ours runs the scraper in a process of its own. Its first two rounds, in which it learns about the server, are not
// counted.
func ours(
	t *testing.T, s *servers.Server, kind string, window time.Duration,
) (client, server time.Duration, rounds, series int) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "DYNO_BENCH_CHILD="+s.URL("root"), "DYNO_BENCH_KIND="+kind)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); c.Wait() }()
	var a, b, sa, sb time.Duration
	for i := 0; i <= int(window/time.Second)+2; i++ {
		if _, err := fmt.Fscan(out, &series); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // the round's own end
		switch {
		case i == 1:
			a, sa = cpu(t, c.Process.Pid), cpu(t, s.PID)
		case i > 1:
			b, sb = cpu(t, c.Process.Pid), cpu(t, s.PID)
			rounds++
		}
	}
	return b - a, sb - sa, rounds, series
}

// exporter starts the exporter and returns what fetches its page and counts the server's series on it.
func exporter(t *testing.T, s *servers.Server, flags ...string) func() (int, error) {
	t.Helper()
	get, _, stop := startExporter(t, s, flags...)
	t.Cleanup(stop)
	return get
}

func startExporter(t *testing.T, s *servers.Server, flags ...string) (get func() (int, error), pid int, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cnf := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(cnf, []byte("[client]\nuser=root\nsocket="+s.Socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Getenv("EXPORTER"), append(slices.Clone(flags), "--web.listen-address="+addr,
		"--log.level=error", "--config.my-cnf="+cnf)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() { c.Process.Kill(); c.Wait() }
	get = func() (n int, err error) {
		r, err := http.Get("http://" + addr + "/metrics")
		if err != nil {
			return 0, err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err == nil && !strings.Contains(string(b), "\nmysql_up 1") {
			err = fmt.Errorf("the exporter does not reach the server")
		}
		if f := os.Getenv("KEEP"); f != "" {
			os.WriteFile(f, b, 0o644)
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "mysql_") {
				n++
			}
		}
		return n, err
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if _, err = get(); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	return get, c.Process.Pid, stop
}

// theirs runs the exporter and fetches its page once a second.
func theirs(
	t *testing.T, s *servers.Server, window time.Duration, flags ...string,
) (client, server time.Duration, rounds, series int) {
	t.Helper()
	get, pid, stop := startExporter(t, s, flags...)
	defer stop()
	if _, err := get(); err != nil {
		t.Fatal(err)
	}
	a, sa := cpu(t, pid), cpu(t, s.PID)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ; rounds < int(window/time.Second); rounds++ {
		<-tick.C
		var err error
		if series, err = get(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	return cpu(t, pid) - a, cpu(t, s.PID) - sa, rounds, series
}

func median(v []float64) float64 { return stat.Median(v) }
