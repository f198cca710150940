package access

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// loose removes the users' file, as a restore without it or somebody who cleans up does.
func loose(t *testing.T, s *Store) *Store {
	t.Helper()
	path := s.Path()
	ok(t, s.Close())
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	x, err := Open(t.Context(), path, Options{})
	ok(t, err)
	t.Cleanup(func() { ok(t, x.Close()) })
	return x
}

// TestALostFileOpensNoDoor: without its file a store that had users does not say that there are none.
func TestALostFileOpensNoDoor(t *testing.T) {
	old, _ := staffed(t)
	s := loose(t, old)
	ctx := t.Context()
	some, err := s.HasUsers(ctx)
	if some || !errors.Is(err, ErrLost) {
		t.Fatalf("%v, %v", some, err)
	}
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "dyno user add") || !strings.Contains(e.Hint, "backup") {
		t.Fatalf("%+v", e)
	}
	_, err = s.FirstToken(ctx)
	want(t, err, ErrLost)
	if r, err := Check(ctx, s.Path()); err != nil || r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
	// A write that makes the file anew, such as the audit log's, does not change it.
	_, err = s.Audit.Begin(ctx, Entry{Who: "x", What: "y"})
	ok(t, err)
	_, err = s.HasUsers(ctx)
	want(t, err, ErrLost)
	want(t, s.AddUser(ctx, "anna", Viewer, good), ErrInvalid)
	_, err = s.HasUsers(ctx)
	want(t, err, ErrLost)
	ok(t, s.AddUser(ctx, "anna", Operator, good))
	if some, err := s.HasUsers(ctx); !some || err != nil {
		t.Fatal(some, err)
	}
}

// TestTheLastUserTakesTheMarkerAlong: who removes the users on purpose is let in without one.
func TestTheLastUserTakesTheMarkerAlong(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	want(t, s.AddUser(ctx, "anna", Viewer, good), ErrInvalid)
	if some, err := s.HasUsers(ctx); some || err != nil {
		t.Fatal("a user who was not added counts", err)
	}
	ok(t, s.AddUser(ctx, "anna", Operator, good))
	ok(t, s.RemoveUser(ctx, "anna", true))
	s = loose(t, s)
	if some, err := s.HasUsers(ctx); some || err != nil {
		t.Fatal(some, err)
	}
}

// TestTheMarkerIsMadeUp: a file of an older Dyno gets one when it is opened.
func TestTheMarkerIsMadeUp(t *testing.T) {
	s, _ := staffed(t)
	ok(t, os.Remove(markerOf(s.Path())))
	x, err := Open(t.Context(), s.Path(), Options{})
	ok(t, err)
	ok(t, x.Close())
	_, err = loose(t, s).HasUsers(t.Context())
	want(t, err, ErrLost)
}
