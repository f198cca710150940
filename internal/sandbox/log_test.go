package sandbox

import (
	"os"
	"path/filepath"
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
	if err := os.WriteFile(file, []byte(old+"2026-11-21  7:43:57 0 [Warning] option 'b': value 0 adjusted to 1\n2026-11-21  7:43:57 0 [ERROR] new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := l.last(); got != "new" {
		t.Fatal(got)
	}
	if got := l.changed(); len(got) != 1 || got[0] != "option 'b': value 0 adjusted to 1" {
		t.Fatal(got)
	}
}
