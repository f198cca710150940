package digestsource

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
)

// quick follows faster than people need it.
func quick(state string) FollowOptions {
	return FollowOptions{
		State: state, Poll: time.Millisecond, Every: 5 * time.Millisecond,
		Settle: 200 * time.Millisecond,
	}
}

// follows runs a Follow until it has counted what it should.
func follows(t testing.TB, path string, o FollowOptions, want uint64) (digest.Report, Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got uint64
	a, r, err := Follow(ctx, path, o, func(u Update) error {
		if got = u.Total.Entries(); got >= want && ctx.Err() == nil {
			time.AfterFunc(20*time.Millisecond, cancel) // more would be too much
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	report := a.Report(digest.Options{Files: r.Files, Source: r.Source, Notes: r.Notes})
	if a.Entries() != want {
		t.Fatalf("%d entries, want %d; skipped %+v; %s", a.Entries(), want, report.Skipped, asJSON(t, r))
	}
	return report, r
}

// writer writes a log as a server does, and rotates it.
type writer struct {
	t     testing.TB
	dir   string
	path  string
	f     *os.File
	now   time.Time
	micro int64 // sum of Query_time
	n     uint64

	rotations int
}

func newWriter(t testing.TB) *writer {
	w := &writer{t: t, dir: t.TempDir(), now: at}
	w.path = filepath.Join(w.dir, "slow.log")
	w.reopen()
	return w
}

func (w *writer) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// reopen does what FLUSH SLOW LOGS does.
func (w *writer) reopen() {
	w.t.Helper()
	if w.f != nil {
		w.must(w.f.Close())
	}
	var err error
	w.f, err = os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.must(err)
	_, err = w.f.WriteString(banner)
	w.must(err)
}

// entries writes n entries, each with a Query_time of its own. parts of some come later.
func (w *writer) entries(n int, rng *rand.Rand) {
	w.t.Helper()
	for range n {
		var l written
		w.n++
		w.micro += int64(w.n)
		w.now = w.now.Add(time.Second)
		l.entry(w.now, int64(w.n), "", fmt.Sprintf("SELECT %d FROM t WHERE\n x = 'a;\n# b'", w.n))
		b := l.Bytes()
		if rng != nil && rng.IntN(10) == 0 {
			k := rng.IntN(len(b))
			_, err := w.f.Write(b[:k])
			w.must(err)
			time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
			b = b[k:]
		}
		_, err := w.f.Write(b)
		w.must(err)
	}
}

// shift gives the rotated logs higher numbers and compresses from the second on.
func (w *writer) shift(compress bool) string {
	w.t.Helper()
	w.rotations++
	name := func(i int) string { return fmt.Sprintf("%s.%d", w.path, i) }
	for i := w.rotations; i >= 1; i-- {
		for _, z := range []string{"", ".gz"} {
			if _, err := os.Stat(name(i) + z); err == nil {
				w.must(os.Rename(name(i)+z, name(i+1)+z))
			}
		}
	}
	if _, err := os.Stat(name(2)); err == nil && compress {
		b, err := os.ReadFile(name(2))
		w.must(err)
		st, err := os.Stat(name(2))
		w.must(err)
		w.must(os.WriteFile(name(2)+".gz", gzipped(w.t, b), 0o600))
		w.must(os.Chtimes(name(2)+".gz", st.ModTime(), st.ModTime()))
		w.must(os.Remove(name(2)))
	}
	return name(1)
}

// rename rotates as logrotate does with create and postrotate: the server writes to the old file until it is told.
func (w *writer) rename(rng *rand.Rand, compress bool) {
	w.t.Helper()
	w.must(os.Rename(w.path, w.shift(compress)))
	if rng.IntN(2) == 0 {
		w.must(os.WriteFile(w.path, nil, 0o600))
	}
	w.entries(rng.IntN(20), rng)
	w.reopen()
}

// copyTruncate rotates as logrotate does with copytruncate.
func (w *writer) copyTruncate(compress bool) {
	w.t.Helper()
	to := w.shift(compress)
	b, err := os.ReadFile(w.path)
	w.must(err)
	w.must(os.WriteFile(to, b, 0o600))
	w.must(os.Truncate(w.path, 0))
}

func (w *writer) check(r digest.Report, restarts int) {
	w.t.Helper()
	if r.Global.Count != w.n || r.Global.Attributes["query_time"].Sum != float64(w.micro)/1e6 || r.Global.Skipped != 0 {
		w.t.Fatalf("after %d restarts: %d statements of %v s, %+v skipped; want %d of %v s, none", restarts,
			r.Global.Count, r.Global.Attributes["query_time"].Sum, r.Skipped, w.n, float64(w.micro)/1e6)
	}
}

func TestFollow(t *testing.T) {
	w := newWriter(t)
	w.entries(10, nil)
	r, res := follows(t, w.path, quick(""), 10)
	w.check(r, 0)
	if len(res.Files) != 1 || res.Files[0].Entries != 10 || res.Files[0].Name != w.path {
		t.Fatalf("files %+v", res.Files)
	}
	// Without a state everything is counted again, with FromEnd nothing.
	o := quick("")
	o.FromEnd = true
	ctx, cancel := context.WithCancel(t.Context())
	step := 0
	a, _, err := Follow(ctx, w.path, o, func(u Update) error {
		switch step++; {
		case step == 1:
			w.entries(3, nil)
		case u.Total.Entries() == 3, step > 5000:
			cancel()
		}
		return nil
	})
	if err != nil || a.Entries() != 3 {
		t.Fatalf("from the end: %d entries, %v; want 3", a.Entries(), err)
	}
}

func TestFollowWaitsForTheLog(t *testing.T) {
	w := newWriter(t)
	w.must(os.Remove(w.path))
	go func() {
		time.Sleep(20 * time.Millisecond)
		w.reopen()
		w.entries(5, nil)
	}()
	follows(t, w.path, quick(filepath.Join(w.dir, "state")), 5)
}

func TestFollowHalfAnEntry(t *testing.T) {
	w := newWriter(t)
	o := quick("")
	o.Settle = time.Millisecond
	var l written
	l.entry(at, 7, "", "SELECT 1")
	step := 0
	ctx, cancel := context.WithCancel(t.Context())
	b := l.Bytes()
	// However long half an entry stands there, it does not count before the rest comes.
	a, _, err := Follow(ctx, w.path, o, func(u Update) error {
		if n := u.Total.Entries(); n > 0 && step < len(b) {
			t.Errorf("counted after %d of %d bytes: %q", step, len(b), b[:step])
		}
		switch {
		case step < len(b):
			k := min(step+5, len(b))
			w.f.Write(b[step:k])
			step = k
		case u.Total.Entries() > 0:
			cancel()
		}
		return nil
	})
	if err != nil || a.Entries() != 1 {
		t.Fatalf("%d entries, %v", a.Entries(), err)
	}
}

func TestFollowRotation(t *testing.T) {
	for seed := range uint64(3) {
		w := newWriter(t)
		rng := rand.New(rand.NewPCG(seed, 9))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		written := make(chan struct{})
		begun := make(chan struct{})
		begin := sync.OnceFunc(func() { close(begun) })
		go func() {
			defer close(written)
			<-begun // what was rotated before is not counted
			for range 25 {
				w.entries(rng.IntN(40), rng)
				switch rng.IntN(4) {
				case 0:
					w.rename(rng, rng.IntN(2) == 0)
				case 1:
					w.copyTruncate(rng.IntN(2) == 0)
				default:
					time.Sleep(time.Duration(rng.IntN(4)) * time.Millisecond)
				}
			}
		}()
		a, res, err := Follow(ctx, w.path, quick(filepath.Join(w.dir, "state")), func(u Update) error {
			begin()
			select {
			case <-written:
				if u.Total.Entries() >= w.n {
					cancel()
				}
			default:
			}
			return nil
		})
		begin()
		<-written
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Notes) > 0 {
			t.Errorf("notes %q", res.Notes)
		}
		w.check(a.Report(digest.Options{Files: res.Files}), 0)
	}
}

// TestFollowWhileDown rotates while nobody looks.
func TestFollowWhileDown(t *testing.T) {
	f := func(name string, change func(w *writer, rng *rand.Rand)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			w := newWriter(t)
			rng := rand.New(rand.NewPCG(1, 1))
			o := quick(filepath.Join(w.dir, "state"))
			w.entries(30, nil)
			follows(t, w.path, o, 30)
			change(w, rng)
			r, _ := follows(t, w.path, o, w.n)
			w.check(r, 1)
			r, _ = follows(t, w.path, o, w.n) // nothing new
			w.check(r, 2)
		})
	}
	f("more", func(w *writer, rng *rand.Rand) { w.entries(10, rng) })
	f("renamed", func(w *writer, rng *rand.Rand) { w.entries(5, rng); w.rename(rng, false); w.entries(5, rng) })
	f("renamed and empty", func(w *writer, rng *rand.Rand) { w.entries(5, rng); w.rename(rng, false) })
	f("renamed, not opened anew", func(w *writer, rng *rand.Rand) {
		w.entries(5, rng)
		w.must(os.Rename(w.path, w.path+".1"))
		w.must(os.WriteFile(w.path, nil, 0o600))
		w.entries(5, rng)
	})
	f("twice", func(w *writer, rng *rand.Rand) {
		for range 2 {
			w.entries(5, rng)
			w.rename(rng, false)
		}
		w.entries(5, rng)
	})
	f("four times and compressed", func(w *writer, rng *rand.Rand) {
		for range 4 {
			w.entries(5, rng)
			w.rename(rng, true)
		}
		w.entries(5, rng)
	})
	f("copied and truncated", func(w *writer, rng *rand.Rand) {
		w.entries(5, rng)
		w.copyTruncate(false)
		w.entries(5, rng)
	})
	f("copied, truncated and grown", func(w *writer, rng *rand.Rand) {
		w.entries(5, rng)
		w.copyTruncate(false)
		w.entries(90, rng)
	})
	f("copied three times and compressed", func(w *writer, rng *rand.Rand) {
		for range 3 {
			w.entries(5, rng)
			w.copyTruncate(true)
		}
	})
	f("renamed twice, not opened anew", func(w *writer, rng *rand.Rand) {
		w.entries(5, rng)
		w.rename(rng, false)
		w.must(os.Rename(w.path, w.shift(false)))
		w.must(os.WriteFile(w.path, nil, 0o600))
		w.entries(5, rng)
	})
	f("renamed with a date", func(w *writer, rng *rand.Rand) {
		w.entries(5, rng)
		w.must(os.Rename(w.path, w.path+"-20261121"))
		w.reopen()
		w.entries(5, rng)
	})
}

