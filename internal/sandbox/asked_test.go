package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAServerIsAskedOnce: however many ask for its version, a program is started once, and again when it is another
// one.
func TestAServerIsAskedOnce(t *testing.T) {
	dir := openDir(t)
	if err := os.Chmod(dir, 0o777); err != nil { // the program runs as the servers' account, and writes its log there
		t.Fatal(err)
	}
	path, log := filepath.Join(dir, "mariadbd"), filepath.Join(dir, "log")
	write := func(line string) {
		t.Helper()
		text := fmt.Sprintf("#!/bin/sh\necho started >> %s\n%s\n", log, line)
		if err := os.WriteFile(path+".new", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	program := func(version string) {
		t.Helper()
		write(fmt.Sprintf("echo 'mariadbd  Ver %s-MariaDB for Linux'", version))
	}
	check := func(version string, times int) {
		t.Helper()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if s, err := builds.resolvePath(t.Context(), path); err != nil || s.Version != version {
					t.Errorf("%+v, %v", s, err)
				}
			})
		}
		all.Wait()
		if b, err := os.ReadFile(log); err != nil || strings.Count(string(b), "started") != times {
			t.Errorf("it was started %d times, want %d; %v", strings.Count(string(b), "started"), times, err)
		}
	}
	program("10.11.19")
	check("10.11.19", 1)
	check("10.11.19", 1)
	program("11.8.6")
	check("11.8.6", 2)

	// The same holds of its settings, whether it knows them or not, and of one that cannot tell its version.
	times := func(want int, ask func() error) {
		t.Helper()
		first := ask()
		for range 3 {
			if err := ask(); fmt.Sprint(err) != fmt.Sprint(first) {
				t.Errorf("it said %v, then %v", first, err)
			}
		}
		if b, err := os.ReadFile(log); err != nil || strings.Count(string(b), "started") != want {
			t.Errorf("it was started %d times, want %d; %v", strings.Count(string(b), "started"), want, err)
		}
	}
	s, err := builds.resolvePath(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	y := yard(t)
	times(3, func() error { return y.CheckSettings(t.Context(), s, map[string]string{"max_connections": "20"}) })
	times(4, func() error { return y.CheckSettings(t.Context(), s, map[string]string{"max_connections": "21"}) })
	write("exit 1")
	times(5, func() error { _, err := builds.resolvePath(t.Context(), path); return err })
}
