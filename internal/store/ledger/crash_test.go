package ledger

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// TestMain lets a test run this binary as the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("DYNO_TEST_LEDGER_CHILD"); path != "" {
		if err := child(path, os.Getenv("DYNO_TEST_LEDGER_NAME")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes entries without end, each first planned and then done, and prints what was acknowledged.
func child(path, name string) error {
	ctx := context.Background() // no test runs here
	l, err := Open(ctx, path)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		e := anEntry(fmt.Sprintf("a-%s-%d", name, i))
		for _, e.State = range []journal.State{journal.Planned, journal.Done} {
			if err := l.PutEntry(ctx, e); err != nil {
				return err
			}
			fmt.Println(e.ID, e.State)
		}
		if i%10 == 0 { // something large now and then, so that the log is folded into the file while it is written
			d := Diagnosis{
				ID: "d-" + e.ID, At: at, Target: "shop",
				Snapshot: []byte(`"` + strings.Repeat("x", 200_000) + `"`),
			}
			if err := l.Diagnoses.Put(ctx, d); err != nil {
				return err
			}
			fmt.Println(d.ID, "diagnosis")
		}
	}
}

func start(t *testing.T, path, name string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DYNO_TEST_LEDGER_CHILD="+path, "DYNO_TEST_LEDGER_NAME="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // most are dead by then
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// TestKill kills two processes that write to one ledger, at random moments, again and again.
func TestKill(t *testing.T) {
	path := file(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	acked := map[string]string{}
	for round := range 5 {
		type said struct {
			lines []string
			err   error
		}
		results := make(chan said, 2)
		for _, name := range []string{"one", "two"} {
			cmd, lines := start(t, path, fmt.Sprintf("%s-%d", name, round))
			stop, wait := 1+rnd.IntN(60), time.Duration(rnd.IntN(5000))*time.Microsecond
			go func() {
				var s said
				for lines.Scan() {
					s.lines = append(s.lines, lines.Text())
					if len(s.lines) == stop {
						time.Sleep(wait)
						s.err = cmd.Process.Kill()
					}
				}
				_ = cmd.Wait() // "signal: killed"
				if len(s.lines) < stop {
					s.err = fmt.Errorf("child ended by itself: %q", s.lines)
				}
				results <- s
			}()
		}
		for range 2 {
			s := <-results
			ok(t, s.err)
			for _, line := range s.lines {
				id, what, _ := strings.Cut(line, " ")
				acked[id] = what
			}
		}
		r, err := Check(t.Context(), path)
		if err != nil || !r.OK() {
			t.Fatalf("round %d: %+v, %v", round, r, err)
		}
		l := mustOpen(t, path)
		for id, what := range acked {
			if what == "diagnosis" {
				if d, err := l.Diagnoses.Get(t.Context(), id); err != nil || len(d.Snapshot) != 200_002 {
					t.Errorf("round %d: %v", round, err)
				}
				continue
			}
			// The entry may be further than what was acknowledged, never behind.
			if e, err := l.Entry(t.Context(), id); err != nil || what == string(journal.Done) &&
				e.State != journal.Done || e.Action.Undo == "" {
				t.Errorf("round %d: %s %s was acknowledged: %v, %v", round, id, what, e.State, err)
			}
		}
		ok(t, l.Close())
	}
	t.Logf("%d writes acknowledged", len(acked))
}

// filled makes a ledger of some size and returns its name; it was closed.
func filled(t *testing.T) string {
	t.Helper()
	path := file(t)
	l := mustOpen(t, path)
	for i := range 60 {
		ok(t, l.PutEntry(t.Context(), anEntry(fmt.Sprintf("a-%04d", i))))
	}
	ok(t, l.PutRun(t.Context(), aRun("r-1")))
	ok(t, l.Close())
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	ok(t, err)
	return string(b)
}

// use tries everything that a command would do first, and returns the first error.
func use(t *testing.T, path string) error {
	t.Helper()
	l, err := Open(t.Context(), path)
	if err != nil {
		return err
	}
	_, err1 := l.Entries(t.Context(), "", 0)
	_, err2 := l.Run(t.Context(), "r-1")
	return errors.Join(err1, err2, l.Close())
}

func TestDamaged(t *testing.T) {
	f := func(name string, hurt func(b []byte) []byte) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			b := hurt([]byte(read(t, path)))
			ok(t, os.WriteFile(path, b, 0o600))
			err := use(t, path)
			if !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound) {
				t.Fatalf("%v", err)
			}
			for _, word := range []string{path, "dyno store check", "journal", "-wal", "aside"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v: says nothing of %q", err, word)
				}
			}
			r, err := Check(t.Context(), path)
			if err != nil || r.OK() || !strings.Contains(r.Text(), "DAMAGED") {
				t.Errorf("check: %+v, %v", r, err)
			}
			if read(t, path) != string(b) {
				t.Error("the file was changed")
			}
		})
	}
	f("empty", func(b []byte) []byte { return nil })
	f("half a header", func(b []byte) []byte { return b[:50] })
	f("half", func(b []byte) []byte { return b[:len(b)/2] })
	f("one page short", func(b []byte) []byte { return b[:len(b)-4096] })
	f("garbage", func(b []byte) []byte { return []byte(strings.Repeat("garbage ", 5000)) })
	f("zeros", func(b []byte) []byte { return make([]byte, len(b)) })
	f("garbage behind the header", func(b []byte) []byte {
		for i := 200; i < len(b); i++ {
			b[i] = byte(i * 7)
		}
		return b
	})
	f("a document", func(b []byte) []byte {
		return []byte(strings.Replace(string(b), `"id":"a-0031"`, `"id":!a-0031"`, 1))
	})
}

