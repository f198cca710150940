package series

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOldest(t *testing.T) {
	dir := t.TempDir()
	if a, b := Oldest(dir); !a.IsZero() || !b.IsZero() {
		t.Errorf("of nothing: %v, %v", a, b)
	}
	st, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	made := time.Unix(1_764_000_000, 0)
	if err := os.Chtimes(filepath.Join(dir, versionFile), made, made); err != nil {
		t.Fatal(err)
	}
	f := func(seconds, minutes time.Time) {
		t.Helper()
		if a, b := Oldest(dir); !a.Equal(seconds) || !b.Equal(minutes) {
			t.Errorf("%v, %v, want %v, %v", a, b, seconds, minutes)
		}
	}
	f(made, made) // files of the head are written again and again, and say nothing
	block := func(dir string, from time.Time) {
		t.Helper()
		name := filepath.Join(dir, fmt.Sprint(from.Unix()))
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(name, "meta.json"), fmt.Appendf(nil, `{"minTime": %d}`, from.UnixMilli()),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	block(dir, made.Add(5*time.Hour))
	f(made.Add(5*time.Hour), made) // the seconds before it have aged out
	block(dir, made.Add(3*time.Hour))
	block(filepath.Join(dir, minutesDir), made.Add(time.Hour))
	f(made.Add(3*time.Hour), made.Add(time.Hour))
}
