package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestComplaint(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		if got := complaint(log); got != want {
			t.Errorf("%q\n got %q\nwant %q", log, got, want)
		}
	}
	f("", "")
	f(`2026-11-21T07:43:56.123456Z 0 [System] [MY-010116] [Server] /x/mysqld (mysqld 9.7.4-2) starting as process 1
2026-11-21T07:43:56.223456Z 0 [ERROR] [MY-000067] [Server] unknown variable 'no_such_setting=1'.
2026-11-21T07:43:56.323456Z 0 [ERROR] [MY-010119] [Server] Aborting
`, "unknown variable 'no_such_setting=1'.")
	f(`2026-11-21  7:43:56 0 [Note] Starting MariaDB
2026-11-21  7:43:56 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'x=1'
2026-11-21 17:43:56 0 [ERROR] Aborting
`, "unknown variable 'x=1'")
	f("2026-11-21  7:43:56 0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use\n",
		"Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use")
	f(`261123  5:18:30 InnoDB: Completed initialization of buffer pool
InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes
InnoDB: than specified in the .cnf file 0 268435456 bytes!
261123  5:18:30 [ERROR] Plugin 'InnoDB' init function returned error.
261123  5:18:30 [ERROR] Unknown/unsupported storage engine: InnoDB
261123  5:18:30 [ERROR] Aborting

261123  5:18:30 [Note] /x/bin/mysqld: Shutdown complete
`, "InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes; InnoDB: than specified in the .cnf "+
		"file 0 268435456 bytes!")
	f("261123 15:18:30 [ERROR] /x/bin/mysqld: unknown variable 'x=1'\n261123 15:18:30 [ERROR] Aborting\n",
		"unknown variable 'x=1'")
	f(`2026-11-29 14:48:38.171 UTC [12] LOG:  starting PostgreSQL 17.10
2026-11-29 14:48:38.172 UTC [12] LOG:  could not bind IPv4 address "127.0.0.1": Address already in use
2026-11-29 14:48:38.172 UTC [12] HINT:  Is another postmaster already running on port 5432?
2026-11-29 14:48:38.173 UTC [12] FATAL:  could not create any TCP/IP sockets
2026-11-29 14:48:38.174 UTC [12] LOG:  database system is shut down
`, `could not bind IPv4 address "127.0.0.1": Address already in use`)
	f("2026-11-29 14:48:38.194 GMT [13] FATAL:  the database system is starting up\n"+
		"2026-11-29 14:48:38.195 GMT [12] PANIC:  could not locate a valid checkpoint record\n",
		"could not locate a valid checkpoint record")
	f("ld.so: cannot open\nsomething else\n", "ld.so: cannot open; something else") // nothing a server said
}

// Only what was said since the start counts.
func TestLogs(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "log"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "log", "error.log")
	old := "2026-11-21  7:43:56 0 [ERROR] old\n2026-11-21  7:43:56 0 [Warning] option 'a': value 0 adjusted to 1\n"
	if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	l := openLogs(dir)
	if l.last() != "" || l.changed() != nil {
		t.Fatal(l.last(), l.changed())
	}
	if err := os.WriteFile(file, []byte(old+"2026-11-21  7:43:57 0 [Warning] option 'b': value 0 adjusted to "+
		"1\n2026-11-21  7:43:57 0 [ERROR] new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := l.last(); got != "new" {
		t.Fatal(got)
	}
	if got := l.changed(); len(got) != 1 || got[0] != "option 'b': value 0 adjusted to 1" {
		t.Fatal(got)
	}
	// A log that somebody emptied began anew after the start.
	if err := os.WriteFile(file, []byte("2026-11-21  7:43:58 0 [ERROR] after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := l.last(); got != "after" {
		t.Fatal(got)
	}
}

// What a server said before it was last started is no reason for its end.
func TestLastError(t *testing.T) {
	ctx := context.Background()
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb"})
	say := func(text string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(s.Dir, "log", "error.log"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("2026-11-21  7:43:56 0 [ERROR] " + text + "\n")
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	f := func(has, lacks string) {
		t.Helper()
		if got := y.LastError("a"); !strings.Contains(got, has) || strings.Contains(got, lacks) {
			t.Errorf("it said %q, want %q without %q", got, has, lacks)
		}
	}
	say("of old")
	f("of old", "unknown variable")
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	up(t, y, Config{Name: "a"})
	f("", "of old")
	say("of now")
	f("of now", "of old")
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Up(ctx, Config{Name: "a", Settings: map[string]string{"no_such_setting": "1"}},
		nil); !errors.Is(err, ErrDied) {
		t.Fatal(err)
	}
	f("unknown variable", "of now")
}
