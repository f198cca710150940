package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/task"
	"github.com/dyno-perf/dyno/internal/unit"
)

// archive is what is stored of targets, read as a diagnosis reads a target itself.
type archive struct {
	app     *app.App
	series  *series.Store
	history *history.History
	ledger  *ledger.Ledger
	hole    time.Duration // without a reading, in a window that is judged as one; 0 is longestHole
	redact  bool          // whatever the target says
}

// redacts reports whether snapshots of a target are to hold no literal: what was stored before that was asked for has
// some. Of a target that is not in the inventory any more that is not known, and none is shown.
func (p archive) redacts(ctx context.Context, target string) bool {
	if p.redact || p.app.Redact {
		return true
	}
	spec, err := p.app.Locate(ctx, target, &app.Login{})
	return err != nil || spec.Redact
}

// longest returns the longest time without a reading in a window that is judged as one.
func (p archive) longest() time.Duration { return cmp.Or(p.hole, longestHole) }

// Bounds of a window that is over.
const (
	LongestPast = 10 * time.Minute // as that of a window of now
	longestHole = 5 * time.Second  // without a reading, in a window that is judged as one
	minuteLong  = 2 * time.Minute  // windows of classes are a minute; longer ones are sums of hours and days
)

// WindowError says what is wrong with a window that is to be judged, and what to do.
type WindowError struct{ Text string }

func (e *WindowError) Error() string { return e.Text }

func unfit(format string, args ...any) error { return &WindowError{fmt.Sprintf(format, args...)} }

// Past judges a window that is over, by what was stored of it, in a task whose result is the id of the diagnosis. With
// redact no literal of a statement is in it, as always of a target whose statements are redacted.
// Errors: *WindowError of a window that cannot be judged as one; other errors of it are the task's.
func (s *Diagnoses) Past(
	ctx context.Context, name, by string, from, to time.Time, redact bool,
) (task.Task, error) {
	if _, err := s.app.Locate(ctx, name, &app.Login{}); err != nil {
		return task.Task{}, err
	}
	if err := CheckPast(from, to, clock.Now()); err != nil {
		return task.Task{}, err
	}
	return s.tasks.Start(task.Task{
		Kind: "diagnose", Title: fmt.Sprintf("Diagnose %s, %s", name, spanOf(from, to)), Target: name, By: by,
	}, func(ctx context.Context, _ progress.Sink, _ func(string)) (string, error) {
		past := s.past
		past.redact = redact
		x, err := past.snapshot(ctx, name, from, to)
		if err != nil {
			return "", err
		}
		d := app.Diagnosis{By: by, Snapshot: x}
		d.Judge()
		d, err = s.app.KeepNew(ctx, d)
		return d.ID, err
	})
}

// PastSnapshot makes the snapshot of a window that is over of what is stored in Dyno's home, whether or not a process
// is writing there; redact as for Past. Errors: *WindowError.
func PastSnapshot(
	ctx context.Context, a *app.App, target string, from, to time.Time, redact bool,
) (x *snapshot.Snapshot, err error) {
	return archive{redact: redact}.borrowed(ctx, a, target, from, to)
}

// borrowed is PastSnapshot of an archive without stores.
func (p archive) borrowed(
	ctx context.Context, a *app.App, target string, from, to time.Time,
) (x *snapshot.Snapshot, err error) {
	if err := CheckPast(from, to, clock.Now()); err != nil {
		return nil, err
	}
	err = p.borrow(ctx, a, target, from, to, func(p archive) error {
		x, err = p.snapshot(ctx, target, from, to)
		return err
	})
	return x, err
}

// borrow opens what is stored in Dyno's home of a window for reading, while f runs.
func (p archive) borrow(
	ctx context.Context, a *app.App, target string, from, to time.Time, f func(archive) error,
) (err error) {
	p.app = a
	if p.ledger, err = a.Ledger(ctx); err != nil {
		return err
	}
	b, err := series.Borrow(ctx, a.SeriesDir(), from.Add(-minuteLong).UnixMilli(), to.Add(minuteLong).UnixMilli())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return neverWatched(target)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	p.series = b.Store
	if p.history, err = history.Open(ctx, a.HistoryPath(), history.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.history.Close()) }()
	return f(p)
}

func neverWatched(target string) error {
	return unfit("nothing is stored of %s: it was never watched. Fix: `dyno serve` watches and stores the servers "+
		"that `dyno target add` adds", target)
}

