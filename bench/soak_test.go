//go:build bench

package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// soaked is `dyno serve` on a small disk of its own.
type soaked struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	log  string
	base string

	clock string // file with how far its clock is off
	path  string // folder of the ssh to use
}

func (s *soaked) env() []string {
	return append(os.Environ(), "DYNO_HOME="+s.home, "DYNO_SOAK_CLOCK="+s.clock, "PATH="+s.path+":"+os.Getenv("PATH"))
}

// step sets the clock of this dyno alone: its build for this test reads it from a file.
func (s *soaked) step(off time.Duration) {
	s.t.Helper()
	if err := os.WriteFile(s.clock+".new", []byte(off.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.clock+".new", s.clock); err != nil {
		s.t.Fatal(err)
	}
}

func (s *soaked) start() {
	s.t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(os.Getenv("DYNO"), "serve", "--listen", "127.0.0.1:0", "--discover=false", "--reserve", "32M")
	s.cmd.Env = s.env()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		b, _ := os.ReadFile(s.log)
		if _, rest, ok := strings.Cut(string(b[min(int(from), len(b)):]), "Dyno answers on "); ok {
			if u, _, ok := strings.Cut(rest, ". Ctrl-C"); ok {
				s.base = u
				return
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("dyno serve does not answer:\n%s", b)
		}
	}
}

func (s *soaked) end(sig os.Signal) {
	s.t.Helper()
	s.cmd.Process.Signal(sig)
	s.cmd.Wait()
}

// rounds returns mysql_up of the seconds of which it is stored, by target.
func (s *soaked) rounds(to time.Time, span time.Duration) map[string]map[int64]string {
	s.t.Helper()
	got := map[string]map[int64]string{}
	resp, err := http.Get(fmt.Sprintf("%s/api/v1/query?time=%d&query=%s", s.base, to.Unix(),
		url.QueryEscape(fmt.Sprintf("mysql_up[%ds]", int(span.Seconds())))))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		s.t.Fatal(err)
	}
	for _, r := range a.Data.Result {
		m := map[int64]string{}
		for _, v := range r.Values {
			m[int64(v[0].(float64))], _ = v[1].(string)
		}
		got[r.Metric["target"]] = m
	}
	return got
}

