package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/guard"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Proving says what an action is proven with.
type Proving struct {
	family.Look // one window of live traffic, where the history has none of the time before the change
	// Before and After are how much of the history counts on either side of the change at most; 0 is DefaultSide, and
	// more than MostOfSide is not used: the history keeps no minutes for longer questions.
	Before, After time.Duration
	Confidence    float64 // of the interval; 0 is 0.95
	// Wait is how long traffic after the change is waited for when too little of it is stored; 0 is not at all.
	Wait time.Duration
}

// DefaultSide is how much time on either side of a change is compared when nothing else was said, MostOfSide the most.
const (
	DefaultSide = 2 * time.Hour
	MostOfSide  = 12 * time.Hour
)

// Proven is a proof, of one of two kinds: Live where the history has windows of both sides, else Proof of two single
// windows, which has no interval.
type Proven struct {
	*proof.Proof
	Live *proof.Live `json:"live,omitempty"`
}

// ProveAndKeep proves an action and keeps the report under an id of its own. Where the history has windows of the time
// before the change, these are compared with those after it; when there are too few of those, they are waited for, or a
// minute of live traffic is recorded where nothing watches the target. Else one window of live traffic is compared with
// the one that the finding was made in, and a warning says why there is no interval.
func (a Actions) ProveAndKeep(
	ctx context.Context, t family.Server, e journal.Entry, o Proving,
) (Proven, *report.Document, error) {
	if err := provable(ctx, t, e); err != nil {
		return Proven{}, nil, err
	}
	live, err := a.Live(ctx, t, e, o)
	if err != nil {
		return Proven{}, nil, err
	}
	if live.Before.Windows < stat.MinWindows {
		return a.proveOnce(ctx, t, e, o, fmt.Sprintf("no interval can be given: the time before the change has %d "+
			"windows of its own; at least %d are needed. For the next change run `dyno serve`, or use `dyno apply "+
			"--prove`, which records them before it changes anything", live.Before.Windows, stat.MinWindows))
	}
	if live.After.Windows < stat.MinWindows {
		var why string
		if live, why, err = a.proveMore(ctx, t, e, o, live); err != nil {
			return Proven{}, nil, err
		}
		if why != "" {
			return a.proveOnce(ctx, t, e, o, why)
		}
	}
	doc, err := a.KeepLive(ctx, t, e, live)
	return Proven{Live: &live}, doc, err
}

// proveMore judges again when there are more windows after the change, or says why there will not be enough.
func (a Actions) proveMore(
	ctx context.Context, t family.Server, e journal.Entry, o Proving, l proof.Live,
) (proof.Live, string, error) {
	if len(l.Final) > 0 {
		return l, "no interval can be given: " + strings.Join(l.Final, "; "), nil
	}
	watched, err := a.Watched(ctx, e.Target)
	if err != nil {
		return l, "", err
	}
	few := fmt.Sprintf("%d windows after the change are stored; at least %d are needed", l.After.Windows,
		stat.MinWindows)
	if watched && o.Wait == 0 {
		return l, "no interval can be given yet: " + few + ", of a minute each", nil
	}
	need := recordWindow * recordWindows
	if watched {
		need = watchedLeast
	}
	after := min(cmp.Or(o.After, DefaultSide), MostOfSide)
	if time.Until(e.Ended.Add(after)) < need {
		return l, fmt.Sprintf("no interval can be given: %s, and only the %s after it count (--after, up to 12h)", few,
			unit.Duration(after)), nil
	}
	if o.Wait > 0 {
		l, err = a.AwaitProof(ctx, t, e, o, o.Wait)
		return l, "", err
	}
	if err := a.Record(ctx, t, e.Target, recordWindow, recordWindows, o.Progress); err != nil {
		return l, "", err
	}
	l, err = a.Live(ctx, t, e, o)
	return l, "", err
}

// KeepLive keeps the report of a proof on live traffic.
func (a Actions) KeepLive(
	ctx context.Context, t family.Server, e journal.Entry, p proof.Live,
) (*report.Document, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	id, err := l.NewID(ctx, ledger.ExperimentID)
	if err != nil {
		return nil, err
	}
	doc := report.LiveDocument(id, e, p, report.Place{
		Target: e.Target, Flavor: t.About().Flavor, Version: t.About().Version, Dyno: a.Version,
	}, time.Now().UTC())
	b, err := report.Encode(&doc)
	if err != nil {
		return nil, err
	}
	return &doc, l.Documents.Put(ctx, string(doc.Kind), id, e.Target, e.ID, b)
}

