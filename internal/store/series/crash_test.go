package series

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
)

// TestMain lets a test run this binary as the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DYNO_TEST_SERIES_CHILD"); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child appends scrapes of 30 series without end, five minutes of them a second or so, and prints each that was
// acknowledged.
func child(dir string) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	first, err := strconv.ParseInt(os.Getenv("DYNO_TEST_SERIES_FROM"), 10, 64)
	if err != nil {
		return err
	}
	for at := first; ; at += 1000 {
		if err := s.Append(second(at, 30), nil); err != nil {
			return err
		}
		fmt.Println(at)
		time.Sleep(time.Millisecond) // so that the parent meets different states, and the test stays small
	}
}

// start runs a child on dir; it appends from the time from on.
func start(t *testing.T, dir string, from int64) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DYNO_TEST_SERIES_CHILD="+dir, fmt.Sprint("DYNO_TEST_SERIES_FROM=", from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // most are dead by then
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// TestKill kills a writing process at random moments, several times on the same store.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	from, acked := t0, map[int64]bool{}
	for round := range 6 {
		cmd, lines := start(t, dir, from)
		n, stop := 0, 1+rnd.IntN(200)
		var last int64
		for lines.Scan() {
			at, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				t.Fatalf("round %d: child says %q", round, lines.Text())
			}
			acked[at] = true
			last = at
			if n++; n == stop {
				time.Sleep(time.Duration(rnd.IntN(2000)) * time.Microsecond)
				kill(t, cmd) // what it still prints before that counts
			}
		}
		_ = cmd.Wait() // "signal: killed"
		if n < stop {
			t.Fatalf("round %d: child ended after %d of %d", round, n, stop)
		}
		s := mustOpen(t, dir)
		got := map[int64]int{}
		for _, x := range mustSelect(t, s, "", nil, 0, math.MaxInt64) {
			for i, p := range x.Points {
				got[p.At]++
				if i > 0 && p.At <= x.Points[i-1].At {
					t.Fatalf("round %d: points out of order", round)
				}
				if exp := float64(p.At-t0) / 1000; p.Value < exp || p.Value > exp+4 {
					t.Fatalf("round %d: value %v at %d", round, p.Value, p.At-t0)
				}
			}
		}
		for at := range acked {
			if got[at] != 30 && at <= last-2000 {
				t.Errorf("round %d: %d of 30 series at %d, killed after %d", round, got[at], at-t0, last-t0)
			}
			if got[at] != 30 {
				t.Logf("round %d: the second at %d, among the last two, has %d of 30 series", round, at-t0, got[at])
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		from = last + 10_000
	}
	r, err := Check(t.Context(), dir)
	if err != nil || !r.OK() || r.Series != 30 || int(r.Samples) < 30*(len(acked)-2*6) {
		t.Errorf("%d scrapes acknowledged: %+v, %v", len(acked), r, err)
	}
}

func TestBusy(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := start(t, dir, t0)
	if !lines.Scan() {
		t.Fatal("the child says nothing")
	}
	f := func(err error, pid int) {
		t.Helper()
		var busy *BusyError
		if !errors.Is(err, ErrBusy) || !errors.As(err, &busy) || busy.PID != pid ||
			!strings.Contains(err.Error(), fmt.Sprintf("process %d", pid)) {
			t.Errorf("%v, want busy by %d", err, pid)
		}
	}
	_, err := Open(dir)
	f(err, cmd.Process.Pid)
	_, err = Check(t.Context(), dir)
	f(err, cmd.Process.Pid)
	kill(t, cmd)
	_ = cmd.Wait() // "signal: killed"
	s := mustOpen(t, dir)
	_, err = Open(dir) // the same process counts, too
	f(err, os.Getpid())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir)
}

