package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dyno-perf/dyno/internal/trial"
)

// manyFacts is how many facts of a group are shown without being asked for.
const manyFacts = 40

// groupOrder is what is read first.
var groupOrder = []string{"machine", "kernel", "storage", "client", "server", "limit", "variable"}

// environmentOf lists the facts that were the same in all trials.
func environmentOf(r *trial.Result) (out []LaidGroup) {
	at := func(name string) int {
		if i := slices.Index(groupOrder, name); i >= 0 {
			return i
		}
		return len(groupOrder)
	}
	names := slices.SortedFunc(maps.Keys(r.Env.Facts), func(a, b string) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
	})
	for _, n := range names {
		if facts := r.Env.Facts[n]; len(facts) > 0 {
			out = append(out, LaidGroup{n, each(slices.Sorted(maps.Keys(facts)), func(k string) Fact {
				return Fact{k, facts[k]}
			})})
		}
	}
	return out
}

// unreadOf lists what could not be read of the environment.
func unreadOf(r *trial.Result) []string {
	return each(slices.Sorted(maps.Keys(r.Env.Unknown)), func(k string) string {
		return k + " is unknown: " + r.Env.Unknown[k]
	})
}