// TestPartlyReadable shows that the check tells how much is left.
func TestPartlyReadable(t *testing.T) {
	path := filled(t)
	b := []byte(read(t, path))
	ok(t, os.WriteFile(path, []byte(strings.Replace(string(b), `"id":"a-0031"`, `"id":!a-0031"`, 1)), 0o600))
	r, err := Check(t.Context(), path)
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "table entry, a-0031") {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, x := range r.Rows {
		if x.Table == "entry" && x.Readable != 59 || x.Table == "run" && x.Readable != 1 {
			t.Errorf("%+v", x)
		}
	}
	// One bad document does not hide the others.
	l := mustOpen(t, path)
	if _, err := l.Entry(t.Context(), "a-0030"); err != nil {
		t.Error(err)
	}
	if _, err := l.Entry(t.Context(), "a-0031"); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

func TestLogWithoutFile(t *testing.T) {
	path := filled(t)
	ok(t, os.Rename(path, path+"-wal"))
	_, err := Open(t.Context(), path) // nothing is said to be empty that was not
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "write-ahead log") {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a new file was made under the old log")
	}
	if r, err := Check(t.Context(), path); err != nil || r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
}

// raw opens the file beside the ledger's back.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := format.Connect(path)
	ok(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// pool returns what the ledger itself asks.
func pool(t *testing.T, l *Ledger) *sql.DB {
	t.Helper()
	db, err := l.file.DB(t.Context(), false)
	ok(t, err)
	return db
}

func exec1(t *testing.T, db *sql.DB, q string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), q)
	ok(t, err)
}

// asWriter executes a statement on the connection that writes.
func asWriter(t *testing.T, l *Ledger, q string) {
	t.Helper()
	ok(t, l.write(t.Context(), "test", func(tx *sql.Tx) error { _, err := tx.Exec(q); return err }))
}

