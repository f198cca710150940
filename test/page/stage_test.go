package page

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/test/browser"
	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
)

var (
	dyno   string // the program
	common life   // what all tests share
)

func TestMain(m *testing.M) {
	code := program.Main(m, &dyno)
	common.end()
	os.Exit(code)
}

// patience is how long a fact is waited for: machines that run tests may be slow and busy.
const patience = browser.Patience

func eventually(t testing.TB, what string, ok func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// life is what outlives the test that asked for it first: a server, the program, a browser.
type life struct {
	mu       sync.Mutex
	cleanups []func()
	all      *world
	err      error
	chromium *browser.Browser
}

func (l *life) end() {
	for i := len(l.cleanups) - 1; i >= 0; i-- {
		l.cleanups[i]()
	}
}

// lasting is a test whose cleanups run when all tests are done.
type lasting struct {
	testing.TB
	l *life
}

func (x lasting) Helper()             {}
func (x lasting) Cleanup(f func())    { x.l.cleanups = append(x.l.cleanups, f) }
func (x lasting) Logf(string, ...any) {}
func (x lasting) TempDir() string {
	dir, err := os.MkdirTemp("", "dyno-page-")
	if err != nil {
		x.TB.Fatal(err)
	}
	x.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// world is the one server of all tests, and the program that watches it.
type world struct {
	server *servers.Server
	load   *load
	serve  *Serve
	home   string
}

// Stage is what a test plays on: a real MariaDB under a small steady load, which `dyno serve` watches as target "shop";
// target "down" is a port where nobody answers. All tests share it: what a test puts in has names of its own.
type Stage struct {
	t      *testing.T
	DB     *sql.DB // to the server as root, schema shop
	URL    string  // where the page is
	Home   string  // the program's files
	Server *servers.Server
	Load   *load
}

// stage gives a test the stage. The first one that asks starts it.
func stage(t *testing.T) *Stage {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server and a real browser")
	}
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.all == nil {
		if common.err != nil {
			t.Fatal(common.err)
		}
		common.err = errors.New("the stage did not start, see the first test")
		x := lasting{t, &common}
		s := servers.Start(x, "mariadb", "performance_schema=ON", "slow_query_log=OFF")
		w := &world{server: s, home: x.TempDir()}
		w.load = startLoad(x, s)
		try(t, w.home, "target", "add", "shop", s.URL("root"))
		try(t, w.home, "target", "add", "down", "mysql://root@"+deadPort)
		w.serve = serve(x, w.home)
		w.serve.waitUp(t, "shop")
		common.all, common.err = w, nil
	}
	w := common.all
	return &Stage{t: t, DB: w.server.DB(t, "shop"), URL: w.serve.URL, Home: w.home, Server: w.server, Load: w.load}
}

// Dyno runs the program on the stage's home and returns what it prints.
func (s *Stage) Dyno(args ...string) string { s.t.Helper(); return try(s.t, s.Home, args...) }

// Exec runs statements as root on one connection of schema shop.
func (s *Stage) Exec(statements ...string) {
	s.t.Helper()
	s.Server.Exec(s.t, append([]string{"USE shop"}, statements...)...)
}

// Browser opens a tab on the stage's page.
func (s *Stage) Browser(t *testing.T) *browser.Tab { t.Helper(); return tab(t, s.URL) }

// Get asks the program's API and decodes the answer: Get("targets", &x) for /api/dyno/v1/targets.
func (s *Stage) Get(path string, value any) {
	s.t.Helper()
	if err := getJSON(s.URL, path, value); err != nil {
		s.t.Fatal(err)
	}
}

// watchedFor waits until something is kept of shop from this long ago: tests run in any order, and the first one finds
// a stage just set up.
func (s *Stage) watchedFor(d time.Duration) {
	s.t.Helper()
	eventually(s.t, "shop is watched for "+d.String(), func() error {
		var a struct{ Data struct{ Result []any } }
		at := time.Now().Add(-d).Unix()
		if err := getJSON(s.URL, fmt.Sprintf("/api/v1/query?query=mysql_up%%7Btarget%%3D%%22shop%%22%%7D&time=%d", at),
			&a); err != nil {
			return err
		}
		if len(a.Data.Result) != 1 {
			return fmt.Errorf("of %d there is %v", at, a.Data.Result)
		}
		return nil
	})
}

// tab opens a tab on a page of a program of the test's own.
func tab(t *testing.T, base string) *browser.Tab {
	t.Helper()
	return chromium(t).Tab(t, base)
}

// refusals lets a browser say of answers that they have one of these statuses (404, or 404|503), at addresses of the
// API that go on like this.
func refusals(b *browser.Tab, statuses, path string) {
	b.Allow(fmt.Sprintf(`the server responded with a status of (%s) \([A-Za-z ]*\) https?://[^/]+/api/dyno/v1/%s`,
		statuses, path))
}

// gone is what a browser says of a program that does not answer any more: of each question that nobody answers it, and
// of the stream that it broke off.
const gone = `Failed to load resource: net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING) http://127\.0\.0\.1:\d+/(api/(dyno/)?v1/|assets/)`

func chromium(t *testing.T) *browser.Browser {
	t.Helper()
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.chromium == nil || common.chromium.Ended() {
		// one that broke down takes one test along, not all that follow
		b, err := browser.Start()
		if err != nil {
			t.Fatal(err)
		}
		common.chromium = b
		common.cleanups = append(common.cleanups, func() { b.Close() })
	}
	return common.chromium
}

// load is a small steady load through a driver of its own: so many statements of each kind, counted.
type load struct{ Points, Updates, Scans atomic.Int64 }

// loadRows is the number of rows of shop.orders; no index is on its column customer, by which it is scanned.
const loadRows = 20000

func startLoad(t testing.TB, s *servers.Server) *load {
	t.Helper()
	s.Exec(t, "CREATE DATABASE shop", "USE shop",
		"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer INT NOT NULL, total DECIMAL(10,2) NOT "+
			"NULL, note VARCHAR(60) NOT NULL DEFAULT '') ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO orders (customer, total) SELECT seq %% 1000, seq FROM seq_1_to_%d", loadRows),
		"ANALYZE TABLE orders")
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.InterpolateParams, c.Logger = "root", "unix", s.Socket, "shop",
		true, &mysql.NopLogger{}
	k, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(k)
	db.SetMaxOpenConns(2)
	l := &load{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done; db.Close() })
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		count := func(n *atomic.Int64, err error) {
			if err == nil {
				n.Add(1)
			}
		}
		for i := 1; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var note string
			count(&l.Points, db.QueryRowContext(ctx, "SELECT note FROM orders WHERE id = ?", i%loadRows+1).Scan(&note))
			if i%4 == 0 {
				_, err := db.ExecContext(ctx, "UPDATE orders SET total = total + 1 WHERE id = ?", i%loadRows+1)
				count(&l.Updates, err)
			}
			if i%10 == 0 {
				var sum float64
				count(&l.Scans, db.QueryRowContext(ctx, "SELECT SUM(total) FROM orders WHERE customer = ?", i%1000).
					Scan(&sum))
			}
		}
	}()
	return l
}