// CheckPast returns what is wrong with a window that is to be over.
func CheckPast(from, to, now time.Time) error {
	switch window := to.Sub(from); {
	case to.After(now):
		return unfit("the window ends at %s, which is not over yet. Fix: choose an earlier one", local(to))
	case window < family.MinWindow:
		return unfit("the window is %s long. Fix: choose at least %s", unit.Duration(window),
			unit.Duration(family.MinWindow))
	case window > LongestPast:
		return unfit("the window is %s long. Fix: choose at most %s", unit.Duration(window), unit.Duration(LongestPast))
	}
	return nil
}

func local(t time.Time) string { return t.Local().Format(time.DateTime) }

// spanOf names a window: "2026-11-21 03:12:00 to 03:13:00".
func spanOf(from, to time.Time) string {
	return local(from) + " to " + to.Local().Format(time.TimeOnly)
}

// window makes a snapshot of what was observed in a window: samples, classes, states, events. It is as wide as the
// minutes of classes that it reaches into, so that rates and classes are of the same time. Errors: *WindowError of a
// window that no one figure can stand for, because of a hole, a restart or a clock that was set, and of one of which
// nothing is stored.
func (p archive) window(ctx context.Context, target string, from, to time.Time) (*snapshot.Snapshot, error) {
	x := &snapshot.Snapshot{
		Format: snapshot.Format, From: from.UTC(), To: to.UTC(), Target: snapshot.Target{Name: target},
	}
	classes, err := p.addClasses(ctx, x)
	if err != nil {
		return nil, err
	}
	return x, p.fill(ctx, x, classes)
}

// fill adds to a window with its classes what else was observed in it.
func (p archive) fill(ctx context.Context, x *snapshot.Snapshot, classes source.Source) error {
	all, err := p.ledger.Events.List(ctx, x.Target.Name, x.From, x.To.Add(event.ReplacedLate))
	if err != nil {
		return err
	}
	var later []event.Event
	for _, e := range all {
		if e.At.After(x.To) {
			later = append(later, e)
		} else {
			x.Events = append(x.Events, e)
		}
	}
	if err := p.addMoments(ctx, x); err != nil {
		return err
	}
	if err := p.whole(x, later); err != nil {
		return err
	}
	if x.Target.Flavor == "" { // the states of then have expired
		known, _, err := p.facts(ctx, x)
		if err != nil {
			return err
		}
		if known != nil {
			x.Target.Flavor, x.Target.Version = known.Target.Flavor, known.Target.Version
		}
	}
	if f, ok := app.FamilyOf(x.Target.Flavor); ok {
		if f, ok := f.(family.Completer); ok {
			for i := range x.Classes {
				f.Complete(&x.Classes[i])
			}
		}
	}
	if err := p.addSeries(ctx, x); err != nil {
		return err
	}
	if err := p.statesGone(ctx, x); err != nil {
		return err
	}
	x.Sources = append(x.Sources, classSources(x, classes)...)
	return p.addExamples(ctx, x)
}

// snapshot makes one value of all that is stored of a window, see window, and of what is stored of the server from
// about then.
func (p archive) snapshot(ctx context.Context, target string, from, to time.Time) (*snapshot.Snapshot, error) {
	x, err := p.window(ctx, target, from, to)
	if err != nil {
		return nil, err
	}
	x.Past = &snapshot.Past{From: from.UTC(), To: to.UTC(), Judged: clock.Now().UTC()}
	known, why, err := p.facts(ctx, x)
	if err != nil {
		return nil, err
	}
	if err := p.addFacts(ctx, x, known, why); err != nil {
		return nil, err
	}
	if err := p.addPlans(ctx, x); err != nil {
		return nil, err
	}
	if p.redacts(ctx, target) {
		f, _ := app.FamilyOf(x.Target.Flavor)
		r, ok := f.(family.Redacter)
		if !ok {
			return nil, unfit("neither a state nor a diagnosis of that time is stored: the kind of server that %s "+
				"was is unknown, and so literals of its statements cannot be removed", target)
		}
		r.Redact(x)
	}
	snapshot.Bound(x, 0)
	return x, nil
}

