// Package pgserver starts real PostgreSQL servers for tests, each in a directory of its own, and ends them with the
// test.
//
// A server that cannot be found fails the test; only `go test -short` skips tests with real servers.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/test/servers"
)

// Superuser is the role that initdb makes. It needs no password, over the socket and over TCP from this machine.
const Superuser = "postgres"

// Versions are the major versions that a test which must hold everywhere runs on.
var Versions = []string{"15", "16", "17", "18"}

// Server is a running server that belongs to one test.
type Server struct {
	Version string // as the program reports it: "17.10"
	Dir     string // has the socket; data and log are below
	Socket  string // the socket's full path, Dir/.s.PGSQL.PORT
	Data    string // the data directory, with pg_hba.conf
	Port    int    // also open on 127.0.0.1
	User    string // Superuser
	PID     int    // of the postmaster

	bin  string // the directory of the programs
	args []string
	cmd  *exec.Cmd
	dead chan struct{}
}

// Start starts a fresh server of a version ("17", "17.10") with settings as in postgresql.conf
// ("work_mem=64MB"). pg_stat_statements is preloaded, its extension is not created; track_io_timing is on. A setting of
// the caller replaces these: "shared_preload_libraries=".
func Start(t testing.TB, version string, settings ...string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	b, err := find(version)
	if err != nil {
		t.Fatalf("no PostgreSQL %s: %v", version, err)
	}
	tmpl, err := template(b)
	if err != nil {
		t.Fatalf("initialise PostgreSQL %s: %v", b.version, err)
	}
	dir, err := os.MkdirTemp("", "dyno-pg-") // t.TempDir can be longer than a socket's path may be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := own(dir); err != nil {
		t.Fatal(err)
	}
	s := &Server{Version: b.version, Dir: dir, Data: dir + "/data", User: Superuser, bin: b.dir}
	if out, err := exec.Command("cp", "-a", "--reflink=auto", tmpl, s.Data).CombinedOutput(); err != nil {
		t.Fatalf("copy template: %v %s", err, out)
	}
	s.Port = servers.FreePort(t)
	s.Socket = dir + "/.s.PGSQL." + strconv.Itoa(s.Port)
	for _, kv := range append([]string{
		"unix_socket_directories=" + dir, "listen_addresses=127.0.0.1", "port=" + strconv.Itoa(s.Port),
		"shared_preload_libraries=pg_stat_statements", "track_io_timing=on",
		"dynamic_shared_memory_type=mmap", // goes with the data directory, however the server ends
		"lc_messages=C",
	}, settings...) {
		s.args = append(s.args, "-c", kv)
	}
	t.Cleanup(func() { s.Kill(t) })
	s.Launch(t)
	return s
}

// Launch starts the server again after Kill or Stop, on the same data.
func (s *Server) Launch(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(s.Dir+"/log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd = command(s.bin+"/postgres", append([]string{"-D", s.Data}, s.args...)...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.Data, log, log
	s.cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // an immediate shutdown ends the server's processes too
	started := make(chan error, 1)
	s.dead = make(chan struct{})
	go func(c *exec.Cmd, dead chan struct{}) {
		// the kernel sends Pdeathsig when the thread that started the process ends, not the program
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			c.Wait()
		}
		close(dead)
	}(s.cmd, s.dead)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	s.PID = s.cmd.Process.Pid
	for end := time.Now().Add(time.Minute); ; {
		err := func() error {
			c, err := pgx.Connect(t.Context(), s.DSN(Superuser, "postgres"))
			if err != nil {
				return err
			}
			return c.Close(t.Context())
		}()
		if err == nil {
			return
		}
		select {
		case <-s.dead:
			t.Fatalf("PostgreSQL %s ended while starting:\n%s", s.Version, s.Log())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("PostgreSQL %s does not answer: %v\n%s", s.Version, err, s.Log())
		}
	}
}

