package trials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dyno/internal/trial"
)

// TestFullDisk fills a small file system: the error tells what is needed, and what was there is there.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount %s: %v", disk, err)
		}
	})
	d, err := Create(filepath.Join(disk, "x"), header())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // runs before the unmounting
	x, n := full(1), 0
	for ; err == nil; n++ {
		x.Seq = n + 1
		err = d.Put(t.Context(), x)
	}
	n-- // the last did not fit
	b, _ := encode(x)
	says(t, err, ErrFull, fmt.Sprintf("%d bytes are needed", len(b)), "are free", "resume")
	if n < 3 {
		t.Fatalf("only %d trials fitted", n)
	}
	if err := d.PutResult(trial.Result{Format: 1, Trials: []trial.Trial{x, x}}); !errors.Is(err, ErrFull) {
		t.Errorf("result: %v", err)
	}
	d = reopen(t, d)
	if ts := all(t, d); len(ts) != n || len(d.Warnings()) > 0 {
		t.Errorf("%d trials, %d were kept; %q", len(ts), n, d.Warnings())
	}
	if err := os.Remove(d.file(1)); err != nil { // makes room
		t.Fatal(err)
	}
	put(t, d, x)
}
