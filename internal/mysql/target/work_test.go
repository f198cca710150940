package target

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// neighbour is another process that shares its work, as far as its files go: locks are of open
// files.
type neighbour struct {
	*workFiles
	t *testing.T
	tally
	numbers []float64
}

func share(t *testing.T, dir string) *neighbour {
	t.Helper()
	n := &neighbour{
		workFiles: &workFiles{dir: dir}, t: t, numbers: make([]float64, workNumbers),
		tally: tally{ids: map[uint64]bool{}, changed: map[string]uint64{}},
	}
	n.room.Store(allWork)
	if err := n.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.end)
	return n
}

// does has the neighbour send statements.
func (n *neighbour) does(where, key string, times uint64) {
	n.t.Helper()
	_, ok := n.add(key, times)
	if ok {
		n.changed[key] = n.keys[key] + n.plans[key]
	}
	n.writes(where)
}

func (n *neighbour) writes(where string) {
	n.t.Helper()
	if err := n.write(where, &n.tally, n.numbers); err != nil {
		n.t.Fatal(err)
	}
}

func (n *neighbour) end() {
	n.lock.Close()
	n.root.Close()
}

// watching has this process share its work, on a server that it has sent a statement.
func watching(t *testing.T, dir string) *Target {
	t.Helper()
	t.Cleanup(ShareWork(dir))
	count(t.Name(), "/* dyno:test */ SELECT of_this_process")
	return &Target{self: self{where: t.Name()}}
}

// TestOthersWork: what another process has sent is left out as far as its file says, whether it
// lives or has ended, and never comes back.
func TestOthersWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home", "own-work")
	x := watching(t, dir)
	y := share(t, dir)
	f := func(what string, want uint64) {
		t.Helper()
		if got := x.Sent()["selectofanother"]; got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	beside := func(want int) {
		t.Helper()
		if n := x.Companions(); n != want {
			t.Errorf("%d other processes, want %d", n, want)
		}
	}
	f("nothing yet", 0)
	beside(0)
	y.does(t.Name(), "selectofanother", 5)
	f("a first file", 5)
	beside(1)
	y.does(t.Name(), "selectofanother", 2)
	y.does(t.Name(), "selectmore", 1)
	elsewhere := neighbour{workFiles: y.workFiles, t: t, numbers: y.numbers, tally: tally{changed: map[string]uint64{}}}
	elsewhere.does("another server", "selectofanother", 7)
	f("a file that has changed", 7)
	y.anew = true
	y.does(t.Name(), "selectofanother", 1)
	f("a file that was written anew", 8)
	y.does(t.Name(), "selectofanother", 2)
	y.end()
	f("a process that has ended", 10)
	beside(0)
	if err := os.RemoveAll(filepath.Join(dir, y.own)); err != nil {
		t.Fatal(err)
	}
	f("its file is gone", 10)
	z := share(t, dir)
	z.does(t.Name(), "selectofanother", 3)
	z.end()
	f("one that came and went", 13)
	if n := x.Sent()["selectof_this_process"]; n != 1 {
		t.Errorf("%d of this process", n)
	}
	// EXPLAIN of users' statements begins anew, and no file grows for it.
	z = share(t, dir)
	for i := range 3 * sentPlans {
		key := fmt.Sprintf("explainselect%sfromt", strings.Repeat("a", i))
		cleared, _ := z.add(key, 1)
		z.anew = z.anew || cleared
		z.changed[key] = 1
		z.writes(t.Name())
		if fi, err := os.Stat(filepath.Join(dir, z.own, t.Name())); err != nil || fi.Size() > mostWork {
			t.Fatal(err, fi)
		}
	}
	if n := x.Sent()["explainselect"+strings.Repeat("a", 3*sentPlans-1)+"fromt"]; n != 1 {
		t.Errorf("%d of an EXPLAIN", n)
	}
}

