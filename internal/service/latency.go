package service

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/sketch"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// Latency is how the times of statements were distributed over a window: those of a class, or of all statements of a
// server.
type Latency struct {
	Origin class.Origin `json:"origin,omitzero"`
	// Error is how far a quantile may be from the exact one, as a share of it: 0.01 of a slow log, 0.05 of the
	// server's histograms, or of both in one window.
	Error float64 `json:"error,omitzero"`
	Quantiles
	// Reason says why a part of the window, or all of it, has no distribution, with what would give one.
	Reason string `json:"reason,omitzero"`
	// Bounds are the edges of the rows of the heat map in seconds, one more than there are rows.
	Bounds  []float64       `json:"bounds"`
	Columns []LatencyColumn `json:"columns"` // in order of time; there is none for time that was not watched
}

// Quantiles are those of the statements of a stretch of time, in seconds; unknown where there is no distribution.
type Quantiles struct {
	Count uint64               `json:"count"`
	Own   uint64               `json:"own,omitzero"` // of the server's: statements of Dyno itself among them
	P50   known.Value[float64] `json:"p50,omitzero"`
	P95   known.Value[float64] `json:"p95,omitzero"`
	P99   known.Value[float64] `json:"p99,omitzero"`
}

// LatencyColumn is one step of the window.
type LatencyColumn struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Covered float64   `json:"covered"` // seconds of it of which there is a distribution
	Quantiles
	// Cells are pairs of a row of Bounds, from 0, and how many statements it holds; rows without any are left out.
	Cells  [][2]uint64 `json:"cells"`
	Reason string      `json:"reason,omitzero"` // why there is none, or not of all of it
}

const (
	// rowsPerOctave is how many rows a power of two has; each holds sixteen bins of package sketch.
	rowsPerOctave = 4
	// latencySteps is how many columns there are at most.
	latencySteps = 240
)

// row returns the row of a time in nanoseconds, counted from that of 1 ns.
func row(ns float64) int {
	fraction, exponent := math.Frexp(ns)
	return (exponent-1)*rowsPerOctave + int((2*fraction-1)*rowsPerOctave)
}

// lower returns the lower edge of a row in seconds.
func lower(row int) float64 {
	octave := math.Floor(float64(row) / rowsPerOctave)
	return math.Ldexp(1+float64(row)/rowsPerOctave-octave, int(octave)) / 1e9
}

func quantiles(b *sketch.Bins, own uint64) Quantiles {
	n := b.Count()
	q := Quantiles{Count: n, Own: own}
	if n == 0 {
		return q
	}
	for _, x := range []struct {
		to *known.Value[float64]
		q  float64
	}{{&q.P50, 0.5}, {&q.P95, 0.95}, {&q.P99, 0.99}} {
		*x.to = known.Of(b.Value(sketch.Rank(x.q, n)) / 1e9)
	}
	return q
}

// Latency returns the distribution of the times of a class over a window; of an empty id that of all statements of the
// server. It is by the minute up to 12 hours, by the hour up to 30 days, else by the day, and several of these make a
// column where there are many.
func (s *Classes) Latency(ctx context.Context, target, id string, from, to time.Time) (Latency, error) {
	l := Latency{Bounds: []float64{}, Columns: []LatencyColumn{}}
	ds, err := history.ReadDistributions(ctx, s.history, target, id, from, to)
	if err != nil {
		return l, err
	}
	all := new(sketch.Bins)
	own := uint64(0)
	step := (len(ds) + latencySteps - 1) / latencySteps
	var bins []*sketch.Bins
	for i := 0; i < len(ds); i += step {
		part := ds[i:min(i+step, len(ds))]
		b, c := joined(part, id)
		for _, d := range part {
			if d.Origin != "" && d.Times != nil {
				l.Origin = class.Mixed(l.Origin, d.Origin)
			}
		}
		own += c.Own
		all.Merge(b)
		l.Reason = cmp.Or(c.Reason, l.Reason)
		l.Columns, bins = append(l.Columns, c), append(bins, b)
	}
	l.Quantiles = quantiles(all, own)
	switch {
	case len(ds) == 0:
		l.Reason = "nothing was observed in this window"
	case all.Count() == 0 && l.Reason == "" && id != "":
		l.Reason = "the class did not run in this window"
	case l.Origin == class.SlowLog:
		l.Error = 0.01
	case l.Origin == class.PerformanceSchema:
		l.Error = 0.05
	}
	if all.Count() > 0 {
		first, last := row(all.Value(1)), row(all.Value(all.Count()))
		for r := first; r <= last+1; r++ {
			l.Bounds = append(l.Bounds, lower(r))
		}
		for i, b := range bins {
			b.Each(func(v float64, n uint64) {
				at := uint64(row(v) - first)
				if c := l.Columns[i].Cells; len(c) > 0 && c[len(c)-1][0] == at {
					c[len(c)-1][1] += n
				} else {
					l.Columns[i].Cells = append(c, [2]uint64{at, n})
				}
			})
		}
	}
	return l, nil
}

// joined makes one column of neighbours.
func joined(part []history.Distribution, id string) (*sketch.Bins, LatencyColumn) {
	b := new(sketch.Bins)
	c := LatencyColumn{From: part[0].From, To: part[len(part)-1].To, Cells: [][2]uint64{}}
	own := uint64(0)
	for _, d := range part {
		held := uint64(0)
		if d.Times != nil {
			b.Merge(d.Times)
			held = d.Times.Count()
		}
		c.Covered, own = c.Covered+d.Covered, own+d.Own
		reason := d.Reason
		if reason == "" && d.Origin == "" {
			reason = "no distribution was stored for this time"
		}
		if reason == "" && id != "" && float64(held) < 0.9*float64(d.Count) {
			reason = fmt.Sprintf("distributions are kept of the %d classes with the most time in a minute, from "+
				"their second minute on", class.MostDistributions)
		}
		c.Reason = cmp.Or(reason, c.Reason)
	}
	c.Quantiles = quantiles(b, own)
	return b, c
}
