package sandbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// sameTree fails the test when two directories differ in names, kinds, permissions or contents.
func sameTree(t *testing.T, a, b string) {
	t.Helper()
	list := func(dir string) map[string]fs.FileInfo {
		all := map[string]fs.FileInfo{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			all[rel], err = d.Info()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	x, y := list(a), list(b)
	for name := range y {
		if x[name] == nil {
			t.Errorf("%s is too many", name)
		}
	}
	for name, fi := range x {
		other := y[name]
		switch {
		case other == nil:
			t.Errorf("%s is missing", name)
		case name != "." && fi.Mode() != other.Mode():
			t.Errorf("%s has mode %v, not %v", name, other.Mode(), fi.Mode())
		case fi.Mode().IsRegular():
			v, err := os.ReadFile(filepath.Join(a, name))
			if err != nil {
				t.Fatal(err)
			}
			w, err := os.ReadFile(filepath.Join(b, name))
			if err != nil || !bytes.Equal(v, w) {
				t.Errorf("%s differs: %d and %d bytes, %v", name, len(v), len(w), err)
			}
		}
	}
}
