package tpcc

import (
	"fmt"
	"strings"
	"testing"
)

func TestChecksOfEverySet(t *testing.T) {
	f := func(sets int) {
		t.Helper()
		p := build(t, "scale=2", fmt.Sprintf("tables=%d", sets))
		if len(p.Checks) != 13*sets {
			t.Fatalf("%d checks for %d sets, want 13 each", len(p.Checks), sets)
		}
		names := map[string]bool{}
		for _, c := range p.Checks {
			names[c.Name] = true
			if c.Title == "" || strings.Contains(c.SQL, "#") || !strings.HasPrefix(c.SQL, "SELECT") {
				t.Errorf("%s: %s", c.Name, c.SQL)
			}
		}
		if len(names) != 13*sets {
			t.Errorf("names come twice: %v", names)
		}
		for n := 1; n <= 12; n++ {
			name := fmt.Sprintf("3.3.2.%d", n)
			if sets > 1 {
				name += fmt.Sprintf(" set %d", sets)
			}
			if !names[name] {
				t.Errorf("no condition %s", name)
			}
		}
	}
	f(1)
	f(2)
}
