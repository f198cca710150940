package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// lab is a bench of servers that exist as numbers only. Its time passes as fast as it is told.
type lab struct {
	t0      time.Time
	elapsed time.Duration
	effect  map[string]float64 // by variant, 1 when nothing is said
	noise   float64
	rnd     *rand.Rand
	first   map[string]time.Duration // what the first trial of a variant takes more
	setup   time.Duration
	hook    func(n int, v plan.Variant, control bool, t *trial.Trial) error // after the nth trial
	jump    func(n int) (wall, asleep time.Duration)
	wall    time.Duration // that the wall clock has jumped
	asleep  time.Duration
	n       int
}

func newLab() *lab {
	return &lab{
		t0: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), effect: map[string]float64{}, noise: 0.001,
		rnd:   rand.New(rand.NewPCG(1, 2)),
		first: map[string]time.Duration{}, setup: 2 * time.Second,
	}
}

func (l *lab) now() instant {
	return instant{wall: l.t0.Add(l.elapsed + l.wall), running: l.elapsed, asleep: l.asleep}
}

func (l *lab) Trial(
	ctx context.Context, v plan.Variant, p plan.Plan, control bool, sink progress.Sink,
) (trial.Trial, error) {
	l.n++
	sink.Report(progress.Progress{Step: "measuring"})
	effect := 1.0
	if e, ok := l.effect[v.Key]; ok {
		effect = e
	}
	setup := l.setup + l.first[v.Key]
	delete(l.first, v.Key)
	length := time.Duration(p.Trials.Time)
	t := trial.Trial{Setup: setup.Seconds(), Values: map[string]float64{
		"tps": 1000 * effect * math.Exp(l.noise*l.rnd.NormFloat64()),
	}}
	l.elapsed += setup
	t.From = l.now().wall
	l.elapsed += length
	if l.jump != nil {
		wall, asleep := l.jump(l.n)
		l.wall += wall
		l.asleep += asleep
	}
	t.To = l.now().wall
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	if l.hook != nil {
		return t, l.hook(l.n, v, control, &t)
	}
	return t, nil
}

// record keeps trials as a store would.
type record struct {
	trials []trial.Trial
	fail   error
}

func (r *record) Put(ctx context.Context, t trial.Trial) error {
	if r.fail != nil {
		return r.fail
	}
	if ctx.Err() != nil {
		return fmt.Errorf("put: %w", ctx.Err())
	}
	r.trials = append(r.trials, t)
	return nil
}

// variants makes variants of "key" (a baseline) or "key baseline".
func variants(specs ...string) (vs []plan.Variant) {
	for _, s := range specs {
		key, base, ok := strings.Cut(s, " ")
		if !ok {
			base = key
		}
		vs = append(vs, plan.Variant{Key: key, Baseline: base, Levels: map[string]string{"x": key}})
	}
	return vs
}

func rounds(least, most int) plan.Plan {
	return plan.Plan{
		Name: "test", Table: plan.Table{Show: []string{"tps"}},
		Trials: plan.Trials{
			Time: plan.Duration(20 * time.Second), Min: least, Max: most,
			Margin: 0.02, Conf: 0.95, Seed: 7,
		},
	}
}

// compareIn runs an experiment in the lab.
func compareIn(ctx context.Context, l *lab, p plan.Plan, vs []plan.Variant, earlier []trial.Trial,
	o Observer,
) (trial.Result, *record, error) {
	rec := &record{}
	r, err := (&comparison{p: p, vs: vs, bench: l, rec: rec, o: o, clock: l}).run(ctx, earlier)
	return r, rec, err
}

