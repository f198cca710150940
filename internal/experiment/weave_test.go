package experiment

import (
	"context"
	"errors"
	"fmt"
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

// loom is a lab that weaves rounds.
type loom struct {
	*lab
	rounds []string // "round key key* …"
	spoil  func(n int, strands []Strand, ts []trial.Trial) error
}

func (l *loom) Weave(
	ctx context.Context, round int, strands []Strand, p plan.Plan, sink progress.Sink,
) ([]trial.Trial, error) {
	said := fmt.Sprint(round)
	var ts []trial.Trial
	for _, s := range strands {
		said += " " + s.Variant.Key + map[bool]string{true: "*"}[s.Control]
		t, err := l.Trial(ctx, s.Variant, p, s.Control, sink)
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	l.rounds = append(l.rounds, said)
	from, to := ts[0].From, ts[len(ts)-1].To
	for i := range ts {
		ts[i].From, ts[i].To = from, to
		ts[i].Woven = &trial.Woven{Of: len(ts)}
	}
	if l.spoil != nil {
		if err := l.spoil(len(l.rounds), strands, ts); err != nil {
			return nil, err
		}
	}
	return ts, nil
}

func woven(least, most int) plan.Plan {
	p := rounds(least, most)
	p.Trials.Turns, p.Trials.Fresh = plan.Duration(200*time.Millisecond), plan.FreshLive
	return p
}

func weaveIn(ctx context.Context, l *loom, p plan.Plan, vs []plan.Variant, earlier []trial.Trial,
	o Observer,
) (trial.Result, *record, error) {
	rec := &record{}
	r, err := (&comparison{p: p, vs: vs, bench: l, rec: rec, o: o, clock: l.lab}).run(ctx, earlier)
	return r, rec, err
}

func TestWeave(t *testing.T) {
	l := &loom{lab: newLab()}
	l.effect["b"], l.noise = 0.9, 0.004
	var begun []string
	r, rec, err := weaveIn(t.Context(), l, woven(4, 8), variants("a", "b a"), nil, Observer{Begin: func(b Begin) {
		begun = append(begun, fmt.Sprintf("%d %d %s", b.Seq, b.N, b.Variant))
	}})
	if err != nil || r.Cells[1].Verdict.Result != stat.Worse || r.Control.Result != stat.Same {
		t.Fatal(err, r.Cells[1].Verdict, r.Control)
	}
	// All trials of a round run together; who is told of first alternates.
	same(t, "rounds", l.rounds[:4], []string{"1 a b a*", "2 a* b a", "3 a b a*", "4 a* b a"})
	same(t, "on record", names(rec.trials[:6]), []string{"1 a", "1 b", "1 a*", "2 a*", "2 b", "2 a"})
	same(t, "begun", begun[:4], []string{"1 1 a", "2 2 b", "3 3 a", "4 4 a"})
	for i, x := range rec.trials {
		if x.Seq != i+1 || x.Woven == nil {
			t.Errorf("trial %d: %+v", i+1, x)
		}
	}
	// Without turns, or on a bench that cannot, each has its own.
	l = &loom{lab: newLab()}
	if r, _, err := weaveIn(t.Context(), l, rounds(3, 3), variants("a", "b a"), nil, Observer{}); err != nil ||
		len(l.rounds) != 0 || len(r.Trials) != 9 {
		t.Error(err, l.rounds)
	}
	if r, _, err := compareIn(t.Context(), newLab(), woven(3, 3), variants("a", "b a"), nil, Observer{}); err != nil ||
		len(r.Trials) != 9 {
		t.Error(err)
	}
}

// TestWeaveResumes goes on wherever the process was killed, also between the records of one round: that round is
// repeated whole.
func TestWeaveResumes(t *testing.T) {
	vs := variants("a", "b a")
	l := &loom{lab: newLab()}
	l.effect["b"] = 0.9
	whole, _, err := weaveIn(t.Context(), l, woven(4, 4), vs, nil, Observer{})
	if err != nil || len(whole.Trials) != 12 {
		t.Fatal(err, len(whole.Trials))
	}
	for n := range whole.Trials {
		l := &loom{lab: newLab()}
		l.effect["b"] = 0.9
		r, rec, err := weaveIn(t.Context(), l, woven(4, 4), vs, whole.Trials[:n], Observer{})
		if err != nil || r.Stopped != "" || r.Cells[1].Verdict.Result != stat.Worse || r.Cells[1].Verdict.Ratio.N != 4 {
			t.Fatalf("after %d: %v, %q, %+v", n, err, r.Stopped, r.Cells[1].Verdict)
		}
		if want := 12 - n/3*3; len(rec.trials) != want {
			t.Errorf("after %d: %v, want %d", n, names(rec.trials), want)
		}
	}
	// Who is interrupted within a round keeps none of it.
	ctx, cancel := context.WithCancel(t.Context())
	l = &loom{lab: newLab()}
	l.spoil = func(n int, _ []Strand, _ []trial.Trial) error {
		if n == 2 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	r, rec, err := weaveIn(ctx, l, woven(4, 4), vs, nil, Observer{})
	if !errors.Is(err, context.Canceled) || len(rec.trials) != 3 || r.Stopped != "it was interrupted" {
		t.Errorf("%v, %v, %q", err, names(rec.trials), r.Stopped)
	}
}

func TestWeaveBroken(t *testing.T) {
	vs := variants("a", "b a", "c a")
	broken := func(rounds ...int) func(int, []Strand, []trial.Trial) error {
		return func(n int, _ []Strand, ts []trial.Trial) error {
			for i := range ts {
				if slices.Contains(rounds, n) {
					ts[i].Invalid = fmt.Sprintf("the server ended after %d s", n)
				}
			}
			return nil
		}
	}
	// One broken round is repeated, and that its trials broke alike is no sign that all is lost.
	l := &loom{lab: newLab(), spoil: broken(2)}
	r, _, err := weaveIn(t.Context(), l, woven(4, 4), vs, nil, Observer{})
	if err != nil || len(l.rounds) != 5 || r.Cells[1].Valid != 4 || !strings.HasPrefix(l.rounds[2], "2 ") {
		t.Errorf("%v, %v", err, l.rounds)
	}
	l = &loom{lab: newLab(), spoil: broken(2, 3, 4, 5)}
	if _, _, err = weaveIn(t.Context(), l, woven(4, 4), vs, nil, Observer{}); !errors.Is(err, ErrStuck) ||
		len(l.rounds) != 4 {
		t.Errorf("%v, %v", err, l.rounds)
	}
	// A variant that cannot be put in force is closed; the others go on.
	l = &loom{lab: newLab()}
	l.spoil = func(_ int, strands []Strand, ts []trial.Trial) error {
		i := slices.IndexFunc(strands, func(s Strand) bool { return s.Variant.Key == "b" })
		for k := range ts {
			if i >= 0 {
				ts[k].Invalid, ts[k].Unusable = "not in effect", k == i
			}
		}
		return nil
	}
	r, _, err = weaveIn(t.Context(), l, woven(4, 4), vs, nil, Observer{})
	if err != nil || r.Cells[1].Failed != "not in effect" || r.Cells[2].Valid != 4 || len(l.rounds) != 5 {
		t.Errorf("%v, %+v, %v", err, r.Cells[1], l.rounds)
	}
	// Nothing can run at all.
	l = &loom{lab: newLab(), spoil: func(int, []Strand, []trial.Trial) error { return &Unusable{Reason: "no server"} }}
	r, rec, err := weaveIn(t.Context(), l, woven(4, 4), vs, nil, Observer{})
	if err != nil || !strings.Contains(r.Stopped, "no server") || len(rec.trials) != 3 {
		t.Errorf("%v, %q, %v", err, r.Stopped, names(rec.trials))
	}
	l = &loom{lab: newLab(), spoil: func(int, []Strand, []trial.Trial) error { return errors.New("disk full") }}
	if _, _, err := weaveIn(t.Context(), l, woven(4, 4), vs, nil, Observer{}); err == nil ||
		!strings.Contains(err.Error(), "round 1: disk full") {
		t.Error(err)
	}
}

// TestWeaveBudget counts a round once, not for each of its trials, also that of an earlier process.
func TestWeaveBudget(t *testing.T) {
	l := &loom{lab: newLab()}
	l.setup = 0
	p := woven(10, 10)
	p.Budget = plan.Duration(250 * time.Second) // four rounds of 60 s
	vs := variants("a", "b a")
	r, rec, err := weaveIn(t.Context(), l, p, vs, nil, Observer{})
	if err != nil || len(rec.trials) != 12 || !strings.Contains(r.Stopped, "budget") {
		t.Fatalf("%v, %d trials, %q", err, len(rec.trials), r.Stopped)
	}
	l = &loom{lab: newLab()}
	l.setup = 0
	r, rec2, err := weaveIn(t.Context(), l, p, vs, rec.trials[:6], Observer{})
	if err != nil || len(rec2.trials) != 6 || !strings.Contains(r.Stopped, "budget") {
		t.Errorf("%v, %d trials, %q", err, len(rec2.trials), r.Stopped)
	}
}

// pink is noise whose spectrum falls with the frequency, made of sources that change at rates of their own (Voss's
// construction), once for each step.
type pink struct {
	r       *rand.Rand
	sources [20]float64
	n       uint
}

func (p *pink) next() (sum float64) {
	p.n++
	for i := range p.sources {
		if p.n%(1<<i) == 0 {
			p.sources[i] = p.r.NormFloat64()
		}
		sum += p.sources[i]
	}
	return sum / math.Sqrt(float64(len(p.sources)))
}

// noisy is a machine whose rate wanders by so much, in steps of 50 ms, and on which trials are woven or not.
type noisy struct {
	*lab
	pink  *pink
	depth float64
}

const step = 50 * time.Millisecond

func (l *noisy) rate() float64 { return math.Exp(l.depth * l.pink.next()) }

func (l *noisy) effectOf(v plan.Variant) float64 {
	if e, ok := l.effect[v.Key]; ok {
		return e
	}
	return 1
}

func (l *noisy) Trial(_ context.Context, v plan.Variant, p plan.Plan, _ bool, _ progress.Sink) (trial.Trial, error) {
	n, sum := int(time.Duration(p.Trials.Time)/step), 0.0
	for range n {
		sum += l.rate()
	}
	t := trial.Trial{From: l.now().wall, Values: map[string]float64{"tps": 1000 * l.effectOf(v) * sum / float64(n)}}
	l.elapsed += time.Duration(p.Trials.Time)
	t.To = l.now().wall
	return t, nil
}

// weaver is noisy with the other way to run a round: turns of four steps, of which the first is left out.
type weaver struct{ *noisy }

func (l weaver) Weave(
	_ context.Context, round int, strands []Strand, p plan.Plan, _ progress.Sink,
) ([]trial.Trial, error) {
	per := int(time.Duration(p.Trials.Turns) / step)
	n := int(time.Duration(p.Trials.Time)/step) / (per - 1) / 2 * 2
	sums := make([]float64, len(strands))
	var order []int
	for b := range n {
		if b%2 == 0 {
			order = l.pink.r.Perm(len(strands))
		} else {
			slices.Reverse(order)
		}
		for _, i := range order {
			l.rate()
			for range per - 1 {
				sums[i] += l.rate() * l.effectOf(strands[i].Variant)
			}
		}
	}
	from := l.now().wall
	l.elapsed += time.Duration(n*len(strands)*per) * step
	var ts []trial.Trial
	for _, s := range sums {
		ts = append(ts, trial.Trial{
			From: from, To: l.now().wall,
			Values: map[string]float64{"tps": 1000 * s / float64(n*(per-1))}, Woven: &trial.Woven{Of: len(strands)},
		})
	}
	return ts, nil
}

// TestWovenRates shows by seeded simulations on a machine whose rate wanders at all speeds (1/f, by 10 %) that woven
// rounds keep the declared error rates, and that they see a loss of 3 % where trials one after the other do not.
func TestWovenRates(t *testing.T) {
	const times = 200
	run := func(seed uint64, wove bool, effect float64) stat.Verdict {
		l := &noisy{lab: newLab(), pink: &pink{r: rand.New(rand.NewPCG(seed, 11))}, depth: 0.10}
		l.effect["b"] = effect
		for range 1 << 12 { // the slow sources, too, have begun
			l.pink.next()
		}
		var b Bench = l
		p := rounds(4, 10)
		p.Trials.Time = plan.Duration(5 * time.Second)
		if wove {
			b, p.Trials.Turns = weaver{l}, plan.Duration(4*step)
		}
		r, err := (&comparison{p: p, vs: variants("a", "b a"), bench: b, clock: l.lab}).run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return *r.Cells[1].Verdict
	}
	count := func(wove bool, effect float64) map[stat.Result]int {
		n := map[stat.Result]int{}
		for seed := range uint64(times) {
			n[run(seed, wove, effect).Result]++
		}
		t.Logf("woven %v, true ratio %v: %v", wove, effect, n)
		return n
	}
	const most = times * 9 / 100 // of 5 % in so many, by chance in one of a hundred tests more
	if n := count(true, 1); n[stat.Better]+n[stat.Worse] > most || n[stat.Same] < times*9/10 {
		t.Errorf("a thing compared with itself: %v", n)
	}
	if n := count(true, 1/1.0201); n[stat.Same] > most {
		t.Errorf("a difference beyond the margin: %v", n)
	}
	loss := count(true, 0.97)
	if loss[stat.Worse] < times*9/10 || loss[stat.Better] > 0 {
		t.Errorf("a loss of 3 %%: %v", loss)
	}
	if apart := count(false, 0.97); apart[stat.Worse] > loss[stat.Worse]/2 {
		t.Errorf("trials one after the other see it as well: %v", apart)
	}
}