// addClasses adds the classes of the minutes that the window reaches into, and makes it as wide as these. The source
// says what there is.
func (p archive) addClasses(ctx context.Context, x *snapshot.Snapshot) (source.Source, error) {
	src := source.Source{Name: source.Digests, State: source.Missing}
	all, _, err := p.history.Courses(ctx, x.Target.Name, nil, x.From.Add(-minuteLong), x.To)
	if err != nil {
		return src, err
	}
	const least = time.Second // of the window in a minute: windows begin a moment after the full minute
	var ws []history.Window
	for _, w := range all {
		if w.To.Sub(x.From) >= least && x.To.Sub(w.From) >= least {
			ws = append(ws, w)
		}
	}
	if len(ws) == 0 {
		src.Reason = "no query classes are stored of this time; those of a minute are stored when it is over"
		return src, nil
	}
	for _, w := range ws {
		if w.To.Sub(w.From) > minuteLong {
			src.Reason = "query classes of this time are stored by the hour only"
			return src, nil
		}
	}
	first, last := ws[0], ws[len(ws)-1]
	classes, cover, err := p.history.Classes(ctx, x.Target.Name, first.From, last.From.Add(time.Millisecond), 0)
	if err != nil {
		return src, err
	}
	if missed := last.To.Sub(first.From).Seconds() - cover.Seconds; missed > p.longest().Seconds() {
		src.Reason = fmt.Sprintf("query classes were not read for %.0f s of %s", missed, spanOf(first.From, last.To))
		return src, nil
	}
	if late := x.To.Sub(last.To); late > p.longest() { // the minute under way, or a watcher that ended
		src.Reason = "query classes are stored up to " + local(last.To) + " only"
		return src, nil
	}
	if early := first.From.Sub(x.From); early > p.longest() {
		src.Reason = "query classes are stored from " + local(first.From) + " on only"
		return src, nil
	}
	x.Classes, x.From, x.To = classes, first.From.UTC(), last.To.UTC()
	if left := cover.Classes - len(classes); left > 0 {
		x.Rest = snapshot.Rest{Classes: left, TimeSec: cover.TimeSec - x.TotalTime()}
	}
	src.State, src.Reads = source.OK, len(ws)
	return src, nil
}

// addExamples adds examples, with their literals, of the classes with the most time: those nearest to the window.
func (p archive) addExamples(ctx context.Context, x *snapshot.Snapshot) error {
	for i := range x.Classes[:min(len(x.Classes), pastPlans)] { // the most time first
		c := &x.Classes[i]
		if c.Example != "" { // of the window itself
			continue
		}
		all, err := p.history.Samples(ctx, x.Target.Name, c.ID)
		if err != nil {
			return err
		}
		nearest := time.Duration(math.MaxInt64)
		for _, s := range all {
			if d := s.At.Sub(x.To).Abs(); s.Schema == c.Schema && d < nearest {
				c.Example, nearest = s.SQL, d
			}
		}
	}
	return nil
}

// whole returns what stands against taking the window for one: a server that restarted or was replaced in it, a clock
// that was set, a time of which nothing was read. later are events soon after it.
func (p archive) whole(x *snapshot.Snapshot, later []event.Event) error {
	for _, e := range later {
		if e.Replaces() {
			return unfit("%s: seen at %s, and perhaps so in the window. Fix: choose one that ends %s before it, or "+
				"begins after it", e.Text, local(e.At), unit.Duration(event.ReplacedLate))
		}
	}
	for _, e := range x.Events {
		inside := e.At.After(x.From) && e.At.Before(x.To)
		switch {
		case e.Target == "":
		case e.Kind == event.Restart && inside:
			return unfit("%s at %s, in the window. Fix: choose one before or after it",
				cmp.Or(e.Text, "the server restarted"), local(e.At))
		case e.Kind == event.Gap && (e.Cause == event.ClockAhead || e.Cause == event.ClockBack):
			return unfit("the clock was set at %s, in the window (%s). Fix: choose one before or after it",
				local(e.At), e.Text)
		case e.Kind == event.Gap && e.Until.Sub(e.At) > p.longest() && e.Cause != event.TooMany:
			return unfit("nothing was stored from %s (%s). Fix: choose a window before or after it",
				spanOf(e.At, e.Until), e.Text)
		}
	}
	return nil
}

