package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// scatter writes a file of the size with some data and some holes.
func scatter(t *testing.T, r *rand.Rand, path string, size int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, []os.FileMode{0o600, 0o640, 0o660}[r.IntN(3)])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for range r.IntN(5) {
		change(t, r, f, size)
	}
}

// change writes noise, or zeros, or a hole somewhere into a file.
func change(t *testing.T, r *rand.Rand, f *os.File, size int64) {
	t.Helper()
	if size == 0 {
		return
	}
	at := r.Int64N(size)
	n := min(1+r.Int64N(1<<uint(r.IntN(20))), size-at)
	if r.IntN(2) == 0 { // on the bounds of blocks
		at, n = at&^(grain-1), (n+grain-1)&^(grain-1)
		n = min(n, size-at)
	}
	switch r.IntN(4) {
	case 0:
		if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n); err != nil &&
			!errors.Is(err, unix.EOPNOTSUPP) {
			t.Fatal(err)
		}
		return
	case 1:
		if _, err := f.WriteAt(make([]byte, n), at); err != nil {
			t.Fatal(err)
		}
	default:
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
}

// spoil changes a copy of a directory as a server and worse things do.
func spoil(t *testing.T, r *rand.Rand, dir string, names []string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for _, n := range names {
		path := filepath.Join(dir, n)
		switch r.IntN(12) {
		case 0:
			must(os.Remove(path))
		case 1:
			must(os.Truncate(path, r.Int64N(3<<20)))
		case 2:
			must(os.Truncate(path, 0))
		case 3: // something else of that name
			must(os.Remove(path))
			must(os.MkdirAll(filepath.Join(path, "deep"), 0o700))
		case 4:
			must(os.Remove(path))
			must(os.Symlink("/etc/hostname", path))
		case 5:
			must(os.Chmod(path, 0o400))
		case 6: // as it was
		default:
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(err)
			if err != nil {
				continue
			}
			fi, err := f.Stat()
			must(err)
			for range 1 + r.IntN(8) {
				change(t, r, f, fi.Size())
			}
			must(f.Close())
		}
	}
	if r.IntN(2) == 0 {
		must(os.MkdirAll(filepath.Join(dir, "d", "more"), 0o700))
		scatter(t, r, filepath.Join(dir, "d", "more", "file"), 100_000)
	}
	if r.IntN(4) == 0 {
		must(os.RemoveAll(filepath.Join(dir, "d")))
	}
	if r.IntN(4) == 0 {
		must(unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	}
}

// holes fails the test when a block is data in b that is a hole in a.
func holes(t *testing.T, a, b string, size int64) {
	t.Helper()
	f, err := os.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for at := int64(0); at < size; {
		start, end, err := nextData(f, at, size)
		if err != nil {
			t.Fatal(err)
		}
		if s, e, err := nextData(g, at, start); at < start && (err != nil || s != start) {
			t.Errorf("%s: the hole from %d to %d has data from %d to %d, %v", b, at, start, s, e, err)
		}
		at = end
	}
}

// checkRestore makes a directory, a spoilt copy of it, and restores it.
func checkRestore(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	top := t.TempDir()
	from, to := filepath.Join(top, "from"), filepath.Join(top, "to")
	if err := os.MkdirAll(filepath.Join(from, "d", "e"), 0o750); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 1 + r.IntN(8) {
		names = append(names, filepath.Join([]string{"", "d", "d/e"}[r.IntN(3)], fmt.Sprintf("f%d", i)))
		scatter(t, r, filepath.Join(from, names[i]), r.Int64N(1<<uint(r.IntN(24))))
	}
	list, _, err := readTree(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(to, 0o750); err != nil {
		t.Fatal(err)
	}
	restore := func() Restored {
		t.Helper()
		var told int64
		got, err := (&transfer{from: from, to: to, tree: list}).run(context.Background(), func(n int64) { told = n })
		if err != nil {
			t.Fatal(err)
		}
		if told != list.size() {
			t.Errorf("seed %d: progress ends at %d of %d", seed, told, list.size())
		}
		sameTree(t, from, to)
		for n, f := range list.Files {
			holes(t, filepath.Join(from, n), filepath.Join(to, n), f.Size)
		}
		return got
	}
	restore() // into nothing
	if got := restore(); got.Changed != 0 || got.Written != 0 || got.Punched != 0 || got.Removed != 0 {
		t.Errorf("seed %d: a second restore does %+v", seed, got)
	}
	for range 3 {
		spoil(t, r, to, names)
		want := differing(t, from, to, list)
		if got := restore(); got.Shared == 0 && got.Written > want {
			t.Errorf("seed %d: %d bytes written, %d are in blocks that differ", seed, got.Written, want)
		}
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

// differing counts the bytes of the blocks in which files differ.
func differing(t *testing.T, from, to string, list tree) (n int64) {
	t.Helper()
	for name := range list.Files {
		a, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Lstat(filepath.Join(to, name))
		if err != nil || !fi.Mode().IsRegular() {
			n += int64(len(a))
			continue
		}
		b, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, make([]byte, max(0, len(a)-len(b)))...)
		for i := 0; i < len(a); i += grain {
			end := min(i+grain, len(a))
			if !bytes.Equal(a[i:end], b[i:end]) {
				n += int64(end - i)
			}
		}
	}
	return n
}

func TestRestoreBlocks(t *testing.T) {
	for seed := range uint64(40) {
		checkRestore(t, seed)
	}
}

func FuzzRestoreBlocks(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { checkRestore(t, seed) })
}

// A restore that cannot go on says so, leaves no goroutine behind and can be done again.
func TestRestoreBlocksFails(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	top := t.TempDir()
	from, to := filepath.Join(top, "from"), filepath.Join(top, "to")
	for _, d := range []string{from, to} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		b := make([]byte, 20<<20)
		for j := 0; j < len(b); j += 512 {
			b[j] = byte(r.Uint32())
		}
		if err := os.WriteFile(filepath.Join(from, fmt.Sprint(i)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := readTree(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := &transfer{from: from, to: to, tree: list}
	x.unshared.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.run(ctx, func(int64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := os.Truncate(filepath.Join(from, "3"), 20<<20-1); err != nil {
		t.Fatal(err)
	}
	if _, err := x.run(t.Context(), func(int64) {}); !errors.Is(err, ErrData) {
		t.Errorf("a file shorter than its list: %v", err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range open {
		if l, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && len(l) > len(top) && l[:len(top)] == top {
			t.Errorf("left open: %s", l)
		}
	}
	if err := os.Truncate(filepath.Join(from, "3"), 20<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := (&transfer{from: from, to: to, tree: list}).run(t.Context(), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	sameTree(t, from, to)
}