// written fills a store with minutes of 30 series at one a second and returns its directory; hours of it make blocks.
func written(t *testing.T, minutes int, compact bool) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range minutes * 60 {
		if err := s.Append(second(t0+int64(i)*1000, 30), nil); err != nil {
			t.Fatal(err)
		}
	}
	if compact {
		if err := s.db.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.db.Blocks()) == 0 {
			t.Fatal("no block")
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// glob returns the largest file that matches: tsdb begins an empty segment at each opening.
func glob(t *testing.T, dir, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatal("no", pattern, err)
	}
	best, size := "", int64(-1)
	for _, n := range names {
		if st, err := os.Stat(n); err == nil && st.Size() > size {
			best, size = n, st.Size()
		}
	}
	return best
}

// damage flips the bits of some bytes at a share of the file's length.
func damage(t *testing.T, file string, at float64) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		b[int(at*float64(len(b)))+i] ^= 0x5a
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree returns every file with its content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		b, err := os.ReadFile(p)
		m[p] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// refused opens a damaged store, which must fail, name the place and the time, and change nothing.
func refused(t *testing.T, dir, where string, from, to int64) {
	t.Helper()
	before := tree(t, dir)
	s, err := Open(dir)
	if err == nil {
		_ = s.Close()
		t.Fatalf("opens, with warnings %q", s.Warnings())
	}
	var bad *CorruptError
	if !errors.Is(err, ErrCorrupt) || !errors.As(err, &bad) || len(bad.Spans) == 0 {
		t.Fatal(err)
	}
	x := bad.Spans[0]
	if !strings.Contains(x.Where, where) {
		t.Errorf("where: %v, want %s", x, where)
	}
	if from > 0 && x.From.UnixMilli() != from || to > 0 && x.To.UnixMilli() != to {
		t.Errorf("span %d to %d, want %d to %d", x.From.UnixMilli()-t0, x.To.UnixMilli()-t0, from-t0, to-t0)
	}
	after := tree(t, dir)
	if fmt.Sprint(len(before)) != fmt.Sprint(len(after)) {
		t.Errorf("files: %d, then %d", len(before), len(after))
	}
	for p, b := range before {
		if after[p] != b {
			t.Errorf("%s was changed", p)
		}
	}
	r, err := Check(t.Context(), dir)
	if err != nil || r.OK() || len(r.Lost) == 0 {
		t.Errorf("check: %+v, %v", r, err)
	}
}

func TestDamagedLog(t *testing.T) {
	dir := written(t, 5, false)
	damage(t, glob(t, dir, "wal/0*"), 0.5)
	_, err := Open(dir)
	var bad *CorruptError
	if !errors.As(err, &bad) || len(bad.Spans) != 1 {
		t.Fatal(err)
	}
	from, to := bad.Spans[0].From.UnixMilli(), bad.Spans[0].To.UnixMilli()
	if from <= t0 || to <= from || to >= t0+300_000 || to-from > 120_000 {
		t.Errorf("lost: %d to %d", from-t0, to-t0)
	}
	refused(t, dir, "wal/0", from, to)
}

// TestDamageAnywhere flips bytes at many places of a log: only the last record may be lost without a word of damage.
func TestDamageAnywhere(t *testing.T) {
	dir := written(t, 5, false)
	file := glob(t, dir, "wal/0*")
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, last := records(sound)
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		b := slices.Clone(sound)
		at := rnd.IntN(last)
		b[at] ^= byte(1 + rnd.IntN(255))
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(dir); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d of %d, now %#x: %v", at, len(b), b[at], err)
			if err == nil {
				_ = s.Close()
			}
			return // the store is another one now
		}
	}
}

func TestMissingSegment(t *testing.T) {
	dir := written(t, 2, false)
	for range 3 { // each opening begins a segment
		s := mustOpen(t, dir)
		got := mustSelect(t, s, "", nil, 0, math.MaxInt64)
		last := got[0].Points[len(got[0].Points)-1].At
		if err := s.Append(second(last+1000, 30), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "wal", "00000002")); err != nil {
		t.Fatal(err)
	}
	// Segment 1 holds the second at 120 s, segment 2 that at 121 s.
	refused(t, dir, "wal", t0+120_000, t0+122_000)
}

