package trials_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyno/internal/store/trials"
)

func TestBusy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x-1")
	f := func(want bool) {
		t.Helper()
		pid, busy := trials.Busy(dir)
		if busy != want || busy && pid != os.Getpid() {
			t.Fatalf("busy %v by %d, want %v", busy, pid, want)
		}
	}
	f(false)
	d, err := trials.Create(dir, trials.Header{ID: "x-1", Started: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	f(true)
	f(true) // asking gives nothing away
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f(false)
	// Killed: its number stays behind, and somebody else may have it now.
	if err := os.WriteFile(filepath.Join(dir, "lock"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(false)
}
