package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyno/internal/progress"
)

// yard returns a yard of the test's own, emptied at its end.
func yard(t *testing.T) *Yard {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	home, err := os.MkdirTemp("", "dyno-yard-") // the server's account may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	y, err := Open(filepath.Join(home, "home"))
	if err != nil {
		t.Fatal(err)
	}
	if tree := os.Getenv("DYNO_TEST_MYSQL"); tree != "" {
		y.ServerDirs = []string{tree}
	}
	t.Cleanup(func() {
		if err := y.RemoveAll(context.Background()); err != nil {
			t.Error(err)
		}
		os.RemoveAll(home)
	})
	return y
}

func TestUp(t *testing.T) {
	ctx := context.Background()
	for _, flavor := range []string{"mariadb", "mysql"} {
		t.Run(flavor, func(t *testing.T) {
			y := yard(t)
			for i, name := range []string{"a", "b"} {
				t0 := time.Now()
				last := ""
				s, err := y.Up(ctx, Config{Name: name, Server: flavor}, func(p progress.Progress) {
					if p.Step != last {
						last = p.Step
						t.Log(time.Since(t0), p.Step)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("up %d took %v: %+v", i, time.Since(t0), s)
			}
			t0 := time.Now()
			if err := y.Down(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			t.Log("down", time.Since(t0))
			t0 = time.Now()
			if _, err := y.Up(ctx, Config{Name: "a"}, nil); err != nil {
				t.Fatal(err)
			}
			t.Log("up again", time.Since(t0))
		})
	}
}
