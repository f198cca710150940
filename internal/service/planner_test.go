package service

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
)

// TestPlansOfEachSchema: statements whose plan is not asked for, however many and long, keep nobody else's away, nor
// does one schema.
func TestPlansOfEachSchema(t *testing.T) {
	var w ClassWindow
	w.To = time.Unix(1_800_000_000, 0)
	add := func(schema, text string) {
		w.Classes = append(w.Classes, class.Class{ID: fmt.Sprint(len(w.Classes)), Schema: schema, Example: text})
	}
	for i := range 100 {
		add("evil", fmt.Sprintf("SELECT SLEEP(4) AS a%d", i))
	}
	for i := range 10 {
		add("evil", fmt.Sprintf("SELECT a FROM t%d", i))
	}
	add("shop", "SELECT a FROM t")
	var p planner
	due := p.choose(w, sqlshape.Explainable)
	if len(due) != 2*plansAtOnce || !slices.Contains(due[:plansAtOnce], len(w.Classes)-1) {
		t.Errorf("%v: the class of shop is the last of %d, and %d plans are asked for", due,
			len(w.Classes), plansAtOnce)
	}
	w.To = w.To.Add(plansEvery)
	if due = p.choose(w, sqlshape.Explainable); len(due) != plansAtOnce || due[0] < 100 {
		t.Errorf("a minute later: %v", due)
	}
}
