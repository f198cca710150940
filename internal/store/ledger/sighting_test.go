package ledger

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
)

// TestSightings: a finding keeps when it was seen first and last, advice sees nothing and replaces nothing.
func TestSightings(t *testing.T) {
	ctx := t.Context()
	l, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Unix(1_800_000_000, 0).UTC()
	put := func(id string, minute int, server string, advice []string, fs ...finding.Finding) {
		t.Helper()
		d := Diagnosis{
			ID: id, Target: "shop", At: start.Add(time.Duration(minute) * time.Minute), Server: server,
			Advice: advice, Findings: fs,
		}
		if err := l.Diagnoses.Put(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	f := func(first, last int, title, diagnosis string) {
		t.Helper()
		all, err := l.Sightings(ctx, "shop")
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v %v", all, err)
		}
		s := all[0]
		if !s.First.Equal(start.Add(time.Duration(first)*time.Minute)) ||
			!s.Last.Equal(start.Add(time.Duration(last)*time.Minute)) || s.Title != title || s.Diagnosis != diagnosis {
			t.Errorf("%+v", s)
		}
	}
	x := func(title string) finding.Finding {
		return finding.Finding{ID: "f", Title: title, Severity: finding.Warning}
	}
	put("d-1", 10, "s1", nil, x("one"))
	put("d-3", 30, "s1", nil, x("three"))
	put("d-2", 20, "", nil, x("two")) // stored late
	put("d-4", 40, "s1", []string{"config"}, finding.Finding{ID: "sync", Severity: finding.Fact}, x("advice"))
	f(10, 30, "three", "d-3")
	newest, err := l.Diagnoses.Newest(ctx)
	since, err2 := l.Diagnoses.Since(ctx, "shop", start.Add(20*time.Minute))
	if err != nil || err2 != nil || newest["shop"] != "d-3" || len(since) != 2 || since[0].ID != "d-3" {
		t.Errorf("newest %v of %+v, %v %v", newest, since, err, err2)
	}
	if found, d, err := l.Diagnoses.Finding(ctx, "shop", "sync"); err != nil || d.ID != "d-4" ||
		found.Severity != finding.Fact {
		t.Errorf("%+v %v: advice can be applied", found, err)
	}
	put("d-5", 50, "s2", nil, x("another server"))
	f(50, 50, "another server", "d-5")

	until := start.Add(time.Hour)
	if err := l.Ignore(ctx, Ignored{Target: "shop", Finding: "f", Until: until, By: "ann", At: start}); err != nil {
		t.Fatal(err)
	}
	g := func(at time.Time, want int) {
		t.Helper()
		if all, err := l.Ignored(ctx, "", at); err != nil || len(all) != want || want == 1 && all[0].By != "ann" {
			t.Errorf("%+v %v", all, err)
		}
	}
	g(start, 1)
	g(until, 0)
	if err := l.Ignore(ctx, Ignored{Target: "shop", Finding: "f"}); err != nil {
		t.Fatal(err)
	}
	g(start, 0)
}
