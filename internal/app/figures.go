package app

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/family"
)

// FiguresOf returns what the family of a flavor calls its figures; a flavor of none is taken for the first family's.
func FiguresOf(f dbms.Flavor) family.Figures {
	if x, ok := FamilyOf(f); ok {
		return x
	}
	return families[0]
}