// Serve is a running `dyno serve`.
type Serve struct {
	URL  string
	PID  int
	home string
	args []string
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  strings.Builder
}

var errNotYet = errors.New("not yet")

var address = regexp.MustCompile(`https?://(?:127\.0\.0\.1|localhost|\[::1\]):\d+`)

// serve starts `dyno serve` on any free port, or where args say, and waits until it answers. It ends with the test.
func serve(t testing.TB, home string, args ...string) *Serve {
	t.Helper()
	s := &Serve{home: home, args: args}
	s.launch(t, program.Address(t))
	t.Cleanup(func() {
		select {
		case <-s.done:
			if t.Failed() {
				t.Logf("dyno serve had ended, %v; it said:\n%s", s.cmd.ProcessState, tail(s.Log()))
			}
		default:
			s.Kill()
		}
	})
	return s
}

func (s *Serve) launch(t testing.TB, listen string) {
	t.Helper()
	args := append([]string{"serve"}, s.args...)
	if !strings.Contains(strings.Join(s.args, " "), "--listen") {
		args = append(args, "--listen", listen)
	}
	if !strings.Contains(strings.Join(s.args, " "), "--discover") {
		args = append(args, "--discover=/nowhere") // the machine's other servers are others'
	}
	if !strings.Contains(strings.Join(s.args, " "), "--judge") {
		// a look that nobody asks for would come into whatever is measured and compared then
		args = append(args, "--judge=0")
	}
	s.cmd = exec.Command(dyno, args...)
	s.cmd.Env = append(os.Environ(), "DYNO_HOME="+s.home)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = w, w
	s.done = make(chan struct{})
	started := make(chan error, 1)
	go func(cmd *exec.Cmd, done chan struct{}) {
		runtime.LockOSThread() // Pdeathsig is sent when the thread that started the process ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		w.Close()
		if err != nil {
			return
		}
		defer close(done)
		lines := bufio.NewReader(r)
		for {
			l, err := lines.ReadString('\n')
			s.mu.Lock()
			s.out.WriteString(l)
			s.mu.Unlock()
			if err != nil {
				break
			}
		}
		r.Close()
		cmd.Wait()
	}(s.cmd, s.done)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	s.PID = s.cmd.Process.Pid
	eventually(t, "dyno serve says where it answers", func() error {
		select {
		case <-s.done:
			t.Fatalf("dyno serve ended:\n%s", s.Log())
		default:
		}
		if s.URL = address.FindString(s.Log()); s.URL == "" {
			return fmt.Errorf("it says %q", s.Log())
		}
		return nil
	})
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

// Log is what the program printed since its last start.
func (s *Serve) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// Kill ends the program at once.
func (s *Serve) Kill() {
	s.cmd.Process.Kill()
	<-s.done
}

// Stop ends it as Ctrl-C does.
func (s *Serve) Stop(t testing.TB) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Errorf("dyno serve does not end:\n%s", s.Log())
		s.Kill()
	}
}

