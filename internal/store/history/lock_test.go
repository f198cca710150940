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

// TestLocksInOlderFile: a file of a program that kept no locks gets the table.
func TestLocksInOlderFile(t *testing.T) {
	path := file(t)
	h := mustOpen(t, path, Options{})
	if _, err := h.db.ExecContext(t.Context(), "DROP TABLE lock"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = mustOpen(t, path, Options{})
	seen := lock.Seen{Deadlocks: []lock.Deadlock{deadlockOf(1, false)}}
	if err := h.Locks.Put(t.Context(), "shop", seen, nil); err != nil {
		t.Error(err)
	}
}
