package workload

import (
	"errors"
	"math"
	"strconv"
)

// zipfian draws k from 1 to n with a probability in proportion to k^-e: rejection-inversion, of W. Hörmann and G.
// Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6.3 (1996),
// pp. 169-184. It needs no table, and at most a few tries a draw whatever n is.
//
// The area under x^-e from 1 to x is inverted in place of the paper's antiderivative: the two differ by a constant, and
// the area has a limit at e = 1.
type zipfian struct {
	e    float64 // the exponent, from 0 (even) up
	n    float64
	from float64 // the area at 1.5, less the height of the first bar: what is drawn lies between here and to
	to   float64 // the area at n+0.5
	near float64 // a k this close above x needs no further look
}

// largestExponent leaves no weight that a float64 could tell from 0 to any number but 1.
const largestExponent = 100

func newZipfian(e float64, n int) zipfian {
	z := zipfian{e: e, n: float64(n)}
	z.from = z.area(1.5) - 1
	z.to = z.area(z.n + 0.5)
	z.near = 2 - z.inverse(z.area(2.5)-z.height(2))
	return z
}

func (z *zipfian) draw(s source) int {
	for {
		u := z.to + s.Float64()*(z.from-z.to)
		x := z.inverse(u)
		k := max(1, min(z.n, math.Floor(x+0.5)))
		if k-x <= z.near || u >= z.area(k+0.5)-z.height(k) {
			return int(k)
		}
	}
}

// height is the weight of k.
func (z *zipfian) height(k float64) float64 { return math.Exp(-z.e * math.Log(k)) }

// area is the area below x^-e from 1 to x: (x^(1-e) - 1) / (1-e), or log x for e = 1.
func (z *zipfian) area(x float64) float64 {
	l := math.Log(x)
	t := (1 - z.e) * l
	if t == 0 {
		return l
	}
	return l * math.Expm1(t) / t
}

// inverse returns the x whose area is a. Rounding may take it a little beyond what is possible: up to infinity.
func (z *zipfian) inverse(a float64) float64 {
	t := (1 - z.e) * a
	if t == 0 {
		return math.Exp(a)
	}
	return math.Exp(a * math.Log1p(max(-1, t)) / t)
}

// share returns which part of all draws goes to the numbers from 1 to k, nearly.
func (z *zipfian) share(k float64) float64 { return (z.area(k+0.5) - z.from) / (z.to - z.from) }

// parseExponent reads what --rand-zipfian-exp takes.
func parseExponent(s string) (float64, error) {
	e, err := strconv.ParseFloat(s, 64)
	if err != nil || !(e >= 0 && e <= largestExponent) {
		return 0, errors.New("takes a number from 0 to " + strconv.Itoa(largestExponent))
	}
	return e, nil
}
