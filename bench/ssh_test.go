//go:build bench

package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sshd"
)

// TestHostBySSH measures what reading a server's machine through ssh takes, each second.
func TestHostBySSH(t *testing.T) {
	length := 60 * time.Second
	if s := os.Getenv("TIME"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	s := servers.Start(t, "mysql")
	if err := os.Chmod(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j := sshd.NewWithShell(t)
	j.Start(t)
	set := tunnel.NewSet(t.Context())
	defer set.Close()
	spec, err := endpoint.ParseURL("unix://" + s.Socket + "?user=root&ssh=" +
		tunnel.Jump{User: j.User, Host: "127.0.0.1", Port: j.Port}.String())
	if err != nil {
		t.Fatal(err)
	}
	spec.Via = set
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r := spec.Machine()
	sc, err := scrape.New(scrape.Parts{
		Entries: scrape.Machine(scrape.Where{Remote: r, There: target.There(x)}, x.Facts().Datadir),
		Light:   noLink{}, Remote: r,
	}, scrape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// It begins when the server has been found and each source but the rare ones has been read.
	const warm = 15
	rounds, seconds := 0, int(length.Seconds())
	used := r.Usage()
	var there, ssh, own float64
	dyno := func() float64 {
		user, system, _ := platform.CPU()
		return (user + system).Seconds()
	}
	look := func() (there, ssh float64) {
		others := map[int]bool{s.PID: true}
		for _, pid := range append(sshd.Children(j.PID()), j.PID()) {
			others[pid] = true
			there += cpuWithChildren(pid)
		}
		for _, pid := range sshd.Children(os.Getpid()) {
			if !others[pid] {
				ssh += cpuWithChildren(pid)
			}
		}
		return there, ssh
	}
	samples := 0
	err = sc.Run(ctx, time.Second, func(x reading.Reading) {
		switch rounds++; {
		case rounds == warm:
			used = r.Usage()
			there, ssh = look()
			own = dyno() // without the look
		case rounds > warm:
			samples += len(x.Samples)
		}
		if rounds < warm+seconds {
			return
		}
		stop()
		n := float64(seconds)
		c := dyno()
		a, b := look()
		now := r.Usage()
		fmt.Printf("each second of %v: %.2f ways there and back, %.1f kB sent, %.1f kB read, %.0f figures\n", length,
			float64(now.Trips-used.Trips)/n, float64(now.Sent-used.Sent)/n/1000, float64(now.Got-used.Got)/n/1000,
			float64(samples)/n)
		fmt.Printf("CPU, ms a second: the ssh host %.1f (sshd, sh, cat), Dyno's ssh %.1f, Dyno %.1f\n",
			(a-there)/n*1000, (b-ssh)/n*1000, (c-own)/n*1000)
		for _, src := range x.Sources {
			fmt.Printf("  %-16s %-8s %6.1f ms, read %d times %s\n", src.Name, src.State, src.Took, src.Reads,
				src.Reason)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cpuWithChildren returns the CPU time of a process and of its children that have ended, seconds (proc_pid_stat(5)).
func cpuWithChildren(pid int) (sum float64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if err != nil || len(f) < 15 {
		return 0 // it has ended
	}
	for _, w := range f[11:15] {
		n, _ := strconv.ParseFloat(string(w), 64)
		sum += n / 100
	}
	return sum
}

// noLink is the connection of a scraper that asks no server.
type noLink struct{}

func (noLink) Used() scrape.Usage          { return scrape.Usage{} }
func (noLink) Retry()                      {}
func (noLink) Ping(context.Context)        {}
func (noLink) Hold() func()                { return func() {} }
func (noLink) Work() func(context.Context) { return func(context.Context) {} }
func (noLink) Close()                      {}
func (noLink) Read(_ context.Context, release func()) func(context.Context) {
	release()
	return func(context.Context) {}
}
