package history

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/lock"
)

func deadlockOf(n int, victim bool) lock.Deadlock {
	return lock.Deadlock{
		ID: fmt.Sprint(n), At: noon.Add(time.Duration(n) * time.Second), From: lock.FromLog,
		Parties: []lock.Party{
			{Session: 1, Transaction: "a", Class: "A", Fingerprint: "update a", SQL: "UPDATE a SET x=1"},
			{Session: 2, Transaction: "b", Class: "B", Fingerprint: "update b", SQL: "UPDATE b", Victim: victim},
		},
	}
}

// TestLocks: what was put comes back by its time, the same deadlock once, and the pairs are counted over all.
func TestLocks(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	put := func(seen lock.Seen, waits ...lock.Wait) {
		t.Helper()
		if err := h.Locks.Put(t.Context(), "shop", seen, waits); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		put(lock.Seen{Deadlocks: []lock.Deadlock{deadlockOf(i, true)}})
	}
	put(lock.Seen{Deadlocks: []lock.Deadlock{deadlockOf(3, true)}}) // seen again
	put(lock.Seen{Missed: []lock.Missed{{From: noon, To: noon.Add(5 * time.Second), Count: 7, Why: "so"}}})
	w := lock.Wait{
		ID: "w", Begin: noon.Add(2 * time.Second), End: noon.Add(4 * time.Second), Open: true,
		Waiters: []lock.Waiter{{Session: 9}}, Pairs: []lock.Pair{{Blocking: "A", Blocked: "B", Waits: 1, Seconds: 2}},
	}
	put(lock.Seen{}, w)
	w.End, w.Open, w.Pairs[0].Seconds = noon.Add(8*time.Second), false, 6
	put(lock.Seen{}, w)
	got, err := h.Locks.Between(t.Context(), "shop", noon.Add(2*time.Second), noon.Add(6*time.Second), 3)
	if err != nil {
		t.Fatal(err)
	}
	if got.DeadlockCount != 5 || len(got.Deadlocks) != 3 || got.Deadlocks[0].ID != "6" || got.MissedCount != 7 ||
		got.WaitCount != 1 || got.Waits[0].Open || got.Waits[0].Pairs[0].Seconds != 6 ||
		len(got.Waits[0].Waiters) != 1 {
		t.Errorf("%+v", got)
	}
	if len(got.Pairs) != 1 || got.Pairs[0] != (lock.Pair{
		Blocking: "A", Blocked: "B", BlockingFingerprint: "update a", BlockedFingerprint: "update b", Deadlocks: 5,
		Waits: 1, Seconds: 6,
	}) {
		t.Errorf("%+v", got.Pairs)
	}
	if got, err := h.Locks.Between(t.Context(), "other", noon, noon, 3); err != nil || got.Deadlocks == nil {
		t.Errorf("of another target: %+v %v", got, err)
	}
	r, err := Check(t.Context(), h.Path())
	if err != nil || !r.OK() || !regexp.MustCompile(`(?m)^ +locks +10 readable$`).MatchString(r.Text()) {
		t.Errorf("%v %s", err, r.Text())
	}
}

