package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
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
	// Grown is never negative. Unknown when the counter was reset in between without a restart, or its machine was
	// started again. Of moments more than an hour apart a reset is seen only where the counter is lower at the end.
	Grown   known.Value[float64] `json:"grown,omitzero"`
	Seconds float64              `json:"seconds"` // between the two samples that were compared
}

// ErrNoSamples is the error of a time for which no samples are stored.
var ErrNoSamples = errors.New("no samples are stored")

// Deltas compares the newest samples up to two moments. What only one of the two has is left out, and so are figures
// of Dyno itself. Without samples at one of them the error is ErrNoSamples, and *WindowError when two servers answered.
func (s *Metrics) Deltas(ctx context.Context, target string, from, to time.Time) (d Deltas, err error) {
	d = Deltas{Target: target, From: from, To: to, Counters: []Delta{}}
	since, err := s.oneServer(ctx, target, from, to)
	if err != nil {
		return d, err
	}
	r, err := s.series.Reader(from.Add(-deltaLookBack).UnixMilli(), to.UnixMilli())
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	before, came, err := newestAt(ctx, r, target, since, from)
	if err != nil {
		return d, err
	}
	after, started, err := newestAt(ctx, r, target, to.Add(-deltaLookBack), to)
	if err != nil {
		return d, err
	}
	first, ok1 := came.Get()
	begun, ok2 := started.Get()
	switch {
	case begun > from.UnixMilli():
		d.Restarted = known.Of(time.UnixMilli(begun).UTC().Round(time.Second))
	case ok1 && ok2 && max(begun-first, first-begun) > sameStart*1000:
		return d, unfit("the server of %s started at %s and the one of %s at %s: they are two, or a clock was set. "+
			"Fix: choose times that are nearer", local(from), local(time.UnixMilli(first)), local(to),
			local(time.UnixMilli(begun)))
	default:
		begun = 0
	}
	fell, err := fallsOf(ctx, r, target, before, from, to, begun)
	if err != nil {
		return d, err
	}
	rebooted := false
	for key := range fell { // the kernel takes back some of the time in which a CPU is idle
		c := before[key]
		rebooted = rebooted || c.name == "node_cpu_seconds_total" && c.labels["mode"] == "user"
	}
	for key, b := range after {
		a, ok := before[key]
		if !ok || b.at <= a.at {
			continue
		}
		x := Delta{Name: b.name, Labels: b.labels, Seconds: float64(b.at-a.at) / 1000}
		machine := strings.HasPrefix(b.name, "node_")
		switch f := fell[key]; {
		case machine && rebooted:
		case f.again && !machine:
			// It began again with the server. Not all do: some servers keep their statistics on disk.
			if x.Seconds = float64(b.at-begun) / 1000; f.last < begun {
				x.Grown = known.Of(b.value)
			}
		case !f.again && f.last == 0 && b.value >= a.value:
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

// oneServer returns from when on samples before from are of the server that answered at it, and a *WindowError when
// another one answers at to.
func (s *Metrics) oneServer(ctx context.Context, target string, from, to time.Time) (since time.Time, err error) {
	since = from.Add(-deltaLookBack)
	all, err := s.ledger.Events.Newest(ctx, target, []string{string(event.Restart)}, since, to.Add(event.ReplacedLate),
		math.MaxInt)
	for _, e := range all {
		switch {
		case e.Target == "":
		case !e.At.After(from):
			since = e.At
		case e.Replaces():
			return since, unfit("%s: seen at %s. Fix: choose two times before it, or two after it", e.Text, local(e.At))
		}
	}
	return since, err
}

// counted is the newest sample of a counter.
type counted struct {
	name   string
	labels map[string]string
	at     int64
	value  float64
}

// newestAt returns the newest samples of counters from since up to a moment, by name and labels, and when the server
// came up (Unix milliseconds), by its uptime.
func newestAt(ctx context.Context, r *series.Reader, target string, since, at time.Time,
) (all map[string]counted, started known.Value[int64], err error) {
	all = map[string]counted{}
	err = r.Seconds(ctx, since.UnixMilli(), at.UnixMilli(), ofTarget(target), func(x metric.Series) {
		p := x.Points[len(x.Points)-1]
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
		for _, l := range x.Labels {
			if l.Name != "target" && l.Name != "__name__" {
				c.labels[strings.Clone(l.Name)] = strings.Clone(l.Value)
			}
		}
		all[keyOf(x)] = c
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%w of %s for the %.0f s before %s", ErrNoSamples, target, deltaLookBack.Seconds(),
			at.UTC().Format(time.RFC3339))
	}
	return all, started, err
}

func ofTarget(name string, more ...series.Match) []series.Match {
	return append(more, series.Match{Label: "target", Op: "=", Value: name})
}

// keyOf tells the series of a target apart.
func keyOf(x metric.Series) string {
	key := x.Name
	for _, l := range x.Labels {
		if l.Name != "target" && l.Name != "__name__" {
			key += "\x00" + l.Name + "\x00" + l.Value
		}
	}
	return key
}

const (
	// longestWalk is the longest time of which every sample is looked at: some millions.
	longestWalk = time.Hour
	// longestStart is how long after a server came up its first samples are looked for: it may have to recover first.
	longestStart = time.Hour
	// wholeSeconds is how exact an uptime is, milliseconds.
	wholeSeconds = 2000
)

// fall tells of a counter that was lower than at the sample before.
type fall struct {
	again bool  // when the server came up
	last  int64 // the last time but for that; 0: never
}

// fallsOf returns the counters that fell after the samples of before, by name and labels: at any time when the moments
// are near to one another, and else when the server came up at begun; 0: it did not.
func fallsOf(ctx context.Context, r *series.Reader, target string, before map[string]counted, from, to time.Time,
	begun int64,
) (map[string]fall, error) {
	fell := map[string]fall{}
	first, last := from.Add(-deltaLookBack).UnixMilli(), to.UnixMilli()
	if to.Sub(from) > longestWalk {
		if begun == 0 {
			return fell, nil
		}
		first = max(first, begun-deltaLookBack.Milliseconds())
		ready := last
		up := series.Match{Label: "__name__", Op: "=~", Value: ".+_uptime(_seconds)?"}
		err := r.Seconds(ctx, begun, min(last, begun+longestStart.Milliseconds()), ofTarget(target, up),
			func(x metric.Series) { ready = min(ready, x.Points[0].At) })
		if err != nil {
			return nil, err
		}
		last = min(last, ready+deltaLookBack.Milliseconds())
	}
	return fell, r.Seconds(ctx, first, last, ofTarget(target), func(x metric.Series) {
		if x.Kind != metric.Counter {
			return
		}
		key := keyOf(x)
		was, ok := before[key]
		if !ok {
			return
		}
		f, at, value := fall{}, was.at, was.value
		for _, p := range x.Points {
			if p.At <= at || p.Value != p.Value {
				continue
			}
			switch {
			case p.Value >= value:
			case at < begun+wholeSeconds && p.At > begun-wholeSeconds:
				f.again = true
			default:
				f.last = p.At
			}
			at, value = p.At, p.Value
		}
		if f != (fall{}) {
			fell[key] = f
		}
	})
}
