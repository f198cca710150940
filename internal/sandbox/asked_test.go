package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAServerIsAskedOnce: however many ask for its version, a program is started once, and again when it is another one.
func TestAServerIsAskedOnce(t *testing.T) {
	dir := openDir(t)
	if err := os.Chmod(dir, 0o777); err != nil { // the program runs as the servers' account, and writes its log there
		t.Fatal(err)
	}
	path, log := filepath.Join(dir, "mariadbd"), filepath.Join(dir, "log")
	program := func(version string) {
		t.Helper()
		text := fmt.Sprintf("#!/bin/sh\necho started >> %s\necho 'mariadbd  Ver %s-MariaDB for Linux'\n", log, version)
		if err := os.WriteFile(path+".new", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	check := func(version string, times int) {
		t.Helper()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if s, err := resolvePath(t.Context(), path); err != nil || s.Version != version {
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
}