// TestSoak lets `dyno serve` run for SOAK on two servers, one of them a second time through a jump host, and on one
// that is hostile, while the servers are restarted, the jump host goes and comes, Dyno is killed, its disk fills up and
// its clock steps by a year to and fro. Then the stores must be whole, and hold every second of each healthy target but
// those in which Dyno was down or its disk was full.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "30m"))
	if err != nil {
		t.Fatal(err)
	}
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=400m", "dyno-soak", disk).
		CombinedOutput(); err != nil {
		t.Fatalf("mount a small disk (needs root): %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", disk).Run() })
	jump := newJumpHost(t)
	s := &soaked{t: t, home: disk + "/home", log: filepath.Join(t.TempDir(), "log"), clock: filepath.Join(t.TempDir(),
		"clock"), path: jump.dir + "/bin"}
	s.step(0)
	all := map[string]*servers.Server{}
	add := func(name, url string) {
		t.Helper()
		cmd := exec.Command(os.Getenv("DYNO"), "target", "add", name, url)
		cmd.Env = s.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Printf("target add %s: %v %s", name, err, out) // a hostile one may not be liked
		}
	}
	for _, f := range servers.Flavors {
		all[f] = servers.Start(t, f, "performance_schema=ON")
		add(f, all[f].URL("root"))
	}
	add("far", fmt.Sprintf("mysql://root@127.0.0.1:%d/?tls=disabled&ssh=%s", all["mariadb"].Port, jump.url))
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	add("hostile", startHostile(t, fifo).url())
	s.start()
	t.Cleanup(func() { s.cmd.Process.Kill() })
	began := time.Now()
	excused := map[int64]bool{} // seconds of which nothing need be there
	mark := func(in map[int64]bool, from, to time.Time) {
		for i := from.Unix(); i <= to.Unix(); i++ {
			in[i] = true
		}
	}
	excuse := func(from, to time.Time) { mark(excused, from, to) }
	down := map[string]map[int64]bool{"mariadb": {}, "mysql": {}, "far": {}} // seconds in which a target need not be up
	const again = 20 * time.Second                                           // until a server that is back was found
	begins := func(at time.Time) {
		for _, d := range down {
			mark(d, at, at.Add(again))
		}
	}
	excuse(began, began.Add(5*time.Second))
	begins(began)
	r := rand.New(rand.NewPCG(1, 2))
	kills, steps := 0, 0
	for turn, end := 0, began.Add(length); time.Now().Before(end); turn++ {
		time.Sleep(time.Duration(10+r.IntN(10)) * time.Second)
		from := time.Now()
		what := r.IntN(16)
		if first := []int{10, 13, 8, 5, 0, 10}; turn < len(first) { // each kind at least once
			what = first[turn]
		}
		switch {
		case what >= 12:
			fmt.Printf("%6s the jump host goes\n", from.Sub(began).Round(time.Second))
			jump.kill()
			time.Sleep(time.Duration(3+r.IntN(10)) * time.Second)
			jump.start(t)
			mark(down["far"], from.Add(-time.Second), time.Now().Add(2*again))
		case what >= 10:
			off := 365 * 24 * time.Hour
			if steps++; steps%2 == 0 {
				off = -off
			}
			fmt.Printf("%6s the clock steps by %v\n", from.Sub(began).Round(time.Second), off)
			s.step(off)
			time.Sleep(time.Duration(5+r.IntN(40)) * time.Second)
			if length >= 15*time.Minute && r.IntN(3) == 0 {
				// so long that it is followed: what is read then bears that time
				time.Sleep(3 * time.Minute)
				excuse(from.Add(100*time.Second), time.Now().Add(150*time.Second))
				s.step(0)
				time.Sleep(150 * time.Second)
			}
			s.step(0)
		case what < 4:
			f := servers.Flavors[r.IntN(2)]
			fmt.Printf("%6s restart %s\n", from.Sub(began).Round(time.Second), f)
			all[f].Kill(t)
			time.Sleep(time.Duration(r.IntN(8)) * time.Second)
			all[f].Launch(t)
			for _, name := range []string{f, map[string]string{"mariadb": "far", "mysql": "mysql"}[f]} {
				mark(down[name], from.Add(-time.Second), time.Now().Add(again))
			}
		case what < 7:
			fmt.Printf("%6s kill -9\n", from.Sub(began).Round(time.Second))
			s.end(syscall.SIGKILL)
			kills++
			s.start()
			excuse(from.Add(-2*time.Second), time.Now().Add(3*time.Second)) // at most the last two seconds are lost
			begins(time.Now())
		case what < 8:
			fmt.Printf("%6s stop and start\n", from.Sub(began).Round(time.Second))
			s.end(os.Interrupt)
			s.start()
			excuse(from, time.Now().Add(3*time.Second))
			begins(time.Now())
		default:
			fmt.Printf("%6s full disk\n", from.Sub(began).Round(time.Second))
			fill, err := os.Create(disk + "/fill")
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(fill, io.LimitReader(zeroes{}, 1<<30)) // until it is full
			fill.Close()
			time.Sleep(time.Duration(5+r.IntN(10)) * time.Second)
			if resp, err := http.Get(s.base + "/api/dyno/v1/targets"); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("with a full disk it does not answer: %v", err)
			} else {
				resp.Body.Close()
			}
			if err := os.Remove(disk + "/fill"); err != nil {
				t.Fatal(err)
			}
			excuse(from, time.Now().Add(3*time.Second))
		}
	}
	time.Sleep(3 * time.Second)
	to := time.Now().Add(-2 * time.Second)
	rounds := s.rounds(to, to.Sub(began))
	for f := range down {
		missing, expected, away := 0, 0, 0
		var lost []string
		for i := began.Unix(); i < to.Unix(); i++ {
			if excused[i] {
				continue
			}
			expected++
			switch up := rounds[f][i]; {
			case up == "":
				missing++
				lost = append(lost, time.Unix(i, 0).UTC().Format(time.TimeOnly))
			case up != "1" && !down[f][i]:
				away++
			}
		}
		fmt.Printf("%s: %d of %d seconds are missing, %d excused; in %d it was down without a reason%s\n", f, missing,
			expected, len(excused), away, strings.Join(append([]string{""}, lost...), "; missing "))
		if away*100 > expected {
			t.Errorf("%s: down in %d of %d seconds", f, away, expected)
		}
		if missing*100 > expected {
			// a busy machine leaves out a round now and then, which is an event; a store that loses them leaves out
			// many
			t.Errorf("%s: %d of %d seconds are missing", f, missing, expected)
		}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for l := range strings.Lines(string(status)) {
		if strings.HasPrefix(l, "VmRSS") || strings.HasPrefix(l, "VmHWM") {
			fmt.Print(l)
		}
	}
	s.end(os.Interrupt)
	cmd := exec.Command(os.Getenv("DYNO"), "store", "check")
	cmd.Env = s.env()
	out, err := cmd.CombinedOutput()
	fmt.Printf("%d kills; dyno store check:\n%s", kills, out)
	if err != nil {
		log, _ := os.ReadFile(s.log)
		t.Errorf("the stores are not whole: %v\n%s", err, log[max(0, len(log)-4000):])
	}
}

// zeroes never ends.
type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }
