package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	open := func(name string, flags int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|flags, 0o600)
		if err != nil {
			t.Skipf("files cannot be opened so here: %v", err)
		}
		t.Cleanup(func() { f.Close() })
	}
	open("a.ibd", unix.O_DIRECT)
	open("b.ibd", 0)
	open("c.ibd", 0)
	open("d.log", 0)
	direct, cached, err := OpenFiles(os.Getpid(), dir, func(name string) bool {
		return strings.HasSuffix(name, ".ibd")
	})
	if err != nil || direct != 1 || cached != 2 {
		t.Errorf("%d direct, %d cached, %v", direct, cached, err)
	}
	if direct, cached, err = OpenFiles(os.Getpid(), dir+"x", func(string) bool { return true }); err != nil ||
		direct+cached != 0 {
		t.Errorf("below another folder: %d direct, %d cached, %v", direct, cached, err)
	}
	if _, _, err := OpenFiles(1<<22+1, dir, func(string) bool { return true }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no process: %v", err)
	}
}
