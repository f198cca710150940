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

// TestPlansOfHeavyClasses: classes that become heavy one after the other do not put the regular turn off, and cost a
// few plans an hour.
func TestPlansOfHeavyClasses(t *testing.T) {
	var p planner
	at := time.Unix(1_800_000_000, 0)
	heavy, regular := 0, 0
	for i := range 300 { // every 10 s for 50 minutes
		w := ClassWindow{To: at.Add(time.Duration(i) * heavyEvery), Classes: []class.Class{
			{ID: fmt.Sprint("new", i), Schema: "shop", Example: "SELECT a FROM t", Count: 10, TimeSec: 50},
			{ID: fmt.Sprint("light", i/6), Schema: "shop", Example: "SELECT b FROM t", Count: 10, TimeSec: 0.01},
		}}
		for _, k := range p.choose(w, sqlshape.Explainable) {
			if k == 1 {
				regular++
			} else if i%6 != 0 {
				heavy++
			}
		}
	}
	if regular != 50 || heavy == 0 || heavy > heavyAnHour {
		t.Errorf("%d regular plans of 50, %d of heavy classes", regular, heavy)
	}
}
