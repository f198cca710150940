package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC) // a Tuesday

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, path string, o Options) *History {
	t.Helper()
	h, err := Open(t.Context(), path, o)
	ok(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "sub", "history.db") }

// maxPages limits the file of the connection that writes.
func maxPages(t *testing.T, h *History, n int) {
	t.Helper()
	ok(t, h.write(t.Context(), "limit", func(tx *sql.Tx) error {
		_, err := tx.Exec(fmt.Sprint("PRAGMA max_page_count = ", n))
		return err
	}))
}

func aState(target string, at time.Time) *state.State {
	return &state.State{
		Target: target, At: at, Up: true, Vitals: []state.Vital{{Name: state.QPS, Value: float64(at.Unix() % 1000)}},
		Sessions: []state.Session{{ID: uint64(at.Unix()), Command: "Query", SQL: "SELECT * FROM t WHERE id=" +
			fmt.Sprint(at.UnixNano())}},
	}
}

func TestSettings(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	f := func(pragma, want string) {
		t.Helper()
		var got string
		if err := h.db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", pragma, got, err, want)
		}
	}
	f("journal_mode", "wal")
	f("synchronous", "1") // NORMAL: safe against kill -9
	f("auto_vacuum", "2") // incremental
	f("foreign_keys", "1")
	st, err := os.Stat(h.Path())
	ok(t, err)
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
}

func TestReopened(t *testing.T) {
	path := file(t)
	h := mustOpen(t, path, Options{})
	ok(t, h.PutState(aState("shop", noon)))
	ok(t, h.PutState(aState("shop", noon.Add(time.Second)))) // waits for others
	ok(t, h.PutClasses(t.Context(), "shop", noon, noon.Add(time.Minute), []class.Class{{ID: "A", Count: 1}}))
	ok(t, h.Close())
	ok(t, h.Close())
	if err := h.PutState(aState("shop", noon)); !errors.Is(err, sqlitefile.ErrClosed) {
		t.Error(err)
	}
	h = mustOpen(t, path, Options{})
	s, err := h.StateAt(t.Context(), "shop", noon.Add(5*time.Second))
	if err != nil || !s.At.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v, %v", s, err)
	}
	if cs, _, err := h.Classes(t.Context(), "shop", noon, noon.Add(time.Hour), 0); err != nil || len(cs) != 1 {
		t.Errorf("%+v, %v", cs, err)
	}
	if ts, err := h.Targets(t.Context()); err != nil || fmt.Sprint(ts) != "[shop]" {
		t.Error(ts, err)
	}
}

func TestNewer(t *testing.T) {
	path := file(t)
	h := mustOpen(t, path, Options{})
	_, err := h.db.Exec("INSERT INTO migration VALUES (77)")
	ok(t, err)
	ok(t, h.Close())
	before, err := os.ReadFile(path)
	ok(t, err)
	_, err = Open(t.Context(), path, Options{})
	for _, word := range []string{path, "77", fmt.Sprintf("format %d only", format.Version), "newer"} {
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), word) {
			t.Errorf("%v: says nothing of %q", err, word)
		}
	}
	if _, err := Check(t.Context(), path); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
}

func TestForeign(t *testing.T) {
	path := file(t)
	ok(t, mustOpen(t, path, Options{}).Close())
	db, err := format.Connect(path)
	ok(t, err)
	_, err = db.Exec("PRAGMA application_id = 1")
	ok(t, errors.Join(err, db.Close()))
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrForeign) ||
		!strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	ok(t, os.WriteFile(path, []byte(strings.Repeat("garbage ", 500)), 0o600))
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	ok(t, os.WriteFile(path, nil, 0o600))
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

func TestRun(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, func(err error) { t.Error(err) }) }()
	ok(t, h.PutState(aState("shop", noon)))
	ok(t, h.PutState(aState("shop", noon.Add(time.Second))))
	rows := func() (n int) {
		ok(t, h.db.QueryRow("SELECT count(*) FROM state").Scan(&n))
		return n
	}
	for end := time.Now().Add(time.Minute); rows() < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody wrote it")
		}
	}
	cancel()
	ok(t, <-done)
}

