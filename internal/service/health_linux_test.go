package service

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dyno-perf/dyno/internal/app"
)

// TestHealthOfTheDisk fills a small file system that holds Dyno's home.
func TestHealthOfTheDisk(t *testing.T) {
	home := t.TempDir()
	if err := syscall.Mount("tmpfs", home, "tmpfs", 0, "size=6m,mode=700"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(home, 0); err != nil {
			t.Error(err)
		}
	})
	s := wired(&Service{app: &app.App{Home: home}})
	f := func(free int64, severity, text string) {
		t.Helper()
		other := filepath.Join(home, "other")
		if err := os.WriteFile(other, make([]byte, 6<<20-free), 0o600); err != nil {
			t.Fatal(err)
		}
		all := s.Health()
		if severity == "" {
			if len(all) > 0 {
				t.Errorf("with %d free: %+v", free, all)
			}
			return
		}
		if len(all) != 1 || all[0].Kind != "disk" || all[0].Severity != severity ||
			!strings.Contains(all[0].Text, text) || !strings.Contains(all[0].Fix, "--reserve") {
			t.Errorf("with %d free: %+v", free, all)
		}
	}
	f(3<<20, "", "")
	f(14*(6<<20)/60, "warn", "is nearly full: 1.4 MiB of 6 MiB are free, and below 1.2 MiB Dyno stores nothing")
	f(1<<20, "bad", "is full: Dyno stores nothing. 1 MiB of 6 MiB are free; 1.2 MiB are reserved for other programs.")
}
