package logdigest

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/sketch"
)

// column sums up one attribute of a class over the entries in which it was more than zero. Values are in inner units.
type column struct {
	n           uint64 // statements
	sumLow      uint64
	sumHigh     uint64
	squaresLow  uint64
	squaresHigh uint64
	least, most uint64
	bins        *sketch.Bins // nil where there is no room for the distribution
	odd         *odd         // of the values that are no whole number within bounds; nil = there were none
}

// odd sums up values that do not fit the whole numbers, in the attribute's own unit. There are few of them, if any:
// they may cost time and room.
type odd struct {
	n            uint64
	sum, squares *big.Float // exact, so that no order of adding changes them
	sketch       sketch.Sketch
}

// Bits that hold any sum of floating-point numbers exactly, and any of their squares.
const (
	exactSum     = 2200
	exactSquares = 4400
)

func newOdd() *odd {
	return &odd{sum: new(big.Float).SetPrec(exactSum), squares: new(big.Float).SetPrec(exactSquares)}
}

func (o *odd) add(v float64, n uint64) {
	v = finite(v)
	o.n += n
	o.sketch.Add(v, n)
	x := new(big.Float).SetPrec(exactSquares).SetFloat64(v)
	times := new(big.Float).SetPrec(exactSquares).SetUint64(n)
	times.Mul(times, x)
	o.sum.Add(o.sum, times)
	o.squares.Add(o.squares, times.Mul(times, x))
}

func (o *odd) merge(p *odd) {
	o.n += p.n
	o.sum.Add(o.sum, p.sum)
	o.squares.Add(o.squares, p.squares)
	o.sketch.Merge(&p.sketch)
}

// finite brings infinity back to the greatest number that JSON can tell.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }

// limit is the first value that is too great for a column: its square times the number of statements has to fit into
// 128 bits.
const limit = 1 << 48

// add counts n statements with a value above zero.
func (c *column) add(v, n uint64) {
	if c.n == 0 {
		c.least = v
	}
	c.n += n
	c.least, c.most = min(c.least, v), max(c.most, v)
	if c.bins != nil {
		c.bins.Add(float64(v), n)
	}
	var carry uint64
	high, low := bits.Mul64(v, v)
	if n != 1 {
		h := high * n
		high, low = bits.Mul64(low, n)
		high += h
		var vh uint64
		vh, v = bits.Mul64(v, n)
		c.sumHigh += vh
	}
	c.sumLow, carry = bits.Add64(c.sumLow, v, 0)
	c.sumHigh += carry
	c.squaresLow, carry = bits.Add64(c.squaresLow, low, 0)
	c.squaresHigh += high + carry
}

// addAll counts one statement for each of the values, which are above zero.
func (c *column) addAll(values []uint64) {
	if c.n == 0 {
		c.least = values[0]
	}
	c.n += uint64(len(values))
	if c.bins != nil {
		c.bins.AddAll(values)
	}
	least, most := c.least, c.most
	var sum, low, high, carry uint64 // of no more than maxRows values below limit: sum cannot overflow
	for _, v := range values {
		least, most = min(least, v), max(most, v)
		sum += v
		h, l := bits.Mul64(v, v)
		low, carry = bits.Add64(low, l, 0)
		high += h + carry
	}
	c.least, c.most = least, most
	c.sumLow, carry = bits.Add64(c.sumLow, sum, 0)
	c.sumHigh += carry
	c.squaresLow, carry = bits.Add64(c.squaresLow, low, 0)
	c.squaresHigh += high + carry
}

func (c *column) addOdd(v float64, n uint64, s *spill) {
	if c.roomForOdd(s) {
		c.odd.add(v, n)
	}
}

// roomForOdd makes sums of odd values, unless there are too many: then it counts what is left out.
func (c *column) roomForOdd(s *spill) bool {
	switch {
	case c.odd != nil:
		return true
	case s == nil:
	case s.odd >= maxOdd:
		s.left++
		return false
	default:
		s.odd++
	}
	c.odd = newOdd()
	return true
}

// spill has the distributions of columns that keep none themselves, of all classes together.
type spill struct {
	bins []sketch.Bins
	kept int // distributions that columns have kept
	odd  int // columns that have odd values
	left int // odd values for which there was no room, until somebody says so
}

// column returns the distribution of the columns with that index.
func (s *spill) column(i int) *sketch.Bins {
	for len(s.bins) <= i {
		s.bins = append(s.bins, sketch.Bins{})
	}
	return &s.bins[i]
}

// mergeBins merges the distributions of columns with index i. One that keeps none wins, but where spill is nil.
func (c *column) mergeBins(o *column, i int, spill *spill) {
	switch {
	case c.bins != nil && o.bins != nil:
		c.bins.Merge(o.bins)
	case c.bins != nil && spill != nil: // o's are in a spill
		spill.column(i).Merge(c.bins)
		c.bins = nil
	case o.bins != nil:
		spill.column(i).Merge(o.bins)
	}
}

func (c *column) merge(o *column, i int, spill *spill) {
	if o.n > 0 {
		if c.n == 0 {
			c.least = o.least
		}
		c.n += o.n
		c.least, c.most = min(c.least, o.least), max(c.most, o.most)
		var carry uint64
		c.sumLow, carry = bits.Add64(c.sumLow, o.sumLow, 0)
		c.sumHigh, _ = bits.Add64(c.sumHigh, o.sumHigh, carry)
		c.squaresLow, carry = bits.Add64(c.squaresLow, o.squaresLow, 0)
		c.squaresHigh, _ = bits.Add64(c.squaresHigh, o.squaresHigh, carry)
		c.mergeBins(o, i, spill)
	}
	if o.odd != nil && c.roomForOdd(spill) {
		c.odd.merge(o.odd)
	}
}

