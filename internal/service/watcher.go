package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/collector"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/guard"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Watching says how a target is watched. The zero value is the usual way.
type Watching struct {
	Every   time.Duration  // between two rounds; 0 is a second
	Scrape  scrape.Options // which sources
	Classes time.Duration  // between two looks at the query classes; 0 is 5 s, less than 0 leaves them alone
}

func (o *Watching) every() time.Duration { return cmp.Or(o.Every, time.Second) }

// ClassWindow is the query classes of one window.
type ClassWindow struct {
	Target   string
	From, To time.Time     // of what was counted: a server that restarts loses what it had
	Took     time.Duration // what passed, whatever the clock was set to meanwhile
	Classes  []class.Class // most time first; nobody changes them
	// Distributions are of the minute that ended with this window; nothing is read of others.
	Distributions class.Distributions
}

// cut takes off the beginning of a window that is lost. Nothing is left of less than a second: what ended in it may
// have begun long before.
func (c *ClassWindow) cut(lost time.Duration) {
	if lost <= 0 {
		return
	}
	left := c.Took - lost
	if left < time.Second {
		c.From, c.Took, c.Classes = c.To, 0, nil
		return
	}
	share := float64(left) / float64(c.Took)
	for i := range c.Classes {
		x := &c.Classes[i]
		if !x.Sampled { // what was looked at was so all the time
			continue
		}
		x.Count, x.TimeSec = uint64(math.Ceil(share*float64(x.Count))), share*x.TimeSec
		if n, ok := x.Examined.Get(); ok {
			x.Examined = known.Of(uint64(math.Ceil(share * float64(n))))
		}
	}
	c.From, c.Took = c.To.Add(-left), left
}

// topClasses is how many classes a state shows.
const topClasses = 50

// watcher watches one target until its context ends, on the schedule of package collector: it reads the server's
// sources each round and its query classes every few seconds.
type watcher struct {
	name  string
	open  func(context.Context) (family.Server, error)
	named func(context.Context) family.Family // as far as the target's name tells
	o     Watching
	read  func(reading.Reading) // each round, with its State filled in; called from one goroutine at a time
	class func(ClassWindow)     // called from another goroutine
	// plan is given each window with the target to ask it more; a window that comes while it works is left out.
	plan func(context.Context, family.Server, ClassWindow)
	// rights is called once a session and returns when what the account may do has changed, or with ctx.
	rights func(context.Context, family.Server)

	mu      sync.Mutex
	top     []state.ActiveClass
	topSec  float64
	latency known.Value[float64] // mean time of a statement, where all are counted
	sources []source.Source      // of the classes
	spent   float64              // time of the server's that reading the classes took, seconds

	family family.Family
	server string      // flavor and version
	up     string      // the series that tells whether the server answers
	totals source.Name // that answers when the server does
	vitals *state.Names
	names  family.Names
	trail  state.Trail
	silent time.Time // since when the server does not answer in time; zero while it does

	renewed time.Time // when a session was given up because the server refused a login
}

// run ends with ctx; a server that cannot be reached is no error but a state.
func (w *watcher) run(ctx context.Context) {
	if w.o.Every == 0 {
		w.o.Every = time.Second
	}
	if w.o.Classes == 0 {
		w.o.Classes = 5 * time.Second
	}
	w.family = w.named(ctx)
	w.up = w.family.Up()
	l := collector.Loop[family.Server]{
		Patience: w.family.Patience,
		Every:    w.o.Every, OpenTime: collector.OpenTime, Open: w.open, Session: w.session, Down: w.down,
	}
	l.Run(ctx)
}

// down tells that there was no server to ask.
func (w *watcher) down(at time.Time, err error) {
	w.trail.Break()
	r := reading.Reading{
		Target: w.name, At: at,
		Samples: []metric.Sample{{Name: w.up, At: at.UnixMilli()}},
		State:   &state.State{Target: w.name, At: at, Server: w.server, Reason: err.Error()},
	}
	var e *endpoint.Error
	r.State.LoginRefused = w.family.LoginRefused(err)
	if errors.As(err, &e) && e.Kind == endpoint.NotConfigured { // whether the server is up is unknown
		r.Samples, r.State.NotConfigured, r.State.Reason = nil, true, e.Err.Error()
	}
	state.Cap(r.State)
	w.read(r)
}

