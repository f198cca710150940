package sketch

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

const (
	mantissa = 6             // bits of the fraction that tell bins apart: 64 bins for every power of two
	shift    = 52 - mantissa // from the bits of a float64 to its bin
	lowest   = (1023 - 64) << mantissa
	bins     = 1 << 16 // from 2^-64, bin 0, to 2^960

	maxList = 64 // values that are kept as a list of their bins before there are counters
	margin  = 16 // counters made at a time beyond the one that is needed
)

// Bins counts values greater than zero. It is the core of a Sketch for those who know that they have no others. The
// zero Bins is empty and ready. Values nearer to zero than 2^-64 count as 2^-64, those from 2^960 on as the greatest
// below it.
//
// It is small so that many of them fit into a processor's cache: first a list of the bins met, two bytes each, then one
// byte for every bin between the least and the greatest. What a byte cannot count is carried over. What it answers does
// not depend on the form.
type Bins struct {
	base    int32 // the bin of the first counter
	counted bool  // data holds counters, no list
	data    []byte
	carried []carry // by bin
}

// carry is what a bin holds beyond its counter: a multiple of 256.
type carry struct {
	bin int32
	n   uint64
}

// Add counts v, which is greater than zero, n times.
func (b *Bins) Add(v float64, n uint64) {
	i := int32(math.Float64bits(v)>>shift) - lowest
	k := uint32(i - b.base)
	if b.counted && int(k) < len(b.data) {
		if c := uint64(b.data[k]) + n; c <= math.MaxUint8 && c >= n {
			b.data[k] = byte(c)
			return
		}
	}
	b.add(min(max(i, 0), bins-1), n)
}

// AddAll counts whole numbers greater than zero, each once.
func (b *Bins) AddAll(values []uint64) {
	for _, v := range values {
		k := uint32(int32(math.Float64bits(float64(int64(v)))>>shift) - lowest - b.base)
		if data := b.data; b.counted && int(k) < len(data) && data[k] != math.MaxUint8 {
			data[k]++
			continue
		}
		b.Add(float64(v), 1)
	}
}

// add counts n values of bin i, making room for it.
func (b *Bins) add(i int32, n uint64) {
	if n == 0 {
		return
	}
	if !b.counted {
		if n == 1 && len(b.data) < 2*maxList {
			b.data = append(b.data, byte(i), byte(i>>8))
			return
		}
		b.count()
	}
	b.include(i)
	c := &b.data[i-b.base]
	low := n & 0xff
	n -= low
	if low += uint64(*c); low > 0xff {
		n += 0x100 // no overflow: more than 2^64 values are nowhere
	}
	*c = byte(low)
	if n > 0 {
		b.carry(i, n)
	}
}

// carry adds a multiple of 256 to a bin.
func (b *Bins) carry(i int32, n uint64) {
	at, ok := slices.BinarySearchFunc(b.carried, i, func(c carry, i int32) int { return int(c.bin - i) })
	if !ok {
		b.carried = slices.Insert(b.carried, at, carry{bin: i})
	}
	b.carried[at].n += n
}

// list returns the bins met, in order, in the room given.
func (b *Bins) list(room *[maxList]int32) []int32 {
	list := room[:len(b.data)/2]
	for k := range list {
		list[k] = int32(b.data[2*k]) | int32(b.data[2*k+1])<<8
	}
	slices.Sort(list)
	return list
}

// count turns the list into counters.
func (b *Bins) count() {
	var room [maxList]int32
	list := b.list(&room)
	b.data, b.counted = nil, true
	if n := len(list); n > 0 {
		b.base = list[0]
		b.data = make([]byte, list[n-1]-list[0]+1)
	}
	for _, i := range list { // no more than fit into a byte
		b.data[i-b.base]++
	}
}

// include makes the counters reach bin i.
func (b *Bins) include(i int32) {
	n := int32(len(b.data))
	if n > 0 && i >= b.base && i < b.base+n {
		return
	}
	lo, hi := i, i+1
	if n > 0 {
		lo, hi = b.base, b.base+n
		if i < lo {
			lo = max(0, i-margin)
		} else {
			hi = min(bins, i+1+margin)
		}
	}
	data := make([]byte, hi-lo)
	if n > 0 {
		copy(data[b.base-lo:], b.data)
	}
	b.data, b.base = data, lo
}

