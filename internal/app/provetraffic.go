package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// provenClasses is how many classes of either side are compared, those with the most time.
const provenClasses = 500

// longest is the length from which a window of the history is an hour's sum: it says nothing of how alike neighbours
// are.
const longest = 10 * time.Minute

// gathering reads traffic of a target out of the history.
type gathering struct {
	h       *history.History
	target  string
	about   []string                  // ids of classes of a finding
	keys    []history.ClassKey        // in their order, so that the same history gives the same proof
	classes []class.Class             // of keys
	past    map[[2]time.Time]*stretch // what ended before now, for those who gather again; nil: nobody does
}

// stretch is what was read of a stretch of time.
type stretch struct {
	time    float64 // of all statements, of a side of a change, seconds
	read    int     // so many of the keys
	windows []history.Window
	courses map[history.ClassKey][]history.Point
}

// choose adds the classes with the most time in a stretch, and those of the finding.
func (g *gathering) choose(ctx context.Context, s [2]time.Time, x *stretch) error {
	rank := 0
	list, all, err := g.h.Classes(ctx, g.target, s[0], s[1], 0, func(c class.Class) bool {
		rank++
		return rank <= provenClasses || slices.Contains(g.about, c.ID)
	})
	x.time = all.TimeSec
	for _, c := range list {
		if k := history.KeyOf(c); !slices.Contains(g.keys, k) {
			g.keys, g.classes = append(g.keys, k), append(g.classes, c)
		}
	}
	return err
}

// read reads the windows of a stretch and those classes that were not read yet.
func (g *gathering) read(ctx context.Context, s [2]time.Time, x *stretch) error {
	if x.windows != nil && x.read == len(g.keys) {
		return nil
	}
	windows, courses, err := g.h.Courses(ctx, g.target, g.keys[x.read:], s[0], s[1])
	if err != nil {
		return err
	}
	if x.read > 0 && len(windows) != len(x.windows) { // some are sums of hours now
		*x = stretch{time: x.time}
		return g.read(ctx, s, x)
	}
	if x.courses == nil {
		x.courses = map[history.ClassKey][]history.Point{}
	}
	maps.Copy(x.courses, courses)
	x.windows, x.read = windows, len(g.keys)
	return nil
}

// gather reads stretches of time of which the last two are the sides of a change: the classes with the most time on
// either side, and those of the finding. beyond is which part of the time of either side is of other classes.
func (g *gathering) gather(
	ctx context.Context, stretches [][2]time.Time,
) (t proof.Traffic, beyond [2]float64, err error) {
	first := len(stretches) - len(beyond)
	read := make([]*stretch, len(stretches))
	for i, s := range stretches {
		if read[i] = g.past[s]; read[i] != nil {
			continue
		}
		read[i] = &stretch{}
		if i >= first {
			if err := g.choose(ctx, s, read[i]); err != nil {
				return t, beyond, err
			}
		}
		if g.past != nil && time.Since(s[1]) > watchedFor { // its last window is stored by then
			g.past[s] = read[i]
		}
	}
	for _, c := range g.classes {
		t.Courses = append(t.Courses, proof.Course{Class: c})
	}
	for i, x := range read {
		if err := g.read(ctx, stretches[i], x); err != nil {
			return t, beyond, err
		}
		at := make([]int, len(x.windows))
		for j, w := range x.windows {
			if at[j] = -1; w.To.Sub(w.From) <= longest {
				at[j] = len(t.Spans)
				t.Spans = append(t.Spans, proof.Span{From: w.From, To: w.To, Seconds: w.Seconds})
			}
		}
		sum := 0.0
		for j, k := range g.keys {
			for _, p := range x.courses[k] {
				sum += p.TimeSec
				if at[p.Window] >= 0 {
					t.Courses[j].Sums = append(t.Courses[j].Sums, proof.Sum{
						Span: at[p.Window], Calls: p.Count, TimeSec: p.TimeSec, Examined: p.Examined,
					})
				}
			}
		}
		if i >= first && x.time > 0 {
			beyond[i-first] = max(0, 1-sum/x.time)
		}
	}
	return t, beyond, nil
}
