package app

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/exposition"
	"github.com/dyno-perf/dyno/internal/family"
)

// Help returns one sentence on a metric of any family, "" when there is none to say.
func Help(name string) string {
	for _, f := range families {
		if text := f.Help(name); text != "" {
			return text
		}
	}
	return exposition.Everywhere.Of(name)
}

// FiguresOf returns what the family of a flavor calls its figures; a flavor of none is taken for the first family's.
func FiguresOf(f dbms.Flavor) family.Figures {
	if x, ok := FamilyOf(f); ok {
		return x
	}
	return families[0]
}
