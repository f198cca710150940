package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/progress"
)

func TestUp(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			steps := map[string]bool{}
			a, err := y.Up(ctx, Config{Name: "a", Server: flavor, Settings: map[string]string{
				"max-connections":         "77",
				"innodb_buffer_pool_size": "64M",
			}},
				func(p progress.Progress) { steps[p.Step] = true })
			if err != nil {
				t.Fatal(err)
			}
			if !steps["copying the data directory"] ||
				!steps["initialising "+string(a.Server.Flavor)+" "+a.Server.Version] {
				t.Errorf("progress told of %v", steps)
			}
			began := time.Now()
			b := up(t, y, Config{Name: "b", Server: flavor})
			took := time.Since(began)
			t.Logf("second up of %s: %v", a.Server.Spec(), took)
			if took > 20*time.Second { // a second or two on an idle machine
				t.Errorf("a second up takes %v", took)
			}

			if a.State != Running || a.PID == 0 || a.Port == 0 || a.Port == b.Port ||
				string(a.Server.Flavor) != flavor || a.Owner != 0 {
				t.Errorf("up returns %+v", a)
			}
			db, other := open(t, a), open(t, b)
			f := func(query, want string) {
				t.Helper()
				if got := value(t, db, query); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			f("SELECT @@max_connections", "77")
			f("SELECT @@innodb_buffer_pool_size", "67108864")
			f("SELECT @@port", strconv.Itoa(a.Port))
			f("SELECT @@datadir", a.Dir+"/data/")
			f("SELECT CURRENT_USER()", "root@localhost")
			f("SELECT COUNT(*) FROM mysql.user WHERE User NOT LIKE 'm%.%'", "1") // mariadb.sys, mysql.sys…
			if got := value(t, other, "SELECT @@innodb_buffer_pool_size"); got != "134217728" {
				t.Errorf("buffer pool of %s by default", got)
			}
			if got := value(t, other, "SELECT @@innodb_flush_log_at_trx_commit"); got != "1" {
				t.Errorf("innodb_flush_log_at_trx_commit is %s though nobody asked", got)
			}
			if flavor == "mysql" {
				if x, y := value(t, db, "SELECT @@server_uuid"), value(t, other, "SELECT @@server_uuid"); x == y {
					t.Errorf("two servers with the UUID %s", x)
				}
			}

			// Everyone on the machine can reach the port, and must not be root there.
			c := mysql.NewConfig()
			c.User, c.Net, c.Addr = "root", "tcp", fmt.Sprintf("127.0.0.1:%d", a.Port)
			var e *mysql.MySQLError
			if err := pool(t, c).Ping(); !errors.As(err, &e) {
				t.Errorf("root over TCP without a password: %v", err)
			}
			for _, d := range []string{"data", "run", "files", "tmp", "log"} {
				if fi, err := os.Stat(filepath.Join(a.Dir, d)); err != nil || fi.Mode().Perm() != 0o700 {
					t.Errorf("%s is open to others: %v %v", d, fi.Mode(), err)
				}
			}

			// Its process says whose it is, is no longer root's nor of our session.
			if ps := processesWith(t, y.Home); len(ps) != 2 {
				t.Errorf("processes of the yard: %q", ps)
			}
			var st syscall.Stat_t
			if err := syscall.Stat("/proc/"+strconv.Itoa(a.PID), &st); err != nil || st.Uid == 0 {
				t.Errorf("the server runs as user %d: %v", st.Uid, err)
			}
			if sid := session(t, a.PID); sid != a.PID {
				t.Errorf("the server belongs to session %d", sid)
			}

			// The spec is what the rest of Dyno connects with.
			if s := find(t, y, "a").Spec(); s.Address != a.Socket || s.Network != "unix" || s.User != "root" ||
				s.Password.Reveal() != "" || s.Name != "sandbox:a" {
				t.Errorf("spec %+v", s)
			}
			if client := a.Server.Client(); len(client) == 0 {
				t.Error("no client")
			}
		})
	}
}

// session returns the session of a process, proc(5) stat field 6.
func session(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	sid, err := strconv.Atoi(f[3])
	if err != nil {
		t.Fatal(err)
	}
	return sid
}