// session watches a server that was found, until ctx ends or the server is another one than before.
func (w *watcher) session(ctx context.Context, t family.Server) error {
	w.server, w.up = string(t.About().Flavor)+" "+t.About().Version, t.Family().Up()
	w.vitals, w.names = t.Family().Headline(), t.Family().Names()
	for _, x := range t.Family().Sources() {
		if x.Totals {
			w.totals = x.Name
		}
	}
	o, own := w.o.Scrape, app.SourceNames(t.Family())
	others := func(name string) bool { return !slices.Contains(own, name) } // what was asked for is of all families
	o.Sources = slices.DeleteFunc(slices.Clone(o.Sources), others)
	o.Also = slices.DeleteFunc(slices.Clone(o.Also), others)
	s, err := t.Scraper(o)
	if err != nil {
		return err
	}
	defer s.Close()
	g, ctx := errgroup.WithContext(ctx)
	ctx, again := context.WithCancel(ctx)
	defer again()
	run := func(f func() error) { g.Go(func() error { return guard.Run(f) }) }
	run(func() error {
		defer again()
		return s.Run(ctx, w.o.Every, func(r reading.Reading) {
			w.round(r)
			if r.State != nil && r.State.LoginRefused && time.Since(w.renewed) > collector.RefusedEvery {
				w.renewed = time.Now()
				again() // the password may be read from where it was changed
			}
			if slices.ContainsFunc(r.Events, func(e event.Event) bool { return e.Kind == event.Restart }) {
				again() // what the server can do may have changed with it
			}
		})
	})
	if w.o.Classes > 0 {
		run(func() error { return w.classes(ctx, t) })
	}
	if w.rights != nil {
		run(func() error {
			w.rights(ctx, t)
			again() // global privileges reach new connections only
			return nil
		})
	}
	return g.Wait()
}

// round completes a reading and hands it on.
func (w *watcher) round(r reading.Reading) {
	r.Target = w.name
	up, slow, reason := 0.0, false, "no source was read"
	for _, x := range r.Sources {
		if x.Name == w.totals {
			if x.State == source.OK {
				up, reason = 1, ""
			} else {
				slow, reason = x.State == source.Slow, x.Reason
				if slow { // the source's reason is how long this question waited, not the server
					reason = "no answer in time"
				}
			}
		}
	}
	w.mu.Lock()
	spent := w.spent
	w.mu.Unlock()
	r.Samples = append(r.Samples,
		metric.Sample{Name: w.up, At: r.At.UnixMilli(), Value: up},
		metric.Sample{
			Name: "dyno_classes_server_seconds_total", Kind: metric.Counter,
			At: r.At.UnixMilli(), Value: spent,
		},
	)
	if r.State == nil {
		r.State = &state.State{}
	}
	st := r.State
	st.Target, st.At, st.Up, st.Reason, st.Server = w.name, r.At, up == 1, reason, w.server
	switch {
	case !slow:
		w.silent = time.Time{}
	case w.silent.IsZero():
		w.silent = r.At
	}
	st.Slow = slow && r.At.Sub(w.silent) < incident.Patience
	// more connections than one are refused while max_connections is reached
	st.LoginRefused = st.LoginRefused && !st.Up
	st.Vitals = w.trail.Next(w.vitals.Take(r.Samples), r.At)
	if n, ok := st.Get(state.Connected).Get(); ok && st.Connections.OK() {
		// The list shows Dyno's own that sleep like others of the account; the server's count is without them.
		others := int(n) - st.Connections.Or(0)
		st.Connections = known.Of(int(n))
		if idle, ok := st.Idle.Get(); ok {
			st.Idle = known.Of(max(0, idle+others))
		}
	}
	w.mu.Lock()
	if st.Up {
		st.Classes, st.ClassSeconds = w.top, w.topSec
		if v, ok := w.latency.Get(); ok { // of the users' statements alone
			st.Vitals = append(slices.DeleteFunc(st.Vitals, func(x state.Vital) bool {
				return x.Name == state.Latency
			}), state.Vital{Name: state.Latency, Value: v})
		}
	}
	for _, x := range append(slices.Clone(r.Sources), w.sources...) {
		if x.State == source.OK && x.Reads == 0 && slices.Contains([]source.Name{
			source.Processlist,
			source.Transactions, source.Locks,
		},
			x.Name) {
			x.State, x.Reason = source.Slow, "not read yet" // that nobody waits is not known then
		}
		if x.State != source.OK {
			st.Sources = append(st.Sources, x)
		}
	}
	w.mu.Unlock()
	state.Cap(st)
	for i := range r.Events {
		e := &r.Events[i]
		e.Text = state.Clip(e.Text, longestMark)
		if e.At.After(r.At) || r.At.Sub(e.At) > ledger.EventAge { // by the server's word for how long ago it was
			e.At = r.At
		}
		if e.Target = w.name; e.ID != "" { // it is of the server's, and two servers may give the same
			e.ID += "-" + w.name
		}
	}
	w.read(r)
}