func TestFollowTellsOfALoss(t *testing.T) {
	w := newWriter(t)
	o := quick(filepath.Join(w.dir, "state"))
	w.entries(30, nil)
	follows(t, w.path, o, 30)
	w.must(os.Remove(w.path))
	w.reopen()
	w.entries(5, nil)
	r, res := follows(t, w.path, o, 35)
	if res.Failed != 1 || len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "is gone") {
		t.Fatalf("%d failed, skipped %+v; want one that tells of the loss", res.Failed, r.Skipped)
	}
}

func TestFollowRefuses(t *testing.T) {
	w := newWriter(t)
	w.entries(3, nil)
	state := filepath.Join(w.dir, "state")
	follows(t, w.path, quick(state), 3)
	f := func(path string, o FollowOptions, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, _, err := Follow(ctx, path, o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, want %q", err, want)
		}
	}
	other := quick(state)
	other.Mark = "Query_time > 1"
	f(w.path, other, "Query_time > 1")
	other = quick(state)
	other.Config.GroupBy = digest.ByUser
	f(w.path, other, "group by")
	f(w.path+"2", quick(state), "of the log")
	f(w.dir, quick(""), "not a regular file")
	f(write(t, w.dir, "bin", []byte("\xfebin....")), quick(""), "binary log")
	w.must(os.WriteFile(state, []byte("x"), 0o600))
	f(w.path, quick(state), "state")
}

