package report

import (
	"cmp"
	"maps"
	"slices"
)

// manyFacts is how many facts of a group are shown without being asked for.
const manyFacts = 40

// groupOrder is what is read first.
var groupOrder = []string{"machine", "kernel", "storage", "client", "server", "limit", "variable"}

// environment lists the facts that were the same in all trials.
func (c *comparison) environment() (out []LaidGroup) {
	at := func(name string) int {
		if i := slices.Index(groupOrder, name); i >= 0 {
			return i
		}
		return len(groupOrder)
	}
	names := slices.SortedFunc(maps.Keys(c.r.Env.Facts), func(a, b string) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
	})
	for _, n := range names {
		if facts := c.r.Env.Facts[n]; len(facts) > 0 {
			out = append(out, LaidGroup{n, each(slices.Sorted(maps.Keys(facts)), func(k string) Fact {
				return Fact{k, facts[k]}
			})})
		}
	}
	return out
}

// unread lists what could not be read of the environment.
func (c *comparison) unread() []string {
	return each(slices.Sorted(maps.Keys(c.r.Env.Unknown)), func(k string) string {
		return k + " is unknown: " + c.r.Env.Unknown[k]
	})
}