// TestOtherVersions refuses what another version wrote, in one sentence that says what to do, and changes nothing.
func TestOtherVersions(t *testing.T) {
	f := func(version int, want error, which string) {
		t.Helper()
		path := filled(t)
		db := raw(t, path)
		exec1(t, db, fmt.Sprint("UPDATE migration SET version = ", version))
		ok(t, db.Close())
		before := read(t, path)
		says := fmt.Sprintf("(%s): %s version of Dyno wrote it: it has format %d, this program reads format %d only; "+
			"use that version, or move the directory %s away"+
			" to begin with an empty one; nothing was changed", path, which, version,
			format.Version, filepath.Dir(path))
		_, err := Open(t.Context(), path)
		if !errors.Is(err, want) || err.Error() != "open ledger "+says {
			t.Errorf("%v, want %s", err, says)
		}
		if _, err := Check(t.Context(), path); !errors.Is(err, want) || err.Error() != "check ledger "+says {
			t.Errorf("%v, want %s", err, says)
		}
		if read(t, path) != before {
			t.Error("the file was changed")
		}
	}
	f(format.Version-1, ErrOlder, "an older")
	f(77, ErrNewer, "a newer")
}

func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bookmarks.db")
	ok(t, os.WriteFile(path, nil, 0o600))
	db := raw(t, path)
	exec1(t, db, "CREATE TABLE target (x)")
	ok(t, db.Close())
	before := read(t, path)
	if _, err := Open(t.Context(), path); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if read(t, path) != before {
		t.Error("the file was changed")
	}
}

func TestFull(t *testing.T) {
	path := filled(t)
	l := mustOpen(t, path)
	ok(t, l.PutTarget(t.Context(), Target{Name: "before"}))
	asWriter(t, l, "PRAGMA max_page_count = 1") // SQLite raises it to the size of the file
	big := Diagnosis{ID: "d-1", At: at, Snapshot: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}
	err := l.Diagnoses.Put(t.Context(), big)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "free some space") ||
		!strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if _, err := l.Diagnoses.Get(t.Context(), "d-1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half of it is stored: %v", err)
	}
	asWriter(t, l, "PRAGMA max_page_count = 1000000")
	ok(t, l.Diagnoses.Put(t.Context(), big))
	if r, err := l.Check(t.Context()); err != nil || !r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDurable pins the settings that durability stands on.
func TestDurable(t *testing.T) {
	l := mustOpen(t, filled(t))
	f := func(pragma, want string) {
		t.Helper()
		var got string
		if err := pool(t, l).QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", pragma, got, err, want)
		}
	}
	f("journal_mode", "wal")
	f("synchronous", "2") // FULL
	f("foreign_keys", "1")
	f("busy_timeout", fmt.Sprint(sqlitefile.Patience.Milliseconds()))
}

// TestReadWhileWriting shows that a reader does not wait for a writer, and a writer waits for another one.
func TestReadWhileWriting(t *testing.T) {
	path := filled(t)
	l, other := mustOpen(t, path), mustOpen(t, path)
	tx, err := pool(t, other).BeginTx(t.Context(), nil)
	ok(t, err)
	_, err = tx.ExecContext(t.Context(), "DELETE FROM entry")
	ok(t, err)
	es, err := l.Entries(t.Context(), "", 0)
	if err != nil || len(es) != 60 {
		t.Errorf("%d entries, %v", len(es), err)
	}
	done := make(chan error)
	go func() { done <- l.PutTarget(t.Context(), Target{Name: "waits"}) }()
	select {
	case err := <-done:
		t.Errorf("did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	ok(t, tx.Rollback())
	ok(t, <-done)
}

func TestCheckOfNothing(t *testing.T) {
	path := file(t)
	r, err := Check(t.Context(), path)
	if err != nil || r.Exists || !r.OK() || !strings.Contains(r.Text(), "nothing stored") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("the check made the directory")
	}
}

func TestBusy(t *testing.T) {
	path := filled(t)
	l, other := mustOpen(t, path), mustOpen(t, path)
	asWriter(t, l, "PRAGMA busy_timeout = 50")
	tx, err := pool(t, other).BeginTx(t.Context(), nil)
	ok(t, err)
	if err := l.PutTarget(t.Context(), Target{Name: "late"}); !errors.Is(err, ErrBusy) ||
		!strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
	ok(t, tx.Rollback())
	ok(t, l.PutTarget(t.Context(), Target{Name: "late"}))
}
