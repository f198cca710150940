//go:build bench

package bench

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dyno/test/servers"
	"dyno/test/sysbench"
)

// loadBench is a server under comparison.
type loadBench struct {
	server *servers.Server
	db     *sql.DB // one connection, held: it asks for nothing while a run is measured
	home   string
}

func newBench(t *testing.T, s *servers.Server) *loadBench {
	t.Helper()
	b := &loadBench{server: s, db: s.DB(t, ""), home: t.TempDir()}
	b.db.SetMaxOpenConns(1)
	return b
}

func (b *loadBench) login() []string { return sysbench.Server(b.server.Socket, "root") }

// dyno returns `dyno load` with arguments in sysbench's order.
func (b *loadBench) dyno(args ...string) *exec.Cmd {
	all := append([]string{"load"}, args...)
	all = append(append(all, b.login()...), strings.Fields(os.Getenv("LOAD_DYNO"))...)
	c := exec.Command(os.Getenv("DYNO"), all...)
	c.Env = append(os.Environ(), "DYNO_HOME="+b.home)
	return c
}

func (b *loadBench) sysbench(args ...string) *exec.Cmd {
	return sysbench.Command(context.Background(), append(b.login(), args...)...)
}

// measured is what one run has cost.
type measured struct {
	tps, p95       float64 // p95 in ms
	client, server float64 // CPU µs for each query
	off            float64 // Questions of the server, less the queries reported
	stolen         float64 // share of the CPUs' time that the hypervisor gave to others
	invalid        bool    // Dyno says that the client was the limit
	queries        float64
}

// run runs a load with client and server in their places.
func (b *loadBench) run(t *testing.T, p place, c *exec.Cmd) (m measured) {
	t.Helper()
	bindAll(t, b.server.PID, p.server)
	asked, used := b.questions(t), processTime(t, b.server.PID)
	stolen, all := steal(t)
	path, err := exec.LookPath("taskset")
	if err != nil {
		t.Fatal(err)
	}
	c.Args = append([]string{"taskset", "-c", strconv.Itoa(p.client), c.Path}, c.Args[1:]...)
	c.Path, c.Err = path, nil
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(10*time.Minute, func() { c.Process.Kill() })
	err = c.Wait()
	timer.Stop()
	m.invalid = c.ProcessState.ExitCode() == 6 && c.Args[3] == os.Getenv("DYNO")
	if err != nil && !m.invalid {
		t.Fatalf("%s: %v\n%s%s", strings.Join(c.Args, " "), err, &out, &errs)
	}
	s, a := steal(t)
	m.stolen = float64(s-stolen) / float64(max(1, a-all))
	r, err := sysbench.Parse(out.String())
	if err != nil || r.Queries == 0 {
		t.Fatalf("%s: %v\n%s%s", strings.Join(c.Args, " "), err, &out, &errs)
	}
	n := float64(r.Queries)
	m.queries = n
	m.tps, m.p95 = r.TPS, r.Percentile
	m.client = float64((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Microseconds()) / n
	m.server = float64((processTime(t, b.server.PID) - used).Microseconds()) / n
	m.off = float64(b.questions(t)-asked-1) - n // one question is the one that reads the counter
	return m
}

func (b *loadBench) questions(t *testing.T) (n uint64) {
	t.Helper()
	var name string
	if err := b.db.QueryRow("SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// ownCPUs returns the CPUs that this process may use.
func ownCPUs(t *testing.T) (all []int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for i := 0; len(all) < set.Count(); i++ {
		if set.IsSet(i) {
			all = append(all, i)
		}
	}
	return all
}

// bindAll moves all threads of a process to one CPU; those that it starts later follow.
func bindAll(t *testing.T, pid, cpu int) {
	t.Helper()
	var set unix.CPUSet
	set.Set(cpu)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tasks {
		tid, err := strconv.Atoi(x.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
			t.Fatal(err)
		}
	}
}

// processTime returns the CPU time of a process with all threads that it has had, in steps of 10 ms.
func processTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var ticks uint64
	for _, x := range f[11:13] { // utime and stime, proc(5)
		n, err := strconv.ParseUint(x, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// steal returns the time of all CPUs, and the part of it that the hypervisor did not give, in ticks of /proc/stat.
func steal(t *testing.T) (stolen, all uint64) {
	t.Helper()
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	for i, x := range strings.Fields(line)[1:9] { // user nice system idle iowait irq softirq steal
		n, err := strconv.ParseUint(x, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all += n
		if i == 7 {
			stolen = n
		}
	}
	return stolen, all
}
