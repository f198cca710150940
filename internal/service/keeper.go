package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// keeper stores what is read of targets, and finds the incidents in it.
type keeper struct {
	series  *series.Store
	history *history.History
	log     *slog.Logger
	o       *Options
	marks   *marks
	looks   *looks
	whole   *Incidents
	trouble *throttle
	locks   *locks
}

// keep stores one reading and hands it on. It runs in the goroutine that reads the target, so nothing here waits for
// the network, and events are stored by another goroutine. What cannot be stored is told and left out: a full disk must
// not blind those who look.
func (s *keeper) keep(ctx context.Context, m *member, r reading.Reading) {
	m.health.read(r, s.o.every())
	m.take(r)
	err := s.series.AppendRound(r)
	m.health.store(err)
	if err != nil {
		s.trouble.say(s.log, "series of "+r.Target+" were not stored", err)
	}
	r.Events = slices.DeleteFunc(r.Events, m.tracked)
	if gap, ok := m.lost(r.At, errors.Is(err, series.ErrFull)); ok {
		r.Events = append(r.Events, gap)
	}
	if err := s.history.PutState(r.State); err != nil && ctx.Err() == nil {
		s.trouble.say(s.log, "the state of "+r.Target+" was not stored", err)
	}
	r.Events = append(r.Events, s.locks.take(m, &r)...)
	for i := range r.Events {
		s.marks.mark(&r.Events[i], i)
	}
	r.Events = append(r.Events, s.incidents(m, sampleOf(r, m.watcher.names))...) // those are stored already
	if s.o.Publish != nil {
		s.o.Publish(r)
	}
}

// lost follows a full disk: when there is room again it returns the time of which no series are kept as a gap.
func (m *member) lost(at time.Time, full bool) (gap event.Event, ok bool) {
	switch {
	case full && m.fullSince.IsZero():
		m.fullSince, m.fullRounds = at, 1
	case full:
		m.fullRounds++
	case !m.fullSince.IsZero():
		gap = event.Event{
			At: m.fullSince, Until: at, Target: m.entry.Name, Kind: event.Gap, Cause: event.DiskFull,
			Text: fmt.Sprintf("the disk was full: the series of %d scrapes were not stored", m.fullRounds),
		}
		m.fullSince, m.fullRounds = time.Time{}, 0
		return gap, true
	}
	return gap, false
}

// take remembers the newest of what a target said.
func (m *member) take(r reading.Reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state, m.sources = r.State, r.Sources
	if !r.State.Up {
		clear(m.latest)
	}
	at := 0
	for _, p := range r.Parts {
		m.latest[string(p.Source)] = append(m.latest[string(p.Source)][:0:0], r.Samples[at:at+p.Samples]...)
		at += p.Samples
	}
	m.latest[""] = append(m.latest[""][:0:0], r.Samples[at:]...)
}

// newest returns the newest sample of every live series.
func (m *member) newest() []metric.Sample {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []metric.Sample
	for _, part := range m.latest {
		all = append(all, part...)
	}
	slices.SortFunc(all, func(a, b metric.Sample) int {
		if d := strings.Compare(a.Name, b.Name); d != 0 {
			return d
		}
		return a.Labels.Compare(b.Labels)
	})
	return all
}

// minute gathers windows of query classes until a minute is full.
type minute struct {
	from, to time.Time
	classes  map[history.ClassKey]*class.Class
	bytes    int                   // of their texts
	left     int                   // windows' classes for which there was no room, which are one class
	dist     []class.Distributions // that ended within the minute
}

// Bounds of a minute, of one target: whoever runs ever other statements must not fill the memory of all. More is one
// class, and that is told.
const (
	mostOfMinute      = 20_000
	mostOfMinuteBytes = 64 << 20
	// a minute that nothing ends gets one distribution, and a family that has none says so with each window
	mostOfDistributions = 2
)

// add returns the minute when the window ends it: windows end a moment after the whole second they are taken at.
func (m *minute) add(w ClassWindow) (full minute, ok bool) {
	m.take(w)
	if !m.to.Truncate(time.Minute).After(m.from) {
		return full, false
	}
	full = *m
	*m = minute{}
	return full, true
}

// take adds a window.
func (m *minute) take(w ClassWindow) {
	if m.classes == nil {
		m.from, m.classes = w.From, map[history.ClassKey]*class.Class{}
	}
	m.to = w.To
	if w.Distributions.Read() {
		m.dist = append(m.dist[:min(len(m.dist), mostOfDistributions-1)], w.Distributions)
	}
	for _, c := range w.Classes {
		k := history.KeyOf(c)
		have := m.classes[k]
		switch size := texts(&c); {
		case have != nil:
			if m.bytes+size > mostOfMinuteBytes { // its figures count all the same
				c.Example, c.Users, c.Hosts = "", nil, nil
			}
			m.bytes -= texts(have)
			have.Add(c)
			m.bytes += texts(have)
		case len(m.classes) < mostOfMinute && m.bytes+size <= mostOfMinuteBytes:
			m.classes[k], m.bytes = &c, m.bytes+size
		default: // the figures count in one class for all of these
			m.left++
			c = history.InOthers(c)
			k = history.KeyOf(c)
			if have := m.classes[k]; have != nil {
				have.Add(c)
			} else {
				m.classes[k], m.bytes = &c, m.bytes+texts(&c)
			}
		}
	}
}

