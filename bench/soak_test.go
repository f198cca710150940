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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyno/test/servers"
)

// soaked is `dyno serve` on a small disk of its own.
type soaked struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	log  string
	base string
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
	s.cmd = exec.Command(os.Getenv("DYNO"), "serve", "--listen", "127.0.0.1:0", "--discover=false")
	s.cmd.Env = append(os.Environ(), "DYNO_HOME="+s.home)
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

// rounds returns the seconds of which mysql_up is stored, by target.
func (s *soaked) rounds(to time.Time, span time.Duration) map[string]map[int64]bool {
	s.t.Helper()
	got := map[string]map[int64]bool{}
	resp, err := http.Get(fmt.Sprintf("%s/api/v1/query?time=%d&query=%s", s.base, to.Unix(), url.QueryEscape(fmt.Sprintf("mysql_up[%ds]", int(span.Seconds())))))
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
		m := map[int64]bool{}
		for _, v := range r.Values {
			m[int64(v[0].(float64))] = true
		}
		got[r.Metric["target"]] = m
	}
	return got
}

// TestSoak lets `dyno serve` run for SOAK_MINUTES on two servers while these are restarted, it is killed, and its disk fills up; then the stores
// must be whole, and hold every second but those in which Dyno was down or its disk was full.
func TestSoak(t *testing.T) {
	minutes, err := strconv.Atoi(cmp.Or(os.Getenv("SOAK_MINUTES"), "30"))
	if err != nil {
		t.Fatal(err)
	}
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=400m", "dyno-soak", disk).CombinedOutput(); err != nil {
		t.Fatalf("mount a small disk (needs root): %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", disk).Run() })
	s := &soaked{t: t, home: disk + "/home", log: filepath.Join(t.TempDir(), "log")}
	all := map[string]*servers.Server{}
	for _, f := range servers.Flavors {
		all[f] = servers.Start(t, f, "performance_schema=ON")
		cmd := exec.Command(os.Getenv("DYNO"), "target", "add", f, all[f].URL("root"))
		cmd.Env = append(os.Environ(), "DYNO_HOME="+s.home)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	s.start()
	t.Cleanup(func() { s.cmd.Process.Kill() })
	began := time.Now()
	excused := map[int64]bool{} // seconds of which nothing need be there
	excuse := func(from, to time.Time) {
		for i := from.Unix(); i <= to.Unix(); i++ {
			excused[i] = true
		}
	}
	excuse(began, began.Add(5*time.Second))
	r := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for end := began.Add(time.Duration(minutes) * time.Minute); time.Now().Before(end); {
		time.Sleep(time.Duration(10+r.IntN(20)) * time.Second)
		from := time.Now()
		what := r.IntN(10)
		switch {
		case what < 4:
			f := servers.Flavors[r.IntN(2)]
			fmt.Printf("%6s restart %s\n", from.Sub(began).Round(time.Second), f)
			all[f].Kill(t)
			time.Sleep(time.Duration(r.IntN(8)) * time.Second)
			all[f].Launch(t)
		case what < 7:
			fmt.Printf("%6s kill -9\n", from.Sub(began).Round(time.Second))
			s.end(syscall.SIGKILL)
			kills++
			s.start()
			excuse(from.Add(-2*time.Second), time.Now().Add(3*time.Second)) // at most the last two seconds are lost
		case what < 8:
			fmt.Printf("%6s stop and start\n", from.Sub(began).Round(time.Second))
			s.end(os.Interrupt)
			s.start()
			excuse(from, time.Now().Add(3*time.Second))
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
	for _, f := range servers.Flavors {
		missing, expected := 0, 0
		for i := began.Unix(); i < to.Unix(); i++ {
			if excused[i] {
				continue
			}
			expected++
			if !rounds[f][i] {
				missing++
			}
		}
		fmt.Printf("%s: %d of %d seconds are missing, %d excused\n", f, missing, expected, len(excused))
		if missing*100 > expected { // a busy machine leaves out a round now and then, which is an event; a store that loses them leaves out many
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
	cmd.Env = append(os.Environ(), "DYNO_HOME="+s.home)
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
