// Package servers starts real servers for tests, each in a directory of its own, and ends them with the test.
//
// A server that cannot be found fails the test; only `go test -short` leaves tests with real servers out.
package servers

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/userfile"
)

// Server is a running server that belongs to one test.
type Server struct {
	Flavor string // "mariadb", "mysql" or "mysql80"
	Dir    string
	Socket string
	Port   int
	PID    int

	cmd  *exec.Cmd
	args []string
	bin  binary
	dead chan struct{}
}

// Flavors are the servers that a test which must hold everywhere runs on.
var Flavors = []string{"mariadb", "mysql"}

// Start starts a fresh server of the flavor with settings as in my.cnf ("innodb_buffer_pool_size=64M"). Its user root
// has no password and connects from anywhere on this machine.
func Start(t testing.TB, flavor string, settings ...string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	bin, err := find(flavor)
	if err != nil {
		t.Fatalf("no %s server: %v", flavor, err)
	}
	dir, err := os.MkdirTemp("", "dyno-test-") // t.TempDir can be longer than a socket's path may be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tmpl, err := template(bin)
	if err != nil {
		t.Fatalf("initialise %s: %v", flavor, err)
	}
	if out, err := exec.Command("cp", "-a", "--reflink=auto", tmpl, dir+"/data").CombinedOutput(); err != nil {
		t.Fatalf("copy template: %v %s", err, out)
	}
	os.Remove(dir + "/data/auto.cnf") // a MySQL makes itself a new uuid: two of one template can then replicate
	if err := os.Mkdir(dir+"/tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	s := &Server{Flavor: flavor, Dir: dir, Socket: dir + "/s", bin: bin}
	s.Port = FreePort(t)
	s.args = append(bin.base(), "--datadir="+dir+"/data", "--socket="+s.Socket, "--bind-address=127.0.0.1",
		"--port="+strconv.Itoa(s.Port),
		// not the common one: a MariaDB that starts there removes the temporary tables of others
		"--tmpdir="+dir+"/tmp",
		"--pid-file="+dir+"/pid", "--log-error="+dir+"/error.log", "--innodb-buffer-pool-size=64M",
		"--innodb-flush-log-at-trx-commit=2")
	for _, kv := range settings {
		s.args = append(s.args, "--"+kv)
	}
	s.Launch(t)
	t.Cleanup(func() { s.Kill(t) })
	return s
}

// FreePort returns a loopback port that nobody listens on, below those that kernels give to outgoing connections
// (ip(7), ip_local_port_range): one of those may be taken before the server is there, and while it is killed.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.N(12768)
		if l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("of a hundred ports none is free")
	return 0
}

// Launch starts the server again after Kill, on the same data.
func (s *Server) Launch(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.bin.argv[0], append(s.bin.argv[1:len(s.bin.argv):len(s.bin.argv)], s.args...)...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
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
			close(dead)
		}
	}(s.cmd, s.dead)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	s.PID = s.cmd.Process.Pid
	db := s.DB(t, "")
	for end := time.Now().Add(time.Minute); ; {
		err := db.Ping()
		if err == nil {
			return
		}
		select {
		case <-s.dead:
			t.Fatalf("%s ended while starting:\n%s", s.Flavor, s.Log())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not answer: %v\n%s", s.Flavor, err, s.Log())
		}
	}
}

// Kill ends the server at once, as a crash would.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.cmd.Process.Kill()
	<-s.dead
}

// Log returns the end of the server's error log.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.Dir + "/error.log")
	return string(b[max(0, len(b)-4000):])
}

// URL returns the TARGET form of the server's socket for a user. For root it trusts the schemas that tests commonly
// make: nobody else is on the server, and plans are a part of what there is to see.
func (s *Server) URL(user string) string {
	u := "unix://" + s.Socket + "?user=" + user
	if user == "root" {
		u += "&explain-schemas=d,shop,sbtest,x"
	}
	return u
}

// DB returns a pool for user root, closed with the test. It is the tests' own way in, apart from the code they test.
func (s *Server) DB(t testing.TB, schema string) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.MultiStatements = "root", "unix", s.Socket, schema, true
	c.Logger = &mysql.NopLogger{}
	k, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(k)
	t.Cleanup(func() { db.Close() })
	return db
}

