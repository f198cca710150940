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
		g := LaidGroup{Name: n}
		facts := c.r.Env.Facts[n]
		for _, k := range slices.Sorted(maps.Keys(facts)) {
			g.Facts = append(g.Facts, Fact{k, facts[k]})
		}
		if len(g.Facts) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// unread lists what could not be read of the environment.
func (c *comparison) unread() (out []string) {
	for _, k := range slices.Sorted(maps.Keys(c.r.Env.Unknown)) {
		out = append(out, k+" is unknown: "+c.r.Env.Unknown[k])
	}
	return out
}
