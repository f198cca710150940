package app

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/panel"
)

// TestPanelsAreWhole: the panels of each family can be drawn, and one of them is what every list of servers shows.
func TestPanelsAreWhole(t *testing.T) {
	for _, f := range Families() {
		t.Run(f.Name(), func(t *testing.T) { panelsAreWhole(t, f) })
	}
}

func panelsAreWhole(t *testing.T, f family.Family) {
	units := map[string]bool{
		"/s": true, "s": true, "B/s": true, "B": true, "cores": true, "s/s": true, "ratio": true,
		"rows/s": true, "connections": true, "sessions": true, "transactions": true, "workers": true,
	}
	seen := map[string]bool{}
	group := ""
	groups := map[string]bool{}
	for _, p := range f.Panels() {
		if seen[p.ID] {
			t.Errorf("%s stands twice", p.ID)
		}
		seen[p.ID] = true
		if p.Group != group {
			if groups[p.Group] {
				t.Errorf("%s: its group is torn apart", p.ID)
			}
			group, groups[p.Group] = p.Group, true
		}
		if p.Title == "" || p.About == "" || !units[p.Unit] || len(p.Lines) == 0 {
			t.Errorf("%s: lacks a title, a sentence, lines or a unit that is known: %q", p.ID, p.Unit)
		}
		if len(p.Lines) > 8 {
			t.Errorf("%s: %d lines, there are eight colours", p.ID, len(p.Lines))
		}
		names := map[string]bool{}
		for _, l := range p.Lines {
			if l.Name == "" || names[l.Name] || len(l.Ways) == 0 {
				t.Errorf("%s: line %q has no name of its own or no way", p.ID, l.Name)
			}
			names[l.Name] = true
			for _, w := range l.Ways {
				if len(w.Terms) == 0 || w.Terms[0].Minus {
					t.Errorf("%s, %s: begins with nothing, or with what is taken off", p.ID, l.Name)
				}
			}
		}
	}
	if _, ok := panel.Find(f.Panels(), panel.Throughput); !ok {
		t.Error("there is no throughput")
	}
	if _, ok := panel.Find(f.Panels(), "nothing"); ok {
		t.Error("there is a panel that nobody made")
	}
}
