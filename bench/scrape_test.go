//go:build bench

package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyno/internal/metric"
	"dyno/internal/scrape"
	"dyno/internal/snapshot"
	"dyno/internal/target"
	"dyno/test/servers"
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

// child scrapes once a second until its standard input ends, and prints the number of rounds and of the last round's samples.
func child(url string) error {
	spec, err := target.ParseURL(url)
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
	s, err := scrape.New(t, scrape.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	go func() { io.Copy(io.Discard, os.Stdin); cancel() }()
	return s.Run(ctx, time.Second, func(_ time.Time, samples []metric.Sample, sources []snapshot.Source) {
		for _, x := range sources {
			if x.State != snapshot.OK {
				fmt.Fprintf(os.Stderr, "%+v\n", x)
			}
		}
		fmt.Println(len(samples))
	})
}

// cpu returns the time that the threads of a process have run, by the scheduler's own nanoseconds: the ticks of /proc/PID/stat are
// too coarse for a scrape. Threads that end between two calls are lost; the servers keep theirs.
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

type cost struct{ client, server []float64 } // milliseconds a scrape, one value a window

func TestScrapeCost(t *testing.T) {
	window, err := time.ParseDuration(os.Getenv("WINDOW"))
	if err != nil {
		t.Fatal(err)
	}
	rounds, err := strconv.Atoi(os.Getenv("ROUNDS"))
	if err != nil {
		t.Fatal(err)
	}
	flavors := []string{"mariadb"}
	if os.Getenv("DYNO_TEST_MYSQL") != "" {
		flavors = append(flavors, "mysql")
	}
	for _, flavor := range flavors {
		for _, ps := range []string{"OFF", "ON"} {
			s := servers.Start(t, flavor, "performance_schema="+ps)
			kinds := []string{"idle", "dyno", "exporter, default", "exporter, same sources"}
			costs := map[string]*cost{}
			series := map[string]int{}
			for range rounds {
				for _, kind := range kinds {
					c := costs[kind]
					if c == nil {
						c = &cost{}
						costs[kind] = c
					}
					var client, server time.Duration
					n := 0
					switch kind {
					case "idle":
						a := cpu(t, s.PID)
						time.Sleep(window)
						server, n = cpu(t, s.PID)-a, int(window/time.Second)
					case "dyno":
						client, server, n, series[kind] = ours(t, s, window)
					case "exporter, default":
						client, server, n, series[kind] = theirs(t, s, window)
					default:
						client, server, n, series[kind] = theirs(t, s, window, "--no-collect.global_variables", "--no-collect.slave_status", "--no-collect.info_schema.innodb_cmp",
							"--no-collect.info_schema.innodb_cmpmem", "--no-collect.info_schema.query_response_time", "--collect.global_status",
							"--collect.info_schema.innodb_metrics", "--collect.info_schema.processlist")
					}
					c.client = append(c.client, client.Seconds()*1000/float64(n))
					c.server = append(c.server, server.Seconds()*1000/float64(n))
				}
			}
			idle := median(costs["idle"].server)
			fmt.Printf("\n%s, performance_schema=%s: CPU ms per scrape, median (range) of %d windows of %v at 1 Hz; idle server %.2f ms/s, subtracted\n", flavor, ps, rounds, window, idle)
			fmt.Printf("%-24s %8s  %-22s %-22s %-22s\n", "", "series", "client", "server", "both")
			for _, kind := range kinds[1:] {
				c := costs[kind]
				both := make([]float64, rounds)
				for i := range both {
					c.server[i] -= idle
					both[i] = c.client[i] + c.server[i]
				}
				fmt.Printf("%-24s %8d  %-22s %-22s %-22s\n", kind, series[kind], show(c.client), show(c.server), show(both))
			}
			s.Kill(t)
		}
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

func show(v []float64) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(v), slices.Min(v), slices.Max(v))
}

// ours runs the scraper in a process of its own. Its first two rounds, in which it learns about the server, are not counted.
func ours(t *testing.T, s *servers.Server, window time.Duration) (client, server time.Duration, rounds, series int) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "DYNO_BENCH_CHILD="+s.URL("root"))
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

// theirs runs the exporter and fetches its page once a second.
func theirs(t *testing.T, s *servers.Server, window time.Duration, flags ...string) (client, server time.Duration, rounds, series int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c := exec.Command(os.Getenv("EXPORTER"), append(flags, "--web.listen-address="+addr, "--log.level=error")...)
	c.Env = append(os.Environ(), "DATA_SOURCE_NAME=root@unix("+s.Socket+")/")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	get := func() (n int, err error) {
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
	if _, err := get(); err != nil {
		t.Fatal(err)
	}
	a, sa := cpu(t, c.Process.Pid), cpu(t, s.PID)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ; rounds < int(window/time.Second); rounds++ {
		<-tick.C
		if series, err = get(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	return cpu(t, c.Process.Pid) - a, cpu(t, s.PID) - sa, rounds, series
}