// addSeries adds the samples of the window and the sources that gave them.
func (p archive) addSeries(ctx context.Context, x *snapshot.Snapshot) (err error) {
	from, to := x.From.UnixMilli(), x.To.UnixMilli()
	lead, err := p.lead(ctx, x)
	if err != nil {
		return err
	}
	r, err := p.series.Reader(from-lead, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	first, ok := r.Oldest()
	if slack := first - p.longest().Milliseconds(); ok && from < slack && to >= first {
		return unfit("samples of each second are stored from %s on. Fix: choose a window after it",
			local(time.UnixMilli(first)))
	} else if ok && to < slack {
		return unfit("%s is before %s, from when on samples of each second are stored",
			spanOf(x.From, x.To), local(time.UnixMilli(first)))
	}
	var all []metric.Series
	of := []series.Match{{Label: "target", Op: "=", Value: x.Target.Name}}
	if err := r.Seconds(ctx, from-lead, to, of, func(m metric.Series) {
		points := inWindow(m, from)
		if len(points) == 0 {
			return
		}
		var kv []string
		for _, l := range m.Labels {
			if l.Name != "target" {
				kv = append(kv, l.Name, l.Value)
			}
		}
		all = append(all, metric.Series{Name: m.Name, Labels: metric.L(kv...), Kind: m.Kind, Points: points})
	}); err != nil {
		return err
	}
	kin, known := app.FamilyOf(x.Target.Flavor)
	if !known && len(all) == 0 {
		return p.nothing(ctx, x)
	}
	kinds := app.Families()
	if known {
		kinds = []family.Family{kin}
	}
	if err := p.watched(all, kinds, x); err != nil {
		return err
	}
	x.Sources = append(x.Sources, sourcesOf(all, x.Moments, from)...)
	x.Variables = settingsOf(all, app.FiguresOf(x.Target.Flavor).Names().Settings)
	var fell []string
	all = slices.DeleteFunc(all, func(s metric.Series) bool {
		at, ok := falls(s)
		if ok {
			fell = append(fell, s.Name+" at "+local(time.UnixMilli(at)))
		}
		return ok
	})
	if len(fell) > 0 {
		slices.Sort(fell)
		more := ""
		if n := len(fell) - 3; n > 0 {
			fell, more = fell[:3], fmt.Sprintf(" and %d more", n)
		}
		x.Sources = append(x.Sources, source.Source{
			Name: source.Series, State: source.Failed,
			Reason: "not observed: counters that were reset or wrapped in the window: " + strings.Join(fell, ", ") +
				more,
		})
	}
	if t, ok := kin.(family.Tidier); ok {
		all = t.Tidy(all)
	} else {
		all = snapshot.Lean(all)
	}
	slices.SortStableFunc(all, func(a, b metric.Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Labels.Compare(b.Labels))
	})
	x.Series = all
	return nil
}

// longestLead is a little more than the time between two readings of the source that is read most seldom of those that
// judgement draws on.
const longestLead = 65 * time.Second

// lead returns how long before a window a sample may be that a rate of the window begins with, milliseconds: nothing is
// known to have happened in between that sets counters back.
func (p archive) lead(ctx context.Context, x *snapshot.Snapshot) (int64, error) {
	all, err := p.ledger.Events.List(ctx, x.Target.Name, x.From.Add(-longestLead), x.From)
	lead := longestLead
	for _, e := range all {
		if e.Target == "" || e.Kind != event.Restart && e.Kind != event.Gap {
			continue
		}
		end := e.At
		if e.Until.After(end) {
			end = e.Until
		}
		lead = min(lead, max(0, x.From.Sub(end)))
	}
	return lead.Milliseconds(), err
}

// inWindow returns the points of a series from a moment on. Of a counter that was read only once since, and of what
// says whether a source was read, the one before it is among them: without it there were no rate.
func inWindow(m metric.Series, from int64) []metric.Point {
	points := slices.DeleteFunc(slices.Clone(m.Points), func(q metric.Point) bool {
		return math.IsNaN(q.Value) || math.IsInf(q.Value, 0)
	})
	i := slices.IndexFunc(points, func(q metric.Point) bool { return q.At >= from })
	switch {
	case i < 0:
		return nil
	case i > 0 && i == len(points)-1 && (m.Kind == metric.Counter || m.Name == scrapeSuccess):
		i--
	}
	return points[i:]
}

