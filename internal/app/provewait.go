package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/unit"
)

// watchedWindow is the length of a window of a target that is watched, and askEvery how often the history is asked for
// new ones.
const (
	watchedWindow = time.Minute
	askEvery      = 5 * time.Second
)

// DefaultWait is how long live traffic is waited for after a change at most, when nothing else was said.
const DefaultWait = 30 * time.Minute

// watchedLeast is the shortest wait in which a watched target can have the windows of one side: the first minute is
// not whole.
const watchedLeast = (stat.MinWindows + 1) * watchedWindow

// ErrNoProof is the error of a change whose effect cannot be proven on live traffic, whatever is waited for.
var ErrNoProof = errors.New("no proof on live traffic is possible")

// PrepareProof sees to it that the history has windows of the time before a change: where nothing watches the target, a
// minute of its traffic is recorded; where something has just begun to, it is waited for. ErrNoProof says why waiting
// up to most after the change could not prove it.
func (a Actions) PrepareProof(
	ctx context.Context, t family.Server, in Intent, most time.Duration, sink progress.Sink,
) error {
	c, err := ChangerOf(t)
	if err != nil {
		return err
	}
	target := t.Spec().Name
	watched, err := a.Watched(ctx, target)
	if err != nil {
		return err
	}
	if watched && most < watchedLeast {
		return fmt.Errorf("%w within %s: %s is watched in windows of a minute; at least %d complete ones are needed "+
			"after the change, which takes %s", ErrNoProof, unit.Duration(most), target, stat.MinWindows,
			unit.Duration(watchedLeast))
	}
	counted, fix, err := counts(ctx, t)
	if err != nil {
		return err
	}
	if !counted {
		return fmt.Errorf("%w: nothing counts the statements of %s, they are only sampled%s", ErrNoProof, target, fix)
	}
	if err := a.awaitBefore(ctx, t, target, watched, sink); err != nil {
		return err
	}
	now := time.Now()
	l, err := a.Live(ctx, t, journal.Entry{
		Target: target, Server: c.Server().Key(), Finding: in.Finding.ID, Before: in.Diagnosis,
		Action: *in.Finding.Action, Started: now, Ended: now,
	}, Proving{})
	if err != nil || len(l.Final) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s%s", ErrNoProof, strings.Join(l.Final, "; "), fix)
}

// awaitBefore returns when the history has windows of a target, or when there will be none.
func (a Actions) awaitBefore(
	ctx context.Context, t family.Server, target string, watched bool, sink progress.Sink,
) error {
	h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	for begun := time.Now(); ; watched = true {
		for watched {
			n, err := windows(ctx, h, target, time.Now().Add(-DefaultSide))
			if err != nil || n > stat.MinWindows || time.Since(begun) > watchedLeast+watchedWindow {
				return err
			}
			sink.Report(progress.Progress{
				Step: "waiting for windows before the change", Unit: "windows", Started: begun, At: time.Now(),
				Done: float64(n), Total: stat.MinWindows + 1,
			})
			if err := pause(ctx, askEvery); err != nil {
				return err
			}
			if watched, err = isWatched(ctx, h, target); err != nil {
				return err
			}
		}
		if err := a.Record(ctx, t, target, recordWindow, recordWindows, sink); !errors.Is(err, ErrWatched) {
			return err
		}
	}
}

// counts reports whether a source of a server counts the statements of classes, and what to switch on where one does
// not, in words that follow others.
func counts(ctx context.Context, t family.Server) (counted bool, fix string, err error) {
	x, err := family.Need[family.Classifier](t, "count classes of statements")
	if err != nil {
		return false, "", err
	}
	d, err := x.Classes(ctx, false)
	if err != nil {
		return false, "", err
	}
	defer d.Close()
	if err := d.Begin(ctx); err != nil {
		return false, "", err
	}
	_, sources, err := d.End(ctx)
	if err != nil {
		return false, "", err
	}
	for _, s := range sources {
		switch {
		case s.Name == source.Samples:
		case s.State == source.OK:
			counted = true
		case s.Fix != "":
			fix += fmt.Sprintf("; %s: %s. Fix: %s", s.Name, s.Reason, s.Fix)
		}
	}
	return counted, fix, nil
}

