package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCloneTree(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	write := func(name string, size, at int64, data []byte) {
		t.Helper()
		f, err := os.Create(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(data, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(from, "d"), 0o750); err != nil {
		t.Fatal(err)
	}
	noise := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	write("empty", 0, 0, nil)
	write("full", int64(len(noise)), 0, noise)
	write("d/begin", 64<<20, 0, noise)
	write("d/middle", 64<<20, 32<<20+5, noise)
	write("d/end", 64<<20, 64<<20-int64(len(noise)), noise)
	write("d/hole", 64<<20, 0, nil)
	var told int64
	if err := cloneTree(context.Background(), from, to, account{}, func(n int64) { told += n }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"empty", "full", "d/begin", "d/middle", "d/end", "d/hole"} {
		a, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %d and %d bytes, %v", name, len(a), len(b), err)
		}
		told -= int64(len(a))
		fi, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if onDisk(fi) > 1<<20 {
			t.Errorf("%s takes %d bytes on disk: its holes are filled", name, onDisk(fi))
		}
	}
	if told != 0 {
		t.Errorf("the progress is off by %d bytes", told)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := cloneTree(ctx, from, to+"2", account{}, func(int64) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