// TestReadWhileWriting shows that a reader of another process does not wait for a writer.
func TestReadWhileWriting(t *testing.T) {
	path := file(t)
	h, other := mustOpen(t, path, Options{}), mustOpen(t, path, Options{})
	ok(t, h.PutState(aState("shop", noon)))
	ok(t, h.Flush(t.Context()))
	tx, err := h.db.BeginTx(t.Context(), nil)
	ok(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("DELETE FROM state")
	ok(t, err)
	if s, err := other.StateAt(t.Context(), "shop", noon); err != nil || !s.At.Equal(noon) {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestNobodyWaitsForAWriter: while a transaction holds the file up, be it that of another process,
// states are taken all the same.
func TestNobodyWaitsForAWriter(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	tx, err := h.db.BeginTx(t.Context(), nil)
	ok(t, err)
	for i := range 3 {
		ok(t, h.PutState(aState("shop", noon.Add(time.Duration(i)*time.Second))))
	}
	ok(t, tx.Rollback())
	ok(t, h.Flush(t.Context()))
	if ts, err := h.StateTimes(t.Context(), "shop", noon, noon.Add(time.Hour), 0); err != nil ||
		len(ts) != 3 || len(h.waiting.list) != 0 {
		t.Errorf("%d states, %d of them wait: %v", len(ts), len(h.waiting.list), err)
	}
}

// TestReadersThatOverlap: while there is always somebody who reads, which keeps SQLite from beginning its write-ahead
// log again, maintenance shortens it.
func TestReadersThatOverlap(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	read := func() (end func() error) {
		tx, err := h.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		ok(t, err)
		var n int
		ok(t, tx.QueryRow("SELECT count(*) FROM target").Scan(&n))
		return tx.Rollback
	}
	size := func() int64 {
		st, err := os.Stat(h.Path() + "-wal")
		ok(t, err)
		return st.Size()
	}
	end := read()
	ok(t, h.write(t.Context(), "grow", func(tx *sql.Tx) error {
		_, err := tx.Exec("CREATE TABLE fat AS SELECT zeroblob(70000000)")
		return err
	}))
	if n := size(); n < 64<<20 {
		t.Fatalf("the log has %d bytes", n)
	}
	done := make(chan error, 1)
	go func() { done <- h.Maintain(t.Context(), noon) }()
	for maintained := false; !maintained; {
		select {
		case err := <-done:
			ok(t, err)
			maintained = true
		default:
			next := read()
			ok(t, end())
			end = next
		}
	}
	ok(t, end())
	if n := size(); n > 1<<20 {
		t.Errorf("the log has %d bytes", n)
	}
}

// TestFull shows that a file that cannot grow costs nothing but what does not fit the buffer, and that writing goes on
// by itself.
func TestFull(t *testing.T) {
	h := mustOpen(t, file(t), Options{BufferBytes: 4000})
	ok(t, h.PutState(aState("shop", noon)))
	maxPages(t, h, 1) // SQLite raises it to the size of the file
	put := func(from, n int) (err error) {
		for i := from; i < from+n; i++ {
			s := aState("shop", noon.Add(time.Duration(i)*time.Second))
			s.EngineStatus = random(1000, uint64(i))
			err = errors.Join(h.PutState(s), h.Flush(t.Context()))
		}
		return err
	}
	if err := put(1, 100); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "free some space") {
		t.Error(err)
	}
	dropped := h.Dropped()
	if dropped == 0 || h.waiting.bytes > 4000 {
		t.Errorf("dropped %d, %d bytes wait", dropped, h.waiting.bytes)
	}
	maxPages(t, h, 1_000_000)
	ok(t, h.Flush(t.Context()))
	ok(t, put(101, 3))
	if h.Dropped() != dropped || len(h.waiting.list) != 0 {
		t.Errorf("dropped %d then %d, %d wait", dropped, h.Dropped(), len(h.waiting.list))
	}
	ts, err := h.StateTimes(t.Context(), "shop", noon, noon.Add(time.Hour), 0)
	if err != nil || len(ts) != 104-int(dropped) || !ts[len(ts)-1].Equal(noon.Add(103*time.Second)) {
		t.Errorf("%d of %d-%d kept, %v", len(ts), 104, dropped, err)
	}
	r, err := Check(t.Context(), h.Path())
	if err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
}

func random(n int, seed uint64) string {
	b := make([]byte, n)
	for i := range b {
		seed = seed*6364136223846793005 + 1442695040888963407
		b[i] = 'a' + byte(seed>>59)%26
	}
	return string(b)
}

func a(count uint64, sec, max float64) class.Class {
	return class.Class{
		ID: "A", Fingerprint: "select ?", Schema: "d", Origin: class.PerformanceSchema, Count: count,
		TimeSec: sec, MaxSec: known.Of(max), P95Sec: known.Of(max / 2), Examined: known.Of(count * 10),
	}
}