// Again starts it anew at the same address, which nobody else got meanwhile.
func (s *Serve) Again(t testing.TB) {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.out.Reset()
	s.mu.Unlock()
	s.launch(t, u.Host)
}

// waitUp waits until a target is read.
func (s *Serve) waitUp(t testing.TB, name string) {
	t.Helper()
	eventually(t, "target "+name+" is read", func() error {
		var a struct {
			Targets []struct {
				Name, Reason string
				Up           bool
			}
		}
		if err := getJSON(s.URL, "targets", &a); err != nil {
			return err
		}
		for _, x := range a.Targets {
			if x.Name == name && x.Up {
				return nil
			}
		}
		return fmt.Errorf("targets are %+v", a.Targets)
	})
}

// try runs the program on a home and fails the test when it fails.
func try(t testing.TB, home string, args ...string) string {
	t.Helper()
	cmd := exec.Command(dyno, args...)
	cmd.Env = append(os.Environ(), "DYNO_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dyno %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// getJSON asks a program for a path of Dyno's API, or with a slash for one from the root.
func getJSON(base, path string, value any) error {
	if !strings.HasPrefix(path, "/") {
		path = "/api/dyno/v1/" + path
	}
	c := http.Client{Timeout: patience}
	resp, err := c.Get(base + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %s", path, resp.Status, b)
	}
	if err := json.Unmarshal(b, value); err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, b)
	}
	return nil
}

// deadPort is an address of this machine where nobody answers: no server is given that port by chance.
const deadPort = "127.0.0.1:1"

// folder is a new folder that is removed with the test; its path is short.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dyno-page-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Clean(dir)
}
