package scrape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// Options change how a target is read. The zero value is the usual way.
type Options struct {
	// Timeout bounds one reading of one source; 0 is 800 ms. With Run it is at most four fifths of the interval, but
	// for heavy sources that are read seldom: these may take what their budget allows for one reading, up to 5 s.
	Timeout time.Duration
	// Sources names the sources to read, nil for all that are not read only when asked for.
	Sources []string
	// Also names sources to read besides.
	Also []string
	// Meter shares out the CPU time of this program among the targets that it reads; nil makes one for this target
	// alone.
	Meter *Meter
}

// Scraper reads one target. Its methods are called from one goroutine at a time; Close frees its connections, of which
// there are two: one for what is quick and one for heavy sources, so that these hold nobody up.
type Scraper struct {
	link    Link // of light sources
	heavy   Link
	errs    Errors
	lane    *lane
	timeout time.Duration
	remote  *host.Remote // the server's machine; nil for this one, or none
	meter   *Meter
	cpu     time.Duration
	states  []*turn
	buf     []metric.Sample // of Run, used again in each round
	down    outage
	redact  func(*reading.Reading)
}

// New returns a scraper of the parts that o names. It connects when it first reads.
func New(p Parts, o Options) (*Scraper, error) {
	if o.Timeout <= 0 {
		o.Timeout = 800 * time.Millisecond
	}
	var names []string
	for _, e := range p.Entries {
		names = append(names, string(e.Source.Name()))
	}
	for _, n := range slices.Concat(o.Sources, o.Also) {
		if !slices.Contains(names, n) {
			return nil, fmt.Errorf("set up scrape: no source is called %q: there are %v", n, names)
		}
	}
	if o.Meter == nil {
		o.Meter = NewMeter()
	}
	if p.Errors == nil {
		p.Errors = plainErrors{}
	}
	s := &Scraper{
		link: p.Light, heavy: p.Heavy, remote: p.Remote, errs: p.Errors, timeout: o.Timeout, meter: o.Meter,
		redact: p.Redact,
	}
	for i, e := range p.Entries {
		l := s.link
		if e.Cost == Heavy {
			l = s.heavy
		}
		if o.Sources == nil && !e.Asked || slices.Contains(o.Sources, names[i]) || slices.Contains(o.Also, names[i]) {
			s.states = append(s.states, newTurn(e.Source, e.Traits, l, p.Errors))
		}
	}
	return s, nil
}

// closer is a source that has something to put back on the server before its connection ends.
type closer interface {
	Close(ctx context.Context) error
}

// Close lets the sources put back what they changed on the server and ends the scraper's connections.
func (s *Scraper) Close() error {
	s.drain()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var errs []error
	for _, st := range s.states {
		if c, ok := st.src.(closer); ok {
			if err := c.Close(ctx); err != nil {
				errs = append(errs, fmt.Errorf("end source %s: %w", st.src.Name(), err))
			}
		}
	}
	if s.remote != nil {
		s.remote.Close()
	}
	s.link.Close()
	if s.heavy != nil {
		s.heavy.Close()
	}
	return errors.Join(errs...)
}

// Once reads every source now, those that were backing off or have a slow cadence too. Sources come in the order of
// Parts, with the state of this one reading. The reading is the caller's own.
func (s *Scraper) Once(ctx context.Context) reading.Reading {
	s.drain()
	for _, st := range s.states {
		st.reads, st.took, st.next, st.ever = 0, 0, time.Time{}, false
	}
	s.link.Retry()
	if s.heavy != nil {
		s.heavy.Retry()
	}
	s.buf = nil
	r := s.round(ctx, pass{at: clock.Now(), budget: time.Duration(len(s.states)) * s.timeout, whole: true})
	s.buf = nil
	return r
}

