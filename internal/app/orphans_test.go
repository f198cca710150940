package app

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/sandbox"
)

// TestKilledTryLeavesNoRows: the private server of a Try that was killed goes with the next program
// that uses sandboxes.
func TestKilledTryLeavesNoRows(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server")
	}
	top, err := os.MkdirTemp("", "dyno-yard-") // the servers' account may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	y, err := sandbox.Open(home, Makers()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.RemoveAll(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := y.Up(t.Context(), sandbox.Config{Name: "try-1", Server: "mariadb", Owner: true}, nil); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		t.Helper()
		a := &App{Home: home}
		if _, err := a.Yard(); err != nil {
			t.Fatal(err)
		}
		all, err := y.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if left() != 1 {
		t.Fatal("the sandbox of a living program was removed")
	}

	maker := exec.Command("/bin/sleep", "3600")
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := host.IdentityOf(maker.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(home, "sandboxes", "try-1", "sandbox.json")
	b, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	me, err := host.IdentityOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	mine, its := []byte(strconv.Itoa(me.PID)+","), []byte(strconv.Itoa(id.PID)+",")
	if !bytes.Contains(b, mine) {
		t.Fatalf("the record names no maker: %s", b)
	}
	if err := os.WriteFile(record, bytes.ReplaceAll(b, mine, its), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := maker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = maker.Wait() // killed
	if left() != 0 {
		t.Error("the rows of a server are left")
	}
}

// TestReportsAreOurs: reports hold statements of the servers' users.
func TestReportsAreOurs(t *testing.T) {
	home := t.TempDir()
	old := filepath.Join(home, "reports", "x-1", "report.html")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a := &App{Home: home}
	t.Cleanup(func() { a.Close() })
	html, err := Reports{a}.StoreReport(t.Context(), report.Document{ID: "x-2", Kind: "compare"}, a.ReportDir("x-2"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		filepath.Join(home, "reports"): 0o700, filepath.Dir(html): 0o700,
		html: 0o600, filepath.Dir(old): 0o700, old: 0o600,
	} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, fi.Mode(), err)
		}
	}
}
