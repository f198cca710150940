package access

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	good   = "three green bottles 7"
	better = "hanging on that wall 4"
)

var here = From{Address: "192.0.2.7", Agent: "Firefox"}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func store(t *testing.T) (*Store, *clock) {
	t.Helper()
	c := &clock{t: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)}
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store", "access.db"), Options{Now: c.now})
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s, c
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || err == nil {
		t.Fatalf("got %v, want %v", err, kind)
	}
}

// staffed is a store with the operator anna and the viewer ben.
func staffed(t *testing.T) (*Store, *clock) {
	t.Helper()
	s, c := store(t)
	ok(t, s.AddUser(t.Context(), "anna", Operator, good))
	ok(t, s.AddUser(t.Context(), "ben", Viewer, good))
	return s, c
}

func login(t *testing.T, s *Store, name string) Session {
	t.Helper()
	x, err := s.Login(t.Context(), name, good, here)
	ok(t, err)
	return x
}

func TestNothingIsMadeByLooking(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	some, err := s.HasUsers(ctx)
	ok(t, err)
	users, err := s.Users(ctx)
	ok(t, err)
	_, err = s.Sessions.Find(ctx, newSecret(), "")
	want(t, err, ErrNotFound)
	_, err = s.Login(ctx, "anna", good, here)
	want(t, err, ErrWrong)
	if some || users != nil {
		t.Fatal("there are users")
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); err == nil {
		t.Fatal("looking made a directory")
	}
}

func TestFileIsForItsOwnerOnly(t *testing.T) {
	s, _ := staffed(t)
	f := func(path string, mode os.FileMode) {
		t.Helper()
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	f(s.Path(), 0o600)
	f(s.Path()+"-wal", 0o600)
	f(filepath.Dir(s.Path()), 0o700)
}

// TestNoSecretIsInTheFile looks for every secret in the bytes of the file and its log.
func TestNoSecretIsInTheFile(t *testing.T) {
	s, _ := store(t)
	first, err := s.FirstToken(t.Context())
	ok(t, err)
	a, err := s.LoginFirst(t.Context(), first, "anna", good, here)
	ok(t, err)
	token, err := s.Tokens.Add(t.Context(), "grafana", Viewer, "anna", time.Hour)
	ok(t, err)
	i, err := s.Sessions.Find(t.Context(), a.Secret, "")
	ok(t, err)
	for _, path := range []string{s.Path(), s.Path() + "-wal"} {
		b, err := os.ReadFile(path)
		ok(t, err)
		for what, secret := range map[string]string{
			"first-run token": first, "password": good, "session": a.Secret,
			"token": token.Secret, "bare token": token.Secret[5:], "csrf": i.CSRF,
		} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s holds the %s", path, what)
			}
		}
	}
}

func TestTwoProcessesSeeEachOther(t *testing.T) {
	s, c := staffed(t)
	other, err := Open(t.Context(), s.Path(), Options{Now: c.now})
	ok(t, err)
	defer other.Close()
	x := login(t, s, "ben")
	_, err = other.Sessions.Find(t.Context(), x.Secret, "")
	ok(t, err)
	ok(t, other.RemoveUser(t.Context(), "ben", false))
	_, err = s.Sessions.Find(t.Context(), x.Secret, "")
	want(t, err, ErrNotFound)
}

// TestDamagedFileLetsNobodyIn: a file that cannot be read must not look like one without users.
func TestDamagedFileLetsNobodyIn(t *testing.T) {
	f := func(name string, hurt func(path string), kind error) {
		t.Helper()
		s, _ := staffed(t)
		ok(t, s.Close())
		hurt(s.Path())
		o, err := Open(t.Context(), s.Path(), Options{})
		if err == nil {
			var some bool
			some, err = o.HasUsers(t.Context())
			if some {
				t.Errorf("%s: it has users", name)
			}
			o.Close()
		}
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), s.Path()) {
			t.Errorf("%s: got %v", name, err)
		}
		if r, err := Check(t.Context(), s.Path()); err == nil && r.OK() {
			t.Errorf("%s: the check finds nothing: %+v", name, r)
		}
	}
	write := func(b string) func(string) {
		return func(path string) { ok(t, os.WriteFile(path, []byte(b), 0o600)) }
	}
	f("empty", write(""), ErrCorrupt)
	f("garbage", write(strings.Repeat("garbage ", 4000)), ErrCorrupt)
	f("gone, its log is there", func(path string) {
		ok(t, os.Rename(path, path+"-wal"))
	}, ErrCorrupt)
	f("foreign", func(path string) {
		ok(t, os.Remove(path))
		db, err := sql.Open("sqlite", path)
		ok(t, err)
		_, err = db.Exec("CREATE TABLE x (y)")
		ok(t, errors.Join(err, db.Close()))
	}, ErrForeign)
	f("newer", func(path string) {
		db, err := sql.Open("sqlite", path)
		ok(t, err)
		_, err = db.Exec("INSERT INTO migration VALUES (77)")
		ok(t, errors.Join(err, db.Close()))
	}, ErrNewer)
	f("without its table", func(path string) {
		db, err := sql.Open("sqlite", path)
		ok(t, err)
		_, err = db.Exec("DROP TABLE user")
		ok(t, errors.Join(err, db.Close()))
	}, ErrCorrupt)
}

func TestCheckTells(t *testing.T) {
	s, _ := staffed(t)
	r, err := Check(t.Context(), s.Path())
	if err != nil || !r.OK() || r.Users != 2 || !strings.Contains(r.Text(), "2 users") {
		t.Fatalf("%+v, %v", r, err)
	}
	ok(t, os.Chmod(s.Path(), 0o644))
	if r, _ = Check(t.Context(), s.Path()); r.OK() || !strings.Contains(r.Text(), "chmod 600") {
		t.Fatalf("%+v", r)
	}
	if r, err := Check(t.Context(), filepath.Join(t.TempDir(), "none.db")); err != nil || !r.OK() || r.Exists {
		t.Fatalf("%+v, %v", r, err)
	}
}
