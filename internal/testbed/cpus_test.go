package testbed

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"
)

func TestShare(t *testing.T) {
	f := func(p plan.Placement, allowed, server, client []int) {
		t.Helper()
		s, c, err := Share(p, allowed)
		if err != nil || !slices.Equal(s, server) || !slices.Equal(c, client) {
			t.Errorf("%+v of %v: %v, %v, %v; want %v, %v", p, allowed, s, c, err, server, client)
		}
	}
	split := plan.Placement{Mode: plan.Split}
	f(split, []int{0, 1}, []int{0}, []int{1})
	f(split, []int{3}, []int{3}, []int{3})
	f(split, []int{0, 1, 2}, []int{0, 1}, []int{2})
	f(split, []int{0, 2, 4, 6, 8, 10, 12, 14}, []int{0, 2, 4, 6, 8, 10}, []int{12, 14}) // an inherited mask is obeyed
	f(plan.Placement{}, []int{0, 1}, []int{0}, []int{1})
	f(plan.Placement{Mode: plan.Shared}, []int{0, 1}, []int{0, 1}, []int{0, 1})
	f(plan.Placement{Mode: plan.Free}, []int{0, 1}, []int{0, 1}, []int{0, 1})
	f(plan.Placement{Mode: plan.Given, Server: "0-1", Client: "3"}, []int{0, 1, 2, 3}, []int{0, 1}, []int{3})

	bad := func(p plan.Placement, allowed []int, want string) {
		t.Helper()
		if _, _, err := Share(p, allowed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v of %v: %v", p, allowed, err)
		}
	}
	bad(plan.Placement{Mode: plan.Given, Server: "0", Client: "7"}, []int{0, 1}, "CPU 7 is not among 0-1")
	bad(plan.Placement{Mode: plan.Given, Server: "x", Client: "1"}, []int{0, 1}, "server")
}