const childEnv = "DYNO_TEST_FOLLOW"

// TestMain runs the tests, or is the follower that TestFollowKilled kills.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		_, _, err := Follow(context.Background(), path, quick(filepath.Join(filepath.Dir(path), "state")), nil)
		fmt.Fprintln(os.Stderr, err) // it follows until it is killed
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestFollowKilled kills a follower again and again while the log is written and rotated. Nothing may be missing or
// counted twice.
func TestFollowKilled(t *testing.T) {
	w := newWriter(t)
	rng := rand.New(rand.NewPCG(5, 5))
	state := filepath.Join(w.dir, "state")
	const kills = 20
	for i := range kills {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childEnv+"="+w.path)
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		w.must(c.Start())
		// It has saved something, and then it dies at any moment. What was rotated before the first one ever began is
		// not its own.
		was, rotations := stamp(state), w.rotations
		var kill time.Time
		for end := time.Now().Add(30 * time.Second); kill.IsZero() || time.Now().Before(kill); {
			if kill.IsZero() && stamp(state) != was {
				kill = time.Now().Add(time.Duration(rng.IntN(60)) * time.Millisecond)
			}
			if time.Now().After(end) {
				t.Fatalf("child %d saves nothing", i)
			}
			w.entries(1+rng.IntN(10), rng)
			switch k := rng.IntN(20); {
			case k == 0 && w.rotations < rotations+5 && was != "":
				w.rename(rng, true)
			case k == 1 && w.rotations < rotations+5 && was != "":
				w.copyTruncate(true)
			default:
				time.Sleep(2 * time.Millisecond)
			}
		}
		w.must(c.Process.Kill())
		if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("child %d ended by itself: %v", i, err)
		}
		if i%3 == 0 {
			w.entries(5, rng)
			w.rename(rng, true)
		}
	}
	r, _ := follows(t, w.path, quick(state), w.n)
	w.check(r, kills)
}