// TestLocksAreBounded: too old ones go, and the oldest of those that take too much.
func TestLocksAreBounded(t *testing.T) {
	h := mustOpen(t, file(t), Options{LockAge: time.Hour, LockBytes: 20 << 10})
	for i := range 200 {
		d := deadlockOf(i, true)
		d.Parties[0].SQL = strings.Repeat("x", 500)
		if err := h.Locks.Put(t.Context(), "shop", lock.Seen{Deadlocks: []lock.Deadlock{d}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	count := func() Locks {
		t.Helper()
		got, err := h.Locks.Between(t.Context(), "shop", noon, noon.Add(time.Hour), 1)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if n := count().DeadlockCount; n != 200 {
		t.Fatalf("%d stored", n)
	}
	if err := h.Maintain(t.Context(), noon.Add(3*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := count(); got.DeadlockCount < 10 || got.DeadlockCount > 40 || got.Deadlocks[0].ID != "199" {
		t.Errorf("%d are left of 20 kB", got.DeadlockCount)
	}
	if err := h.Maintain(t.Context(), noon.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := count().DeadlockCount; n != 0 {
		t.Errorf("%d are left after their age", n)
	}
}

// TestLongLocks: what would be too long loses statements and is kept all the same, above all the end of a wait whose
// begin is kept; and no answer has more than a few megabytes.
func TestLongLocks(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	put := func(seen lock.Seen, waits ...lock.Wait) {
		t.Helper()
		if err := h.Locks.Put(t.Context(), "shop", seen, waits); err != nil {
			t.Fatal(err)
		}
	}
	between := func() Locks {
		t.Helper()
		got, err := h.Locks.Between(t.Context(), "shop", noon, noon.Add(time.Hour), 1000)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	pileUp := func(id, of string) (w lock.Wait) {
		w = lock.Wait{ID: id, Begin: noon, End: noon.Add(time.Minute), Total: lock.MaxWaiters}
		for i := range lock.MaxWaiters {
			class := fmt.Sprint("class", i)
			sql := strings.Repeat(of, 2000)
			w.Waiters = append(w.Waiters, lock.Waiter{Session: uint64(i + 1), SQL: sql, Class: class, Fingerprint: sql})
			w.Pairs = append(w.Pairs, lock.Pair{Blocked: class, BlockedFingerprint: sql, Waits: 1})
		}
		return w
	}
	w := lock.Wait{ID: "w", Begin: noon, End: noon.Add(time.Second), Open: true, Waiters: []lock.Waiter{{Session: 1}}}
	put(lock.Seen{}, w)
	long := pileUp("w", "x")
	put(lock.Seen{}, long)
	if got := between().Waits; len(got) != 1 || got[0].Open || len(got[0].Waiters) != lock.MaxWaiters ||
		len(got[0].Waiters[4].SQL) != 2000 || got[0].Waiters[5].SQL != "" || got[0].Waiters[49].Class != "class49" {
		t.Errorf("%d waits", len(got))
	}
	if len(long.Waiters[49].SQL) != 2000 || long.Pairs[49].BlockedFingerprint == "" {
		t.Error("the wait itself was changed")
	}
	put(lock.Seen{}, pileUp("w", "\x01")) // six bytes each in JSON
	if got := between().Waits; len(got) != 1 || len(got[0].Waiters) != 5 || got[0].Left != lock.MaxWaiters-5 {
		t.Errorf("%d waits", len(got))
	}
	d := lock.Deadlock{ID: "d", At: noon}
	for i := range 16 {
		p := lock.Party{Session: uint64(i + 1), SQL: strings.Repeat("\x01", 2000), Victim: i == 9}
		for range 4 {
			p.Holds = append(p.Holds, lock.Lock{Object: strings.Repeat("\x01", 256), Mode: strings.Repeat("\x01", 128)})
		}
		d.Parties = append(d.Parties, p)
	}
	put(lock.Seen{Deadlocks: []lock.Deadlock{d}})
	if got := between().Deadlocks; len(got) != 1 || len(got[0].Parties) != 16 || !got[0].Parties[9].Victim {
		t.Errorf("%d deadlocks", len(got))
	}
	for i := range 200 {
		w := pileUp(fmt.Sprint(i), "x")
		w.Waiters, w.Pairs = w.Waiters[:25], nil
		put(lock.Seen{}, w)
	}
	got := between()
	size := 0
	for _, w := range got.Waits {
		for _, x := range w.Waiters {
			size += len(x.SQL) + len(x.Fingerprint)
		}
	}
	if !got.Truncated || got.WaitCount != 201 || size > mostLockBytes || size < mostLockBytes/2 ||
		len(got.Deadlocks) != 1 {
		t.Errorf("%d of %d waits, %d bytes, truncated %v", len(got.Waits), got.WaitCount, size, got.Truncated)
	}
}

// TestLocksInOlderFile: a file of a program that kept no locks is sound, and gets the table when it is opened to be
// written.
func TestLocksInOlderFile(t *testing.T) {
	path := file(t)
	h := mustOpen(t, path, Options{})
	if _, err := h.db.ExecContext(t.Context(), "DROP TABLE lock"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(t.Context(), path); err != nil || !r.OK() {
		t.Errorf("%v %s", err, r.Text())
	}
	h = mustOpen(t, path, Options{})
	seen := lock.Seen{Deadlocks: []lock.Deadlock{deadlockOf(1, false)}}
	if err := h.Locks.Put(t.Context(), "shop", seen, nil); err != nil {
		t.Error(err)
	}
}
