package ledger

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/journal"
)

// TestLimit: of what is too much the oldest goes first, of the target that has more than its share, and the journal
// with what it was made from stays.
func TestLimit(t *testing.T) {
	ctx := t.Context()
	l, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	ok(t, err)
	defer l.Close()
	text := strings.Repeat("x", 1000)
	put := func(target string, n int) {
		for i := range n {
			when := at.Add(time.Duration(i) * time.Minute)
			ok(t, l.Events.Put(ctx, event.Event{At: when, Target: target, Kind: event.Annotation, Text: text}))
			ok(t, l.Diagnoses.Put(ctx, Diagnosis{
				ID: fmt.Sprintf("d-%s%03d", target, i), At: when, Target: target,
				Snapshot: []byte(`"` + text + `"`),
			}))
		}
	}
	put("quiet", 10)
	put("noisy", 100)
	ok(t, l.PutEntry(ctx, journal.Entry{ID: "a-1", Target: "noisy", Before: "d-noisy000", Planned: at}))
	counts := func() (out [4]int) {
		for i, target := range []string{"quiet", "noisy"} {
			es, err := l.Events.List(ctx, target, time.Time{}, time.Time{})
			ok(t, err)
			ds, err := l.Diagnoses.List(ctx, target, 0)
			ok(t, err)
			out[2*i], out[2*i+1] = len(es), len(ds)
			last := at.Add(time.Duration([]int{9, 99}[i]) * time.Minute)
			if !es[len(es)-1].At.Equal(last) || !ds[0].At.Equal(last) {
				t.Errorf("the newest of %s is gone", target)
			}
		}
		return out
	}
	_, err = l.Expire(ctx, at.Add(time.Hour))
	ok(t, err)
	if got := counts(); got != [4]int{10, 10, 100, 100} {
		t.Errorf("without a limit: %v", got)
	}
	l.Limit(40_000, 40_000)
	_, err = l.Expire(ctx, at.Add(time.Hour))
	ok(t, err)
	got := counts()
	if got[0] != 10 || got[1] != 10 || got[2] < 20 || got[2] > 35 || got[3] < 15 || got[3] > 35 {
		t.Errorf("events and diagnoses of quiet, of noisy: %v", got)
	}
	if _, err := l.Diagnoses.Get(ctx, "d-noisy000"); err != nil {
		t.Errorf("what an entry of the journal was made from: %v", err)
	}
	if _, err := l.Diagnoses.Get(ctx, "d-noisy001"); err == nil {
		t.Error("the oldest stays")
	}
	if _, err := l.Entry(ctx, "a-1"); err != nil {
		t.Errorf("the journal: %v", err)
	}
	kinds, err := l.Usage(ctx)
	ok(t, err)
	for _, k := range kinds {
		if k.Kind == "incidents" { // there are none
			continue
		}
		if k.Kind != "journal" && (k.Bytes > 40_000 || k.Bytes < 30_000) || k.Rows == 0 {
			t.Errorf("%+v", k)
		}
	}
}
