package sources

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sshd"
)

// ofMachine are the sources that are files of the server's machine.
var ofMachine = []string{
	"host", "process", "host_detail", "process_threads", "process_detail", "process_memory", "cgroup", "host_cpus",
}

// behind opens a server through ssh to a shell account of this machine.
func behind(t *testing.T, j *sshd.Server, socket string) *target.Target {
	t.Helper()
	set := tunnel.NewSet(t.Context())
	t.Cleanup(func() { set.Close() })
	jump := tunnel.Jump{User: j.User, Host: "127.0.0.1", Port: j.Port}
	x, err := endpoint.ParseURL("unix://" + socket + "?user=root&ssh=" + jump.String())
	if err != nil {
		t.Fatal(err)
	}
	x.Via = set
	y, err := target.Open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { y.Close() })
	return y
}

func onceOf(t *testing.T, x *target.Target) reading.Reading {
	t.Helper()
	sc, err := New(x, scrape.Options{Sources: ofMachine, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	return sc.Once(t.Context())
}

// TestHostBySSH: the figures of the machine and the process that are read by ssh into another network, by an account
// without rights, are those that are read here; what needs root says so.
func TestHostBySSH(t *testing.T) {
	s := servers.Start(t, "mysql")
	j := sshd.NewWithShell(t, sshd.Network)
	j.Start(t)
	must(t, os.Chmod(s.Dir, 0o755))
	far := behind(t, j, s.Socket)
	here, err := target.Open(t.Context(), must1(endpoint.ParseURL("unix://"+s.Socket+"?user=root")))
	must(t, err)
	defer here.Close()
	a, b, c := onceOf(t, here), onceOf(t, far), onceOf(t, here)
	id := func(x metric.Sample) string { return fmt.Sprint(x.Name, x.Labels) }
	find := func(r reading.Reading, id_ string) (float64, bool) {
		i := slices.IndexFunc(r.Samples, func(x metric.Sample) bool { return id(x) == id_ })
		if i < 0 {
			return 0, false
		}
		return r.Samples[i].Value, true
	}
	for _, x := range b.Sources {
		t.Logf("%-16s %-8s %6.1f ms %s", x.Name, x.State, x.Took, x.Reason)
	}
	compared := 0
	for _, x := range a.Samples {
		name := id(x)
		if strings.HasPrefix(name, "dyno_scrape") || strings.HasPrefix(name, "dyno_source") {
			continue
		}
		switch {
		case strings.HasPrefix(name, "node_network"), strings.HasPrefix(name, "node_netstat"):
			continue // of another network
		case strings.Contains(name, "_Writeback_"), strings.Contains(name, "_Dirty_"),
			strings.Contains(name, "_io_now"):
			if _, ok := find(b, name); !ok { // from one moment to the next it is anything
				t.Errorf("by ssh there is no %s", name)
			}
			continue
		case strings.Contains(name, "_io_read_bytes"), strings.Contains(name, "_io_written_bytes"),
			strings.Contains(name, "open_fds"), strings.Contains(name, "pss_bytes"),
			strings.Contains(name, "huge_pages_bytes"):
			if _, ok := find(b, name); ok {
				t.Errorf("an account without rights reads %s", name)
			}
			continue
		}
		lo, hi := x.Value, x.Value
		if v, ok := find(c, name); ok {
			lo, hi = min(lo, v), max(hi, v)
		}
		got, ok := find(b, name)
		if !ok {
			t.Errorf("by ssh there is no %s", name)
			continue
		}
		compared++
		if x.Kind == metric.Counter {
			if got < lo-3 || got > hi+3 { // CPU times may fall back a little
				t.Errorf("%s is %v by ssh, and between %v and %v here", name, got, lo, hi)
			}
			continue
		}
		spread := max(hi-lo, 0.3*math.Abs(hi), 20)
		if (strings.HasPrefix(name, "node_memory_") || strings.Contains(name, "cgroup_memory")) &&
			!strings.Contains(name, "Total") {
			spread = max(spread, 4<<30) // other tests' servers start and end meanwhile
		}
		if got < lo-spread || got > hi+spread {
			t.Errorf("%s is %v by ssh, and between %v and %v here", name, got, lo, hi)
		}
	}
	if compared < 60 {
		t.Errorf("%d figures were compared", compared)
	}
	for _, x := range b.Sources {
		want := source.OK
		switch x.Name {
		case source.Process, source.ProcessDetail, source.ProcessMemory:
			want = source.Denied
		case source.Cgroup:
			want = x.State
		default:
		}
		if x.State != want || want == source.Denied && !strings.Contains(x.Fix, "ssh=") {
			t.Errorf("%+v", x)
		}
	}
	spec := far.Spec()
	h, isHere, err := host.Of(t.Context(), host.Server{
		Local: far.LocalPID, Remote: spec.Machine(), There: target.There(far), Datadir: far.Facts().Datadir,
	})
	want, err2 := host.Snapshot(s.PID, here.Facts().Datadir, "")
	if err != nil || err2 != nil || isHere {
		t.Errorf("%v %v %v", err, err2, isHere)
	}
	if h.ServerPID != want.ServerPID || h.CPUs != want.CPUs || h.MemBytes != want.MemBytes || h.Kernel != want.Kernel ||
		h.DatadirDev != want.DatadirDev || h.DatadirFS != want.DatadirFS || len(h.Settings) < len(want.Settings)*9/10 ||
		h.NUMANodes != want.NUMANodes || h.Limits["max_open_files"] != want.Limits["max_open_files"] {
		t.Errorf("by ssh\n%+v\nhere\n%+v", h, want)
	}
}

// TestHostBySSHIsNotSeen: what an ssh account does not see is unknown, with the reason, and never that of another
// machine.
func TestHostBySSHIsNotSeen(t *testing.T) {
	s := servers.Start(t, "mariadb")
	must(t, os.Chmod(s.Dir, 0o755))
	f := func(name string, j func(*testing.T) *sshd.Server, host, process source.State, why string) {
		t.Run(name, func(t *testing.T) {
			x := j(t)
			x.Start(t)
			r := onceOf(t, behind(t, x, s.Socket))
			for _, src := range r.Sources {
				want := map[source.Name]source.State{source.Host: host, source.Process: process}[src.Name]
				if want == "" {
					continue
				}
				if src.State != want || want != source.OK && (!strings.Contains(src.Reason, why) || src.Fix == "") {
					t.Errorf("%+v, want %s %q", src, want, why)
				}
			}
			has := slices.ContainsFunc(r.Samples, func(m metric.Sample) bool { return m.Name == "node_load1" })
			if has != (host == source.OK) {
				t.Errorf("figures of a machine: %v", has)
			}
		})
	}
	f("no shell", sshd.New, source.Failed, source.Failed, "may not run a shell")
	f("another machine", func(t *testing.T) *sshd.Server { return sshd.NewWithShell(t, sshd.Processes) },
		source.Missing, source.Missing, "the ssh host is not the server's machine")
	f("hidepid", func(t *testing.T) *sshd.Server { return sshd.NewWithShell(t, sshd.Hidden) },
		source.OK, source.Denied, "does not see the server's process")
}

// TestHostBySSHHangs: a shell that hangs is a slow source, does not stop the reading of the server, and is replaced.
func TestHostBySSHHangs(t *testing.T) {
	s := servers.Start(t, "mariadb")
	must(t, os.Chmod(s.Dir, 0o755))
	j := sshd.NewWithShell(t)
	j.Start(t)
	sc, err := New(behind(t, j, s.Socket), scrape.Options{Sources: []string{"host", "global_status"}})
	must(t, err)
	defer sc.Close()
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	rounds, well, slow, again := 0, 0, 0, false
	must(t, sc.Run(ctx, time.Second, func(r reading.Reading) {
		rounds++
		var of [2]source.Source
		for _, x := range r.Sources {
			if x.Name == source.Host {
				of[0] = x
			} else {
				of[1] = x
			}
		}
		switch {
		case of[0].State == source.OK && well < 3:
			if well++; well == 3 {
				for _, pid := range shells(t, j.PID()) {
					must(t, syscall.Kill(pid, syscall.SIGSTOP))
					t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // it may have ended
				}
			}
		case well == 3 && of[0].State == source.Slow && of[1].State == source.OK &&
			strings.Contains(of[0].Reason, "not answered in time"):
			slow++
		case slow > 0 && of[0].State == source.OK:
			again = true
			stop()
		}
	}))
	if slow == 0 || !again {
		t.Errorf("in %d rounds %d were well, then %d slow, and it came back: %v", rounds, well, slow, again)
	}
}

// TestHostBySSHFarAway: a server is found, and its machine read, where the way there and back takes a sixth of a
// second.
func TestHostBySSHFarAway(t *testing.T) {
	s := servers.Start(t, "mariadb")
	must(t, os.Chmod(s.Dir, 0o755))
	j := sshd.NewWithShell(t)
	j.Start(t)
	f, err := os.OpenFile(j.Dir+"/ssh_config", os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = fmt.Fprintf(f, "  HostKeyAlias [127.0.0.1]:%d\n", j.Port) // by another port it has the same key
	must(t, err)
	must(t, f.Close())
	far := *j
	far.Port = farAway(t, fmt.Sprint("127.0.0.1:", j.Port), 80*time.Millisecond)
	sc, err := New(behind(t, &far, s.Socket), scrape.Options{Sources: []string{"global_status", "host", "process"}})
	must(t, err)
	defer sc.Close()
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	rounds, well := 0, 0
	var last []source.Source
	must(t, sc.Run(ctx, time.Second, func(r reading.Reading) {
		rounds++
		last = r.Sources
		has := func(name string) bool {
			return slices.ContainsFunc(r.Samples, func(m metric.Sample) bool { return m.Name == name })
		}
		if has("node_load1") && has("dyno_server_threads") {
			if well++; well == 3 {
				stop()
			}
		}
	}))
	if well < 3 {
		t.Errorf("in %d rounds it was read %d times: %+v", rounds, well, last)
	}
}

// farAway returns a port that leads to an address as if each way took so long.
func farAway(t *testing.T, to string, way time.Duration) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	type part struct {
		due  time.Time
		text []byte
	}
	lead := func(from, to net.Conn) {
		parts := make(chan part, 1000)
		go func() {
			defer close(parts)
			for {
				b := make([]byte, 16<<10)
				n, err := from.Read(b)
				parts <- part{time.Now().Add(way), b[:n]}
				if err != nil {
					return
				}
			}
		}()
		for p := range parts {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.text) // its end shows at the other side
		}
		to.Close()
	}
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to)
			if err != nil {
				a.Close()
				continue
			}
			go lead(a, b)
			go lead(b, a)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// shells returns the shells below a process.
func shells(t *testing.T, pid int) (pids []int) {
	t.Helper()
	for _, p := range sshd.Children(pid) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)); err == nil && string(b) == "sh\x00" {
			pids = append(pids, p)
		}
	}
	if len(pids) == 0 {
		t.Fatal("there is no shell")
	}
	return pids
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must1[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