func TestTornLog(t *testing.T) {
	whole := written(t, 1, false)
	b, err := os.ReadFile(glob(t, whole, "wal/0*"))
	if err != nil {
		t.Fatal(err)
	}
	b, last := records(b)
	f := func(name string, tail []byte, warn bool) {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(glob(t, dir, "wal/0*"), tail, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if warn != (len(s.Warnings()) > 0) {
			t.Errorf("%s: warnings %q", name, s.Warnings())
		}
		for _, x := range mustSelect(t, s, "", nil, 0, math.MaxInt64) {
			if n := len(x.Points); n < 59 {
				t.Errorf("%s: %s has %d points", name, x.Name, n)
			}
		}
		// It goes on, and the next opening has nothing to say.
		if err := s.Append(second(t0+100_000, 30), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s = mustOpen(t, dir)
		if w := s.Warnings(); len(w) > 0 {
			t.Errorf("%s: warnings at the next opening %q", name, w)
		}
		if got := mustSelect(t, s, "", nil, t0+100_000, t0+100_000); len(got) != 30 {
			t.Errorf("%s: %d series after it went on", name, len(got))
		}
	}
	f("whole", b, false)
	f("cut within the last record", b[:len(b)-10], true)
	f("cut after its first byte", b[:last+1], true)
	f("garbage in the last record", append(append([]byte{}, b[:len(b)-10]...), "0123456789"...), true)
	f("empty pages behind a cut", append(append([]byte{}, b[:len(b)-10]...), make([]byte, 3*pageSize)...), true)
}

// records returns a log without the zeros that fill its last page when it is closed, and where its last record begins.
func records(b []byte) (_ []byte, last int) {
	at := 0
	for at+headerSize < len(b) {
		if b[at] == 0 { // the rest of the page is unused
			at = (at/pageSize + 1) * pageSize
			continue
		}
		last = at
		at += headerSize + int(b[at+1])<<8 + int(b[at+2])
	}
	return b[:last+headerSize+int(b[last+1])<<8+int(b[last+2])], last
}

func TestDamagedBlocks(t *testing.T) {
	whole := written(t, 100, true)
	f := func(name, pattern string, hurt func(file string), openFails bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			file := glob(t, dir, pattern)
			hurt(file)
			block := strings.Split(strings.TrimPrefix(file, dir+"/"), "/")[0]
			if openFails {
				refused(t, dir, block, 0, 0)
				// Without the block the rest can be used.
				if err := os.Rename(filepath.Join(dir, block), filepath.Join(t.TempDir(), "aside")); err != nil {
					t.Fatal(err)
				}
				if got := mustSelect(t, mustOpen(t, dir), "", nil, 0, math.MaxInt64); len(got) != 30 {
					t.Errorf("%d series without the damaged block", len(got))
				}
				return
			}
			// Only reading it tells.
			s := mustOpen(t, dir)
			_, err := s.Select(t.Context(), "", nil, 0, math.MaxInt64)
			var bad *CorruptError
			if !errors.As(err, &bad) || len(bad.Spans) != 1 || bad.Spans[0].Where != block ||
				bad.Spans[0].From.IsZero() {
				t.Errorf("read: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := Check(t.Context(), dir)
			if err != nil || len(r.Lost) != 1 || r.Lost[0].Where != block || r.Samples == 0 {
				t.Errorf("check: %+v, %v", r, err)
			}
		})
	}
	flip := func(at float64) func(string) { return func(file string) { damage(t, file, at) } }
	f("chunks", "*/chunks/000001", flip(0.5), false)
	f("index", "*/index", func(file string) {
		if err := os.Truncate(file, 100); err != nil {
			t.Fatal(err)
		}
	}, true)
	f("no description", "*/meta.json", func(file string) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}, true)
	f("garbled description", "*/meta.json", func(file string) {
		if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}, true)
}

func TestCheckOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if r, err := Check(t.Context(), dir); err != nil || r.Exists || !r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the check made the directory")
	}
	s := mustOpen(t, dir)
	if err := s.Append([]metric.Sample{{Name: "x", At: t0}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(t.Context(), dir); err != nil || !r.Exists || !r.OK() || r.Samples != 1 ||
		r.Series != 1 || r.Bytes == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