// Exec runs statements as root and fails the test on any error.
func (s *Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	c, err := s.DB(t, "").Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, q := range statements {
		if _, err := c.ExecContext(context.Background(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// Status returns a counter of SHOW GLOBAL STATUS.
func (s *Server) Status(t testing.TB, name string) uint64 {
	t.Helper()
	var k string
	var v uint64
	if err := s.DB(t, "").QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&k, &v); err != nil {
		t.Fatalf("status %s: %v", name, err)
	}
	return v
}

// binary is a way to run a server program.
type binary struct {
	flavor string
	argv   []string // what to execute before the options
	opts   []string
	key    string
}

func (b binary) base() []string {
	return append([]string{"--no-defaults"}, b.opts...)
}

// find looks for MariaDB where Debian puts it, for MySQL 9 in the tree that DYNO_TEST_MYSQL names, and for "mysql80" in
// that of DYNO_TEST_MYSQL80, as `dyno sandbox install mysql@8.0` makes it.
func find(flavor string) (binary, error) {
	opts := []string{}
	if os.Geteuid() == 0 {
		opts = append(opts, "--user=root")
	}
	switch flavor {
	case "mariadb":
		path, err := exec.LookPath("mariadbd")
		if err != nil {
			if path, err = exec.LookPath("/usr/sbin/mariadbd"); err != nil {
				return binary{}, err
			}
		}
		return binary{flavor, []string{path}, opts, "mariadb"}, nil
	case "mysql":
		tree := os.Getenv("DYNO_TEST_MYSQL")
		if tree == "" {
			return binary{}, fmt.Errorf("DYNO_TEST_MYSQL names no unpacked MySQL")
		}
		lib := tree + "/usr/lib/x86_64-linux-gnu"
		return binary{
			flavor,
			[]string{
				lib + "/ld-linux-x86-64.so.2", "--library-path", lib, "--argv0", "mysqld",
				tree + "/usr/sbin/mysqld",
			},
			append(opts, "--basedir="+tree+"/usr", "--plugin-dir="+tree+"/usr/lib/mysql/plugin", "--lc-messages-dir="+
				tree+"/usr/share/mysql",
				"--character-sets-dir="+tree+"/usr/share/mysql/charsets", "--secure-file-priv=", "--mysqlx=OFF"),
			"mysql",
		}, nil
	case "mysql80":
		tree := os.Getenv("DYNO_TEST_MYSQL80")
		if tree == "" {
			return binary{}, fmt.Errorf("DYNO_TEST_MYSQL80 names no MySQL 8.0: build/mysql80 fetches it")
		}
		argv := []string{tree + "/bin/mysqld"}
		if _, err := os.Stat(tree + "/libs"); err == nil {
			argv = []string{"/usr/bin/env", "LD_LIBRARY_PATH=" + tree + "/libs", argv[0]}
		}
		return binary{flavor, argv, append(opts, "--basedir="+tree, "--secure-file-priv=", "--mysqlx=OFF"), flavor}, nil
	}
	return binary{}, fmt.Errorf("unknown flavor %q", flavor)
}

var once sync.Mutex

// template returns a data directory to copy, made once for all test programs of this user.
func template(b binary) (string, error) {
	once.Lock()
	defer once.Unlock()
	root := filepath.Join(os.TempDir(), fmt.Sprintf("dyno-test-templates-%d", os.Getuid()))
	if err := userfile.OwnDir(root); err != nil {
		return "", err
	}
	f, err := os.OpenFile(root+"/lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	done := root + "/" + b.key
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	tmp := done + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	var cmd *exec.Cmd
	if b.flavor == "mariadb" {
		args := []string{
			"--no-defaults", "--datadir=" + tmp, "--auth-root-authentication-method=normal",
			"--skip-test-db",
		}
		if os.Geteuid() == 0 {
			args = append(args, "--user=root")
		}
		cmd = exec.Command("mariadb-install-db", args...)
	} else {
		cmd = exec.Command(b.argv[0], append(append(b.argv[1:len(b.argv):len(b.argv)], b.base()...),
			"--initialize-insecure", "--datadir="+tmp)...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return done, os.Rename(tmp, done)
}