// nothing says that nothing is stored of a window, or of its target.
func (p archive) nothing(ctx context.Context, x *snapshot.Snapshot) error {
	names, err := p.history.Targets(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(names, x.Target.Name) {
		return neverWatched(x.Target.Name)
	}
	hint := ""
	var e *history.NotFoundError
	switch _, err := p.history.StateAt(ctx, x.Target.Name, x.From); {
	case errors.As(err, &e) && !e.Before.IsZero() && !e.After.IsZero():
		hint = fmt.Sprintf(": the last scrape before it is of %s, the next one of %s", local(e.Before), local(e.After))
	case errors.As(err, &e) && !e.Before.IsZero():
		hint = ": the last scrape is of " + local(e.Before)
	case errors.As(err, &e) && !e.After.IsZero():
		hint = ": the first scrape is of " + local(e.After)
	}
	return unfit("nothing is stored of %s from %s%s", x.Target.Name, spanOf(x.From, x.To), hint)
}

// watched returns the error of a window in which the server, which is of one of the families, was not read, or did not
// answer, for too long. The longest part that was watched is named.
func (p archive) watched(all []metric.Series, of []family.Family, x *snapshot.Snapshot) error {
	i := slices.IndexFunc(all, func(s metric.Series) bool {
		return slices.ContainsFunc(of, func(f family.Family) bool { return f.Up() == s.Name })
	})
	var last, begin, from, to time.Time // of the reading before, the part under way, the longest part
	holes := 0
	note := func(at time.Time) {
		if at.Sub(last) > p.longest() && at.Sub(last) > 0 {
			holes++
			begin = at
		}
		if last = at; at.Sub(begin) > to.Sub(from) {
			from, to = begin, at
		}
	}
	last, begin = x.From, x.From
	from, to = x.From, x.From
	answered := 0
	if i >= 0 {
		for _, q := range all[i].Points {
			if q.Value > 0 {
				answered++
				note(time.UnixMilli(q.At))
			}
		}
	}
	if answered == 0 {
		return unfit("%s did not answer from %s", x.Target.Name, spanOf(x.From, x.To))
	}
	if x.To.Sub(last) > p.longest() {
		holes++
	}
	if holes == 0 {
		return nil
	}
	hint := "choose another window"
	if to.Sub(from) >= family.MinWindow {
		hint = fmt.Sprintf("choose %s, which was watched without a gap", spanOf(from, to))
	}
	return unfit("nothing was read of %s for a part of %s. Fix: %s", x.Target.Name, spanOf(x.From, x.To), hint)
}

// falls returns when a counter fell.
func falls(s metric.Series) (at int64, ok bool) {
	if s.Kind != metric.Counter {
		return 0, false
	}
	for i := 1; i < len(s.Points); i++ {
		if s.Points[i].Value < s.Points[i-1].Value {
			return s.Points[i].At, true
		}
	}
	return 0, false
}

// settingsOf returns the settings that have a number, as they were at the end of the window.
func settingsOf(all []metric.Series, prefix string) map[string]string {
	out := map[string]string{}
	for _, s := range all {
		if n, ok := strings.CutPrefix(s.Name, prefix); ok && prefix != "" && len(s.Labels) == 0 {
			out[n] = strconv.FormatFloat(s.Points[len(s.Points)-1].Value, 'f', -1, 64)
		}
	}
	return out
}

// addMoments adds what the server was doing at some moments of the window, and which server it was.
func (p archive) addMoments(ctx context.Context, x *snapshot.Snapshot) error {
	times, err := p.history.StateTimes(ctx, x.Target.Name, x.From, x.To, 2*snapshot.MaxMoments)
	if err != nil {
		return err
	}
	var g snapshot.Gather
	server := ""
	for _, at := range times {
		s, err := p.history.StateAt(ctx, x.Target.Name, at)
		var none *history.NotFoundError
		if errors.As(err, &none) { // it expired meanwhile
			continue
		}
		if err != nil {
			return err
		}
		if g.Add(s); s.Server == "" {
			continue
		}
		if server != "" && s.Server != server {
			return unfit("%s stood for two servers from %s: %s, and from %s on %s. Fix: choose a window before or "+
				"after that", x.Target.Name, spanOf(x.From, x.To), server, local(s.At), s.Server)
		}
		server = s.Server
		if up, ok := s.Get(state.Uptime).Get(); ok {
			x.Target.UptimeSec = int64(up)
		}
	}
	if flavor, version, ok := strings.Cut(server, " "); ok {
		x.Target.Flavor, x.Target.Version = dbms.Flavor(flavor), version
	}
	x.Moments = g.Pick()
	return nil
}
