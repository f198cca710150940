package logdigest

import (
	"encoding/binary"
	"math/big"

	"github.com/dyno-perf/dyno/internal/sketch"
)

// writer appends values; reader reads them back in the same order.
type writer struct{ b []byte }

func (w *writer) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) int(v int64)   { w.b = binary.AppendVarint(w.b, v) }

func (w *writer) big(v *big.Float) {
	b, err := v.GobEncode()
	if err != nil { // it never fails
		b = nil
	}
	w.bytes(b)
}

func (w *writer) bool(v bool) {
	if v {
		w.uint(1)
	} else {
		w.uint(0)
	}
}

func (w *writer) text(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.b = append(w.b, b...)
}

func (w *writer) uints(list []uint64) {
	w.uint(uint64(len(list)))
	for _, v := range list {
		w.uint(v)
	}
}

// reader gives zeros once it met something that no writer wrote.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() {
	r.b, r.bad = nil, true
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) big(v *big.Float) {
	if b := r.bytes(); len(b) == 0 || v.GobDecode(b) != nil {
		r.fail()
	}
}

func (r *reader) bool() bool { return r.uint() == 1 }

// count reads how many things follow, each of at least one byte.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return int(n)
}

// bytes returns a part of what is read.
func (r *reader) bytes() []byte {
	n := r.count()
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) uints() []uint64 {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = r.uint()
	}
	return list
}

func (r *reader) bins() (b sketch.Bins) {
	b, rest, err := sketch.ReadBins(r.b)
	if err != nil {
		r.fail()
		return sketch.Bins{}
	}
	r.b = rest
	return b
}

func (r *reader) sketch() (s sketch.Sketch) {
	s, rest, err := sketch.Read(r.b)
	if err != nil {
		r.fail()
		return sketch.Sketch{}
	}
	r.b = rest
	return s
}
