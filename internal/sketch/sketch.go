package sketch

import (
	"encoding/binary"
	"math"
)

// Sketch counts values of any sign. The zero Sketch is empty and ready. It is not safe for concurrent use.
type Sketch struct {
	positive Bins
	negative *Bins // of the values without their sign; nil while there is none
	zeros    uint64
	count    uint64
	min, max float64
}

// Add counts v n times. What is not a number is left out; infinity counts as the greatest number there is.
func (s *Sketch) Add(v float64, n uint64) {
	if n == 0 || math.IsNaN(v) {
		return
	}
	v = min(max(v, -math.MaxFloat64), math.MaxFloat64)
	if s.count == 0 || v < s.min {
		s.min = v
	}
	if s.count == 0 || v > s.max {
		s.max = v
	}
	s.count += n
	switch {
	case v > 0:
		s.positive.Add(v, n)
	case v < 0:
		if s.negative == nil {
			s.negative = new(Bins)
		}
		s.negative.Add(-v, n)
	default:
		s.zeros += n
	}
}

// Merge adds what o counted; the result answers as if all of it had been added here. o stays as it is.
func (s *Sketch) Merge(o *Sketch) {
	if o.count == 0 {
		return
	}
	if s.count == 0 || o.min < s.min {
		s.min = o.min
	}
	if s.count == 0 || o.max > s.max {
		s.max = o.max
	}
	s.count += o.count
	s.zeros += o.zeros
	s.positive.Merge(&o.positive)
	if o.negative != nil {
		if s.negative == nil {
			s.negative = new(Bins)
		}
		s.negative.Merge(o.negative)
	}
}

// Count returns how many values were counted.
func (s *Sketch) Count() uint64 { return s.count }

// Min returns the least value, exactly; 0 when there is none.
func (s *Sketch) Min() float64 { return s.min }

// Max returns the greatest value, exactly; 0 when there is none.
func (s *Sketch) Max() float64 { return s.max }

// Value returns the value with that rank, from 1 for the least to Count for the greatest, at most 1 % off; the least
// and the greatest exactly, and 0 when nothing was counted.
func (s *Sketch) Value(rank uint64) float64 {
	if s.count == 0 {
		return 0
	}
	if rank <= 1 {
		return s.min
	}
	if rank >= s.count {
		return s.max
	}
	var v float64
	below := uint64(0)
	if s.negative != nil {
		below = s.negative.Count()
	}
	switch {
	case rank <= below:
		v = -s.negative.Value(below - rank + 1)
	case rank <= below+s.zeros:
	default:
		v = s.positive.Value(rank - below - s.zeros)
	}
	return min(max(v, s.min), s.max)
}

// Quantile returns the least value that a share q, 0 to 1, of all values does not exceed, at most 1 % off; 0 when
// nothing was counted.
func (s *Sketch) Quantile(q float64) float64 {
	return s.Value(Rank(q, s.count))
}

// Rank returns the rank, 1 to n, of the quantile q, 0 to 1, among n values; 0 when n is 0.
func Rank(q float64, n uint64) uint64 {
	if n == 0 {
		return 0
	}
	r := math.Ceil(q * float64(n))
	switch {
	case !(r > 1):
		return 1
	case r >= float64(n):
		return n
	}
	return uint64(r)
}

// AppendBinary appends what Read reads. Equal contents give equal bytes.
func (s *Sketch) AppendBinary(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, s.count)
	if s.count == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.min))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.max))
	dst = binary.AppendUvarint(dst, s.zeros)
	dst = s.positive.AppendBinary(dst)
	if s.negative == nil {
		return new(Bins).AppendBinary(dst)
	}
	return s.negative.AppendBinary(dst)
}

// Read reads what AppendBinary wrote from the beginning of p and returns what follows it.
func Read(p []byte) (s Sketch, rest []byte, err error) {
	if s.count, p, err = uvarint(p); err != nil || s.count == 0 {
		return s, p, err
	}
	if len(p) < 16 {
		return Sketch{}, nil, errDamaged
	}
	s.min = math.Float64frombits(binary.LittleEndian.Uint64(p))
	s.max = math.Float64frombits(binary.LittleEndian.Uint64(p[8:]))
	if s.zeros, p, err = uvarint(p[16:]); err != nil {
		return Sketch{}, nil, err
	}
	if s.positive, p, err = ReadBins(p); err != nil {
		return Sketch{}, nil, err
	}
	negative, p, err := ReadBins(p)
	if err != nil {
		return Sketch{}, nil, err
	}
	n := negative.Count()
	if n > 0 {
		s.negative = &negative
	}
	if !(s.min <= s.max) || s.positive.Count()+n+s.zeros != s.count {
		return Sketch{}, nil, errDamaged
	}
	return s, p, nil
}
