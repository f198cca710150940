package lab

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/trial"
)

// TestLabTellsWhereItIs follows a trial by itself and a round whose trials take turns.
func TestLabTellsWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Lab{live: map[string]*liveLab{}}
		live := &liveLab{Live: Live{Task: "t-1", ID: "x-1"}}
		l.live["t-1"] = live
		var told progress.Progress
		var notes []string
		w := &labWatch{
			lab: l, c: &Comparison{}, live: live, sink: func(p progress.Progress) { told = p }, note: func(s string) {
				notes = append(notes, s)
			},
			change: func(f func()) {
				l.mu.Lock()
				defer l.mu.Unlock()
				f()
			},
		}
		is := func(n, through int, variant string, control bool, left, fraction float64) {
			t.Helper()
			x, ok := l.Live("t-1")
			if y := l.liveOf("x-1"); !ok || y == nil || *y != x {
				t.Fatalf("%+v %v %+v", x, ok, y)
			}
			if got := x.Left.Or(-1); x.N != n || x.Through != through || x.Variant != variant ||
				x.Control != control || got != left {
				t.Errorf("live: %+v, want %d to %d, %s %t, %v s left", x, n, through, variant, control, left)
			}
			f, _ := told.Fraction()
			r, ok := told.Remaining()
			if f-fraction > 1e-9 || fraction-f > 1e-9 || ok && (r.Seconds()-left > 0.001 || left-r.Seconds() > 0.001) ||
				ok != (fraction > 0) {
				t.Errorf("the task: %v and %v %t left of %+v, want %v and %v s", f, r, ok, told, fraction, left)
			}
		}
		half := progress.Progress{Step: "measuring", Done: 1, Total: 2}

		w.begin(experiment.Begin{Seq: 1, N: 1, Most: 10, Round: 1, Variant: "a"})
		is(1, 0, "a", false, -1, 0) // how long trials take is not known yet
		w.end(trial.Trial{Seq: 1, Round: 1, Variant: "a"})
		w.begin(experiment.Begin{
			Seq: 2, N: 2, Most: 10, Round: 1, Variant: "a", Control: true,
			Remaining: 90 * time.Second,
		})
		is(2, 0, "a", true, 90, 0.1)
		time.Sleep(30 * time.Second)
		w.progress(half)
		is(2, 0, "a", true, 60, 0.15)
		if want := "trial 2 of at most 10, a (again, as the control): measuring"; told.Step != want {
			t.Errorf("got %q, want %q", told.Step, want)
		}
		time.Sleep(90 * time.Second) // longer than was thought
		w.progress(half)
		is(2, 0, "a", true, 0, 0.15)
		w.end(trial.Trial{Seq: 2, Round: 1, Variant: "a", Control: true})

		for i, v := range []string{"a", "b", "a"} {
			w.begin(experiment.Begin{
				Seq: 3 + i, N: 3 + i, Most: 10, Round: 2, Variant: v, Control: i == 2,
				Remaining: time.Minute,
			})
		}
		is(3, 5, "a, b, a (again, as the control)", false, 60, 0.2)
		time.Sleep(20 * time.Second)
		w.progress(half)
		is(3, 5, "a, b, a (again, as the control)", false, 40, 0.35)
		if want := "trials 3 to 5 of at most 10, interleaved, a, b, a (again, as the control): measuring"; told.Step !=
			want {
			t.Errorf("got %q, want %q", told.Step, want)
		}
		for i, v := range []string{"a", "b", "a"} {
			w.end(trial.Trial{Seq: 3 + i, Round: 2, Variant: v, Control: i == 2})
		}
		w.begin(experiment.Begin{Seq: 6, N: 6, Most: 10, Round: 3, Variant: "b", Remaining: time.Second})
		is(6, 0, "b", false, 1, 0.5)
		if all := strings.Join(notes, "\n"); len(notes) != 5 ||
			!strings.HasPrefix(notes[1], "Trial 2, round 1, a (again, as the control)") {
			t.Error(all)
		}
	})
}