// Run reads the sources each interval until ctx ends, which is no error. Readings are taken when the clock is at a
// whole multiple of every (at least 100 ms), and all their samples carry that time, even when the machine woke us
// later: dyno_scrape_late_seconds tells how much. A source with a slower cadence of its own is read in the rounds of
// that cadence, spread so that not all meet in one. A heavy source that is not done when the others are is waited for a
// quarter of the interval, and then its samples come with a later round, under the time of that one.
//
// Rounds that were missed, because the machine slept or was too busy, the clock was set or a sink took long, stay a
// gap, told by an event of kind gap with its cause. So does the time in which the server did not answer.
//
// A source that fails is tried again after 2, 4, … 64 seconds and shows its last problem until then. A lost server is
// looked for in each round. A source that takes more of the server's time than its Budget is read half as often, again
// and again down to a 64th, and tells so in its Reason; it comes back when it has become cheaper.
//
// sink gets each round's reading, whose samples are valid until it returns, with the state of every source since Run
// began. It is called from the goroutine of Run.
func (s *Scraper) Run(ctx context.Context, every time.Duration, sink func(reading.Reading)) error {
	if every < 100*time.Millisecond {
		return fmt.Errorf("scrape every %v: the shortest interval is 100ms", every)
	}
	s.drain()
	for _, st := range s.states {
		st.reads, st.took = 0, 0
	}
	defer s.drain()
	b := newBeat(every)
	for {
		at, gap, ok := b.next(ctx)
		if !ok {
			return nil
		}
		r := s.round(ctx, pass{at: at, every: every, budget: every * 9 / 10})
		if ctx.Err() != nil { // a round that was cut off is not complete
			return nil
		}
		r.Events = append(gap, r.Events...)
		sink(r)
	}
}

// pass says how one round goes.
type pass struct {
	at     time.Time
	every  time.Duration // interval of the rounds, 0 for a single one
	budget time.Duration // for all sources together
	whole  bool          // every source, and wait for all of them
}