// texts is what the texts of a class take, bytes.
func texts(c *class.Class) int {
	n := len(c.ID) + len(c.Schema) + len(c.Digest) + len(c.Fingerprint) + len(c.Example)
	for _, names := range [][]string{c.Users, c.Hosts} {
		for _, name := range names {
			n += len(name)
		}
	}
	return n
}

// follows reports whether a window begins where the minute ends: of the time between nothing is known.
func (m *minute) follows(w ClassWindow) bool { return m.classes == nil || w.From.Equal(m.to) }

// stepped reports whether the clock was set during a window: how long it was by the clock is not how long it took.
func stepped(from, to time.Time, took time.Duration) bool {
	off := to.Round(0).Sub(from.Round(0)) - took // Round takes the monotonic reading away
	return off.Abs() > time.Second
}

func (m *minute) list() []class.Class {
	all := make([]class.Class, 0, len(m.classes))
	for _, c := range m.classes {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b class.Class) int {
		switch {
		case a.TimeSec > b.TimeSec:
			return -1
		case a.TimeSec < b.TimeSec:
			return 1
		}
		return strings.Compare(a.ID+a.Schema, b.ID+b.Schema)
	})
	return all
}

func (s *keeper) classes(ctx context.Context, m *member, w ClassWindow) {
	if err := s.series.Append(m.timed.add(w), metric.L("target", m.entry.Name)); err != nil {
		s.trouble.say(s.log, "figures of the statements of "+m.entry.Name+" were not stored", err)
	}
	set := stepped(w.From, w.To, w.Took)
	m.hear(w, set)
	m.counting.Lock()
	follows := m.minute.follows(w)
	m.counting.Unlock()
	if set || !follows {
		s.flush(m)
	}
	if set { // on which side of the step its statements ran is not known
		return
	}
	m.counting.Lock()
	full, ok := m.minute.add(w)
	m.counting.Unlock()
	if ok {
		s.store(ctx, m, full)
	}
}

// flush keeps what there is of the last minute; the watcher has ended.
func (s *keeper) flush(m *member) {
	m.counting.Lock()
	rest := m.minute
	m.minute = minute{}
	m.counting.Unlock()
	if rest.classes != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.store(ctx, m, rest)
	}
}

func (s *keeper) store(ctx context.Context, m *member, full minute) {
	if err := s.history.PutClasses(ctx, m.entry.Name, full.from, full.to, full.list(), full.dist...); err != nil {
		s.trouble.say(s.log, "query classes of "+m.entry.Name+" were not stored", err)
	}
	if full.left > 0 {
		s.trouble.say(s.log, "query classes of "+m.entry.Name+" were counted as one class in a minute",
			fmt.Errorf("it has more than %d classes, or their texts more than %d MiB", mostOfMinute,
				mostOfMinuteBytes>>20))
	}
}

// throttle says the same thing once a minute at most.
type throttle struct {
	mu   sync.Mutex
	said map[string]time.Time
	kept map[string]int
}

func (t *throttle) say(log *slog.Logger, what string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == nil {
		t.said, t.kept = map[string]time.Time{}, map[string]int{}
	}
	if time.Since(t.said[what]) < time.Minute {
		t.kept[what]++
		return
	}
	args := []any{"error", state.Clip(err.Error(), 4096)}
	if n := t.kept[what]; n > 0 {
		args = append(args, "times_since", n+1)
	}
	log.Warn(what, args...)
	t.said[what], t.kept[what] = time.Now(), 0
}

// warned remembers what was said of warnings that last.
type warned struct {
	texts map[string]bool
	kinds map[string]time.Time // by the text before its first digit
}

// due returns those of all that are to be said: each text once, of a kind one an hour, for some hold figures that
// change all the time.
func (w *warned) due(all []string, now time.Time) (due []string) {
	if w.texts == nil {
		w.texts, w.kinds = map[string]bool{}, map[string]time.Time{}
	}
	maps.DeleteFunc(w.texts, func(t string, _ bool) bool { return !slices.Contains(all, t) })
	for _, t := range all {
		kind := t
		if i := strings.IndexAny(t, "0123456789"); i >= 0 {
			kind = t[:i]
		}
		if last, ok := w.kinds[kind]; w.texts[t] || ok && now.Sub(last) < time.Hour {
			continue
		}
		w.texts[t], w.kinds[kind] = true, now
		due = append(due, t)
	}
	return due
}
