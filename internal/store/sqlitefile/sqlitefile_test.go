package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modernc.org/sqlite"
)

func things() *Format {
	return &Format{
		What: "things", ID: 0x7e57, Conns: 2, Pragmas: []string{"synchronous(FULL)"}, Version: 2,
		SQL: "CREATE TABLE thing (n INTEGER PRIMARY KEY)",
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func one(t *testing.T, q interface {
	QueryRow(query string, args ...any) *sql.Row
}, query string,
) (v string) {
	t.Helper()
	ok(t, q.QueryRow(query).Scan(&v))
	return v
}

// put stores a number and closes the file.
func put(t *testing.T, f *Format, path string, n int) {
	t.Helper()
	x := New(f, path)
	ok(t, x.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO thing VALUES (?)", n)
		return err
	}))
	ok(t, x.Close())
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own", "things.db")
	x := New(things(), path)
	if db, err := x.DB(t.Context(), false); err != nil || db != nil {
		t.Fatalf("%v, %v: there is no file", db, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Fatal("a look left a trace")
	}
	wrong := errors.New("no")
	if err := x.Write(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO thing VALUES (1)"); err != nil {
			return err
		}
		return wrong
	}); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	ok(t, x.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO thing VALUES (2)")
		return err
	}))
	db, err := x.DB(t.Context(), false)
	ok(t, err)
	for query, want := range map[string]string{
		"SELECT group_concat(n) FROM thing": "2", "PRAGMA journal_mode": "wal", "PRAGMA synchronous": "2",
		"PRAGMA foreign_keys":   "1",
		"PRAGMA application_id": fmt.Sprint(0x7e57), "PRAGMA busy_timeout": fmt.Sprint(Patience.Milliseconds()),
		"SELECT version FROM migration": "2",
	} {
		if got := one(t, db, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	ok(t, x.Close())
	ok(t, x.Close())
	if _, err := x.DB(t.Context(), true); !errors.Is(err, ErrClosed) || err.Error() != "things: closed" {
		t.Errorf("%v", err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	ok(t, err)
	if len(files) != 1 {
		t.Errorf("left beside it: %v", files)
	}
}

// TestReadersDoNotWaitForWriters: however many wait to write, a connection is left to who reads.
func TestReadersDoNotWaitForWriters(t *testing.T) {
	x := New(things(), filepath.Join(t.TempDir(), "things.db"))
	insert := func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO thing DEFAULT VALUES"); return err }
	ok(t, x.Write(t.Context(), insert))
	db, err := x.DB(t.Context(), false)
	ok(t, err)
	begun, end := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.Write(t.Context(), func(*sql.Tx) error { close(begun); <-end; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	for range 100 {
		wg.Go(func() { _ = x.Write(ctx, insert) })
	}
	for range 100 { // until they would have taken all connections
		if time.Sleep(2 * time.Millisecond); db.Stats().InUse > 1 {
			break
		}
	}
	read, stop := context.WithTimeout(t.Context(), 2*Patience)
	var n int
	if err := db.QueryRowContext(read, "SELECT count(*) FROM thing").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d, %v, with %d connections in use", n, err, db.Stats().InUse)
	}
	stop()
	cancel()
	close(end)
	wg.Wait()
	if err := x.Write(ctx, insert); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up waiting is told %v", err)
	}
	ok(t, x.Close())
}

// TestWaitingToWriteEnds: a write that does not end keeps others waiting for some time, not for ever.
func TestWaitingToWriteEnds(t *testing.T) {
	x := New(things(), filepath.Join(t.TempDir(), "things.db"))
	insert := func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO thing DEFAULT VALUES"); return err }
	ok(t, x.Write(t.Context(), insert))
	x.patience = 10 * time.Millisecond
	begun, end := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() { written <- x.Write(t.Context(), func(*sql.Tx) error { close(begun); <-end; return nil }) }()
	<-begun
	done := make(chan error, 1)
	go func() { done <- x.Write(t.Context(), insert) }()
	select {
	case err := <-done:
		if !errors.Is(err, ErrBusy) {
			t.Errorf("who waited is told %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits without end")
	}
	close(end)
	ok(t, <-written)
	x.patience = time.Minute
	ok(t, x.Write(t.Context(), insert))
	ok(t, x.Close())
}

// TestReadersDoNotHoldUpAWriter: however many read, and however long, what is to be written is written meanwhile.
func TestReadersDoNotHoldUpAWriter(t *testing.T) {
	x := New(things(), filepath.Join(t.TempDir(), "things.db"))
	x.patience = 10 * time.Second
	insert := func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO thing DEFAULT VALUES"); return err }
	ok(t, x.Write(t.Context(), insert))
	db, err := x.DB(t.Context(), false)
	ok(t, err)
	const readers = 8
	begun, end := make(chan struct{}, readers), make(chan struct{})
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			rows, err := db.QueryContext(t.Context(), "WITH RECURSIVE far (n) AS (SELECT count(*) FROM thing UNION "+
				"ALL SELECT n + 1 FROM far) SELECT n FROM far")
			if err != nil {
				t.Error(err)
				return
			}
			defer rows.Close()
			if !rows.Next() {
				t.Error(rows.Err())
			}
			begun <- struct{}{}
			<-end
		})
	}
	for range db.Stats().MaxOpenConnections { // the others wait for one of them to end
		<-begun
	}
	for range 3 {
		if err := x.Write(t.Context(), insert); err != nil {
			t.Error(err)
		}
	}
	close(end)
	wg.Wait()
	if got := one(t, db, "SELECT count(*) FROM thing"); got != "4" {
		t.Errorf("%s rows", got)
	}
	ok(t, x.Close())
}

// TestManyMakeIt lets several start at once where there is no file: one makes it, and all write to the same.
func TestManyMakeIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "things.db")
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			x := New(things(), path)
			if err := x.Write(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.Exec("INSERT INTO thing VALUES (?)", i)
				return err
			}); err != nil {
				t.Error(err)
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	x := New(things(), path)
	defer x.Close()
	db, err := x.DB(t.Context(), false)
	ok(t, err)
	if got := one(t, db, "SELECT count(*) FROM thing"); got != "5" {
		t.Errorf("%s rows", got)
	}
}

