package sandbox

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pgsandbox "github.com/dyno-perf/dyno/internal/postgres/sandbox"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/progress"
)

// postgresYard is yard with the builds that DYNO_TEST_POSTGRES names, see build/postgres, beside the system's.
func postgresYard(t *testing.T) *Yard {
	t.Helper()
	y := yard(t)
	y.ServerDirs = nil
	if root := os.Getenv("DYNO_TEST_POSTGRES"); root != "" {
		trees, err := filepath.Glob(root + "/*")
		if err != nil {
			t.Fatal(err)
		}
		y.ServerDirs = trees
	}
	return y
}

// psql returns a connection to a sandbox's PostgreSQL as its Spec says, closed with the test.
func psql(t *testing.T, s Sandbox) *pgx.Conn {
	t.Helper()
	x := s.Spec()
	port := strings.TrimPrefix(filepath.Base(x.Address), ".s.PGSQL.")
	c, err := pgx.Connect(t.Context(), "host="+filepath.Dir(x.Address)+" port="+port+" user="+x.User+
		" dbname="+x.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func ask1(t *testing.T, c *pgx.Conn, query string) string {
	t.Helper()
	rs, err := c.PgConn().Exec(t.Context(), query).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if len(rs) == 0 || len(rs[len(rs)-1].Rows) != 1 {
		return ""
	}
	return string(rs[len(rs)-1].Rows[0][0])
}

func alive(pids []int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool {
		_, err := host.IdentityOf(pid) // not of one that only waits for its parent to notice
		return err == nil
	})
}

// until polls with a deadline.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}

// TestPostgres leads one sandbox of each version through its life.
func TestPostgres(t *testing.T) {
	for _, version := range []string{"15", "16", "17", "18"} {
		t.Run(version, func(t *testing.T) {
			y, ctx := postgresYard(t), t.Context()
			spec := "postgresql@" + version
			s := up(t, y, Config{Name: "a", Server: spec, Settings: map[string]string{"work-mem": "5MB"}})
			if s.State != Running || s.Server.Flavor != "postgres" || !matches(s.Server.Version, version) ||
				s.PID == 0 {
				t.Fatalf("%+v", s)
			}
			c := psql(t, s)
			for query, want := range map[string]string{
				"SHOW work_mem": "5MB", "SHOW track_io_timing": "on", "SHOW listen_addresses": "127.0.0.1",
				"SHOW server_encoding": "UTF8", "SELECT current_user": "postgres",
				"SELECT count(*) >= 0 FROM pg_stat_statements": "t", "SHOW port": strconv.Itoa(s.Port),
				"SELECT split_part(current_setting('server_version'), ' ', 1)": s.Server.Version,
			} {
				if got := ask1(t, c, query); got != want {
					t.Errorf("%s: %s, not %s", query, got, want)
				}
			}
			ask1(t, c, "CREATE TABLE kept AS SELECT 7 AS a")
			if said := y.LastError("a"); said != "" { // that it refused sessions while it started is no error
				t.Errorf("its log ends with %q", said)
			}

			// An open session does not hold an end up, and the server's processes end with it.
			children := host.Children(s.PID)
			if len(children) < 5 {
				t.Errorf("it has the processes %v", children)
			}
			if err := y.Down(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if alive(children) || find(t, y, "a").State != Stopped {
				t.Errorf("after down: %+v", find(t, y, "a"))
			}

			// The same port, its settings and its data.
			port := s.Port
			if s = up(t, y, Config{Name: "a"}); s.Port != port {
				t.Errorf("port %d, then %d", port, s.Port)
			}
			c = psql(t, s)
			if got := ask1(t, c, "SELECT a FROM kept") + ask1(t, c, "SHOW work_mem"); got != "75MB" {
				t.Error(got)
			}

			// A crash: it is dead, what was committed is there again, and its lock file, whose number is now another
			// process's of the same account, stops no start.
			ask1(t, c, "INSERT INTO kept VALUES (8)")
			b := up(t, y, Config{Name: "b", Server: s.Server.Path})
			busy := psql(t, s).PgConn() // a statement that notices nothing before its end
			busy.Frontend().SendQuery(&pgproto3.Query{String: "SELECT count(*) FROM generate_series(1, 5000000)"})
			if err := busy.Frontend().Flush(); err != nil {
				t.Fatal(err)
			}
			until(t, "the statement", func() bool {
				return ask1(t, c, "SELECT count(*) FROM pg_stat_activity WHERE state='active'") == "2"
			})
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			until(t, "its end", func() bool {
				_, err := host.IdentityOf(s.PID)
				return err != nil
			})
			if got := find(t, y, "a").State; got != Dead {
				t.Errorf("after a kill it is %s", got)
			}
			lock := filepath.Join(s.Dir, "data", pgsandbox.Maker{}.Traits().LockFile)
			text, err := os.ReadFile(lock)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := bytes.Cut(text, []byte("\n"))
			err = os.WriteFile(lock, slices.Concat([]byte(strconv.Itoa(b.PID)+"\n"), rest), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			s = up(t, y, Config{Name: "a"})
			if got := ask1(t, psql(t, s), "SELECT sum(a) FROM kept"); got != "15" {
				t.Error(got)
			}

			// At once: nothing is left, not even a process.
			children = host.Children(s.PID)
			if err := y.Remove(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if alive(children) || exists(s.Dir) {
				t.Error("something is left")
			}
			if err := b.Listens(ctx); err != nil {
				t.Errorf("the other one: %v", err)
			}
		})
	}
}

// TestPostgresIsNotTheDefault: who names no flavor gets a server of the MySQL family, for what does without one needs
// that.
func TestPostgresIsNotTheDefault(t *testing.T) {
	y := postgresYard(t)
	if s, err := y.Resolve(t.Context(), ""); err == nil && s.Flavor.IsPostgres() {
		t.Errorf("%+v", s)
	}
}

// TestPostgresData: a data set brings the rows back that a sandbox had, also after its server was killed while it
// wrote, and a new sandbox can be made of it.
func TestPostgresData(t *testing.T) {
	y, ctx := postgresYard(t), t.Context()
	s := up(t, y, Config{Name: "a", Server: "postgres"})
	ask1(t, psql(t, s), "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
	if err := y.SaveData(ctx, "a", "k", map[string]string{"what": "rows"}, nil); err != nil {
		t.Fatal(err)
	}
	if d, ok := y.HasData("k"); !ok || d.Flavor != "postgres" || d.Files < 100 {
		t.Errorf("%+v", d)
	}
	for _, settings := range []map[string]string{nil, {"wal_level": "minimal", "max_wal_senders": "0"}} {
		s = up(t, y, Config{Name: "a", Settings: settings})
		ask1(t, psql(t, s), "DELETE FROM kept WHERE n > 10; CREATE TABLE more (n int)")
		if err := y.Kill(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := y.RestoreData(ctx, "a", nil); err != nil {
			t.Fatal(err)
		}
		s = up(t, y, Config{Name: "a"})
		if got := ask1(t, psql(t, s), "SELECT count(*) || ' ' || (to_regclass('more') IS NULL) FROM kept"); got !=
			"1000 true" {
			t.Error(got)
		}
		if err := y.Down(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	b := up(t, y, Config{Name: "b", Server: "postgres", Data: "k"})
	if got := ask1(t, psql(t, b), "SELECT sum(n) FROM kept"); got != "500500" {
		t.Error(got)
	}
}

func TestPostgresSettings(t *testing.T) {
	y, ctx := postgresYard(t), t.Context()
	s, err := y.Resolve(ctx, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	check := func(want, remedy string, kv ...string) {
		t.Helper()
		in := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			in[kv[i]] = kv[i+1]
		}
		err := y.CheckSettings(ctx, s, in)
		if want == "" {
			if err != nil {
				t.Errorf("%v: %v", in, err)
			}
			return
		}
		h := hinted{}
		if !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), want) ||
			remedy != "" && (!errors.As(err, &h) || !strings.Contains(h.Hint(), remedy)) {
			t.Errorf("%v: %v, %q", in, err, h.Hint())
		}
	}
	check("", "", "work_mem", "64MB", "shared-buffers", "32MB", "pg_stat_statements.max", "100", "port", "5433")
	check(`knows no setting "wok_mem"`, "work_mem", "wok_mem", "64MB")
	check("knows no setting", "leave it out", "innodb_buffer_pool_size", "1G")
	check(`invalid value for parameter "work_mem"`, "valid units", "work_mem", "64XB")
	check("the sandbox has its own", "", "data_directory", "/tmp")
	check("the sandbox has its own", "", "hba-file", "/tmp/x")
	check("line break", "", "work_mem", "1\n-c x")
	check("cannot be changed", "", "server_version", "9")

	for name, value := range map[string]string{"work_mem": "much", "shared_preload_libraries": "nothing_there"} {
		_, err := y.Up(ctx, Config{Name: "bad", Server: s.Path, Settings: map[string]string{name: value}}, nil)
		if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", name, err)
		}
		if exists(filepath.Join(y.Home, "sandboxes", "bad")) {
			t.Errorf("%s: something is left", name)
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, err = y.Up(ctx, Config{Name: "bad", Server: s.Path, Settings: map[string]string{"port": port}}, nil)
	if !errors.Is(err, ErrPort) {
		t.Error(err)
	}
}

// TestPostgresAccess: the socket lets in those who may enter its directory, TCP nobody without a password; and while
// initdb runs as nobody, others who run as nobody do not reach its files.
func TestPostgresAccess(t *testing.T) {
	y := postgresYard(t)
	shut := -1
	s, err := y.Up(t.Context(), Config{Name: "a", Server: "postgres"}, func(p progress.Progress) {
		making := filepath.Join(y.Home, "templates", ".making")
		fi, err := os.Stat(filepath.Join(making, "data"))
		if err != nil || ownerID(fi) == os.Geteuid() || os.Geteuid() != 0 {
			return
		}
		a, _ := serverAccount()
		if a.id() == ownerID(fi) { // it has an entry in /etc/passwd
			return
		}
		if up, err := os.Stat(making); err == nil && shut != 0 {
			shut = int(up.Mode().Perm() & 0o007)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if shut > 0 {
		t.Errorf("others may enter the directory of nobody's files: %o", shut)
	}
	fi, err := os.Stat(filepath.Dir(s.Socket))
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the socket's directory: %v %v", fi.Mode(), err)
	}
	for _, user := range []string{"postgres", "nobody"} {
		_, err := pgx.Connect(t.Context(), "host=127.0.0.1 port="+strconv.Itoa(s.Port)+" user="+user+
			" dbname=postgres password=guess sslmode=disable")
		if err == nil || !strings.Contains(err.Error(), "password authentication failed") {
			t.Errorf("%s over TCP: %v", user, err)
		}
	}
	a, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	if owner, err := os.Stat("/proc/" + strconv.Itoa(s.PID)); err != nil || ownerID(owner) != a.id() {
		t.Errorf("it runs as another account than %d: %v", a.id(), err)
	}
	// Somebody else's process at the socket is no server of ours.
	if err := os.Rename(s.Socket, s.Socket+".kept"); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := s.Listens(t.Context()); err == nil || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("with another listener: %v", err)
	}
}

// TestPostgresLongPath: a socket whose path would be too long lies elsewhere, and goes with the sandbox.
func TestPostgresLongPath(t *testing.T) {
	y := postgresYard(t)
	y.Home = filepath.Join(y.Home, strings.Repeat("x", maxSocket-len(y.Home)-len("//sandboxes/a/run/socket")))
	s := up(t, y, Config{Name: "a", Server: "postgres"}) // one byte more than the name "socket" has room for
	if filepath.Dir(filepath.Dir(s.Socket)) == s.Dir || len(s.Socket) > maxSocket {
		t.Errorf("the socket is %s", s.Socket)
	}
	ask1(t, psql(t, s), "SELECT 1")
	if err := y.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Dir(s.Socket)) {
		t.Error("its directory is left")
	}
}

// TestPostgresPlace: sessions that are there move too.
func TestPostgresPlace(t *testing.T) {
	cpus, err := host.Allowed()
	if err != nil || len(cpus) < 2 {
		t.Skip("needs two CPUs")
	}
	y := postgresYard(t)
	s := up(t, y, Config{Name: "a", Server: "postgres"})
	pid, err := strconv.Atoi(ask1(t, psql(t, s), "SELECT pg_backend_pid()"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range cpus[:2] {
		if err := y.Place(t.Context(), "a", strconv.Itoa(cpu)); err != nil {
			t.Fatal(err)
		}
		for _, p := range []int{s.PID, pid} {
			if have, err := host.Affinity(p); err != nil || !slices.Equal(have, []int{cpu}) {
				t.Errorf("process %d runs on %v, not %d: %v", p, have, cpu, err)
			}
		}
	}
}
