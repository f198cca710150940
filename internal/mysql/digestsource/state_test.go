package digestsource

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	type head struct{ At int }
	open := func() *stateFile {
		t.Helper()
		s, err := openState(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	load := func(s *stateFile, at int, aggregate string, ok bool) {
		t.Helper()
		var h head
		got, has, err := s.load(&h)
		if err != nil || has != ok || string(got) != aggregate || h.At != at {
			t.Fatalf("got %q at %d, %v, %v; want %q at %d, %v", got, h.At, has, err, aggregate, at, ok)
		}
	}
	save := func(s *stateFile, at int, aggregate string) {
		t.Helper()
		if err := s.save(head{at}, func(b []byte) []byte { return append(b, aggregate...) }); err != nil {
			t.Fatal(err)
		}
	}
	s := open()
	load(s, 0, "", false)
	save(s, 1, "a\nb\x00\n")
	load(s, 1, "a\nb\x00\n", true)
	save(s, 2, "")
	load(s, 2, "", true)

	if _, err := openState(path); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "another dyno") {
		t.Fatalf("a second one: %v", err)
	}
	s.close()
	s = open()
	load(s, 2, "", true)
	save(s, 3, "c")
	s.close()

	// A kill while writing leaves half a new file beside the state.
	if err := os.WriteFile(path+".new", []byte(stateMagic+"{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	load(s, 3, "c", true)
	save(s, 4, "d")
	load(s, 4, "d", true)
	s.close()
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("something is left beside the state: %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}

	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := func(b []byte, want string) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open()
		defer s.close()
		if _, ok, err := s.load(&head{}); ok || !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) {
			t.Fatalf("%.40q: %v, %v", b, ok, err)
		}
	}
	broken(good[:len(good)-1], "damaged")
	broken(bytes.Replace(good, []byte("4"), []byte("5"), 1), "damaged")
	broken([]byte(stateMagic), "damaged")
	broken([]byte("# Time: 1\n"), "not a state")
}

// TestStateFileFollowsNoLink: what lies at the name of the next state is taken away, not written through.
func TestStateFileFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path, others := filepath.Join(dir, "state"), filepath.Join(dir, "others")
	s, err := openState(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := errors.Join(os.WriteFile(others, []byte("kept"), 0o600), os.Symlink(others, path+".new")); err != nil {
		t.Fatal(err)
	}
	if err := s.save(struct{}{}, func(b []byte) []byte { return b }); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(others); err != nil || string(b) != "kept" {
		t.Errorf("what the link leads to holds %q, %v", b, err)
	}
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
		t.Errorf("the state is %v, %v", fi, err)
	}
}

// TestStateStaysInItsDirectory: whoever can move the directory away while a log is followed does
// not choose where the state goes.
func TestStateStaysInItsDirectory(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "dir"), t.TempDir()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := openState(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := errors.Join(os.Rename(dir, dir+"2"), os.Symlink(other, dir)); err != nil {
		t.Fatal(err)
	}
	if err := s.save(struct{}{}, func(b []byte) []byte { return b }); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(other); err != nil || len(all) > 0 {
		t.Errorf("beyond the link are %v, %v", all, err)
	}
	if fi, err := os.Stat(filepath.Join(dir+"2", "state")); err != nil || fi.Size() == 0 {
		t.Errorf("the state is %v, %v", fi, err)
	}
}

func TestStateFileInMissingDirectory(t *testing.T) {
	if _, err := openState(filepath.Join(t.TempDir(), "no", "state")); !errors.Is(err, os.ErrNotExist) ||
		!errors.Is(err, ErrState) {
		t.Fatal(err)
	}
}
