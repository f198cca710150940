package load

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

func TestStatementsOfOneNameAreCountedTogether(t *testing.T) {
	n := namesOf(&workload.Plan{Statements: []workload.Statement{
		{Name: "point", Kind: workload.Read},
		{Kind: workload.Read},
		{Name: "point"},
		{Kind: workload.Write},
		{Kind: workload.Other},
		{Kind: workload.Write},
	}})
	if !slices.Equal(n.names, []string{"point", "read", "write", "other"}) ||
		!slices.Equal(n.of, []int{0, 1, 0, 2, 3, 2}) {
		t.Errorf("%+v", n)
	}
}