// TestOthersNumbers: the sessions of another process and what they made the server count are Dyno's
// own, also when it was killed.
func TestOthersNumbers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own-work")
	x := watching(t, dir)
	y := share(t, dir)
	n, q := len(counted), countedAt["questions"]
	y.ids[42] = true
	y.numbers[q], y.numbers[2*n+q], y.numbers[3*n+q] = 100, 80, 1 // total, seen, per
	copy(y.numbers[4*n:], []float64{80, 3, 1, 110, 2, 1})         // of, pending, unasked, sends, live, working
	y.writes(t.Name())
	if !x.self.asks(42) || !x.self.owns(42, "somebody", "") || x.self.asks(43) || x.self.owns(43, "somebody", "") {
		t.Error("not the other's session alone is Dyno's own")
	}
	f := footprintOn(t.Name())
	var l logins
	s := f.spent(t.Name(), &l)
	if s.Counted["questions"] != 100 || s.Sessions != 2 || s.Running != 2 {
		t.Errorf("%+v", s)
	}
	if u := s.Until().Unsure["questions"]; u != 3*takenAtLeast {
		t.Errorf("%v statements may be the other's", u)
	}
	y.numbers[4*n+3] += 5 // it sends some, and ends without a word
	y.writes(t.Name())
	y.end()
	if u := s.Until().Unsure["questions"]; u < 4*takenAtLeast {
		t.Errorf("%v statements may be the other's", u)
	}
	for range 2 {
		s := f.spent(t.Name(), &l)
		if s.Counted["questions"] != 103 || s.Sessions != 0 || s.Running != 1 || s.Until().Unsure["questions"] != 0 {
			t.Errorf("of a process that was killed: %+v", s)
		}
	}
	l.begun.Add(1) // one that has not come to learn which server answers
	s = f.spent(t.Name(), &l)
	l.ended.Add(1)
	if u := s.Until().Unsure["questions"]; u < unaskedAtLeast {
		t.Errorf("%v statements may be those of a login", u)
	}
	if u := f.spent(t.Name(), &l).Until().Unsure["questions"]; u != 0 {
		t.Errorf("%v statements may be those of a login that has ended", u)
	}
	time.Sleep(freshWork)
	if x.self.asks(42) {
		t.Error("a session of a process that has ended is Dyno's own")
	}
}

// TestOthersFilesAreOurs: no other account has anything left out, and what is no file of Dyno's
// does no harm.
func TestOthersFilesAreOurs(t *testing.T) {
	sees := func(x *Target) bool { return x.Sent()["selectofanother"] > 0 }
	dir := filepath.Join(t.TempDir(), "own-work")
	x := watching(t, dir)
	y := share(t, dir)
	y.does(t.Name(), "selectofanother", 5)
	file := filepath.Join(dir, y.own, t.Name())
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		b := slices.Clone(good)
		b[rand.IntN(workHead)] ^= 1 << rand.IntN(8)
		if put(b); sees(x) {
			t.Fatal("a file with a wrong head is read")
		}
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		if put(b[:rand.IntN(len(b))]); sees(x) {
			t.Fatal("noise is read")
		}
	}
	for n := range len(good) - workHead {
		if put(good[:workHead+n]); n <= workRecord && sees(x) {
			t.Fatal("half a record is read")
		}
		if w, ok := parseWork(good[:workHead+n], true); !ok || n < workRecord+len("selectofanother") &&
			len(w.keys) > 0 {
			t.Fatalf("%v %v", ok, w.keys)
		}
	}
	if err := errors.Join(os.Remove(file), os.Symlink("/etc/passwd", file)); err != nil {
		t.Fatal(err)
	}
	if sees(x) {
		t.Error("a link is followed")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		put(good)
		if err := os.Chown(file, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if sees(x) {
			t.Error("the file of another account is read")
		}
		if err := os.Chown(file, 0, 0); err != nil {
			t.Fatal(err)
		}
	} else {
		put(good)
	}
	if !sees(x) {
		t.Error("the file is not read when all is well")
	}
	// Directories into which others may write.
	open := os.Chmod(dir, 0o777)
	w := &workFiles{dir: dir}
	if err := w.open(); open != nil || err == nil {
		t.Errorf("a directory is used in which everybody may write: %v", open)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if err := (&workFiles{dir: dir}).open(); err == nil {
			t.Error("another account's directory is used")
		}
	}
}

