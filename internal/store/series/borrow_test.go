package series

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestBorrowedIsTidied: what a reader left that was killed goes with the next one who opens the store or reads it, and
// what is in use stays.
func TestBorrowedIsTidied(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "series")
	place := func(name string, age time.Duration) string {
		t.Helper()
		d := filepath.Join(home, borrowPrefix+name)
		at := time.Now().Add(-age)
		if err := errors.Join(os.Mkdir(d, 0o700), os.Chtimes(d, at, at)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	gone := func(d string, want bool) {
		t.Helper()
		if _, err := os.Stat(d); errors.Is(err, fs.ErrNotExist) != want {
			t.Errorf("%s: %v", d, err)
		}
	}
	old, young, used := place("old", 2*time.Hour), place("young", time.Minute), place("used", 0)
	lock, err := acquire(used)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(used, at, at); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	gone(old, true)
	gone(young, false)
	gone(used, false)
	if err := lock.Close(); err != nil { // as a kill does
		t.Fatal(err)
	}
	old = place("older", 2*time.Hour)
	now := time.Now().UnixMilli()
	b, err := Borrow(t.Context(), dir, now-1000, now)
	if err != nil {
		t.Fatal(err)
	}
	gone(old, true)
	gone(used, true)
	gone(young, false)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBorrowMissesNoBlock: a block that the writer drops between the list and the links is no block without samples.
func TestBorrowMissesNoBlock(t *testing.T) {
	dir := t.TempDir()
	if err := linkBlock(filepath.Join(dir, "dropped"), filepath.Join(dir, "to")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a block that is gone: %v", err)
	}
	home := filepath.Join(dir, "a[b") // as a path may be
	block := filepath.Join(home, "01")
	if err := errors.Join(os.MkdirAll(block, 0o700), os.WriteFile(filepath.Join(block, "meta.json"),
		[]byte(`{"minTime":1000,"maxTime":2000}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if bs, until, err := blocksOf(home, 1000, 1500); err != nil || len(bs) != 1 || bs[0] != block || until != 2000 {
		t.Errorf("%v until %d, %v", bs, until, err)
	}
}