// stamp tells when a file was replaced.
func stamp(path string) string {
	st, err := os.Stat(path)
	if err != nil || st.Size() == 0 {
		return ""
	}
	return fmt.Sprint(idOf(st), st.ModTime())
}

func TestFollowStopsOnError(t *testing.T) {
	w := newWriter(t)
	stop := errors.New("enough")
	if _, _, err := Follow(t.Context(), w.path, quick(""), func(Update) error { return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
}

// TestFollowIsNotItsOwnSuccessor: a log that held no entry when it was looked at is renamed, and gets its first ones
// before the files beside it are looked at. The server goes on writing to it until it is told.
func TestFollowIsNotItsOwnSuccessor(t *testing.T) {
	w := newWriter(t)
	f := &follower{path: w.path, find: finder{path: w.path}, o: quick("").defaults(), free: &buffers{size: pieceSize}}
	f.total, f.delta = logdigest.New(f.o.Config), logdigest.New(f.o.Config)
	defer f.close()
	f.at = place{Since: 1}
	if err := f.advance(t.Context()); err != nil || f.file == nil {
		t.Fatal(err)
	}
	if err := f.read(t.Context()); err != nil || f.at.First != 0 {
		t.Fatal(err, f.at)
	}
	w.must(os.Rename(w.path, w.path+".1"))
	w.entries(3, nil)
	is := func(want bool) {
		t.Helper()
		f.looked = time.Time{}
		if over, err := f.over(t.Context()); err != nil || over != want {
			t.Errorf("it is over: %v, %v", over, err)
		}
	}
	is(false)
	w.reopen()
	is(true)
}