// round reads the sources whose turn it is.
func (s *Scraper) round(ctx context.Context, p pass) reading.Reading {
	began, late := time.Now(), clock.Now().Sub(p.at)
	// What the machine's sources will read is on its way while the server is asked.
	if s.remote != nil && slices.ContainsFunc(s.states, func(st *turn) bool {
		return st.traits.Cost == Free && (p.whole || st.due(p))
	}) {
		s.remote.Begin()
	}
	for _, st := range s.states {
		if b, ok := st.src.(beginner); ok && (p.whole || st.due(p)) {
			b.Begin()
		}
	}
	meter := s.meter.begin()
	r := reading.Reading{At: p.at}
	end := began.Add(p.budget)
	ms := p.at.UnixMilli()
	out := s.buf[:0]
	emit := func(x metric.Sample) { out = append(out, x) }
	tried, lostAll, refused, why := 0, true, false, ""
	take := func(o outcome, from int) { // of a source, whose samples are the last of out
		st := o.turn
		if !usable(o.err) {
			out = out[:from]
		}
		st.settle(o, p)
		st.tell(ms, emit)
		r.Parts = append(r.Parts, reading.Part{Source: st.src.Name(), Samples: len(out) - from})
		if st.link != nil && st.traits.Cost != Free {
			tried++
			lostAll = lostAll && st.silent(o.err)
			no := s.errs.Refused(o.err)
			if o.err != nil && (why == "" || no && !refused) {
				why = st.source().Reason
			}
			refused = refused || no
		}
		if f, ok := st.src.(stater); ok && usable(o.err) {
			if r.State == nil {
				r.State = &state.State{At: p.at, Up: true}
			}
			f.Fill(r.State)
		}
		if e, ok := st.src.(eventer); ok {
			r.Events = append(r.Events, e.Events()...)
		}
		if d, ok := st.src.(deadlocker); ok {
			r.Deadlocks = d.Deadlocks()
		}
	}
	if s.heavy != nil && (s.lane == nil || !s.lane.running) {
		// Its sources may be read so seldom that the server would end it.
		pctx, cancel := context.WithTimeout(ctx, min(s.timeout, p.budget/4))
		s.heavy.Ping(pctx)
		cancel()
	}
	release := func() {}
	if slices.ContainsFunc(s.states, func(st *turn) bool {
		return st.traits.Totals && (p.whole || st.due(p))
	}) {
		release = s.link.Hold() // the server's totals and Dyno's part of them are of one moment
	}
	hand := s.lane.start(ctx, s, p)
	each := min(s.timeout, p.budget*8/9)
	done := func(context.Context) {}
	for _, st := range s.states {
		now := time.Now()
		left := end.Sub(now)
		if st.traits.Cost == Heavy || !p.whole && !st.due(p) || st.traits.Cost != Free && left < each/8 {
			// the last: others took the time; it is read in the next round. Files are read all the same, or a machine
			// would not be seen while its server hangs: those of another one are here by now.
			continue
		}
		n := len(out)
		o := st.read(ctx, ms, max(0, min(each, left)), emit)
		o.late, o.short = now.Sub(began), left < each
		take(o, n)
		if st.traits.Totals {
			done = s.link.Read(ctx, release)
		}
	}
	release()
	done(ctx)
	s.lane = hand
	grace := p.budget / 4
	if p.whole {
		grace = time.Until(end) + 5*time.Second // each of them has its own bound
	}
	s.lane.collect(ctx, grace, func(o outcome) {
		n := len(out)
		for _, x := range o.samples {
			x.At = ms
			emit(x)
		}
		take(o, n)
	})
	if tried > 0 {
		if e, ok := s.down.round(p.at, lostAll); ok {
			r.Events = append(r.Events, e)
		}
		if lostAll {
			if s.down.reason == "" || s.down.refused != refused {
				s.down.reason, s.down.refused = why, refused
			}
			r.State = &state.State{At: p.at, Reason: s.down.reason}
		}
		if refused {
			if r.State == nil {
				r.State = &state.State{At: p.at}
			}
			r.State.LoginRefused = true
		}
	}
	server := 0.0
	for _, st := range s.states {
		st.tellState(ms, emit)
		server += st.told
	}
	// The sum stands in each round: the sources' own are there only when one was read, so that a sum over those of a
	// round means nothing.
	emit(metric.Sample{Name: "dyno_scrape_server_seconds_total", Kind: metric.Counter, At: ms, Value: server})
	emit(metric.Sample{Name: "dyno_scrape_late_seconds", At: ms, Value: max(0, late.Seconds())})
	cpu, ok := s.meter.end(meter)
	s.cpu += cpu
	if ok {
		emit(metric.Sample{
			Name: "dyno_scrape_client_cpu_seconds_total", Kind: metric.Counter, At: ms,
			Value: s.cpu.Seconds(),
		})
	}
	s.buf = out
	sources := make([]source.Source, len(s.states))
	for i, st := range s.states {
		sources[i] = st.source()
	}
	r.Samples, r.Sources = out, sources
	if s.redact != nil {
		s.redact(&r)
	}
	return r
}

// outage is the time in which the server does not answer.
type outage struct {
	since   time.Time // zero while it answers
	reason  string
	refused bool // the reason is that of a login which the server refused
}

// round takes note of a round in which the server was asked. It returns the outage when it has ended.
func (o *outage) round(at time.Time, down bool) (e event.Event, ended bool) {
	switch {
	case down && o.since.IsZero():
		o.since = at
	case !down && !o.since.IsZero():
		kind, what := event.Down, "the server did not answer: "
		if o.refused {
			kind, what = event.Login, "the server refused the login: "
		}
		e = event.Event{At: o.since, Until: at, Kind: kind, Text: what + o.reason}
		*o = outage{}
		return e, e.Until.After(e.At)
	}
	return e, false
}

func usable(err error) bool {
	var p *Problem
	return err == nil || errors.As(err, &p) && p.Partial
}