// proveOnce compares two single windows, and says why there is no interval.
func (a Actions) proveOnce(
	ctx context.Context, t family.Server, e journal.Entry, o Proving, why string,
) (Proven, *report.Document, error) {
	p, after, err := a.Prove(ctx, t, e, o.Look)
	if err != nil {
		return Proven{}, nil, err
	}
	p.Warnings = append(p.Warnings, why)
	l, err := a.Ledger(ctx)
	if err != nil {
		return Proven{}, nil, err
	}
	d, err := l.Diagnoses.Get(ctx, e.Before)
	if err != nil {
		return Proven{}, nil, err
	}
	before, err := snapshotOf(d)
	if err != nil {
		return Proven{}, nil, err
	}
	id, err := l.NewID(ctx, ledger.ExperimentID)
	if err != nil {
		return Proven{}, nil, err
	}
	names := FiguresOf(after.Target.Flavor).Names()
	doc := report.ProofDocument(id, e, p, before, after, names, a.Version)
	b, err := report.Encode(&doc)
	if err != nil {
		return Proven{}, nil, err
	}
	return Proven{Proof: &p}, &doc, l.Documents.Put(ctx, string(doc.Kind), id, e.Target, e.ID, b)
}

// Live judges an action by what the history has of the time around it. It asks the server nothing; with no history the
// proof is invalid, and says so.
func (a Actions) Live(ctx context.Context, t family.Server, e journal.Entry, o Proving) (proof.Live, error) {
	h, err := a.history(ctx)
	if err != nil {
		return proof.Live{}, err
	}
	if h != nil {
		defer h.Close()
	}
	return a.live(ctx, t, e, o, &gathering{h: h})
}

// live is Live with what was gathered before.
func (a Actions) live(
	ctx context.Context, t family.Server, e journal.Entry, o Proving, g *gathering,
) (proof.Live, error) {
	book, err := a.Ledger(ctx)
	if err != nil {
		return proof.Live{}, err
	}
	f := reasonOf(ctx, book, e)
	c := proof.Case{
		Action: e.Action, About: f.Subject, Gain: f.Gain, ID: e.ID, Started: e.Started, Ended: e.Ended,
		Others: history.Others,
		Before: min(cmp.Or(o.Before, DefaultSide), MostOfSide), After: min(cmp.Or(o.After, DefaultSide), MostOfSide),
		Rules: stat.Rules{Confidence: o.Confidence},
	}
	parse := judged(t.About().Flavor).Dialect.Parse
	if g.h == nil {
		return proof.Judge(c, parse), nil
	}
	begin, end, now := c.Started.Add(-c.Before), c.Ended.Add(c.After), time.Now()
	most := end // of the same hours: those that a wait will ask for
	if end.After(now) {
		end = now.Add(time.Second)
	}
	if g.past == nil {
		most = end
	}
	var stretches [][2]time.Time
	for d := 7; d >= 1; d-- { // the same hours of earlier days
		back := time.Duration(d) * -24 * time.Hour
		from, until := c.Ended.Add(back), most.Add(back)
		if until.After(begin) {
			until = begin
		}
		if from.Before(until) {
			stretches = append(stretches, [2]time.Time{from, until})
		}
	}
	stretches = append(stretches, [2]time.Time{begin, c.Started}, [2]time.Time{c.Ended, end})
	g.target, g.about = e.Target, f.Subject.Classes
	if c.Traffic, c.Beyond, err = g.gather(ctx, stretches); err != nil {
		return proof.Live{}, err
	}
	if c.Events, err = changesOf(ctx, book, g.h, e, t.About().Server, c.Traffic.Spans, c.Started.Add(-8*24*time.Hour),
		end); err != nil {
		return proof.Live{}, err
	}
	l := proof.Judge(c, parse)
	if slices.ContainsFunc(c.Traffic.Courses, func(x proof.Course) bool { return x.Class.Origin == class.SlowLog }) {
		l.Notes = append(l.Notes, "classes are read from the slow log: what is faster than long_query_time is not "+
			"counted, so a gain may be larger than shown")
	}
	return l, nil
}

// reasonOf returns the finding that an action was suggested by; the zero value when it is not kept.
func reasonOf(ctx context.Context, l *ledger.Ledger, e journal.Entry) (f finding.Finding) {
	d, err := l.Diagnoses.Get(ctx, e.Before)
	if err != nil {
		return f
	}
	for _, x := range slices.Concat(d.Findings, d.Facts) {
		if x.ID == e.Finding {
			return x
		}
	}
	return f
}

