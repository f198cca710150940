package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"
	pgsandbox "github.com/dyno-perf/dyno/internal/postgres/sandbox"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// flavors are the servers that every test of a real one runs on.
var flavors = []string{"mariadb", "mysql"}

// makers are what servers of tests are made by, and builds those of this machine.
var (
	makers = []maker.Maker{mysqlsandbox.Maker{}, pgsandbox.Maker{}}
	builds = &Builds{kinds: makers}
)

// helperEnv makes the test program do one thing to a yard instead of testing, as a process that can be killed.
const helperEnv = "DYNO_SANDBOX_HELPER"

type helperJob struct {
	Home       string
	ServerDirs []string
	Config     Config
	Steps      bool // print each step as it begins
	Restore    bool // the sandbox of Config instead
}

func TestMain(m *testing.M) {
	job := os.Getenv(helperEnv)
	if job == "" {
		code := m.Run()
		if reachable.copy != "" {
			os.RemoveAll(reachable.copy)
		}
		os.Exit(code)
	}
	var j helperJob
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	y, err := Open(j.Home, makers...)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	y.ServerDirs = j.ServerDirs
	if j.Restore {
		if _, err := y.RestoreData(context.Background(), j.Config.Name, nil); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println("restored:")
		os.Exit(0)
	}
	last := ""
	s, err := y.Up(context.Background(), j.Config, func(p progress.Progress) {
		if j.Steps && p.Step != last {
			last = p.Step
			fmt.Println("step:", p.Step)
		}
	})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	b, _ := json.Marshal(s)
	fmt.Printf("up: %s\n", b)
	select {} // until it is killed
}

// helper starts the test program as a helper; uid 0 is ourselves. Lines come on its output.
func helper(t *testing.T, j helperJob, uid int) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if uid != 0 { // which lies where nobody else may enter
		open := filepath.Join(filepath.Dir(j.Home), "helper")
		copyFile(t, exe, open, 0o755)
		exe = open
	}
	c := exec.Command(exe)
	c.Dir = "/"
	c.Env = append(os.Environ(), helperEnv+"="+string(b))
	c.SysProcAttr = &syscall.SysProcAttr{}
	if uid != 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c, bufio.NewReader(out)
}

// line returns the next line of a helper that begins so, without that beginning.
func line(t *testing.T, r *bufio.Reader, prefix string) string {
	t.Helper()
	for {
		l, err := r.ReadString('\n')
		if rest, ok := strings.CutPrefix(l, prefix); ok {
			return strings.TrimSpace(rest)
		}
		if err != nil || strings.HasPrefix(l, "error:") {
			t.Fatalf("no line %q: %q %v", prefix, l, err)
		}
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// openDir returns a directory that the servers' account may enter, unlike t.TempDir. It goes with
// the test.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dyno-yard-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// yard returns a yard of the test's own, emptied at its end.
func yard(t *testing.T) *Yard {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	top := openDir(t)
	y, err := Open(filepath.Join(top, "home"), makers...)
	if err != nil {
		t.Fatal(err)
	}
	if tree := mysqlTree(t); tree != "" {
		y.ServerDirs = []string{tree}
	}
	t.Cleanup(func() {
		if err := y.RemoveAll(context.Background()); err != nil {
			t.Error(err)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			ps := processesWith(t, y.Home)
			if len(ps) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Errorf("left running: %q", ps)
				break
			}
		}
	})
	return y
}

// reachable is the copy of the MySQL that lies where the server's account may not enter, as root's home is.
var reachable struct {
	once sync.Once
	copy string
	err  error
}

// mysqlTree returns the tree that DYNO_TEST_MYSQL names, or a copy of it that the server's account can reach.
func mysqlTree(t *testing.T) string {
	t.Helper()
	tree := os.Getenv("DYNO_TEST_MYSQL")
	a, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	if tree == "" || a.canReach(filepath.Join(tree, "usr/sbin"), "") == nil {
		return tree
	}
	reachable.once.Do(func() {
		if reachable.copy, reachable.err = os.MkdirTemp("", "dyno-mysql-"); reachable.err != nil {
			return
		}
		reachable.err = os.Chmod(reachable.copy, 0o755)
		if exec.Command("cp", "-al", tree+"/.", reachable.copy).Run() == nil { // links, on one file system
			return
		}
		if out, err := exec.Command("cp", "-a", tree+"/.", reachable.copy).CombinedOutput(); err != nil {
			reachable.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if reachable.err != nil {
		t.Fatal(reachable.err)
	}
	return reachable.copy
}

// processesWith returns the command lines that have text in them.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(b, []byte(text)) {
			found = append(found, strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " ")))
		}
	}
	return found
}

func up(t *testing.T, y *Yard, c Config) Sandbox {
	t.Helper()
	s, err := y.Up(context.Background(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open returns a pool for root on the sandbox's socket.
func open(t *testing.T, s Sandbox) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr = "root", "unix", s.Socket
	return pool(t, c)
}

func pool(t *testing.T, c *mysql.Config) *sql.DB {
	t.Helper()
	c.Logger = &mysql.NopLogger{}
	k, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(k)
	t.Cleanup(func() { db.Close() })
	return db
}

// value returns the one value that a query gives.
func value(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var v string
	if err := db.QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func find(t *testing.T, y *Yard, name string) Sandbox {
	t.Helper()
	s, err := y.Find(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
