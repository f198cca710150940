package series

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	if err := s.Append(second(t0, 3), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, versionFile)
	if b, err := os.ReadFile(file); err != nil || string(b) != "2\n" {
		t.Fatalf("%q, %v", b, err)
	}
	// The first version had no such file.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir)
	if got := mustSelect(t, s, "", nil, 0, math.MaxInt64); len(got) != 3 {
		t.Errorf("%d series of the first version", len(got))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("77\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	f := func(_ any, err error) {
		t.Helper()
		var newer *VersionError
		if !errors.As(err, &newer) || newer.Found != 77 || !strings.Contains(err.Error(), "version 77") {
			t.Errorf("a newer store: %v", err)
		}
	}
	f(Open(dir))
	f(Check(t.Context(), dir))
	for p, b := range tree(t, dir) {
		if before[p] != b {
			t.Errorf("%s was changed", p)
		}
	}
	if err := os.WriteFile(file, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a garbled version: %v", err)
	}
	if r, err := Check(t.Context(), dir); err != nil || r.OK() {
		t.Errorf("check of a garbled version: %+v, %v", r, err)
	}
}
