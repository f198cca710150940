package workload

import (
	"fmt"
	"math/rand/v2"
)

// Draw draws whole numbers from 1 to a largest one in one of the ways of --rand-type. It is a plain value; the random
// numbers come from outside.
type Draw struct {
	d   distribution
	pct float64 // special: percent of the numbers that are hot
}

// NewDraw returns a Draw from 1 to n, n from 1. kind is uniform, special, gaussian, pareto or zipfian; options are
// sysbench's of random numbers by their names, such as rand-zipfian-exp, of which absent ones have their defaults.
func NewDraw(kind string, n int, options map[string]string) (Draw, error) {
	given := map[string]string{"rand-type": kind}
	for k, x := range options {
		given[k] = x
	}
	v, err := Settle(randOptions(), given)
	if err != nil {
		return Draw{}, err
	}
	if n < 1 {
		return Draw{}, fmt.Errorf("draw a number from 1 to %d: there is none", n)
	}
	d, err := distribute(v, n)
	return Draw{d, float64(v.Int("rand-spec-pct"))}, err
}

// Over makes n, from 1, the largest number. It allocates nothing.
func (d *Draw) Over(n int) {
	if n == d.d.n {
		return
	}
	d.d.n = n
	switch d.d.kind {
	case randSpecial:
		t := float64(n - 1)
		d.d.width = t*d.pct/100 + 1
		d.d.first = 1 + t/2 - t*d.pct/200
	case randZipfian:
		d.d.zipf = newZipfian(d.d.zipf.e, n)
	}
}

// Next returns one number. It allocates nothing.
func (d *Draw) Next(r *rand.Rand) int { return d.d.draw(source{r}) }
