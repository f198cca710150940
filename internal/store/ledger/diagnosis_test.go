package ledger

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/journal"
)

// TestSnapshotsHaveABound: what is kept of one target does not take the room of others, however large its snapshots
// are.
func TestSnapshotsHaveABound(t *testing.T) {
	ctx := t.Context()
	l, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := time.Unix(1_800_000_000, 0)
	snapshot := []byte(`"` + strings.Repeat("x", 998) + `"`)
	for n := range 10 {
		for _, target := range []string{"shop", "blog"} {
			d := Diagnosis{
				ID: fmt.Sprintf("d-%s-%d", target, n), Target: target,
				At: at.Add(time.Duration(n) * time.Minute), Background: n != 2, Snapshot: snapshot,
			}
			if err := l.Diagnoses.Put(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.PutEntry(ctx, journal.Entry{ID: "a-1", Target: "shop", Before: "d-shop-4"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Diagnoses.forget(ctx, "shop", 10, at, 3000); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string][]int{"shop": {2, 4, 7, 8, 9}, "blog": {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		var got []int
		for n := range 10 {
			d, err := l.Diagnoses.Get(ctx, fmt.Sprintf("d-%s-%d", target, n))
			if err != nil {
				t.Fatal(err)
			}
			if d.Snapshot != nil {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s keeps the snapshots of %v, want %v", target, got, want)
		}
	}
	large := []byte(`"` + strings.Repeat("x", mostSnapshot) + `"`)
	if err := l.Diagnoses.Put(ctx, Diagnosis{ID: "d-large", Target: "shop", At: at, Snapshot: large}); err == nil {
		t.Error("a snapshot of any size is stored")
	}
}

func TestForgetDiagnoses(t *testing.T) {
	ctx := context.Background()
	l, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := time.Unix(1_800_000_000, 0)
	put := func(target string, n int, background bool) {
		t.Helper()
		id := fmt.Sprintf("d-%s-%d", target, n)
		err := l.Diagnoses.Put(ctx, Diagnosis{
			ID: id, Target: target, At: at.Add(time.Duration(n) * time.Minute),
			Background: background, Findings: []finding.Finding{{ID: "f"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		put("shop", n, n != 2) // 2 was asked for by a person
		put("blog", n, true)
	}
	if err := l.PutEntry(ctx, journal.Entry{ID: "a-1", Target: "shop", Before: "d-shop-4"}); err != nil {
		// 4 is needed for its proof
		t.Fatal(err)
	}
	if err := l.Incidents.Put(ctx, []incident.Incident{
		{ID: "i-1-shop", Target: "shop", From: at, Diagnosis: "d-shop-0"},
		{ID: "i-2-shop", Target: "shop", From: at, Findings: []incident.Finding{{ID: "f", Diagnosis: "d-shop-1"}}},
		{ID: "i-3-blog", Target: "blog", From: at, Diagnosis: "d-shop-3"},
	}); err != nil {
		t.Fatal(err)
	}
	for _, before := range []time.Time{at, at.Add(time.Hour)} { // all are newer than the first
		if err := l.Diagnoses.Forget(ctx, "shop", 3, before); err != nil {
			t.Fatal(err)
		}
		if ds, _ := l.Diagnoses.List(ctx, "shop", 0); len(ds) != 10 && before.Equal(at) {
			t.Fatalf("%d are left of those that are not old", len(ds))
		}
	}
	f := func(target string, want ...string) {
		t.Helper()
		ds, err := l.Diagnoses.List(ctx, target, 0)
		var got []string
		for _, d := range ds {
			got = append(got, d.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v %v, want %v", got, err, want)
		}
	}
	f("shop", "d-shop-9", "d-shop-8", "d-shop-7", "d-shop-4", "d-shop-2", "d-shop-1", "d-shop-0")
	if ds, _ := l.Diagnoses.List(ctx, "blog", 0); len(ds) != 10 {
		t.Fatalf("another target has %d", len(ds))
	}
	if _, d, err := l.Diagnoses.Finding(ctx, "shop", "f"); err != nil || d.ID != "d-shop-9" {
		t.Fatal(d.ID, err)
	}
	newest, err := l.Diagnoses.Newest(ctx)
	if err != nil || len(newest) != 2 || newest["shop"] != "d-shop-9" || newest["blog"] != "d-blog-9" {
		t.Fatal(newest, err)
	}
	r, err := l.Check(ctx) // findings of what was forgotten are gone too
	if err != nil || !r.OK() {
		t.Fatal(r.Text(), err)
	}
}
