package fault

import (
	"regexp"
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/postgres/loader"

	"github.com/dyno-perf/dyno/internal/fault"
)

// TestFaultsAreComplete: every fault has what a demo needs, and shows no name of people under random ones. That no rule
// knows a name is tested with MySQL's faults.
func TestFaultsAreComplete(t *testing.T) {
	word := regexp.MustCompile(`\b[a-z_][a-z0-9_]*\b`)
	for _, f := range Set().Faults {
		if f.Name == "" || f.Title == "" || f.Story == "" || f.Threads < 1 || f.Workload.Name() != f.Name ||
			(f.Kind == fault.Control) != (f.Expect(0).Rule == "") {
			t.Errorf("%q lacks something", f.Name)
		}
		if _, err := loader.InDialect(f.Workload); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		human, random := texts(t, f, 0), texts(t, f, 9)
		var names []string
		p, err := f.Workload.Build(fault.Options(0))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Tables {
			names = append(append(names, x.Name), x.Columns...)
		}
		if len(names) < 3 || len(human) != len(random) {
			t.Errorf("%s: the names %v, %d texts and %d", f.Name, names, len(human), len(random))
		}
		for _, q := range random {
			for _, w := range word.FindAllString(q, -1) {
				if slices.Contains(names, w) {
					t.Errorf("%s under random names: %q stands in %s", f.Name, w, q)
				}
			}
		}
	}
}

// texts are what is sent to the server when a fault is planted under the names of a seed, and loaded.
func texts(t *testing.T, f fault.Fault, seed uint64) (list []string) {
	t.Helper()
	p, err := f.Workload.Build(fault.Options(seed))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Tables {
		list = append(append(list, x.Create), x.After...)
	}
	for _, s := range p.Statements {
		list = append(list, s.SQL)
	}
	return list
}