func TestUpAgain(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			a := up(t, y, Config{Name: "a", Server: flavor, Settings: map[string]string{"max_connections": "77"}})
			if _, err := open(t, a).Exec("CREATE DATABASE kept"); err != nil {
				t.Fatal(err)
			}
			if _, err := y.Up(ctx, Config{Name: "a"}, nil); !errors.Is(err, ErrRunning) {
				t.Fatalf("up of a running one: %v", err)
			}
			if err := y.Down(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if s := find(t, y, "a"); s.State != Stopped || s.PID != 0 {
				t.Fatalf("after down: %+v", s)
			}
			if err := y.Down(ctx, "a"); err != nil {
				t.Fatalf("down of a stopped one: %v", err)
			}
			s := up(t, y, Config{Name: "a"})
			if s.Port != a.Port {
				t.Errorf("port %d became %d", a.Port, s.Port)
			}
			if got := value(t, open(t, s), "SELECT @@max_connections"); got != "77" {
				t.Errorf("settings are lost: max_connections is %s", got)
			}

			// A crash leaves it dead, and what it had it has again.
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(20 * time.Second); find(t, y, "a").State != Dead; time.Sleep(
				10 * time.Millisecond,
			) {
				if time.Now().After(end) {
					t.Fatalf("after a crash: %+v", find(t, y, "a"))
				}
			}
			s = up(t, y, Config{Name: "a", Settings: map[string]string{"max_connections": "88"}})
			db := open(t, s)
			if got := value(t, db, "SELECT @@max_connections"); got != "88" {
				t.Errorf("new settings: max_connections is %s", got)
			}
			if got := value(t, db, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name='kept'"); got !=
				"1" {
				t.Error("data are lost")
			}

			// A start that fails keeps the data and the settings that worked.
			if err := y.Down(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if _, err := y.Up(ctx, Config{Name: "a", Settings: map[string]string{"no_such_setting": "1"}},
				nil); !errors.Is(err, ErrDied) {
				t.Fatalf("bad setting: %v", err)
			}
			if s := find(t, y, "a"); s.State != Stopped || s.Settings["max_connections"] != "88" {
				t.Fatalf("after a start that failed: %+v", s)
			}
			if other := map[string]string{"mariadb": "mysql", "mysql": "mariadb"}[flavor]; other != "" {
				if _, err := y.Up(ctx, Config{Name: "a", Server: other}, nil); !errors.Is(err, ErrNoServer) {
					t.Fatalf("data of %s under %s: %v", flavor, other, err)
				}
			}
			up(t, y, Config{Name: "a"})
		})
	}
}

func TestUpRefuses(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			f := func(c Config, cause error, says string) {
				t.Helper()
				if c.Server == "" {
					c.Server = flavor
				}
				_, err := y.Up(ctx, c, nil)
				if !errors.Is(err, cause) || !strings.Contains(err.Error(), says) {
					t.Errorf("%+v: %v; want %v … %s", c, err, cause, says)
				}
				var e *Error
				if !errors.As(err, &e) {
					t.Errorf("%+v: %T", c, err)
				}
				if list, err := y.List(ctx); err != nil || len(list) != 0 {
					t.Errorf("%+v leaves %+v %v", c, list, err)
				}
				if ps := processesWith(t, y.Home); len(ps) != 0 {
					t.Errorf("%+v leaves %q", c, ps)
				}
			}
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			taken := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
			set := func(k, v string) map[string]string { return map[string]string{k: v} }
			f(Config{Name: "../x"}, ErrBadName, "")
			f(Config{Name: ""}, ErrBadName, "")
			f(Config{Name: "x", Settings: set("no_such_setting", "1")}, ErrDied, "no")
			f(Config{Name: "x", Settings: set("innodb_data_file_path", "nonsense")}, ErrInitialise, "")
			f(Config{Name: "x", Settings: set("datadir", "/tmp")}, ErrSettings, "datadir")
			f(Config{Name: "x", Settings: set("port", taken)}, ErrPort, taken+" is taken")
			f(Config{Name: "x", Server: "mariadb@1.2.3"}, ErrNoServer, "found ")
			f(Config{Name: "x", Server: "/nonexistent"}, ErrNoServer, "")
		})
	}
}

