package app

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/proof"
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

// PrepareProof sees to it that the history has windows of a target before a change: where nothing watches it, a minute
// of its traffic is recorded; where something has just begun to, it is waited for.
func (a Actions) PrepareProof(ctx context.Context, t family.Server, target string, sink progress.Sink) error {
	watched, err := a.Watched(ctx, target)
	if err != nil {
		return err
	}
	if !watched {
		return a.Record(ctx, t, target, recordWindow, recordWindows, sink)
	}
	begun := time.Now()
	for {
		n, err := a.windows(ctx, target, time.Now().Add(-DefaultSide))
		if err != nil || n > stat.MinWindows || time.Since(begun) > (stat.MinWindows+2)*watchedWindow {
			return err
		}
		sink.Report(progress.Progress{
			Step: "waiting for windows before the change", Unit: "windows", Started: begun, At: time.Now(),
			Done: float64(n), Total: stat.MinWindows + 1,
		})
		if err := pause(ctx, askEvery); err != nil {
			return err
		}
	}
}

// windows counts the windows of a target in the history since a moment.
func (a Actions) windows(ctx context.Context, target string, since time.Time) (int, error) {
	h, err := a.history(ctx)
	if err != nil || h == nil {
		return 0, err
	}
	defer h.Close()
	ws, _, err := h.Courses(ctx, target, []history.ClassKey{}, since, time.Now().Add(time.Minute))
	return len(ws), err
}

// AwaitProof judges an action as traffic passes, until the interval decides or a time is over, and returns the last
// judgement. It is looked at after 8 windows and then each time there are about three quarters more; each look has the
// same part of the 5 % that all of them may be wrong by (Pocock, Group Sequential Methods in the Design and Analysis of
// Clinical Trials, 1977, by Bonferroni's inequality), so that looking early costs no false verdicts. The interval has
// that confidence. With an error the change stays as it is.
func (a Actions) AwaitProof(
	ctx context.Context, t family.Server, e journal.Entry, o Proving, most time.Duration,
) (l proof.Live, err error) {
	watched, err := a.Watched(ctx, e.Target)
	if err != nil {
		return l, err
	}
	window := recordWindow
	if watched {
		window = watchedWindow
	}
	looks := stat.Schedule(stat.MinWindows, int(most/window), stat.DefaultConfidence).Looks
	o.After = min(max(o.After, most+2*window), MostOfSide)
	o.Confidence = 1 - (1-stat.DefaultConfidence)/float64(len(looks))
	begun, at, step := time.Now(), 0, "waiting for traffic after the change"
	// more judges when another look is due, and reports whether to go on.
	more := func(n int) bool {
		passed := time.Since(begun)
		if over := passed >= most; over || at < len(looks) && n >= looks[at] {
			for at < len(looks) && n >= looks[at] {
				at++
			}
			if l, err = a.Live(ctx, t, e, o); err != nil || over {
				return false
			}
			if l.Result == stat.Better || l.Result == stat.Worse || l.Result == stat.Same {
				return false
			}
			if i := l.Ratio; i.N > 0 {
				step = fmt.Sprintf("before ÷ after %s (%s to %s)", unit.Ratio(i.Center), unit.Ratio(i.Lo),
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
	if !watched {
		if err2 := a.record(ctx, t, e.Target, window, nil, func(n int, _ time.Duration) bool { return more(n) },
			most); err2 != nil {
			return l, err2
		}
		return l, err
	}
	for n := 0; more(n); {
		if err := pause(ctx, askEvery); err != nil {
			return l, err
		}
		if n, err = a.windows(ctx, e.Target, e.Ended); err != nil {
			return l, err
		}
	}
	return l, err
}