// Kill ends the server at once and without a checkpoint, as a crash would: the next start recovers from the log.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.end(t, syscall.SIGQUIT) // its processes end with it, which they would not wait for after SIGKILL
}

// Stop shuts the server down in order ("fast shutdown") and waits until it is gone.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.end(t, syscall.SIGINT)
}

func (s *Server) end(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-s.dead:
	case <-time.After(30 * time.Second):
		s.cmd.Process.Kill()
		<-s.dead
		t.Errorf("PostgreSQL %s does not end with %v:\n%s", s.Version, sig, s.Log())
	}
}

// Log returns the end of the server's log.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.Dir + "/log")
	return string(b[max(0, len(b)-4000):])
}

// DSN returns how a user reaches a database over the socket, in the form that pgx and psql take.
func (s *Server) DSN(user, database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", s.Dir, s.Port, user, database)
}

// Conn returns a connection of the superuser, closed with the test. It is the tests' own way in, apart from the code
// they test.
func (s *Server) Conn(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.DSN(Superuser, database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) }) // the test's context has ended
	return c
}

// Exec runs statements in a database as the superuser, each in a transaction of its own, and fails the test on any
// error.
func (s *Server) Exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.DSN(Superuser, database))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, q := range statements {
		if _, err := c.PgConn().Exec(t.Context(), q).ReadAll(); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// Value returns the one value that a query gives in a database, as text.
func (s *Server) Value(t testing.TB, database, query string) string {
	t.Helper()
	rs, err := s.Conn(t, database).PgConn().Exec(t.Context(), query).ReadAll()
	if err != nil || len(rs) != 1 || len(rs[0].Rows) != 1 {
		t.Fatalf("%s: no single value: %v", query, err)
	}
	return string(rs[0].Rows[0][0])
}

// Tree returns the directory of a build of a version, with the program in its bin, for tests that have it started in
// another way. The account that root's servers run as may enter it.
func Tree(t testing.TB, version string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	b, err := find(version)
	if err != nil {
		t.Fatalf("no PostgreSQL %s: %v", version, err)
	}
	return filepath.Dir(b.dir)
}

// build is an unpacked server.
type build struct {
	version string // "17.10"
	dir     string // of its programs, which the server's account may enter
}

// find returns the newest build of a version, in one of the folders of versions that DYNO_TEST_POSTGRES names (as
// build/postgres prints it, or packages of npm as they are) or where Debian puts its servers.
func find(version string) (build, error) {
	var best build
	patterns := []string{"/usr/lib/postgresql/*/bin/postgres"}
	if root := os.Getenv("DYNO_TEST_POSTGRES"); root != "" {
		patterns = append([]string{root + "/*/bin/postgres", root + "/*/native/bin/postgres"}, patterns...)
	}
	for _, p := range patterns {
		programs, err := filepath.Glob(p)
		if err != nil {
			return best, err
		}
		for _, path := range programs {
			out, err := exec.Command(path, "--version").Output() // postgres (PostgreSQL) 17.10 (Debian 17.10-1)
			f := strings.Fields(string(out))
			if err != nil {
				return best, fmt.Errorf("%s --version: %w", path, err)
			}
			if len(f) < 3 {
				return best, fmt.Errorf("%s --version: %q", path, out)
			}
			if (f[2] == version || strings.HasPrefix(f[2], version+".")) && newer(f[2], best.version) {
				best = build{f[2], filepath.Dir(path)}
			}
		}
	}
	if best.dir == "" {
		return best, fmt.Errorf("none in %s. Fix: DYNO_TEST_POSTGRES=$(build/postgres)", strings.Join(patterns, ", "))
	}
	var err error
	best.dir, err = reachable(best)
	return best, err
}

// newer compares versions of one major version by the number of the release.
func newer(a, b string) bool {
	_, a, _ = strings.Cut(a, ".")
	_, minor, _ := strings.Cut(b, ".")
	x, _ := strconv.Atoi(a)
	y, err := strconv.Atoi(minor)
	return err != nil || x > y
}