func TestUpTogether(t *testing.T) {
	y := yard(t)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = y.Up(context.Background(), Config{Name: "a", Server: "mariadb"}, nil) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, ErrBusy) && !errors.Is(err, ErrRunning):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Fatalf("%d of %d won: %v", won, len(errs), errs)
	}
	if s := find(t, y, "a"); s.State != Running {
		t.Fatalf("%+v", s)
	}
	// Two names at once wait for one template.
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = y.Up(context.Background(), Config{Name: fmt.Sprint("b", i), Server: "mariadb"}, nil)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A context that ends stops the work at any time and leaves nothing.
func TestUpCancelled(t *testing.T) {
	y := yard(t)
	for _, step := range []string{"initialising", "copying", "waiting"} {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := y.Up(ctx, Config{Name: "a", Server: "mysql"}, func(p progress.Progress) {
			if strings.HasPrefix(p.Step, step) {
				cancel()
			}
		})
		cancel()
		if err == nil && step == "waiting" { // a fast machine does not wait
			if err := y.Remove(context.Background(), "a"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", step, err)
		}
		if list, err := y.List(context.Background()); err != nil || len(list) != 0 {
			t.Fatalf("%s: left %+v %v", step, list, err)
		}
		if exists(filepath.Join(templatesIn(y.Home), ".making")) {
			t.Fatalf("%s: a half-made template is left", step)
		}
	}
}

// The path of a socket holds 107 bytes, that of a directory many more.
func TestUpLongHome(t *testing.T) {
	y := yard(t)
	y.Home = filepath.Join(y.Home, strings.Repeat("d", 60), strings.Repeat("e", 60))
	s := up(t, y, Config{Name: "a", Server: "mariadb"})
	value(t, open(t, s), "SELECT 1")
	run := filepath.Dir(s.Socket)
	if !exists(run) || strings.HasPrefix(run, y.Home) {
		t.Fatalf("socket at %s", s.Socket)
	}
	if fi, err := os.Stat(run); err != nil || fi.Mode().Perm() != 0o700 {
		t.Fatalf("%v %v", fi, err)
	}
	if err := y.RemoveAll(context.Background()); err != nil {
		t.Fatal(err)
	}
	if exists(run) {
		t.Fatalf("%s is left", run)
	}
}

// A server survives the end of the program that made it, and is an orphan from then on.
func TestOrphan(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			h, out := helper(t, helperJob{
				Home: y.Home, ServerDirs: y.ServerDirs,
				Config: Config{Name: "a", Server: flavor, Owner: true},
			}, 0)
			var s Sandbox
			if err := json.Unmarshal([]byte(line(t, out, "up: ")), &s); err != nil {
				t.Fatal(err)
			}
			if got := find(t, y, "a"); got.State != Running || got.Owner != h.Process.Pid {
				t.Fatalf("while its owner lives: %+v", got)
			}
			if err := h.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			h.Wait()
			got := find(t, y, "a")
			if got.State != Orphan || got.PID != s.PID || got.Owner != h.Process.Pid {
				t.Fatalf("after its owner was killed: %+v", got)
			}
			value(t, open(t, got), "SELECT 1")
			if err := y.RemoveAll(ctx); err != nil {
				t.Fatal(err)
			}
			if ps := processesWith(t, y.Home); len(ps) != 0 {
				t.Fatalf("left running: %q", ps)
			}
			entries, err := os.ReadDir(y.Home)
			if err != nil || len(entries) != 0 {
				t.Fatalf("left: %v %v", entries, err)
			}
		})
	}
}

// Whenever the maker is killed, what it left is listed and removed, and no process of it stays.
func TestKilledWhileMaking(t *testing.T) {
	ctx := context.Background()
	for _, step := range []string{"initialising", "copying", "waiting"} {
		t.Run(step, func(t *testing.T) {
			y := yard(t)
			if step != "initialising" {
				up(t, y, Config{Name: "other", Server: "mysql"})
			}
			h, out := helper(t, helperJob{
				Home: y.Home, ServerDirs: y.ServerDirs,
				Config: Config{Name: "a", Server: "mysql"}, Steps: true,
			}, 0)
			line(t, out, "step: "+step)
			if err := h.Process.Signal(syscall.SIGSTOP); err != nil {
				// it stays there, however long this test takes to look
				t.Fatal(err)
			}
			if s := find(t, y, "a"); s.State != Starting {
				t.Errorf("while it is made: %+v", s)
			}
			if err := y.Remove(ctx, "a"); !errors.Is(err, ErrBusy) {
				t.Errorf("remove while it is made: %v", err)
			}
			h.Process.Kill()
			h.Wait()
			for end := time.Now().Add(20 * time.Second); find(t, y, "a").State != Unfinished; time.Sleep(
				10 * time.Millisecond,
			) {
				if time.Now().After(end) { // a child between fork and exec holds the lock a moment longer
					t.Fatalf("after its maker was killed: %+v", find(t, y, "a"))
				}
			}
			if step == "copying" { // up begins anew
				if s := up(t, y, Config{Name: "a", Server: "mysql"}); s.State != Running {
					t.Fatalf("%+v", s)
				}
			}
			if err := y.Remove(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if exists(sandboxDir(y.Home, "a")) {
				t.Fatal("left")
			}
			running := func() []string { return processesWith(t, sandboxDir(y.Home, "a")+"/") }
			for end := time.Now().Add(20 * time.Second); len(running()) != 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("left running: %q", running())
				}
			}
			if step == "initialising" { // what it left of a template is not used
				s := up(t, y, Config{Name: "a", Server: "mysql"})
				value(t, open(t, s), "SELECT COUNT(*) FROM mysql.user")
			}
		})
	}
}

