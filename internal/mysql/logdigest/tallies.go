package logdigest

import (
	"cmp"
	"slices"

	"github.com/dyno-perf/dyno/internal/digest"
)

// tallies counts statements by a small number: few numbers in a list, more in a map. The zero value is ready.
type tallies struct {
	few  []tally
	many map[uint32]uint64
}

type tally struct {
	id uint32
	n  uint64
}

const fewTallies = 16

func (t *tallies) add(id uint32, n uint64) {
	for i := range t.few {
		if t.few[i].id == id {
			t.few[i].n += n
			return
		}
	}
	if t.many != nil {
		t.many[id] += n
		return
	}
	if len(t.few) < fewTallies {
		t.few = append(t.few, tally{id, n})
		return
	}
	t.many = map[uint32]uint64{id: n}
}

func (t *tallies) each(f func(id uint32, n uint64)) {
	for _, x := range t.few {
		f(x.id, x.n)
	}
	for id, n := range t.many {
		f(id, n)
	}
}

// maxTallies is how many names of one kind a class shows; the rest counts together under othersName.
const maxTallies = 1000

// named gives the counts by name, the most first and then by name, and the rest last.
func (t *tallies) named(name func(id uint32) string) []digest.Tally {
	byName := map[string]uint64{}
	t.each(func(id uint32, n uint64) {
		if s := name(id); s != "" {
			byName[s] += n
		}
	})
	if len(byName) == 0 {
		return nil
	}
	rest := digest.Tally{Name: othersName, Count: byName[othersName]}
	delete(byName, othersName)
	list := make([]digest.Tally, 0, len(byName))
	for s, n := range byName {
		list = append(list, digest.Tally{Name: s, Count: n})
	}
	slices.SortFunc(list, func(a, b digest.Tally) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	if len(list) > maxTallies {
		for _, x := range list[maxTallies-1:] {
			rest.Count += x.Count
		}
		list = list[:maxTallies-1]
	}
	if rest.Count > 0 {
		list = append(list, rest)
	}
	return list
}
