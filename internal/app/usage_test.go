package app

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestUsageCountsLogs: what a store has in its write-ahead log takes room as well.
func TestUsageCountsLogs(t *testing.T) {
	a := alone(t)
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 { // the log is written back when it is longer
		if err := l.PutTarget(t.Context(), ledger.Target{
			Name: fmt.Sprint("t", i),
			URL:  "mysql://dyno@db1:3306/",
		}); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Stat(a.LedgerPath() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Stores{a}.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(k Kept) bool { return k.Kind == "ledger" })
	if i < 0 || all[i].Bytes < log.Size() || log.Size() == 0 {
		t.Errorf("with a log of %d bytes: %+v", log.Size(), all)
	}
}
