package panel

import "testing"

func TestPanelsAreWhole(t *testing.T) {
	units := map[string]bool{
		"/s": true, "s": true, "B/s": true, "B": true, "cores": true, "s/s": true, "ratio": true,
		"rows/s": true, "connections": true, "sessions": true, "transactions": true,
	}
	seen := map[string]bool{}
	group := ""
	groups := map[string]bool{}
	for _, p := range Server() {
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
	if _, ok := Find("throughput"); !ok {
		t.Error("there is no throughput")
	}
	if _, ok := Find("nothing"); ok {
		t.Error("there is a panel that nobody made")
	}
}

func TestExpr(t *testing.T) {
	f := func(w Way, want string) {
		t.Helper()
		if got := w.Expr("a\"b", "1m"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(way(gauge("x")), `sum(x{target="a\"b"})`)
	f(way(rate("x", is("l", "v"), unlike("m", "n.*"))), `sum(rate(x{target="a\"b",l="v",m!~"n.*"}[1m]))`)
	f(way(rate("x")).over(rate("y")), `sum(rate(x{target="a\"b"}[1m])) / sum(rate(y{target="a\"b"}[1m]))`)
	f(way(gauge("x"), less(gauge("y"))).over(gauge("z")).times(0.001),
		`((sum(x{target="a\"b"}) - sum(y{target="a\"b"})) / sum(z{target="a\"b"})) * 0.001`)
	f(Way{Terms: []Term{gauge("x")}, Most: true, Zero: "z"}, `max(x{target="a\"b"}) or 0 * sum(z{target="a\"b"})`)
}
