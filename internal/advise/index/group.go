package index

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/schema"
)

// group is one index with all classes that want it, the one with the most time first.
type group struct {
	wish  wish
	scans []scan
}

// groups joins wishes for the same index, and those that the front of a longer one serves. The order of all is kept.
func groups(all []scan) (gs []group) {
	of := map[schema.Ref][]int{} // by table
next:
	for _, x := range all {
		for _, i := range of[x.t.Ref] {
			g := &gs[i]
			if g.scans[0].hint != x.hint {
				continue
			}
			// The order of equality columns is free: the shorter wish may come to stand in front of the longer one.
			if w, ok := join(g.wish, x.wish); ok {
				g.wish = w
				if !slices.ContainsFunc(g.scans, func(y scan) bool { return y.c.ID == x.c.ID }) {
					g.scans = append(g.scans, x)
				}
				continue next
			}
		}
		of[x.t.Ref] = append(of[x.t.Ref], len(gs))
		gs = append(gs, group{wish: x.wish, scans: []scan{x}})
	}
	return gs
}

// join returns one wish that serves both, if one does.
func join(a, b wish) (wish, bool) {
	if len(b.Parts) > len(a.Parts) {
		a, b = b, a
	}
	in := func(p schema.IndexPart) bool {
		return slices.ContainsFunc(b.Parts, func(q schema.IndexPart) bool {
			return q.Column == p.Column &&
				q.Prefix == p.Prefix
		})
	}
	switch {
	case slices.Equal(a.Parts[:len(b.Parts)], b.Parts):
		return a, true
	case b.Equal == len(b.Parts) && b.Equal <= a.Equal: // all of b are equalities: they may stand in front
		n := 0
		for _, p := range a.Parts[:a.Equal] {
			if in(p) {
				n++
			}
		}
		if n != len(b.Parts) {
			return wish{}, false
		}
		parts := slices.Clone(a.Parts)
		slices.SortStableFunc(parts[:a.Equal], func(p, q schema.IndexPart) int {
			return map[bool]int{true: 0, false: 1}[in(p)] - map[bool]int{true: 0, false: 1}[in(q)]
		})
		if !slices.Equal(parts, a.Parts) {
			a.Notes = append(slices.Clip(a.Notes), "The columns that another class looks up alone come first, so "+
				"that one index serves both.")
		}
		a.Parts, a.Columns = parts, nil
		for _, p := range parts {
			a.Columns = append(a.Columns, p.Column)
		}
		return a, true
	}
	return wish{}, false
}
