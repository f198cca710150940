package class

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/known"
)

// maxNames is how many users or hosts a class lists.
const maxNames = 20

// Add makes m the class over both its own window and that of c, which has the same fingerprint. What one of them does
// not know is unknown of both; a 95th percentile of two windows is not known from theirs. Sampled figures make sampled
// sums.
func (m *Class) Add(c Class) {
	m.P95Sec = known.None[float64]()
	m.Sampled = m.Sampled || c.Sampled
	if m.Digest == "" {
		m.Digest = c.Digest
	}
	m.Count += c.Count
	m.TimeSec += c.TimeSec
	sum := func(a *known.Value[uint64], b known.Value[uint64]) {
		x, ok1 := a.Get()
		y, ok2 := b.Get()
		if *a = known.None[uint64](); ok1 && ok2 {
			*a = known.Of(x + y)
		}
	}
	for _, p := range []struct {
		a *known.Value[uint64]
		b known.Value[uint64]
	}{
		{&m.Errors, c.Errors},
		{&m.RowsSent, c.RowsSent},
		{&m.Examined, c.Examined},
		{&m.Affected, c.Affected},
		{&m.FullScans, c.FullScans},
		{&m.FullJoins, c.FullJoins},
		{&m.NoIndex, c.NoIndex},
		{&m.SortRows, c.SortRows},
		{&m.TmpTables, c.TmpTables},
		{&m.TmpDisk, c.TmpDisk},
		{&m.Pages, c.Pages},
		{&m.PagesRead, c.PagesRead},
	} {
		sum(p.a, p.b)
	}
	for _, p := range []struct {
		a *known.Value[float64]
		b known.Value[float64]
	}{{&m.LockSec, c.LockSec}, {&m.CPUSec, c.CPUSec}} {
		x, ok1 := p.a.Get()
		y, ok2 := p.b.Get()
		if *p.a = known.None[float64](); ok1 && ok2 {
			*p.a = known.Of(x + y)
		}
	}
	x, ok1 := m.MaxSec.Get()
	y, ok2 := c.MaxSec.Get()
	if m.MaxSec = known.None[float64](); ok1 && ok2 {
		m.MaxSec = known.Of(max(x, y))
	}
	if m.FirstSeen.IsZero() || !c.FirstSeen.IsZero() && c.FirstSeen.Before(m.FirstSeen) {
		m.FirstSeen = c.FirstSeen
	}
	if c.LastSeen.After(m.LastSeen) {
		m.LastSeen = c.LastSeen
	}
	if m.Example == "" {
		m.Example = c.Example
	}
	m.Users = union(m.Users, c.Users)
	m.Hosts = union(m.Hosts, c.Hosts)
}

// union returns the names of both, a's first; neither list is changed.
func union(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := slices.Clone(a)
	for _, x := range b {
		if len(all) < maxNames && !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}