// What is made anew after its maker was killed is as locked as what is new.
func TestUpAnewIsLocked(t *testing.T) {
	ctx := context.Background()
	y := yard(t)
	dir := sandboxDir(y.Home, "a")
	old := filepath.Join(dir, "files", "old")
	if err := errors.Join(makeDirs(filepath.Dir(old)), os.WriteFile(old, nil, 0o600),
		record{Run: filepath.Join(dir, "run")}.save(dir), os.Chmod(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	tried := false
	s, err := y.Up(ctx, Config{Name: "a", Server: "mariadb"}, func(progress.Progress) {
		if tried {
			return
		}
		tried = true
		if err := y.Remove(ctx, "a"); !errors.Is(err, ErrBusy) {
			t.Errorf("remove while it is made: %v", err)
		}
		if s, err := y.Find(ctx, "a"); err != nil || s.State != Starting {
			t.Errorf("while it is made: %+v %v", s, err)
		}
	})
	if err != nil || !tried || s.State != Running {
		t.Fatalf("%+v %v, tried %v", s, err, tried)
	}
	if exists(old) {
		t.Error("what was there before is left")
	}
	value(t, open(t, s), "SELECT 1")
}

// Without root the server runs as the user, and everything works the same.
func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // as every other test does then
	}
	ctx := context.Background()
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			const uid = 65534
			y := yard(t)
			if err := os.Mkdir(y.Home, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(y.Home, uid, uid); err != nil {
				t.Fatal(err)
			}
			_, out := helper(t, helperJob{
				Home: y.Home, ServerDirs: y.ServerDirs,
				Config: Config{Name: "a", Server: flavor},
			}, uid)
			var s Sandbox
			if err := json.Unmarshal([]byte(line(t, out, "up: ")), &s); err != nil {
				t.Fatal(err)
			}
			if s.Account != "" || s.State != Running {
				t.Fatalf("%+v", s)
			}
			var st syscall.Stat_t
			if err := syscall.Stat("/proc/"+strconv.Itoa(s.PID), &st); err != nil || st.Uid != uid {
				t.Fatalf("the server runs as user %d: %v", st.Uid, err)
			}
			value(t, open(t, s), "SELECT 1")

			// root ends it and does not start it: he would work in directories that the user can
			// change meanwhile.
			if err := y.Down(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if _, err := y.Up(ctx, Config{Name: "a"}, nil); !errors.Is(err, ErrAccount) ||
				!strings.Contains(err.Error(), "user 65534") {
				t.Fatal(err)
			}
		})
	}
}

// A home that the server's account cannot enter is refused with the directory that bars the way.
func TestUpClosedHome(t *testing.T) {
	y := yard(t)
	closed := filepath.Dir(y.Home)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := y.Up(context.Background(), Config{Name: "a", Server: "mariadb"}, nil)
	if os.Geteuid() != 0 { // the server runs as us and may pass
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if !errors.Is(err, ErrAccount) || !strings.Contains(err.Error(), closed) {
		t.Fatal(err)
	}
	if exists(sandboxDir(y.Home, "a")) {
		t.Fatal("left")
	}
}

// A disk that is too full is refused with the figures before the work.
func TestUpFullDisk(t *testing.T) {
	y := yard(t)
	if err := os.Mkdir(y.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	err := checkSpace(y.Home, 1<<60)
	if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "needs 1 EiB") &&
		!strings.Contains(err.Error(), "needs 1024 PiB") {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return // who may not mount a small file system
	}
	if err := syscall.Mount("tmpfs", y.Home, "tmpfs", 0, "size=64m,mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(y.Home, syscall.MNT_DETACH) })
	_, err = y.Up(context.Background(), Config{Name: "a", Server: "mariadb"}, nil)
	if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "64 MiB is free") {
		t.Fatal(err)
	}
	if exists(sandboxDir(y.Home, "a")) {
		t.Fatal("left")
	}
}

// The server starts with a setting it does not take as it is, and Dyno says so.
func TestNotes(t *testing.T) {
	for _, flavor := range flavors {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			s := up(t, y, Config{Name: "a", Server: flavor, Settings: map[string]string{
				"max_connections": "0",
				"loose_nonsense":  "1",
			}})
			text := strings.Join(find(t, y, "a").Notes, "\n")
			if !strings.Contains(text, "max_connections") || !strings.Contains(text, "nonsense") {
				t.Fatalf("notes %q %+v", text, s)
			}
		})
	}
}