// classes reads one window of query classes after the other. What cannot be read is told by the sources in the states.
func (w *watcher) classes(ctx context.Context, t family.Server) error {
	c, ok := t.(family.Classifier)
	if !ok {
		<-ctx.Done()
		return nil
	}
	d, err := c.Classes(ctx, false)
	if err != nil {
		return err
	}
	defer d.Close()
	g, ctx := errgroup.WithContext(ctx)
	run := func(f func() error) { g.Go(func() error { return guard.Run(f) }) }
	run(func() error { return d.Run(ctx) })
	more := make(chan ClassWindow)
	if w.plan != nil {
		run(func() error {
			for {
				select {
				case c := <-more:
					w.plan(ctx, t, c)
				case <-ctx.Done():
					return nil
				}
			}
		})
	}
	run(func() error {
		var from, began time.Time // the same moment, by the clock of what is stored and by the one that nobody sets
		for {
			now := clock.Now()
			if from.IsZero() {
				if d.Begin(ctx) == nil {
					from, began = now, time.Now()
				}
			}
			if !wait(ctx, now.Truncate(w.o.Classes).Add(w.o.Classes).Sub(now.Round(0))) {
				return nil
			}
			if from.IsZero() {
				continue
			}
			to, ended := clock.Now(), time.Now()
			list, sources, err := d.Turn(ctx)
			switch {
			case ctx.Err() != nil:
				return nil //nolint:nilerr // the end of watching, whatever it broke
			case err != nil:
				from = time.Time{}
			}
			c := ClassWindow{
				Target: w.name, From: from, To: to, Took: ended.Sub(began), Classes: list,
				Distributions: d.Distributions(),
			}
			c.cut(d.Lost())
			w.window(c, sources, err)
			if err == nil {
				from, began = to, ended
				select {
				case more <- c:
				default:
				}
			}
		}
	})
	return g.Wait()
}

// window keeps the classes with the most time for the states of the next seconds, and hands all of them on.
func (w *watcher) window(c ClassWindow, sources []source.Source, err error) {
	sec := c.Took.Seconds()
	var top []state.ActiveClass
	var latency known.Value[float64]
	count, sum := uint64(0), 0.0
	for _, x := range c.Classes {
		if !x.Sampled && x.Source() == source.Digests {
			count, sum = count+x.Count, sum+x.TimeSec
		}
	}
	if count > 0 {
		latency = known.Of(sum / float64(count))
	}
	if err == nil && sec > 0 {
		for _, x := range c.Classes[:min(len(c.Classes), topClasses)] {
			s := state.ActiveClass{
				ID: x.ID, Fingerprint: state.Clip(x.Fingerprint, state.MaxText), Schema: x.Schema, Sampled: x.Sampled,
				PerSecond: float64(x.Count) / sec, Load: x.TimeSec / sec, MeanSec: x.MeanSec(),
				Examined: x.PerCall(x.Examined),
			}
			if n, ok := x.Errors.Get(); ok {
				s.Errors = known.Of(float64(n) / sec)
			}
			top = append(top, s)
		}
	}
	w.mu.Lock()
	w.top, w.topSec, w.sources, w.latency = top, sec, sources, latency
	for _, x := range sources {
		w.spent += x.Took / 1000 * float64(x.Reads)
	}
	if err != nil {
		w.topSec = 0
	}
	w.mu.Unlock()
	if err == nil && w.class != nil && c.Took > 0 && observed(sources) {
		w.class(c)
	}
}

// wait waits for d or the end of ctx, and reports whether ctx goes on.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// newWatcher returns a watcher of what the user calls text.
func newWatcher(a *app.App, name string, login app.Login, o Watching, read func(reading.Reading),
	classes func(ClassWindow),
) *watcher {
	return &watcher{
		name: name, o: o, read: read, class: classes,
		named: func(ctx context.Context) family.Family {
			f, err := app.Inspection{App: a}.Family(ctx, name)
			if err != nil {
				f = app.Families()[0] // what is wrong with the name is told by open
			}
			return f
		},
		open: func(ctx context.Context) (family.Server, error) {
			t, err := a.Open(ctx, name, login)
			if err != nil {
				return nil, fmt.Errorf("reach %s: %w", name, err)
			}
			return t, nil
		},
	}
}

// observed reports whether any source told what ran in a window: without one, no class does not mean that nothing ran.
func observed(sources []source.Source) bool {
	return slices.ContainsFunc(sources, func(x source.Source) bool { return x.State == source.OK })
}
