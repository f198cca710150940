package pace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Kind says how arrivals spread around the rate.
type Kind string

const (
	// Poisson arrivals do not know of each other, as those of many independent users. They are the default.
	Poisson Kind = "poisson"
	// Uniform arrivals come at even distances.
	Uniform Kind = "uniform"
)

// ParseKind reads poisson or uniform; "" is Poisson.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case "":
		return Poisson, nil
	case Poisson, Uniform:
		return k, nil
	}
	return "", fmt.Errorf("rate kind %q: takes poisson or uniform", s)
}

// Arrivals deals out the moments at which operations are due. It belongs to one goroutine.
type Arrivals struct {
	shape   Shape
	uniform bool
	rng     *rand.Rand
	left    float64 // mean number of arrivals between the latest and the next one
	p       piece
	x       float64 // seconds from p.start to the latest arrival
}

// Arrivals returns a source of arrivals. The same Shape, kind and seed give the same ones.
func (s Shape) Arrivals(kind Kind, seed uint64) *Arrivals {
	a := &Arrivals{shape: s, uniform: kind == Uniform, rng: rand.New(rand.NewPCG(seed, 0x70616365))}
	if a.uniform {
		a.left = 0.5 // so that a whole number of periods holds just as many
	} else {
		a.left = a.rng.ExpFloat64()
	}
	if !s.IsZero() {
		a.p = s.piece(0)
	}
	return a
}

// Next returns the offset of the next arrival from the beginning. Offsets never decrease. Never means that none comes
// any more: the Shape is zero, or has ended with a rate of 0. It allocates nothing.
//
// The moment is the one at which the integral of the rate has grown by an exponential variable of mean 1 (by 1, for
// uniform ones): Çinlar, Introduction to Stochastic Processes, 1975, section 4.7.
func (a *Arrivals) Next() time.Duration {
	if a.shape.IsZero() {
		return Never
	}
	for {
		r, k := a.p.rate+a.p.slope*a.x, a.p.slope
		rest := (a.p.end - a.p.start).Seconds() - a.x
		if a.p.end == Never {
			if r <= 0 { // a last piece has no slope
				return Never
			}
			rest = math.Inf(1)
		}
		r = max(r, 0)
		// r·dx + k·dx²/2 = left, in the form that does not cancel.
		dx := rest
		if d := r*r + 2*k*a.left; d >= 0 && r+math.Sqrt(d) > 0 {
			dx = 2 * a.left / (r + math.Sqrt(d))
		}
		if dx < rest {
			a.x += dx
			if a.uniform {
				a.left = 1
			} else {
				a.left = a.rng.ExpFloat64()
			}
			if at := a.x * 1e9; at < float64(Never-a.p.start) {
				return min(a.p.start+time.Duration(at), a.p.end)
			}
			return Never
		}
		a.left = max(a.left-rest*(r+k*rest/2), 0)
		a.p = a.shape.piece(a.p.end)
		a.x = 0
	}
}
