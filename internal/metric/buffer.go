package metric

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// Buffer gathers samples in memory and gives them back as series, up to mostBytes. It is safe for concurrent use.
type Buffer struct {
	mu     sync.Mutex
	series map[string]*Series
	bytes  int
	lost   int
}

// mostBytes bounds what is gathered: ten minutes of six thousand series take half of it. What comes later is lost.
const (
	mostBytes   = 128 << 20
	seriesBytes = 200 // of a series beside its names and its points
	pointBytes  = 16
)

// Lost returns how many samples found no room.
func (b *Buffer) Lost() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// Add appends samples. One that is not younger than the last point of its series is dropped: a series holds each time
// once and in order. One whose value is no number, or endless, is dropped too.
func (b *Buffer) Add(samples ...Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.series == nil {
		b.series = map[string]*Series{}
	}
	var key []byte
	for _, s := range samples {
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) { // no figure, and nothing that JSON could hold
			continue
		}
		key = append(key[:0], s.Name...)
		for _, l := range s.Labels {
			key = append(append(append(append(key, 0), l.Name...), 1), l.Value...)
		}
		x := b.series[string(key)]
		n := pointBytes
		if x == nil {
			n += seriesBytes + 2*len(key)
		}
		if b.bytes+n > mostBytes {
			b.lost++
			continue
		}
		if x == nil {
			x = &Series{Name: s.Name, Labels: s.Labels, Kind: s.Kind}
			b.series[string(key)] = x
			b.bytes += n - pointBytes
		}
		if n := len(x.Points); n == 0 || x.Points[n-1].At < s.At {
			x.Points = append(x.Points, Point{s.At, s.Value})
			b.bytes += pointBytes
		}
	}
}

// Series returns copies of the series that have points with from ≤ At ≤ to (Unix milliseconds), cut to these and
// ordered by name and labels.
func (b *Buffer) Series(from, to int64) []Series {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Series
	for _, s := range b.series {
		if w := s.Window(from, to); len(w.Points) > 0 {
			w.Points = slices.Clone(w.Points)
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b Series) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.Labels.Compare(b.Labels)
	})
	return out
}

// Find returns the named series between from and to; not ok when it has no point there.
func (b *Buffer) Find(name string, labels Labels, from, to int64) (Series, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.series {
		if s.Name == name && s.Labels.Compare(labels) == 0 {
			w := s.Window(from, to)
			w.Points = slices.Clone(w.Points)
			return w, len(w.Points) > 0
		}
	}
	return Series{}, false
}