// TestOwnWorkHasABound: neither statements nor servers without end fill the disk, and what finds no
// room is shown.
func TestOwnWorkHasABound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own-work")
	x := watching(t, dir)
	y := share(t, dir)
	for i := range 2 * mostWork / 1000 {
		key := fmt.Sprintf("select%d%s", i, strings.Repeat("a", 1000))
		if i < 3 {
			y.does(t.Name(), key, 1)
		} else if _, ok := y.add(key, 1); ok {
			y.changed[key] = 1
		}
	}
	y.writes(t.Name())
	fi, err := os.Stat(filepath.Join(dir, y.own, t.Name()))
	if err != nil || fi.Size() > mostWork || fi.Size() < mostWork/2 {
		t.Errorf("%v %v", fi, err)
	}
	if n := len(x.Sent()); n < 500 {
		t.Errorf("%d classes are read", n)
	}
	for i := range 2 * allWork / mostWork {
		y.file = shares{}
		y.writes(fmt.Sprint("server", i))
	}
	sum := int64(0)
	err = filepath.WalkDir(filepath.Join(dir, y.own), func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			fi, err = d.Info()
			sum += fi.Size()
		}
		return err
	})
	if err != nil || sum > allWork+100*int64(workHead) {
		t.Errorf("all files have %d bytes, %v", sum, err)
	}
	y.ids = map[uint64]bool{}
	for i := range uint64(10 * mostIDs) {
		y.ids[i] = true
	}
	y.file = shares{}
	y.writes("ids")
	if w, err := y.read(y.own, "ids", true); err != nil || len(w.ids) != mostIDs {
		t.Errorf("%d ids, %v", len(w.ids), err)
	}
}

// TestFilesOfTheDeadGo: they stay for a while, and those of the living stay.
func TestFilesOfTheDeadGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own-work")
	lives, ended, longAgo, half := share(t, dir), share(t, dir), share(t, dir), filepath.Join(dir, "half")
	for _, n := range []*neighbour{lives, ended, longAgo} {
		n.does(t.Name(), "select", 1)
	}
	ended.end()
	longAgo.end()
	if err := os.Mkdir(half, 0o700); err != nil { // killed while it began
		t.Fatal(err)
	}
	before := time.Now().Add(-2 * keepWork)
	for _, d := range []string{half, filepath.Join(dir, lives.own), filepath.Join(dir, longAgo.own)} {
		files, _ := filepath.Glob(d + "/*")
		for _, f := range append(files, d) {
			if err := os.Chtimes(f, before, before); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := share(t, dir)
	want := []string{lives.own, ended.own, next.own}
	got := next.processes()
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%v are there, want %v", got, want)
	}
}

// TestADiskHoldsNobodyUp: while a write takes long, statements are sent all the same, and later all
// is written.
func TestADiskHoldsNobodyUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own-work")
	watching(t, dir)
	sent.Lock()
	x := sent.by[t.Name()]
	sent.Unlock()
	x.file.turn <- struct{}{} // a write that does not come back
	x.file.since.Store(time.Now().Add(-time.Hour).UnixNano())
	began := time.Now()
	for range 10_000 {
		publish(t.Name())
	}
	if took := time.Since(began); took > 10_000*writeAtMost/100 {
		t.Errorf("sending 10000 statements took %v", took)
	}
	x.file.since.Store(0)
	<-x.file.turn
	publish(t.Name())
	y := share(t, dir)
	if w, err := y.read(shared().own, t.Name(), true); err != nil || w.keys["selectof_this_process"] != 1 {
		t.Errorf("%v %v", w.keys, err)
	}
}

// TestWorkIsWrittenFirst looks into the file from a server's side: when it has counted a statement,
// the file has it.
func TestWorkIsWrittenFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own-work")
	t.Cleanup(ShareWork(dir))
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	a := x.Asker(SessionOptions{}, nil)
	defer a.Close()
	y := share(t, dir)
	n, q := len(counted), countedAt["questions"]
	for i := range uint64(20) {
		done := a.Work(nil)
		if _, err := a.Query(t.Context(), own("SELECT of_dyno FROM (SELECT 1 AS of_dyno) x"), nil); err != nil {
			t.Fatal(err)
		}
		w, err := y.read(shared().own, a.where(), true)
		if err != nil || w.keys["selectof_dynofrom(select?asof_dyno)x"] != i+1 || !slices.Contains(w.ids, a.s.id) ||
			w.numbers[4*n+1] == 0 || w.numbers[4*n+5] != 1 {
			t.Fatalf("after %d statements the file says %+v, %v", i+1, w, err)
		}
		done(t.Context())
		after, err := y.read(shared().own, a.where(), false)
		if err != nil || after.numbers[q] <= w.numbers[q] || after.numbers[4*n+5] != 0 {
			t.Fatalf("of the server's counts the file says %+v, %v", after, err)
		}
	}
	id := a.s.id
	a.Close()
	if w, err := y.read(shared().own, x.self.where, false); err != nil || slices.Contains(w.ids, id) {
		t.Errorf("%v %v", w.ids, err)
	}
}
