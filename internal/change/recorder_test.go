package change

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

func newJournal(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestWhatAServerSaysOfAChangeHasABound: parts of remarks and errors come from the server, and they are kept.
func TestWhatAServerSaysOfAChangeHasABound(t *testing.T) {
	r := &recorder{j: newJournal(t), e: journal.Entry{ID: "a-1"}}
	for i := range 3 * mostNotes {
		r.note(fmt.Sprint(i, strings.Repeat("x", 2*MostText)))
	}
	_ = r.failed(t.Context(), errors.New(strings.Repeat("y", 1<<20)))
	n := r.e.Notes
	if len(n) != mostNotes || len(r.e.Error) > MostText || len(n[0].Text) > MostText ||
		!strings.HasPrefix(n[0].Text, "0x") || !strings.HasPrefix(n[mostNotes-1].Text, fmt.Sprint(3*mostNotes-1, "x")) {
		t.Errorf("%d notes, an error of %d bytes", len(n), len(r.e.Error))
	}
}
