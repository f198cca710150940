package logdigest

import (
	"encoding/binary"
	"math/bits"

	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// row is an entry as it is counted.
type row struct {
	at      int64 // microseconds since 1970, 0 = unknown
	n       uint64
	origin  uint32
	layout  int
	errno   uint32
	killed  uint32
	time    uint64 // Query_time, nanoseconds
	hasTime bool
	packed  bool      // it is in the packer, and not in cells
	cells   []cell    // what is more than zero, by position in the layout
	odd     []oddCell // what no cell can hold
}

type cell struct {
	place uint32
	value uint64 // inner units; 1 for a flag
}

type oddCell struct {
	place int
	value float64
}

// read fills r with the figures of an entry whose layout is known.
func (r *row) read(l *layout, figures []slowlog.Figure) {
	if cap(r.cells) < len(figures) {
		r.cells = make([]cell, 2*len(figures))
	}
	cells, n := r.cells[:len(figures)], 0
	r.odd = r.odd[:0]
	r.time, r.hasTime = 0, l.time >= 0
	places := l.places[:len(figures)]
	for i := range figures {
		v := figures[i].Value
		if v == 0 {
			continue
		}
		at := &places[i]
		if at.kind != number {
			if at.kind == flag {
				cells[n] = cell{uint32(i), 1}
				n++
			}
			continue
		}
		u := int64(v*at.scale + 0.5)
		if uint64(u) >= limit || v < 0 || at.scale == 1 && float64(u) != v {
			r.readOdd(i, v)
			continue
		}
		if u == 0 { // below half a nanosecond
			continue
		}
		if i == l.time {
			r.time = uint64(u)
		}
		cells[n] = cell{uint32(i), uint64(u)}
		n++
	}
	r.cells = cells[:n]
	if len(r.odd) > 0 {
		r.oddTime(l)
	}
}

func (r *row) readOdd(i int, v float64) {
	if v != v { // no number at all: nothing to count
		v = 0
	}
	r.odd = append(r.odd, oddCell{i, v})
}

// oddTime gives a Query_time that no cell holds a place in the order of slowness and in the histogram.
func (r *row) oddTime(l *layout) {
	for _, o := range r.odd {
		if o.place != l.time {
			continue
		}
		switch v := o.value * 1e9; {
		case v >= 1<<63:
			r.time = 1 << 63
		case v > 0:
			r.time = uint64(v)
		}
	}
}

// A row in a class's list:
//
//	1 byte   what follows, and the length of the time
//	1 byte   layout
//	2 bytes  origin
//	0 to 8   time since Aggregator.base, zigzag; no bytes when it is unknown
//	         n, unless it is 1; errno and killed, unless they are 0: varints
//	4 bits   for every place of the layout: how many bytes its value has; 0 for the value 0
//	1 to 6   bytes for every value
//
// All numbers begin with their lowest byte. Lengths stand apart from values so that reading and writing take no
// decisions.
const (
	rowTimed  = 0x0f // length of the time
	rowMany   = 1 << 4
	rowErrno  = 1 << 5
	rowKilled = 1 << 6
)

// packer writes rows.
type packer struct {
	b       []byte
	lengths int // where they begin in b
	end     int
}

// size returns how many bytes v has.
func size(v uint64) int { return (bits.Len64(v) + 7) >> 3 }

// begin writes what comes before the values.
func (k *packer) begin(r *row, base int64, places int) {
	if need := 64 + 9*places; len(k.b) < need {
		k.b = make([]byte, 2*need)
	}
	b, i := k.b, 4
	head := byte(0)
	if r.at != 0 {
		d := r.at - base
		v := uint64(d<<1 ^ d>>63)
		n := max(size(v), 1)
		binary.LittleEndian.PutUint64(b[i:], v)
		i += n
		head = byte(n)
	}
	if r.n != 1 {
		head |= rowMany
		i += binary.PutUvarint(b[i:], r.n)
	}
	if r.errno != 0 {
		head |= rowErrno
		i += binary.PutUvarint(b[i:], uint64(r.errno))
	}
	if r.killed != 0 {
		head |= rowKilled
		i += binary.PutUvarint(b[i:], uint64(r.killed))
	}
	b[0], b[1], b[2], b[3] = head, byte(r.layout), byte(r.origin), byte(r.origin>>8)
	k.lengths = i
	k.end = i + (places+1)/2
	clear(b[i:k.end])
}

// put writes the next value, which is above zero and below limit.
func (k *packer) put(place int, v uint64) {
	n := size(v)
	k.b[k.lengths+place>>1] |= byte(n << (place & 1 * 4))
	binary.LittleEndian.PutUint64(k.b[k.end:], v)
	k.end += n
}

// row returns what was written, until the next row begins.
func (k *packer) row() []byte { return k.b[:k.end] }

// pack writes r, which has no odd figures.
func (k *packer) pack(r *row, base int64, places int) {
	k.begin(r, base, places)
	for _, c := range r.cells {
		k.put(int(c.place), c.value)
	}
}

// packFigures writes the row of an entry of which r has everything but the figures, and sets r's time. It is read and
// pack in one, and false when there are odd figures.
func (k *packer) packFigures(r *row, l *layout, figures []slowlog.Figure, base int64) bool {
	k.begin(r, base, len(l.places))
	r.time, r.hasTime = 0, l.time >= 0
	places, end, b := l.places[:len(figures)], k.end, k.b
	lengths := b[k.lengths:]
	for i := range figures {
		v := figures[i].Value
		if v == 0 {
			continue
		}
		at := &places[i]
		u := int64(v*at.scale + 0.5)
		if uint64(u) >= limit || v < 0 || at.scale == 1 && float64(u) != v {
			return false
		}
		if at.kind != number {
			if at.kind == repeated {
				continue
			}
			u = 1
		}
		if i == l.time {
			r.time = uint64(u)
		}
		n := size(uint64(u))
		lengths[i>>1] |= byte(n << (i & 1 * 4))
		binary.LittleEndian.PutUint64(b[end:], uint64(u))
		end += n
	}
	k.end = end
	return true
}

// next reads the row at the beginning of a list into r and returns the rest of the list. The list is one of rows that a
// packer wrote.
func (a *Aggregator) next(list []byte, r *row) []byte {
	head, i := list[0], 4
	r.layout, r.origin = int(list[1]), uint32(list[2])|uint32(list[3])<<8
	r.at, r.n, r.errno, r.killed = 0, 1, 0, 0
	if n := int(head & rowTimed); n > 0 {
		v := load(list, i, n)
		r.at = a.base + int64(v>>1^-(v&1))
		i += n
	}
	if head&^rowTimed != 0 {
		i = r.rare(list, i, head)
	}
	l := &a.headers.layouts[r.layout]
	if cap(r.cells) < len(l.places) {
		r.cells = make([]cell, 2*len(l.places))
	}
	cells, n := r.cells[:len(l.places)], 0
	r.time, r.hasTime = 0, l.time >= 0
	r.odd = r.odd[:0]
	lengths := i
	i += (len(l.places) + 1) / 2
	for from := 0; from < len(l.places); from += 16 {
		word := load(list, lengths+from/2, min(8, (len(l.places)-from+1)/2))
		for word != 0 {
			at := bits.TrailingZeros64(word) >> 2
			size := int(word >> (4 * at) & 0xf)
			word &^= 0xf << (4 * at)
			v := load(list, i, size)
			i += size
			at += from
			if at == l.time {
				r.time = v
			}
			cells[n] = cell{uint32(at), v}
			n++
		}
	}
	r.cells = cells[:n]
	return list[i:]
}

// load reads n bytes at i.
func load(b []byte, i, n int) uint64 {
	if i+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[i:]) & (1<<(8*n) - 1)
	}
	var v uint64
	for k, c := range b[i : i+n] {
		v |= uint64(c) << (8 * k)
	}
	return v
}

// rare reads what most rows do not have.
func (r *row) rare(list []byte, i int, head byte) int {
	take := func() uint64 {
		v, n := binary.Uvarint(list[i:])
		i += n
		return v
	}
	if head&rowMany != 0 {
		r.n = take()
	}
	if head&rowErrno != 0 {
		r.errno = uint32(take())
	}
	if head&rowKilled != 0 {
		r.killed = uint32(take())
	}
	return i
}