// names lists trials as "round key" with "*" for the control and "!" for an invalid one.
func names(ts []trial.Trial) (out []string) {
	for _, t := range ts {
		s := fmt.Sprintf("%d %s", t.Round, t.Variant)
		if t.Control {
			s += "*"
		}
		if t.Unusable {
			s += "!"
		}
		if t.Invalid != "" {
			s += "!"
		}
		out = append(out, s)
	}
	return out
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func TestCompare(t *testing.T) {
	vs := variants("a", "b a", "c a")
	l := newLab()
	l.effect["b"], l.effect["c"] = 1.2, 1
	r, rec, err := compareIn(t.Context(), l, rounds(3, 10), vs, nil, Observer{})
	if err != nil || r.Stopped != "" {
		t.Fatal(err, r.Stopped)
	}
	same(t, "recorded", names(rec.trials), names(r.Trials))
	for i, x := range r.Trials {
		if x.Seq != i+1 || x.From.IsZero() || x.To.Sub(x.From) != 20*time.Second {
			t.Errorf("trial %d: %+v", i, x)
		}
	}
	if r.Control == nil || r.Control.Result == stat.Better || r.Control.Result == stat.Worse ||
		r.Cells[1].Verdict.Result != stat.Better || r.Cells[2].Verdict.Result != stat.Same {
		t.Errorf("control %+v, b %+v, c %+v", r.Control, r.Cells[1].Verdict, r.Cells[2].Verdict)
	}
	if r.Sentence == "" || r.Started != l.t0 || r.Ended != l.now().wall || r.Format != trial.Format {
		t.Errorf("%+v", r)
	}
	// In each round each key is there once, the control too.
	last := r.Trials[len(r.Trials)-1].Round
	byRound := map[int][]string{}
	for _, n := range names(r.Trials) {
		var round int
		var key string
		_, _ = fmt.Sscan(n, &round, &key)
		byRound[round] = append(byRound[round], key)
	}
	if len(byRound) != last || last < 3 {
		t.Errorf("%d rounds, the last is %d", len(byRound), last)
	}
	orders := map[string]bool{}
	for round, keys := range byRound {
		if round <= 3 {
			same(t, fmt.Sprint("round ", round), sorted(keys), "[a a* b c]")
		}
		if !slices.Contains(keys, "a") || !slices.Contains(keys, "a*") {
			t.Errorf("round %d has no baseline or control: %v", round, keys)
		}
		orders[fmt.Sprint(keys)] = true
	}
	if len(orders) < 2 {
		t.Errorf("one order only: %v", orders)
	}

	// The same seed gives the same order, another one another.
	again, _, _ := compareIn(t.Context(), newLab(), rounds(3, 3), vs, nil, Observer{})
	once, _, _ := compareIn(t.Context(), newLab(), rounds(3, 3), vs, nil, Observer{})
	same(t, "same seed", names(again.Trials), names(once.Trials))
	p := rounds(3, 3)
	p.Trials.Seed = 8
	other, _, _ := compareIn(t.Context(), newLab(), p, vs, nil, Observer{})
	if fmt.Sprint(names(other.Trials)) == fmt.Sprint(names(once.Trials)) {
		t.Error("another seed gives the same order")
	}
	p.Trials.NoControl = true
	none, _, err := compareIn(t.Context(), newLab(), p, vs, nil, Observer{})
	if err != nil || len(none.Trials) != 9 || none.Control != nil {
		t.Errorf("without control: %v, %v", names(none.Trials), err)
	}
}

// TestClosing: a variant that is decided runs no more, the others do.
func TestClosing(t *testing.T) {
	l := newLab()
	l.effect["far"] = 2
	l.hook = func(_ int, v plan.Variant, _ bool, x *trial.Trial) error {
		if v.Key == "wild" {
			x.Values["tps"] *= math.Exp(0.2 * l.rnd.NormFloat64())
		}
		return nil
	}
	var judged []Judged
	r, _, err := compareIn(t.Context(), l, rounds(3, 12), variants("base", "far base", "wild base"), nil,
		Observer{Judged: func(j Judged) { judged = append(judged, j) }})
	if err != nil || r.Stopped != "" {
		t.Fatal(err, r.Stopped)
	}
	n := map[string]int{}
	for _, x := range r.Trials {
		n[fmt.Sprint(x.Variant, x.Control)]++
	}
	if n["farfalse"] >= 12 || n["farfalse"] < 3 || n["wildfalse"] != 12 || n["basefalse"] != 12 || n["basetrue"] != 12 {
		t.Errorf("trials: %v", n)
	}
	closed := 0
	for i, j := range judged {
		if j.Round != i+1 || len(j.Outcome.Cells) != 3 {
			t.Errorf("judged: %+v", j)
		}
		if slices.Contains(j.Closed, "far") {
			closed++
			if j.Round != n["farfalse"] || slices.Contains(j.Open, "far") || !slices.Contains(j.Open, "wild") {
				t.Errorf("round %d: open %v, closed %v", j.Round, j.Open, j.Closed)
			}
		}
	}
	if closed != 1 || len(judged) != 12 {
		t.Errorf("closed %d times in %d rounds", closed, len(judged))
	}
}

func TestOneVariant(t *testing.T) {
	r, _, err := compareIn(t.Context(), newLab(), rounds(3, 10), variants("base"), nil, Observer{})
	if err != nil || r.Stopped != "" || r.Control == nil || r.Control.Result != stat.Same || r.Verdict != stat.Same {
		t.Fatalf("%v, %+v", err, r)
	}
	last := r.Trials[len(r.Trials)-1].Round
	var want []string
	for i := 1; i <= last; i++ {
		want = append(want, fmt.Sprintf("%d base", i), fmt.Sprintf("%d base*", i))
	}
	same(t, "trials", sorted(names(r.Trials)), fmt.Sprint(sorted(want)))
	p := rounds(1, 2)
	p.Trials.NoControl = true
	r, _, err = compareIn(t.Context(), newLab(), p, variants("base"), nil, Observer{})
	same(t, "read only", names(r.Trials), "[1 base 2 base]")
	if err != nil {
		t.Error(err)
	}
}

// TestSeveralBaselines: the control goes round, and each cell has its own baseline.
func TestSeveralBaselines(t *testing.T) {
	r, _, err := compareIn(t.Context(), newLab(), rounds(4, 4), variants("a1", "b1 a1", "a2", "b2 a2"), nil, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, x := range r.Trials {
		if x.Control {
			n[x.Variant]++
		}
	}
	if len(r.Trials) != 20 || n["a1"] != 2 || n["a2"] != 2 {
		t.Errorf("%d trials, controls %v", len(r.Trials), n)
	}
}

// unusable makes a variant unusable the first n times it is tried.
func unusable(key string, times int) func(int, plan.Variant, bool, *trial.Trial) error {
	return func(_ int, v plan.Variant, _ bool, _ *trial.Trial) error {
		if v.Key == key && times > 0 {
			times--
			return fmt.Errorf("provide: %w", &Unusable{
				Reason: "the server does not start",
				Err:    errors.New("[ERROR] unknown variable 'x=1'"),
			})
		}
		return nil
	}
}

func TestUnusable(t *testing.T) {
	l := newLab()
	l.hook = unusable("b", 99)
	r, rec, err := compareIn(t.Context(), l, rounds(3, 3), variants("a", "b a", "c a"), nil, Observer{})
	if err != nil || r.Stopped != "" {
		t.Fatal(err, r.Stopped)
	}
	same(t, "trials", sorted(names(r.Trials)), "[1 a 1 a* 1 b!! 1 c 2 a 2 a* 2 c 3 a 3 a* 3 c]")
	same(t, "recorded", names(rec.trials), names(r.Trials))
	if c := r.Cells[1]; !strings.Contains(c.Failed, "unknown variable 'x=1'") || c.Valid != 0 {
		t.Errorf("%+v", c)
	}
	if v := r.Cells[2].Verdict; v == nil || v.Result != stat.Same {
		t.Errorf("c: %+v", v)
	}
}

func TestUnusableBaseline(t *testing.T) {
	for seed := range uint64(8) { // in any order
		l := newLab()
		l.hook = unusable("a", 99)
		p := rounds(3, 3)
		p.Trials.Seed = seed
		r, _, err := compareIn(t.Context(), l, p, variants("a", "b a", "x", "y x"), nil, Observer{})
		if err != nil || r.Stopped != "" {
			t.Fatal(err, r.Stopped)
		}
		for _, x := range r.Trials {
			if x.Round > 1 && (x.Variant == "a" || x.Variant == "b") {
				t.Errorf("seed %d: %v", seed, names(r.Trials))
				break
			}
			if x.Unusable && x.Control {
				t.Errorf("seed %d: it is said of the control", seed)
			}
		}
		b := r.Cells[1]
		if b.Valid == 0 && (!strings.Contains(b.Failed, "its baseline, a,") ||
			!strings.Contains(b.Failed, "does not start")) {
			t.Errorf("seed %d: b: %+v", seed, b)
		}
		if v := r.Cells[3].Verdict; v == nil || v.Result != stat.Same {
			t.Errorf("seed %d: y: %+v", seed, v)
		}
		l = newLab() // and when nothing else is there
		l.hook = unusable("a", 99)
		r, _, err = compareIn(t.Context(), l, p, variants("a", "b a"), nil, Observer{})
		if err != nil || !strings.Contains(r.Stopped, "nothing is left to compare") ||
			!strings.Contains(r.Stopped, "unknown variable") || len(r.Trials) > 2 {
			t.Errorf("seed %d: %v, %q, %v", seed, err, r.Stopped, names(r.Trials))
		}
	}
}

func TestInvalidIsRepeated(t *testing.T) {
	l := newLab()
	bad := map[string]int{"b": 1, "c": 2} // so often in the second round
	n := map[string]int{}
	var again []string
	l.hook = func(_ int, v plan.Variant, control bool, x *trial.Trial) error {
		if control {
			return nil
		}
		if n[v.Key]++; n[v.Key] >= 2 && bad[v.Key] > 0 {
			bad[v.Key]--
			x.Invalid = "the server ended during the trial of " + v.Key
		}
		return nil
	}
	r, _, err := compareIn(t.Context(), l, rounds(4, 4), variants("a", "b a", "c a"), nil,
		Observer{Begin: func(b Begin) {
			if b.Again {
				again = append(again, fmt.Sprint(b.Round, b.Variant))
			}
		}})
	if err != nil || r.Stopped != "" {
		t.Fatal(err, r.Stopped)
	}
	same(t, "repeated", sorted(again), "[2b 2c]")
	var second []string
	for i, s := range names(r.Trials) {
		if strings.HasPrefix(s, "2 ") {
			second = append(second, s)
			if r.Trials[i].Invalid != "" && r.Trials[i].Values["tps"] == 0 {
				t.Error("the values of an invalid trial are lost")
			}
		}
	}
	same(t, "second round", sorted(second), "[2 a 2 a* 2 b 2 b! 2 c! 2 c!]")
	if tail := sorted(second[4:]); fmt.Sprint(tail) != "[2 b 2 c!]" {
		t.Errorf("not at the end of the round: %v", second)
	}
	if b, c := r.Cells[1], r.Cells[2]; b.Valid != 4 || b.Trials != 5 || c.Valid != 3 || c.Trials != 5 {
		t.Errorf("b %+v, c %+v", b, c)
	}
}

// TestErrorsInOneVariant: the workload fails there each time; the variant is given up and the others go on.
func TestErrorsInOneVariant(t *testing.T) {
	l := newLab()
	l.hook = func(_ int, v plan.Variant, _ bool, x *trial.Trial) error {
		if v.Key == "b" {
			x.Invalid = "12 statements failed: 1054 Unknown column 'k'"
		}
		return nil
	}
	r, _, err := compareIn(t.Context(), l, rounds(3, 6), variants("a", "b a", "c a"), nil, Observer{})
	if err != nil || r.Stopped != "" {
		t.Fatal(err, r.Stopped)
	}
	var b []string
	for _, s := range names(r.Trials) {
		if strings.Contains(s, "b") {
			b = append(b, s)
		}
	}
	same(t, "b", b, "[1 b! 1 b! 2 b! 2 b!!]")
	if c := r.Cells[1]; !strings.Contains(c.Failed, "Unknown column") {
		t.Errorf("%+v", c)
	}
	if v := r.Cells[2].Verdict; v == nil || v.Result != stat.Same {
		t.Errorf("c: %+v", v)
	}
}

func TestStuck(t *testing.T) {
	l := newLab()
	l.hook = func(n int, _ plan.Variant, _ bool, x *trial.Trial) error {
		if n > 5 {
			x.Invalid = fmt.Sprintf("the client used %d.5 %% of its CPUs", 90+n)
		}
		return nil
	}
	r, rec, err := compareIn(t.Context(), l, rounds(3, 6), variants("a", "b a"), nil, Observer{})
	if !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "98.5 %") || r.Stopped != err.Error() {
		t.Fatal(err, r.Stopped)
	}
	if len(r.Trials) != 8 {
		t.Errorf("%v", names(r.Trials))
	}
	l = newLab() // when it is repaired it goes on
	r, _, err = compareIn(t.Context(), l, rounds(3, 6), variants("a", "b a"), rec.trials, Observer{})
	if err != nil || r.Stopped != "" || r.Cells[1].Valid < 3 {
		t.Errorf("%v, %q, %v", err, r.Stopped, names(r.Trials))
	}
}

// TestCrash: any other error ends the experiment, and what was measured is there.
func TestCrash(t *testing.T) {
	l := newLab()
	broken := errors.New("no space left for data sets")
	l.hook = func(n int, _ plan.Variant, _ bool, _ *trial.Trial) error {
		if n == 5 {
			return broken
		}
		return nil
	}
	r, rec, err := compareIn(t.Context(), l, rounds(3, 6), variants("a", "b a"), nil, Observer{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "trial 5, ") || len(r.Trials) != 4 ||
		len(rec.trials) != 4 || r.Stopped != err.Error() {
		t.Errorf("%v, %q, %v", err, r.Stopped, names(r.Trials))
	}
	full := errors.New("disk is full")
	r, err = (&comparison{
		p: rounds(3, 6), vs: variants("a", "b a"), bench: newLab(), rec: &record{fail: full},
		clock: newLab(),
	}).run(t.Context(), nil)
	if !errors.Is(err, full) || len(r.Trials) != 0 || !strings.Contains(err.Error(), "record trial 1") {
		t.Errorf("%v, %v", err, names(r.Trials))
	}
	// Without a recorder nothing is kept.
	r, err = Compare(t.Context(), rounds(3, 3), variants("a"), nil, newLab(), nil, Observer{})
	if err != nil || len(r.Trials) != 6 {
		t.Errorf("%v, %v", err, names(r.Trials))
	}
}

func TestBudget(t *testing.T) {
	p := rounds(3, 100)
	p.Budget = plan.Duration(10 * time.Minute)
	vs := variants("a", "b a")
	l := newLab()
	l.noise = 0.5 // never decided
	l.first["b"] = 90 * time.Second
	r, rec, err := compareIn(t.Context(), l, p, vs, nil, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	// 22 s each and 90 s for the first of b: 23 trials fit, whatever the first one took.
	if len(r.Trials) != 23 || l.elapsed > 10*time.Minute || !strings.Contains(r.Stopped, "the budget of 10 min") ||
		!strings.Contains(r.Stopped, "9 min 56 s are spent") || !strings.Contains(r.Stopped, "22 s") {
		t.Errorf("%d trials in %v: %q", len(r.Trials), l.elapsed, r.Stopped)
	}
	// The same budget has no room later either, a larger one has.
	l2 := newLab()
	l2.t0 = l.now().wall.Add(time.Hour)
	r, _, err = compareIn(t.Context(), l2, p, vs, rec.trials, Observer{})
	if err != nil || len(r.Trials) != 23 || !strings.Contains(r.Stopped, "budget") {
		t.Errorf("resumed: %v, %d trials, %q", err, len(r.Trials), r.Stopped)
	}
	p.Budget = plan.Duration(11 * time.Minute)
	r, _, err = compareIn(t.Context(), l2, p, vs, rec.trials, Observer{})
	if err != nil || len(r.Trials) != 25 {
		t.Errorf("resumed with a minute more: %v, %d trials, %q", err, len(r.Trials), r.Stopped)
	}
	// A budget without room for one trial.
	p.Budget = plan.Duration(10 * time.Second)
	r, _, err = compareIn(t.Context(), newLab(), p, vs, nil, Observer{})
	if err != nil || len(r.Trials) != 0 || r.Stopped == "" {
		t.Errorf("%v, %d trials, %q", err, len(r.Trials), r.Stopped)
	}
}

func TestClockJumps(t *testing.T) {
	l := newLab()
	l.jump = func(n int) (wall, asleep time.Duration) {
		switch n {
		case 2:
			return -time.Hour, 0
		case 5:
			return 30 * time.Second, 30 * time.Second
		}
		return 0, 0
	}
	r, _, err := compareIn(t.Context(), l, rounds(3, 3), variants("a", "b a"), nil, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Trials) != 11 || !strings.Contains(r.Trials[1].Invalid, "clock jumped by -3600.0 s") ||
		!strings.Contains(r.Trials[4].Invalid, "slept for 30.0 s") {
		t.Errorf("%v, %q, %q", names(r.Trials), r.Trials[1].Invalid, r.Trials[4].Invalid)
	}
	for _, c := range r.Cells {
		if c.Valid != 3 {
			t.Errorf("%+v", c)
		}
	}
}

// TestResume ends an experiment at each of its trials in turn, and resumes it: the same trials come out as without a
// break.
func TestResume(t *testing.T) {
	vs := variants("a1", "b1 a1", "a2", "b2 a2", "far a1")
	bad := func(l *lab) { // the same trials break whenever they are run
		l.effect["far"] = 2
		tries := map[string]int{}
		l.hook = func(n int, v plan.Variant, control bool, x *trial.Trial) error {
			k := fmt.Sprint(v.Key, control)
			if tries[k]++; v.Key == "b2" && tries[k] == 1 {
				x.Invalid = "the server ended"
			}
			return nil
		}
	}
	l := newLab()
	bad(l)
	whole, _, err := compareIn(t.Context(), l, rounds(3, 8), vs, nil, Observer{})
	if err != nil || len(whole.Trials) < 20 {
		t.Fatal(err, len(whole.Trials))
	}
	want := map[string]bool{}
	for _, x := range whole.Trials {
		if x.Invalid == "" {
			want[fmt.Sprint(x.Round, x.Variant, x.Control)] = true
		}
	}
	for at := range len(whole.Trials) {
		for _, during := range []bool{false, true} { // between two trials, and within one
			l := newLab()
			bad(l)
			ctx, cancel := context.WithCancel(t.Context())
			o := Observer{End: func(x trial.Trial) {
				if !during && x.Seq == at {
					cancel()
				}
			}, Begin: func(b Begin) {
				if b.Seq == at+1 && (during || at == 0) {
					cancel()
				}
			}}
			r, rec, err := compareIn(ctx, l, rounds(3, 8), vs, nil, o)
			if !errors.Is(err, context.Canceled) || r.Stopped != "it was interrupted" || len(r.Trials) != at ||
				len(rec.trials) != at {
				t.Fatalf("at %d: %v, %q, %d trials", at, err, r.Stopped, len(r.Trials))
			}
			l.hook = nil
			l.elapsed += time.Hour
			r, again, err := compareIn(t.Context(), l, rounds(3, 8), vs, rec.trials, Observer{})
			if err != nil || r.Stopped != "" || at > 0 && r.Started != whole.Started {
				t.Fatalf("at %d: %v, %q, started %v", at, err, r.Stopped, r.Started)
			}
			got := map[string]bool{}
			for i, x := range r.Trials {
				id := fmt.Sprint(x.Round, x.Variant, x.Control)
				if x.Invalid == "" && got[id] || x.Seq != i+1 {
					t.Errorf("at %d: trial %d, %s, is there twice or out of order", at, x.Seq, id)
				}
				got[id] = got[id] || x.Invalid == ""
			}
			// The noise differs after the break, so a variant may be decided a look earlier or later: all rounds up to
			// the shorter end.
			last := min(r.Trials[len(r.Trials)-1].Round, whole.Trials[len(whole.Trials)-1].Round, 3)
			for id := range maps.Keys(want) {
				if int(id[0]-'0') <= last && !got[id] {
					t.Errorf("at %d: %s is missing", at, id)
				}
			}
			if len(again.trials)+at != len(r.Trials) {
				t.Errorf("at %d: %d kept and %d more are not %d", at, at, len(again.trials), len(r.Trials))
			}
			within := at > 0 && at < len(r.Trials) && r.Trials[at-1].Round == r.Trials[at].Round
			if told := slices.ContainsFunc(r.Warnings, func(s string) bool {
				return strings.Contains(s, "was interrupted for")
			}); told != within {
				t.Errorf("at %d: warnings %q", at, r.Warnings)
			}
			cancel()
		}
	}
}

// TestResumeIsTheSame: with trials that come out the same whenever they are run, an interrupted experiment is the same
// to the last value.
func TestResumeIsTheSame(t *testing.T) {
	vs := variants("a", "b a", "c a")
	fixed := func() *lab {
		l := newLab()
		tries := map[string]int{}
		l.hook = func(_ int, v plan.Variant, control bool, x *trial.Trial) error {
			k := fmt.Sprint(v.Key, control)
			tries[k]++
			rnd := rand.New(rand.NewPCG(uint64(tries[k]), uint64(v.Key[0])))
			x.Values["tps"] = 1000 * math.Exp(0.01*rnd.NormFloat64())
			if v.Key == "c" {
				x.Values["tps"] *= 1.3
			}
			return nil
		}
		return l
	}
	whole, _, err := compareIn(t.Context(), fixed(), rounds(3, 10), vs, nil, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; at < len(whole.Trials); at++ {
		l := fixed()
		ctx, cancel := context.WithCancel(t.Context())
		_, rec, _ := compareIn(ctx, l, rounds(3, 10), vs, nil, Observer{End: func(x trial.Trial) {
			if x.Seq == at {
				cancel()
			}
		}})
		cancel()
		r, _, err := compareIn(t.Context(), l, rounds(3, 10), vs, rec.trials, Observer{})
		if err != nil || r.Sentence != whole.Sentence {
			t.Errorf("at %d: %v, %q", at, err, r.Sentence)
		}
		same(t, fmt.Sprint("at ", at), names(r.Trials), names(whole.Trials))
		for i := range r.Trials {
			if r.Trials[i].Values["tps"] != whole.Trials[i].Values["tps"] {
				t.Fatalf("at %d: trial %d is another one", at, i+1)
			}
		}
	}
}

// TestResumeUnusable: what could not be measured is tried once more, in the round under way.
func TestResumeUnusable(t *testing.T) {
	vs := variants("a", "b a", "c a")
	first := func(times int) []trial.Trial {
		l := newLab()
		l.hook = unusable("b", times)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, rec, _ := compareIn(ctx, l, rounds(5, 5), vs, nil, Observer{Begin: func(b Begin) {
			if b.Round == 3 && b.N > 8 { // one trial of round 3 is done
				cancel()
			}
		}})
		return rec.trials
	}
	earlier := first(99)
	l := newLab()
	l.hook = unusable("b", 99)
	r, _, err := compareIn(t.Context(), l, rounds(5, 5), vs, earlier, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	var b []string
	for _, s := range names(r.Trials) {
		if strings.Contains(s, "b") {
			b = append(b, s)
		}
	}
	same(t, "still unusable", b, "[1 b!! 3 b!!]")
	r, _, err = compareIn(t.Context(), newLab(), rounds(5, 5), vs, earlier, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	b = nil
	for _, s := range names(r.Trials) {
		if strings.Contains(s, "b") {
			b = append(b, s)
		}
	}
	same(t, "repaired", b, "[1 b!! 3 b 4 b 5 b]")
	if c := r.Cells[1]; c.Failed != "" || c.Valid != 3 {
		t.Errorf("%+v", c)
	}
}

func TestRefused(t *testing.T) {
	f := func(p plan.Plan, vs []plan.Variant, earlier []trial.Trial, want string) {
		t.Helper()
		_, rec, err := compareIn(t.Context(), newLab(), p, vs, earlier, Observer{})
		if err == nil || !strings.Contains(err.Error(), want) || len(rec.trials) > 0 {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f(rounds(3, 3), nil, nil, "no variants")
	f(rounds(3, 3), variants("a", "b x"), nil, `"x", is none of the variants`)
	f(rounds(3, 3), variants("a", "b a", "c b"), nil, "is itself compared with another variant")
	f(rounds(3, 3), variants("a", "a"), nil, "twice")
	f(rounds(0, 3), variants("a"), nil, "0 to 3 rounds")
	f(rounds(3, 2), variants("a"), nil, "3 to 2 rounds")
	f(rounds(3, 3), variants("a"), []trial.Trial{{Seq: 1, Round: 1, Variant: "z"}}, "was it changed?")
	f(rounds(3, 3), variants("a"), []trial.Trial{{Seq: 1, Round: 1, Variant: "a"}, {Seq: 1, Round: 2, Variant: "a"}},
		"two trials with the number 1")
}

func TestNoNumbers(t *testing.T) {
	l := newLab()
	l.hook = func(_ int, _ plan.Variant, _ bool, x *trial.Trial) error {
		x.Values["p99_ms"], x.Values["p95_ms"], x.Values["max_ms"] = math.NaN(), 3, math.Inf(1)
		return nil
	}
	r, _, err := compareIn(t.Context(), l, rounds(3, 3), variants("a"), nil, Observer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Trials {
		if len(x.Values) != 2 || len(x.Warnings) != 2 || !strings.Contains(x.Warnings[0], "max_ms is +Inf") ||
			x.Invalid != "" {
			t.Errorf("%+v", x)
		}
	}
}

func TestObserver(t *testing.T) {
	var log []string
	say := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	var begins []Begin
	o := Observer{
		Planned:  func(p Planned) { say("planned %+v", p) },
		Begin:    func(b Begin) { begins = append(begins, b); say("begin %d", b.Seq) },
		Progress: func(p progress.Progress) { say("progress %s", p.Step) },
		End:      func(x trial.Trial) { say("end %d", x.Seq) },
		Judged:   func(j Judged) { say("judged %d", j.Round) },
	}
	p := rounds(3, 3)
	p.Trials.WarmMin, p.Trials.WarmMax = plan.Duration(5*time.Second), plan.Duration(10*time.Second)
	l := newLab()
	r, rec, err := compareIn(t.Context(), l, p, variants("a", "b a"), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	want = append(want, "planned {Variants:2 Min:3 Max:3 Trials:9 Done:0 Shortest:3m45s Longest:4m30s}")
	for seq := 1; seq <= 9; seq++ {
		want = append(want, fmt.Sprint("begin ", seq), "progress measuring", fmt.Sprint("end ", seq))
		if seq%3 == 0 {
			want = append(want, fmt.Sprint("judged ", seq/3))
		}
	}
	same(t, "calls", strings.Join(log, "\n"), strings.Join(want, "\n"))
	for i, b := range begins {
		left := time.Duration(9-i) * 22 * time.Second
		if i == 0 {
			left = 0 // nothing is known yet
		}
		if b.N != i+1 || b.Most != 9 || b.Remaining != left || b.Variant != r.Trials[i].Variant ||
			b.Control != r.Trials[i].Control || b.Round != i/3+1 || b.Again {
			t.Errorf("begin %d: %+v, want %v left", i, b, left)
		}
	}
	// A resumed one says what is done, and judges no round again.
	log, begins = nil, nil
	if _, _, err := compareIn(t.Context(), l, p, variants("a", "b a"), rec.trials[:7], o); err != nil {
		t.Fatal(err)
	}
	same(t, "resumed", strings.Join(log, "\n"), strings.Join([]string{
		"planned {Variants:2 Min:3 Max:3 Trials:9 Done:7 Shortest:3m45s Longest:4m30s}",
		"begin 8", "progress measuring", "end 8", "begin 9", "progress measuring", "end 9", "judged 3",
	}, "\n"))
	if b := begins[0]; b.N != 8 || b.Most != 9 || b.Remaining != 44*time.Second {
		t.Errorf("%+v", b)
	}
}