// windows counts the windows of a target in the history since a moment.
func windows(ctx context.Context, h *history.History, target string, since time.Time) (int, error) {
	ws, _, err := h.Courses(ctx, target, []history.ClassKey{}, since, time.Now().Add(time.Minute))
	return len(ws), err
}

// AwaitProof judges an action as traffic passes, until the interval decides, no later traffic can, or a time is over,
// and returns the last judgement. It is looked at after 8 windows and then each time there are about three quarters
// more; each look has the same part of the 5 % that all of them may be wrong by (Pocock, Group Sequential Methods in
// the Design and Analysis of Clinical Trials, 1977, by Bonferroni's inequality), so that looking early costs no false
// verdicts. The interval has that confidence. With an error the change stays as it is.
func (a Actions) AwaitProof(
	ctx context.Context, t family.Server, e journal.Entry, o Proving, most time.Duration,
) (l proof.Live, err error) {
	h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
	if err != nil {
		return l, err
	}
	defer h.Close()
	g := &gathering{h: h, past: map[[2]time.Time]*stretch{}}
	watched, err := isWatched(ctx, h, e.Target)
	if err != nil {
		return l, err
	}
	window := recordWindow
	if watched {
		window = watchedWindow
	}
	looks := stat.Schedule(stat.MinWindows, int(most/window), stat.DefaultConfidence).Looks
	o.After = min(max(o.After, time.Since(e.Ended)+most+2*window), MostOfSide)
	o.Confidence = 1 - (1-stat.DefaultConfidence)/float64(len(looks))
	// What stands against any proof is known before the first look, which is for that alone.
	if l, err = a.live(ctx, t, e, o, g); err != nil || len(l.Final) > 0 {
		return l, err
	}
	begun, at, step := time.Now(), 0, ""
	looked := begun
	// more judges when another look is due, and reports whether to go on. In between it only asks each minute whether
	// more can come of it: the change may have been undone.
	more := func(n int) bool {
		passed := time.Since(begun)
		over := passed >= most
		due := over || at < len(looks) && n >= looks[at]
		if at < len(looks) && (due || time.Since(looked) >= watchedWindow) {
			for at < len(looks) && n >= looks[at] {
				at++
			}
			looked = time.Now()
			if l, err = a.live(ctx, t, e, o, g); err != nil || len(l.Final) > 0 || due && (l.Result == stat.Better ||
				l.Result == stat.Worse || l.Result == stat.Same) {
				return false
			}
		}
		if over {
			return false
		}
		if step = fmt.Sprintf("waiting for traffic after the change: %d of %d windows", n, looks[0]); n >= looks[0] {
			step = fmt.Sprintf("waiting for more traffic: unstable after %d windows", n)
			if i := l.Ratio; i.N > 0 {
				step += fmt.Sprintf(", before ÷ after %s (%s to %s)", unit.Ratio(i.Center), unit.Ratio(i.Lo),
					unit.Ratio(i.Hi))
			}
		}
		o.Progress.Report(progress.Progress{
			Step: step, Unit: "s", Started: begun, At: time.Now(), Done: passed.Seconds(), Total: most.Seconds(),
		})
		return true
	}
	defer func() {
		o.Progress.Report(progress.Progress{Step: step, Started: begun, At: time.Now(), End: true})
	}()
	for n := 0; ; watched = true {
		for stored := time.Now(); watched; {
			if !more(n) {
				return l, err
			}
			if err := pause(ctx, askEvery); err != nil {
				return l, err
			}
			k, err := windows(ctx, h, e.Target, e.Ended)
			if err != nil {
				return l, err
			}
			if k > n {
				n, stored = k, time.Now()
			}
			watched = time.Since(stored) < watchedFor
		}
		// Nothing watches the target, or no longer: what comes is recorded here.
		if err2 := a.record(ctx, t, e.Target, recordWindow, nil, func(k int, _ time.Duration) bool {
			return more(n + k)
		}, most); !errors.Is(err2, ErrWatched) {
			return l, cmp.Or(err2, err)
		}
	}
}