// history opens the history, nil when there is none.
func (a Actions) history(ctx context.Context) (*history.History, error) {
	if _, err := os.Stat(a.HistoryPath()); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return history.Open(ctx, a.HistoryPath(), history.Options{})
}

// Watched reports whether something writes the history of a target now: `dyno serve`, in this process or another.
func (a Actions) Watched(ctx context.Context, target string) (bool, error) {
	h, err := a.history(ctx)
	if err != nil || h == nil {
		return false, err
	}
	defer h.Close()
	return isWatched(ctx, h, target)
}

func isWatched(ctx context.Context, h *history.History, target string) (bool, error) {
	now := time.Now()
	ws, _, err := h.Courses(ctx, target, nil, now.Add(-watchedFor), now.Add(time.Minute))
	if err != nil || slices.ContainsFunc(ws, func(w history.Window) bool {
		return w.To.Sub(w.From) > 2*recordWindow && w.To.Sub(w.From) <= longest
	}) {
		return err == nil, err
	}
	// What has begun within that time has states, and may have no window yet.
	at, err := h.StateTimes(ctx, target, now.Add(-watchedFor), now, 2)
	return len(at) > 0 && at[0].After(now.Add(stateEvery-watchedFor)) && at[len(at)-1].After(now.Add(-stateEvery)), err
}

// watchedFor is how old the last window of a target that is watched is at most: it ends with the minute, and a read
// that failed leaves one out.
const watchedFor = 4 * time.Minute

// stateEvery is how long no state comes at most of a target that is watched.
const stateEvery = 30 * time.Second

// Of one side of a proof so many windows of that length are recorded when nothing else watches the target: a minute.
const (
	recordWindow  = 5 * time.Second
	recordWindows = 12
)

// Record counts the classes of a target and puts them into the history, in n windows of one length, at least a second.
// It is for targets that nothing watches; where something begins to meanwhile, it ends with ErrWatched.
func (a Actions) Record(
	ctx context.Context, t family.Server, target string, window time.Duration, n int, sink progress.Sink,
) error {
	return a.record(ctx, t, target, window, sink, func(k int, _ time.Duration) bool { return k < n },
		time.Duration(n)*window)
}

// ErrWatched is the error of a recording during which something else began to write the history of the target. It ends,
// as windows that reach into the minutes of the other would keep these out.
var ErrWatched = errors.New("something else has begun to watch the server: its windows are to be waited for")

// record puts one window after the other into the history until more says no. It is asked after each.
func (a Actions) record(
	ctx context.Context, t family.Server, target string, window time.Duration, sink progress.Sink,
	more func(windows int, passed time.Duration) bool, total time.Duration,
) (err error) {
	x, err := family.Need[family.Classifier](t, "count classes of statements")
	if err != nil {
		return err
	}
	h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	d, err := x.Classes(ctx, false)
	if err != nil {
		return err
	}
	defer d.Close()
	runs, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- guard.Run(func() error { return d.Run(runs) }) }()
	defer func() {
		stop()
		if e := <-ended; e != nil && ctx.Err() == nil && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}()
	begun := time.Now()
	from := begun
	if err := d.Begin(ctx); err != nil {
		return err
	}
	for n := 0; more(n, time.Since(begun)); {
		sink.Report(progress.Progress{
			Step: "recording live traffic", Unit: "s", Started: begun, At: time.Now(),
			Done: time.Since(begun).Seconds(), Total: total.Seconds(),
		})
		if err := pause(ctx, window-time.Since(from)); err != nil {
			return err
		}
		list, sources, err := d.Turn(ctx)
		to := time.Now()
		if err != nil {
			return fmt.Errorf("count the classes of %s: %w", target, err)
		}
		if d.Lost() == 0 && slices.ContainsFunc(sources, func(x source.Source) bool { return x.State == source.OK }) {
			if err := h.PutClasses(ctx, target, from, to, list); err != nil && !errors.Is(err, history.ErrOverlap) {
				return err
			}
			n++
		}
		from = to
		if other, err := isWatched(ctx, h, target); other || err != nil {
			return cmp.Or(err, ErrWatched)
		}
	}
	sink.Report(progress.Progress{Step: "recording live traffic", Started: begun, At: time.Now(), End: true})
	return nil
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	w := time.NewTimer(max(d, 0))
	defer w.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.C:
		return nil
	}
}
