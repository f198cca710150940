package family

import "github.com/dyno-perf/dyno/internal/state"

// Figures are what a family calls the figures that every family has.
type Figures interface {
	// Headline says what the headline metrics of its servers are made of.
	Headline() *state.Names
}
