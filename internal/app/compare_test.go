package app

import (
	"os"
	"strings"
	"testing"
	"time"

	"dyno/internal/plan"
	"dyno/internal/stand"
)

// prepared returns an app with a home of its own, and the comparison of a plan for which no server was looked for.
func prepared(t *testing.T, text string) (*App, *Comparison) {
	t.Helper()
	a := &App{Home: t.TempDir(), Version: "test", Environ: func(string) string { return "" }}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := plan.Parse([]byte(text), plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &Comparison{Plan: p, o: CompareOptions{Text: []byte(text)}}
	if c.Variants, err = p.Variants(); err != nil {
		t.Fatal(err)
	}
	if c.yard, err = a.Yard(); err != nil {
		t.Fatal(err)
	}
	c.stand = &stand.Stand{Yard: c.yard, Workloads: a.Workloads()}
	return a, c
}

// TestNoTrials runs a plan that has no time for a single trial: that is an error with its reason, and nothing is left.
func TestNoTrials(t *testing.T) {
	a, c := prepared(t, tinyPlan)
	c.Plan.Budget = plan.Duration(time.Second) // a plan that says so is refused
	r, _, err := a.Compare(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "run tiny: it ended before its first trial: the budget of 1 s") {
		t.Errorf("%v", err)
	}
	left, lerr := os.ReadDir(a.experiments())
	if len(r.Trials) != 0 || c.ID != "" || len(left) != 0 || lerr != nil {
		t.Errorf("%d trials of %q, left %v (%v)", len(r.Trials), c.ID, left, lerr)
	}
}
