package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Whatever is called mysqld is asked for its version: as an account that can do no harm, and not
// for ever.
func TestProbe(t *testing.T) {
	top := openDir(t)
	t.Setenv("SHOP_TOKEN", "the secret of root")
	path := filepath.Join(top, "mysqld")
	program := func(script string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}

	program(`echo "mysqld Ver 8.0.36 for Linux"; id -u; id -G; env; grep NoNewPrivs /proc/self/status`)
	said, err := version(t.Context(), Server{Path: path}, builds.askVersion(path)...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(said, "\n")
	if uid := strconv.Itoa(a.id()); len(lines) < 3 || lines[1] != uid || os.Geteuid() == 0 &&
		lines[2] != strconv.Itoa(a.gid) {
		t.Errorf("not run as user and group %s: %q", uid, said)
	}
	if strings.Contains(said, "secret") || !strings.Contains(said, "NoNewPrivs:\t1") {
		t.Error(said)
	}
	if b, err := os.ReadFile("/proc/thread-self/status"); err != nil || strings.Contains(string(b), "NoNewPrivs:\t1") {
		t.Errorf("a thread of ours cannot gain privileges any more: %v", err)
	}

	pid := filepath.Join(top, "pid")
	if err := os.WriteFile(pid, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(pid, 0o666); err != nil {
		t.Fatal(err)
	}
	// A child that keeps the output open, and one that does not.
	for _, output := range []string{"", " >/dev/null 2>&1"} {
		program(`echo "mysqld Ver 8.0.36 for Linux"; sleep 3600` + output + ` & echo $! >` + pid)
		if _, err := version(t.Context(), Server{Path: path}, builds.askVersion(path)...); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
			if err != nil || strings.Contains(string(b), ") Z ") {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the program's child goes on")
			}
		}
	}

	program(`echo "mysqld Ver 8.0.36 for Linux"; exec head -c 50000000 /dev/zero`)
	said, err = version(t.Context(), Server{Path: path}, builds.askVersion(path)...)
	if err != nil || len(said) != maxOutput {
		t.Errorf("%d bytes are kept, %v", len(said), err)
	}
	if err := os.Chmod(top, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := builds.ask(t.Context(), path, OfDir); (err == nil) != (os.Geteuid() != 0) {
		t.Error(err)
	}
}
