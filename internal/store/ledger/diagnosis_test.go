package ledger

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dyno/internal/finding"
	"dyno/internal/journal"
)

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
		err := l.PutDiagnosis(ctx, Diagnosis{ID: id, Target: target, At: at.Add(time.Duration(n) * time.Minute), Background: background, Findings: []finding.Finding{{ID: "f"}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		put("shop", n, n != 2) // 2 was asked for by a person
		put("blog", n, true)
	}
	if err := l.PutEntry(ctx, journal.Entry{ID: "a-1", Target: "shop", Before: "d-shop-4"}); err != nil { // 4 is needed for its proof
		t.Fatal(err)
	}
	for _, before := range []time.Time{at, at.Add(time.Hour)} { // all are newer than the first
		if err := l.ForgetDiagnoses(ctx, "shop", 3, before); err != nil {
			t.Fatal(err)
		}
		if ds, _ := l.Diagnoses(ctx, "shop", 0); len(ds) != 10 && before.Equal(at) {
			t.Fatalf("%d are left of those that are not old", len(ds))
		}
	}
	f := func(target string, want ...string) {
		t.Helper()
		ds, err := l.Diagnoses(ctx, target, 0)
		var got []string
		for _, d := range ds {
			got = append(got, d.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v %v, want %v", got, err, want)
		}
	}
	f("shop", "d-shop-9", "d-shop-8", "d-shop-7", "d-shop-4", "d-shop-2")
	if ds, _ := l.Diagnoses(ctx, "blog", 0); len(ds) != 10 {
		t.Fatalf("another target has %d", len(ds))
	}
	if _, d, err := l.FindFinding(ctx, "shop", "f"); err != nil || d.ID != "d-shop-9" {
		t.Fatal(d.ID, err)
	}
	newest, err := l.NewestDiagnoses(ctx)
	if err != nil || len(newest) != 2 || newest["shop"] != "d-shop-9" || newest["blog"] != "d-blog-9" {
		t.Fatal(newest, err)
	}
	r, err := l.Check(ctx) // findings of what was forgotten are gone too
	if err != nil || !r.OK() {
		t.Fatal(r.Text(), err)
	}
}
