package tpcc

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

func TestOptions(t *testing.T) {
	f := func(options, wrong string) {
		t.Helper()
		given := map[string]string{}
		for _, o := range strings.Fields(options) {
			k, v, _ := strings.Cut(o, "=")
			given[k] = v
		}
		_, err := Workload{}.Build(given)
		if (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", options, err, wrong)
		}
	}
	f("", "")
	f("scale=0", "from 1")
	f("scale=40000", "at most 32767")
	f("tables=0", "from 1")
	f("scale=3 active_warehouses=4", "at most scale, which is 3")
	f("scale=3 active-warehouses=3", "")
	f("warehouses=5", "")
	f("warehouses=5 scale=5", "")
	f("warehouses=5 scale=6", "another name")
	f("warehouses=x", "option scale=x")
	f("unoptimized=worse", `did you mean "worst"`)
	f("unoptimized", "")
	f("think=fast", "factor")
	f("think=-1", "factor")
	f("think=0.25", "")
	f("mysql-db=", "name of a database")
	f("stock-level=none", "takes items, join")
	f("use_fk=0 force_pk=1", "")
	f("usefk=0", `did you mean "use-fk"`)
}

func TestOptionsAreSettled(t *testing.T) {
	f := func(given map[string]string, name, want string) {
		t.Helper()
		p, err := Workload{}.Build(given)
		if err != nil || p.Options[name] != want {
			t.Errorf("%v: %s is %q, want %q (%v)", given, name, p.Options[name], want, err)
			return
		}
		if again, err := (Workload{}).Build(p.Options); err != nil || again.Options[name] != want {
			t.Errorf("%v: the settled options are not the same again: %v", given, err)
		}
	}
	f(nil, "scale", "100")
	f(map[string]string{"warehouses": "2K"}, "scale", "2000")
	f(map[string]string{"unoptimized": ""}, "unoptimized", "on")
	f(map[string]string{"unoptimized": "worst"}, "unoptimized", "worst")
	given := map[string]string{"warehouses": "2"}
	if _, err := (Workload{}).Build(given); err != nil || len(given) != 1 {
		t.Errorf("what was given is now %v (%v)", given, err)
	}
}

// TestStatementsOfEverySet sees that every set has its own statements, and that only those in use are prepared.
func TestStatementsOfEverySet(t *testing.T) {
	f := func(mode string, of int) {
		t.Helper()
		p := build(t, "tables=3", "scale=1", "stock-level="+mode)
		if len(p.Statements) != common+3*of {
			t.Fatalf("%s: %d statements, want %d", mode, len(p.Statements), common+3*of)
		}
		for i, s := range p.Statements {
			if i < common {
				continue
			}
			set := string('1' + byte((i-common)/of))
			if strings.Contains(s.SQL, "#") || s.Name != p.Statements[common+(i-common)%of].Name {
				t.Errorf("statement %d is %s", i, s.SQL)
			}
			for _, w := range strings.FieldsFunc(s.SQL, func(r rune) bool { return strings.ContainsRune(" ,()=", r) }) {
				for _, d := range []string{
					"warehouse", "district", "customer", "history", "orders", "new_orders",
					"item", "stock", "order_line",
				} {
					if n, ok := strings.CutPrefix(w, d); ok && n != set {
						t.Errorf("statement %d of set %s reads %s: %s", i, set, w, s.SQL)
					}
				}
			}
		}
	}
	f(byItems, statements-1)
	f(byJoin, statements-2)
}

func TestNotes(t *testing.T) {
	f := func(want string, options ...string) {
		t.Helper()
		if n := strings.Join(build(t, options...).Notes, "|"); !strings.Contains(n, want) {
			t.Errorf("%v: notes %s", options, n)
		}
	}
	f("no TPC results")
	f("first 2 of 5 warehouses", "scale=5", "active-warehouses=2")
	f("surrogate", "unoptimized=worst")
	f("unoptimized on purpose", "unoptimized=on")
}

func TestIsAWorkload(t *testing.T) {
	var w workload.Workload = Workload{}
	if w.Name() != "tpcc" || w.Title() == "" {
		t.Error("no name or title")
	}
	for _, o := range w.Options() {
		if o.Help == "" {
			t.Errorf("option %s has no help", o.Name)
		}
	}
}
