package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// deltaLookBack is how long before a moment the newest sample of a counter may be: sources are read every minute or
// more often, and those that are read more rarely hold no counters.
const deltaLookBack = 90 * time.Second

// Deltas is how much each counter of a server and its machine grew between two times.
type Deltas struct {
	Target string    `json:"target"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	// Restarted is when the server came up, if that was between the two times: counters that were reset by it show
	// their growth since then.
	Restarted known.Value[time.Time] `json:"restarted,omitzero"`
	Counters  []Delta                `json:"counters"` // by name
}

// Delta is how much one counter grew.
type Delta struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"` // without the target
	// Grown is never negative. Unknown when the counter was reset in between without a restart.
	Grown   known.Value[float64] `json:"grown,omitzero"`
	Seconds float64              `json:"seconds"` // between the two samples that were compared
}

// ErrNoSamples is the error of a time for which no samples are stored.
var ErrNoSamples = errors.New("no samples are stored")

// Deltas compares the newest samples up to two moments. What only one of the two has is left out, and so are figures
// of Dyno itself. Without samples at one of them the error is ErrNoSamples.
func (s *Metrics) Deltas(ctx context.Context, target string, from, to time.Time) (d Deltas, err error) {
	d = Deltas{Target: target, From: from, To: to, Counters: []Delta{}}
	r, err := s.series.Reader(from.Add(-deltaLookBack).UnixMilli(), to.UnixMilli())
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	before, _, err := newestAt(ctx, r, target, from)
	if err != nil {
		return d, err
	}
	after, started, err := newestAt(ctx, r, target, to)
	if err != nil {
		return d, err
	}
	var first map[string]counted // of the server that came up
	begun, again := started.Get()
	if again && begun > from.UnixMilli() {
		d.Restarted = known.Of(time.UnixMilli(begun).UTC().Round(time.Second))
		if first, err = firstAfter(ctx, r, target, begun, to.UnixMilli()); err != nil {
			return d, err
		}
	}
	for key, b := range after {
		a, ok := before[key]
		f, up := first[key]
		x := Delta{Name: b.name, Labels: b.labels, Seconds: float64(b.at-a.at) / 1000}
		switch {
		case !ok || b.at <= a.at:
			continue
		case up && f.value < a.value && f.value <= b.value && !strings.HasPrefix(b.name, "node_"):
			// It began again with the server. Not all do: some servers keep their statistics on disk.
			x.Seconds = float64(b.at-begun) / 1000
			x.Grown = known.Of(b.value)
		case b.value >= a.value && (!up || f.value >= a.value):
			x.Grown = known.Of(b.value - a.value)
		}
		if x.Seconds > 0 {
			d.Counters = append(d.Counters, x)
		}
	}
	slices.SortFunc(d.Counters, func(a, b Delta) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)))
	})
	return d, nil
}

// counted is the newest sample of a counter.
type counted struct {
	name   string
	labels map[string]string
	at     int64
	value  float64
}

// newestAt returns the newest samples of counters up to a moment, by name and labels, and when the server came up
// (Unix milliseconds), by its uptime.
func newestAt(ctx context.Context, r *series.Reader, target string, at time.Time,
) (all map[string]counted, started known.Value[int64], err error) {
	last := func(all []metric.Point) metric.Point { return all[len(all)-1] }
	all, started, err = counters(ctx, r, target, at.Add(-deltaLookBack).UnixMilli(), at.UnixMilli(), last)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%w of %s for the %.0f s before %s", ErrNoSamples, target, deltaLookBack.Seconds(),
			at.UTC().Format(time.RFC3339))
	}
	return all, started, err
}

// longestStart is how long after a server came up its first samples are looked for: it may have to recover first.
const longestStart = time.Hour

// firstAfter returns the first samples of counters after the server came up, by name and labels.
func firstAfter(
	ctx context.Context, r *series.Reader, target string, begun, to int64,
) (all map[string]counted, err error) {
	first := func(all []metric.Point) metric.Point {
		// a series may have ended just now
		return all[max(slices.IndexFunc(all, func(p metric.Point) bool { return p.Value == p.Value }), 0)]
	}
	ready := to
	err = r.Seconds(ctx, begun, min(to, begun+longestStart.Milliseconds()), []series.Match{
		{Label: "target", Op: "=", Value: target}, {Label: "__name__", Op: "=~", Value: ".+_uptime(_seconds)?"},
	}, func(x metric.Series) {
		if len(x.Points) > 0 {
			ready = min(ready, first(x.Points).At)
		}
	})
	if err != nil {
		return nil, err
	}
	all, _, err = counters(ctx, r, target, begun, min(to, ready+deltaLookBack.Milliseconds()), first)
	return all, err
}

// counters returns one sample of each counter within a window, by name and labels, and when the server came up (Unix
// milliseconds), by its uptime.
func counters(
	ctx context.Context, r *series.Reader, target string, from, to int64, pick func([]metric.Point) metric.Point,
) (all map[string]counted, started known.Value[int64], err error) {
	all = map[string]counted{}
	ms := []series.Match{{Label: "target", Op: "=", Value: target}}
	err = r.Seconds(ctx, from, to, ms, func(x metric.Series) {
		if len(x.Points) == 0 {
			return
		}
		p := pick(x.Points)
		if p.Value != p.Value { // the series has ended
			return
		}
		if strings.HasSuffix(x.Name, "_uptime") || strings.HasSuffix(x.Name, "_uptime_seconds") {
			started = known.Of(p.At - int64(p.Value*1000))
		}
		if x.Kind != metric.Counter || strings.HasPrefix(x.Name, "dyno_") {
			return
		}
		c := counted{name: strings.Clone(x.Name), labels: map[string]string{}, at: p.At, value: p.Value}
		key := c.name
		for _, l := range x.Labels {
			if l.Name != "target" && l.Name != "__name__" {
				c.labels[strings.Clone(l.Name)] = strings.Clone(l.Value)
				key += "\x00" + l.Name + "\x00" + l.Value
			}
		}
		all[key] = c
	})
	return all, started, err
}