// TestNotOurs opens what is no file of this kind: the kind of error is told and nothing is changed.
func TestNotOurs(t *testing.T) {
	f := func(want error, word string, spoil func(path string)) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "things.db")
		put(t, things(), path, 7)
		spoil(path)
		before, _ := os.ReadFile(path)
		_, err := New(things(), path).DB(t.Context(), true)
		if !errors.Is(KindOf(err), want) {
			t.Fatalf("%v (%v), want %v", err, KindOf(err), want)
		}
		e := Explain("open things", path, err, Hints{Corrupt: "all is lost"})
		if !errors.Is(e, want) || !strings.Contains(e.Error(), word) || !strings.HasPrefix(e.Error(), "open things ("+
			path+"): ") || !strings.Contains(e.Error(), "; ") {
			t.Errorf("%v", e)
		}
		if twice := Explain("again", path, e, Hints{}); !errors.Is(twice, e) || twice.Error() != e.Error() {
			t.Errorf("explained twice: %v", twice)
		}
		if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
			t.Error("the file was changed")
		}
	}
	write := func(text string) func(string) {
		return func(path string) { ok(t, os.WriteFile(path, []byte(text), 0o600)) }
	}
	f(ErrCorrupt, "only 0 bytes", write(""))
	f(ErrCorrupt, "only 30 bytes", write(strings.Repeat("x", 30)))
	f(ErrCorrupt, "first bytes", write(strings.Repeat("x", 3000)))
	f(ErrForeign, "not Dyno's things (application id 0x1)", func(path string) {
		other := things()
		db, err := other.Connect(path)
		ok(t, err)
		_, err = db.Exec("PRAGMA application_id = 1")
		ok(t, errors.Join(err, db.Close()))
	})
	version := func(set string) func(string) {
		return func(path string) {
			db, err := things().Connect(path)
			ok(t, err)
			_, err = db.Exec(set)
			ok(t, errors.Join(err, db.Close()))
		}
	}
	f(ErrOlder, "an older version of Dyno wrote it: it has format 1, this program reads format 2 only; use that "+
		"version, or move the directory ",
		version("UPDATE migration SET version = 1"))
	f(ErrNewer, "a newer version of Dyno wrote it: it has format 3, this program reads format 2 only; use that version",
		version("INSERT INTO migration VALUES (3)"))
	f(ErrCorrupt, "it does not tell the version of its format", version("DELETE FROM migration"))
	f(ErrCorrupt, "write-ahead log is there", func(path string) {
		ok(t, os.Rename(path, path+"-wal"))
	})
	f(ErrCorrupt, "no such table", func(path string) {
		db, err := things().Connect(path)
		ok(t, err)
		_, err = db.Exec("DROP TABLE migration")
		ok(t, errors.Join(err, db.Close()))
	})
}

func TestKindOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "things.db")
	put(t, things(), path, 7)
	db, err := things().Connect(path)
	ok(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, q := range []string{"PRAGMA max_page_count = 1", "CREATE TABLE fat (x)"} {
		// SQLite raises the count to the size of the file
		_, err = db.Exec(q)
	}
	var sq *sqlite.Error
	if !errors.As(err, &sq) || !errors.Is(KindOf(err), ErrFull) {
		t.Errorf("%v: %v", err, KindOf(err))
	}
	f := func(err, want error) {
		t.Helper()
		if got := KindOf(fmt.Errorf("write: %w", err)); !errors.Is(got, want) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	f(syscall.ENOSPC, ErrFull)
	f(syscall.EDQUOT, ErrFull)
	f(syscall.EACCES, ErrDenied)
	f(syscall.EROFS, ErrDenied)
	f(context.Canceled, nil)
	for code, want := range map[int]error{10 | 3<<8: ErrFull, 5: ErrBusy, 11 | 1<<8: ErrCorrupt, 9: nil} {
		if got := kindOfCode(code); !errors.Is(got, want) {
			t.Errorf("code %d: %v, want %v", code, got, want)
		}
	}
	if Explain("x", "y", nil, Hints{}) != nil {
		t.Error("no error is none")
	}
	for want, err := range map[string]error{
		"free some space": syscall.ENOSPC, "10s": busyError(t),
		"writable": syscall.EACCES,
	} {
		if e := Explain("x", "y", err, Hints{}); !strings.Contains(e.Error(), want) {
			t.Errorf("%v lacks %q", e, want)
		}
	}
	if e := Explain("x", "y", syscall.ENOSPC, Hints{Full: "buy a disk"}); !strings.HasSuffix(e.Error(),
		"; buy a disk") {
		t.Error(e)
	}
}

// busyError is what SQLite says when another process holds the file.
func busyError(t *testing.T) (busy error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "things.db")
	put(t, things(), path, 1)
	x := New(things(), path)
	ok(t, x.Write(t.Context(), func(*sql.Tx) error {
		db, err := things().Connect(path)
		if err != nil {
			return err
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("PRAGMA busy_timeout = 1"); err != nil {
			return err
		}
		_, busy = db.Exec("INSERT INTO thing VALUES (2)")
		return nil
	}))
	ok(t, x.Close())
	return busy
}
