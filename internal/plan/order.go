package plan

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Control is the key of the control trial among those that Order takes: the baseline once more.
const Control = "control"

// Rounds returns how many rounds the plan runs, at least and at most.
func (p Plan) Rounds() (least, most int) { return p.Trials.Min, p.Trials.Max }

// Order returns the keys of one round in random order, every order being as likely as any other. It depends on the
// plan's seed, the round and the set of keys only, not on how they are sorted, so that a round that was interrupted is
// resumed as it was begun. Control is among the keys where the round has a control trial.
func (p Plan) Order(round int, keys []string) []string {
	out := slices.Sorted(slices.Values(keys))
	// The shuffle is written out here because the generator's sequence is laid down by its authors, but not what
	// package rand makes of it: a plan gives the same order with every program that reads it.
	src := rand.NewPCG(p.Trials.Seed, uint64(round))
	for i := len(out) - 1; i > 0; i-- {
		j := below(src, uint64(i+1))
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// below returns a number from 0 to n-1, all equally likely (Lemire, Fast random integer generation in an interval,
// 2019).
func below(src *rand.PCG, n uint64) uint64 {
	hi, lo := bits.Mul64(src.Uint64(), n)
	for least := -n % n; lo < least; {
		hi, lo = bits.Mul64(src.Uint64(), n)
	}
	return hi
}
