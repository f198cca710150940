package service

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// TestLocksWait: while a reading is stored those that wait are let go only for want of room, the oldest first, and one
// that could not be stored is the next again.
func TestLocksWait(t *testing.T) {
	h, err := history.Open(t.Context(), filepath.Join(t.TempDir(), "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	at := time.Now()
	s := &locks{history: h, more: make(chan struct{}, 1)}
	n := 0
	add := func(sql string) {
		n++
		s.add(foundLocks{target: "shop", seen: lock.Seen{Deadlocks: []lock.Deadlock{{
			ID: fmt.Sprint(n), At: at, Parties: []lock.Party{{SQL: sql}, {}},
		}}}})
	}
	for range mostFound {
		add("")
	}
	x, ok := s.next() // is being stored
	add("")
	if y := s.waiting[0].seen.Deadlocks[0].ID; !ok || y != "2" || len(s.waiting) != mostFound {
		t.Fatalf("%s is the next of %d", y, len(s.waiting))
	}
	s.next()
	s.back(x)
	if y := s.waiting[0].seen.Deadlocks[0].ID; y != "1" || len(s.waiting) != mostFound {
		t.Errorf("%s is the next of %d", y, len(s.waiting))
	}
	long := strings.Repeat("x", 1<<20)
	for range 100 {
		add(long)
	}
	if s.bytes > mostFoundBytes || len(s.waiting) < 10 || len(s.waiting) > 16 {
		t.Errorf("%d wait, %d bytes", len(s.waiting), s.bytes)
	}
	left := len(s.waiting)
	end := make(chan struct{})
	close(end)
	s.store(end, func(err error) { t.Error(err) })
	got, err := h.Locks.Between(t.Context(), "shop", at.Add(-time.Second), at.Add(time.Second), 1)
	if err != nil || got.DeadlockCount != left || s.bytes != 0 || len(s.waiting) != 0 {
		t.Errorf("%d of %d were stored, %d bytes are left, %v", got.DeadlockCount, left, s.bytes, err)
	}
}
