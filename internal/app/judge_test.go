package app

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/test/snap"
)

// TestAdviceSentence: advice of one kind that has no finding says what a diagnosis would find.
func TestAdviceSentence(t *testing.T) {
	m := snap.Build()
	m.Moment(state.State{
		Sessions:     []state.Session{{ID: 7, User: "app", Command: "Sleep", Seconds: 300}},
		Transactions: []state.Transaction{{Session: 7, ID: "1", Seconds: 301, Modified: known.Of(uint64(12))}},
	})
	_, all := Findings(m.S)
	symptoms, found := Advise(m.S, advise.Schema)
	if len(all) == 0 || len(found) > 0 {
		t.Fatalf("%d findings of all kinds, of the schema %+v", len(all), found)
	}
	want := "`dyno diagnose` has " + unit.Plural(len(all), "finding", "findings") + " of other kinds."
	if got := Sentence(m.S, symptoms, nil, string(advise.Schema)); !strings.Contains(got,
		"No findings of the kind schema") || !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}
