package ledger

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
)

// TestAnEntryHasABound: parts of an entry come from a server, and whoever lists the journal reads all of it.
func TestAnEntryHasABound(t *testing.T) {
	l := mustOpen(t, filepath.Join(t.TempDir(), "ledger.db"))
	f := func(n int, fits bool) {
		t.Helper()
		e := journal.Entry{ID: "a-1", Action: finding.Action{Was: strings.Repeat("x", n)}}
		if err := l.PutEntry(t.Context(), e); (err == nil) != fits {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	f(mostEntry/2, true)
	f(mostEntry, false)
	if e, err := l.Entry(t.Context(), "a-1"); err != nil || len(e.Action.Was) != mostEntry/2 {
		t.Errorf("%d bytes are kept, %v", len(e.Action.Was), err)
	}
	if es, err := l.Outcomes(t.Context(), "", 0); err != nil || len(es) != 1 || es[0].ID != "a-1" ||
		es[0].Action.Was != "" {
		t.Errorf("%d outcomes, %v", len(es), err)
	}
	if _, err := l.Entry(t.Context(), "a-2"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