// sum returns the sum of all values in the attribute's own unit.
func (c *column) sum(scale float64) float64 {
	if c.odd == nil {
		return wide(c.sumHigh, c.sumLow) / scale
	}
	v, _ := c.exactSum(scale).Float64()
	return finite(v)
}

// exactSum is sum before it is rounded, but for the division by scale.
func (c *column) exactSum(scale float64) *big.Float {
	v := new(big.Float).SetPrec(exactSquares).SetInt(whole(c.sumHigh, c.sumLow))
	v.Quo(v, big.NewFloat(scale))
	if c.odd != nil {
		v.Add(v, c.odd.sum)
	}
	return v
}

func wide(high, low uint64) float64 {
	if high == 0 {
		return float64(low)
	}
	return float64(high)*(1<<64) + float64(low)
}

// stddev returns the standard deviation of the sample of n values of which the column holds those that are not zero, in
// the attribute's own unit.
func (c *column) stddev(n uint64, scale float64) float64 {
	if n < 2 {
		return 0
	}
	if c.odd != nil {
		return c.oddStddev(n, scale)
	}
	// n Σv² - (Σv)², exactly: floating point would lose everything where the values are great and close together.
	count := new(big.Int).SetUint64(n)
	sum := whole(c.sumHigh, c.sumLow)
	v := whole(c.squaresHigh, c.squaresLow)
	v.Mul(v, count).Sub(v, sum.Mul(sum, sum))
	f, _ := new(big.Float).SetInt(v).Float64()
	return math.Sqrt(f/float64(n)/float64(n-1)) / scale
}

func (c *column) oddStddev(n uint64, scale float64) float64 {
	v := new(big.Float).SetPrec(exactSquares).SetInt(whole(c.squaresHigh, c.squaresLow))
	v.Quo(v, big.NewFloat(scale*scale)).Add(v, c.odd.squares)
	count := new(big.Float).SetPrec(exactSquares).SetUint64(n)
	sum := c.exactSum(scale)
	v.Mul(v, count).Sub(v, sum.Mul(sum, sum)) // n times the sum of squared differences
	if v.Sign() <= 0 {
		return 0
	}
	v.Quo(v, count).Quo(v, count.SetUint64(n-1))
	f, _ := v.SetPrec(100).Sqrt(v).Float64()
	return finite(f)
}

func whole(high, low uint64) *big.Int {
	v := new(big.Int).SetUint64(high)
	return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(low))
}

// spread is what quantiles are read from: the values of a column, those that were zero included.
type spread struct {
	column *column
	exact  []weighted // the values above zero in order; nil = only the column's bins know them
	zeros  uint64
	scale  float64
	odd    *sketch.Sketch // of all values, where some are odd
}

type weighted struct{ value, n uint64 }

func newSpread(c *column, exact []weighted, zeros uint64, scale float64) spread {
	s := spread{c, exact, zeros, scale, nil}
	if c.odd != nil {
		s.odd = new(sketch.Sketch)
		s.odd.Merge(&c.odd.sketch)
		s.odd.Add(0, zeros)
		if c.bins != nil {
			c.bins.Each(func(v float64, n uint64) {
				s.odd.Add(min(max(v, float64(c.least)), float64(c.most))/scale, n)
			})
		}
	}
	return s
}

// value returns the value with that rank, 1 for the least, in the attribute's own unit.
func (s *spread) value(rank uint64) known.Value[float64] {
	c := s.column
	complete := c.n == 0 || c.bins != nil || c.least == c.most
	if s.odd != nil {
		if !complete {
			return known.None[float64]()
		}
		return known.Of(s.odd.Value(rank))
	}
	if rank <= s.zeros {
		return known.Of(0.0)
	}
	rank -= s.zeros
	if s.exact != nil {
		for _, w := range s.exact {
			if rank <= w.n {
				return known.Of(float64(w.value) / s.scale)
			}
			rank -= w.n
		}
	}
	v := float64(c.least)
	switch {
	case !complete:
		return known.None[float64]()
	case c.bins != nil:
		v = min(max(c.bins.Whole(rank), v), float64(c.most))
	}
	return known.Of(v / s.scale)
}

// median is the middle one of an odd number of values, and the mean of the two in the middle otherwise.
func (s *spread) median(n uint64) known.Value[float64] {
	above := s.value(n/2 + 1)
	if n%2 == 1 {
		return above
	}
	v, ok := above.Get()
	w, too := s.value(n / 2).Get()
	if !ok || !too {
		return known.None[float64]()
	}
	return known.Of(v/2 + w/2)
}

// figures gives the report's figures of a column over present statements, of which those that it does not hold were
// zero.
func (c *column) figures(s *slot, present uint64, exact []weighted) digest.Figures {
	scale := s.scale()
	f := digest.Figures{Info: s.info, Count: present, Sum: c.sum(scale)}
	if present == 0 {
		return f
	}
	held, least, most := c.n, math.Inf(1), math.Inf(-1)
	if c.odd != nil {
		held += c.odd.n
		least, most = c.odd.sketch.Min(), c.odd.sketch.Max()
	}
	zeros := present - min(held, present)
	if zeros > 0 {
		least, most = min(least, 0), max(most, 0)
	}
	if c.n > 0 {
		least, most = min(least, float64(c.least)/scale), max(most, float64(c.most)/scale)
	}
	f.Min, f.Max = known.Of(least), known.Of(most)
	f.Avg = f.Sum / float64(present)
	spread := newSpread(c, exact, zeros, scale)
	f.P95 = spread.value(digest.Rank95(present))
	f.Median = spread.median(present)
	f.Stddev = known.Of(c.stddev(present, scale))
	return f
}
