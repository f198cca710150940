package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"
)

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
	l := openLogs(dir, mysqlsandbox.Maker{}.Traits().Log)
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