// each calls f for every bin that holds something, from the least up, until f returns false.
func (b *Bins) each(f func(bin int32, n uint64) bool) {
	if !b.counted {
		var room [maxList]int32
		list := b.list(&room)
		for i := 0; i < len(list); {
			j := i + 1
			for j < len(list) && list[j] == list[i] {
				j++
			}
			if !f(list[i], uint64(j-i)) {
				return
			}
			i = j
		}
		return
	}
	carried := b.carried
	for k, c := range b.data {
		n, bin := uint64(c), b.base+int32(k)
		if len(carried) > 0 && carried[0].bin == bin {
			n += carried[0].n
			carried = carried[1:]
		}
		if n > 0 && !f(bin, n) {
			return
		}
	}
}

// Each calls f for every bin that holds something, from the least up: the middle of the bin and how many values it
// holds.
func (b *Bins) Each(f func(middle float64, n uint64)) {
	b.each(func(bin int32, n uint64) bool {
		lo, hi := bounds(bin)
		f(lo/2+hi/2, n)
		return true
	})
}

// Count returns how many values were counted.
func (b *Bins) Count() uint64 {
	if !b.counted {
		return uint64(len(b.data) / 2)
	}
	var n uint64
	for _, c := range b.data {
		n += uint64(c)
	}
	for _, c := range b.carried {
		n += c.n
	}
	return n
}

// Merge adds what o counted. o stays as it is.
func (b *Bins) Merge(o *Bins) {
	o.each(func(bin int32, n uint64) bool {
		b.add(bin, n)
		return true
	})
}

// bounds returns the least value of a bin and the least of the next.
func bounds(bin int32) (lo, hi float64) {
	u := uint64(bin+lowest) << shift
	return math.Float64frombits(u), math.Float64frombits(u + 1<<shift)
}

// find returns the bin of the value with that rank, 1 for the least; the greatest bin when rank is beyond it, -1 when
// there is none.
func (b *Bins) find(rank uint64) int32 {
	at := int32(-1)
	b.each(func(bin int32, n uint64) bool {
		at = bin
		if n >= rank {
			return false
		}
		rank -= n
		return true
	})
	return at
}

// Value returns the value with that rank, 1 for the least, at most 1 % off; 0 when nothing was counted.
func (b *Bins) Value(rank uint64) float64 {
	bin := b.find(max(rank, 1))
	if bin < 0 {
		return 0
	}
	lo, hi := bounds(bin)
	return lo/2 + hi/2
}

// Whole is Value for those who counted whole numbers only: it returns one, and up to 127 exactly the right one.
func (b *Bins) Whole(rank uint64) float64 {
	bin := b.find(max(rank, 1))
	if bin < 0 {
		return 0
	}
	lo, hi := bounds(bin)
	first, last := math.Ceil(lo), math.Ceil(hi)-1
	return math.Floor(first/2 + last/2)
}

// Size returns the bytes that b holds beyond itself.
func (b *Bins) Size() int { return cap(b.data) + 16*cap(b.carried) }

var errDamaged = errors.New("read sketch: damaged")

// AppendBinary appends what ReadBins reads. Equal contents give equal bytes.
func (b *Bins) AppendBinary(dst []byte) []byte {
	count := uint64(0)
	b.each(func(int32, uint64) bool { count++; return true })
	dst = binary.AppendUvarint(dst, count)
	last := int32(0)
	b.each(func(bin int32, n uint64) bool {
		dst = binary.AppendUvarint(dst, uint64(bin-last))
		dst = binary.AppendUvarint(dst, n)
		last = bin
		return true
	})
	return dst
}

// ReadBins reads what AppendBinary wrote from the beginning of p and returns what follows it.
func ReadBins(p []byte) (b Bins, rest []byte, err error) {
	count, p, err := uvarint(p)
	if err != nil || count > bins {
		return Bins{}, nil, errDamaged
	}
	last := uint64(0)
	for i := range count {
		var d, n uint64
		if d, p, err = uvarint(p); err != nil {
			return Bins{}, nil, err
		}
		if n, p, err = uvarint(p); err != nil {
			return Bins{}, nil, err
		}
		if d >= bins || last+d >= bins || n == 0 || i > 0 && d == 0 {
			return Bins{}, nil, errDamaged
		}
		last += d
		b.add(int32(last), n)
	}
	return b, p, nil
}

func uvarint(p []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(p)
	if n <= 0 {
		return 0, nil, errDamaged
	}
	return v, p[n:], nil
}
