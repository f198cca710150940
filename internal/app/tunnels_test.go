package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestTriedTunnelIsGone: looking whether a server behind a jump host can be reached leaves nothing that tries again.
func TestTriedTunnelIsGone(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real ssh")
	}
	dir := t.TempDir()
	if _, err := exec.LookPath("ssh"); err != nil {
		tree := os.Getenv("DYNO_TEST_SSHD")
		if tree == "" {
			t.Fatal("DYNO_TEST_SSHD names no unpacked OpenSSH: run build/sshd")
		}
		lib := tree + "/usr/lib/x86_64-linux-gnu"
		script := "#!/bin/sh\nexec " + lib + "/ld-linux-x86-64.so.2 --library-path " + lib + " --argv0 ssh " + tree +
			"/usr/bin/ssh \"$@\"\n"
		if err := os.WriteFile(dir+"/ssh", []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
	tmp, err := os.MkdirTemp("", "") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	a := &App{Home: t.TempDir(), Environ: func(string) string { return "" }}
	defer a.Close()
	for _, host := range []string{"no-such-host.invalid", "127.0.0.1:1"} {
		c, err := Inspection{a}.Inspect(t.Context(), ledger.Target{
			Name: "x",
			URL: "mysql://u@127.0.0.1:3306/?ssh=ssh://" +
				host, Defaults: os.DevNull,
		})
		if err != nil || c.Reached || !strings.Contains(c.Reason, "ssh does not get there") {
			t.Errorf("%s: %+v %v", host, c, err)
		}
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		// less than the minute that a tunnel without users has
		left, err := filepath.Glob(tmp + "/dyno-ssh-*")
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("tunnels are left: %v", left)
		}
	}
}
