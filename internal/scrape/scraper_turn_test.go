package scrape

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// counted is a source that counts how often it is read.
func counted(name string, n *int) *stub {
	return &stub{name, func(_ context.Context, emit func(metric.Sample)) error {
		*n++
		emit(metric.Sample{Name: name, Value: float64(*n)})
		return nil
	}}
}

func second(i int) pass {
	return pass{at: time.Unix(int64(1_800_000_000+i), 0), every: time.Second, budget: time.Minute}
}

func TestCadence(t *testing.T) {
	f := func(every time.Duration, rounds, least, most int) {
		t.Helper()
		n := 0
		s := &Scraper{
			errs: plainErrors{}, link: idle{}, meter: NewMeter(), timeout: time.Second,
			states: []*turn{reads(counted("x", &n), Traits{Cost: Free, Every: every}, nil)},
		}
		last := -1
		for i := range rounds {
			before := n
			r := s.round(t.Context(), second(i))
			if read := n > before; read != (len(r.Parts) == 1) {
				t.Fatalf("round %d: read %v, parts %+v", i, read, r.Parts)
			} else if read {
				if gap := i - last; n > 2 && time.Duration(gap)*time.Second < every {
					// the first comes at once, whatever the slot
					t.Errorf("every %v: read after %d s", every, gap)
				}
				last = i
			}
			if _, told := find(r.Samples, "dyno_scrape_duration_seconds"); told != (n > before) {
				t.Errorf("round %d: read %v, what it took is told: %v", i, n > before, told)
			}
			if up, ok := find(r.Samples, "dyno_scrape_success"); !ok || up.Value != 1 {
				t.Errorf("round %d: %+v", i, up)
			}
			if r.Sources[0].Reads != n || r.Sources[0].State != source.OK {
				t.Fatalf("%+v", r.Sources)
			}
		}
		if n < least || n > most {
			t.Errorf("every %v: read %d times in %d rounds", every, n, rounds)
		}
	}
	f(0, 10, 10, 10)
	f(500*time.Millisecond, 10, 10, 10)
	f(time.Second, 10, 10, 10)
	f(3*time.Second, 30, 10, 11)
	f(time.Minute, 300, 5, 6)
}

func TestOnceReadsWhatIsNotDue(t *testing.T) {
	n, m := 0, 0
	s := &Scraper{errs: plainErrors{}, link: idle{}, meter: NewMeter(), timeout: time.Second, states: []*turn{
		reads(counted("x", &n), Traits{Cost: Free, Every: time.Hour}, nil),
		reads(counted("y", &m), Traits{Cost: Heavy, Every: time.Hour}, idle{}),
	}}
	for range 3 {
		if r := s.Once(t.Context()); len(r.Parts) != 2 {
			t.Fatalf("%+v", r.Parts)
		}
	}
	if n != 3 || m != 3 {
		t.Errorf("read %d and %d times", n, m)
	}
}

func TestBudget(t *testing.T) {
	x := reads(&stub{name: "x"}, Traits{Cost: Light, Budget: 0.01}, idle{})
	at := 0
	read := func(ms, times int) {
		for range times {
			x.settle(outcome{turn: x, used: Usage{Server: time.Duration(ms) * time.Millisecond}}, second(at))
			at++
		}
	}
	want := func(slow int) {
		t.Helper()
		if x.slow != slow {
			t.Fatalf("slowed 2^%d times, want 2^%d", x.slow, slow)
		}
	}
	read(8, 20)
	want(0)
	read(500, 4) // four slow ones among quick ones were waiting
	want(0)
	read(35, 5)
	want(2) // 35 ms in 4 s
	if r := x.source().Reason; !strings.Contains(r, "4 times less often") || !strings.Contains(r, "10 ms a second") {
		t.Errorf("reason %q", r)
	}
	read(19, 10) // within 2 s, but only just
	want(2)
	read(15, 10)
	want(1)
	read(1, 10)
	want(0)
	read(60_000, 5)
	want(maxSlow)
	for i := range 200 {
		if p := second(at + i); x.due(p) != (x.slotOf(p) != x.slot) {
			t.Fatal("it is read out of its turn")
		}
	}
	if p := x.period(time.Second); p != 64*time.Second {
		t.Errorf("period %v", p)
	}
}

// TestAHeavySourceHoldsNobodyUp lets one hang over several rounds.
func TestAHeavySourceHoldsNobodyUp(t *testing.T) {
	release := make(chan struct{})
	quick, hang := 0, 0
	s := &Scraper{
		errs:    plainErrors{},
		link:    idle{},
		heavy:   idle{},
		meter:   NewMeter(),
		timeout: time.Minute,
		states: []*turn{
			reads(&stub{"hang", func(ctx context.Context, emit func(metric.Sample)) error {
				hang++
				emit(metric.Sample{Name: "late", At: 1, Value: 7})
				select {
				case <-release:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}, Traits{Cost: Heavy}, idle{}),
			reads(counted("quick", &quick), Traits{Cost: Light}, idle{}),
		},
	}
	p := func(i int) pass { p := second(i); p.budget = 40 * time.Millisecond; return p }
	for i := range 3 {
		r := s.round(t.Context(), p(i))
		if len(r.Parts) != 1 || r.Parts[0].Source != "quick" {
			t.Fatalf("round %d: %+v", i, r.Parts)
		}
	}
	close(release)
	for i := 3; ; i++ {
		r := s.round(t.Context(), p(i))
		if x, ok := find(r.Samples, "late"); ok {
			if x.At != r.At.UnixMilli() || x.Value != 7 || r.Parts[1].Source != "hang" || r.Parts[1].Samples < 2 {
				t.Errorf("%+v in %+v", x, r.Parts)
			}
			break
		}
		if i > 1000 {
			t.Fatal("it never came")
		}
	}
	if hang != 1 {
		t.Errorf("it was begun %d times", hang)
	}
	s.drain()
}

func TestCloseEndsAHeavySource(t *testing.T) {
	ended := make(chan struct{})
	s := &Scraper{
		errs:    plainErrors{},
		link:    idle{},
		heavy:   idle{},
		meter:   NewMeter(),
		timeout: time.Minute,
		states: []*turn{
			reads(&stub{"hang", func(ctx context.Context, _ func(metric.Sample)) error {
				<-ctx.Done()
				close(ended)
				return ctx.Err()
			}}, Traits{Cost: Heavy}, idle{}),
		},
	}
	s.round(t.Context(), pass{at: time.Now(), every: time.Second, budget: time.Millisecond})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	default:
		t.Error("it goes on")
	}
}

type stateStub struct{ stub }

func (s *stateStub) Fill(x *state.State) { x.EngineStatus = "seen" }

func TestState(t *testing.T) {
	fail := errors.New("no such host")
	var err error
	s := &Scraper{errs: plainErrors{}, link: idle{}, meter: NewMeter(), timeout: time.Second, states: []*turn{
		reads(&stateStub{stub{"a", func(context.Context, func(metric.Sample)) error { return err }}},
			Traits{Cost: Light}, idle{}),
		reads(&stub{"b", func(context.Context, func(metric.Sample)) error {
			return &Problem{State: source.Denied, Reason: "no right"}
		}}, Traits{Cost: Free}, nil),
	}}
	r := s.round(t.Context(), second(0))
	if x := r.State; x == nil || !x.Up || x.EngineStatus != "seen" {
		t.Errorf("%+v", x)
	}
	err = &Problem{State: source.Failed, Reason: "the server's process has ended", Err: errLost(fail)}
	r = s.round(t.Context(), second(1))
	if x := r.State; x == nil || x.Up || x.Reason != "the server's process has ended" || len(r.Events) != 0 {
		t.Errorf("%+v", x)
	}
	r = s.round(t.Context(), second(2))
	if len(r.Events) != 0 {
		t.Errorf("%+v", r.Events)
	}
	err = nil
	r = s.round(t.Context(), second(3))
	if len(r.Events) != 1 || r.Events[0].Kind != "down" || r.Events[0].At.Unix() != second(1).at.Unix() ||
		r.Events[0].Until.Unix() != second(3).at.Unix() ||
		!strings.Contains(r.Events[0].Text, "process has ended") {
		t.Errorf("%+v", r.Events)
	}
	if r = s.round(t.Context(), second(4)); len(r.Events) != 0 {
		t.Errorf("told twice: %+v", r.Events)
	}
}

func errLost(err error) error { return &endpoint.Error{Op: "query", Kind: endpoint.Gone, Err: err} }

// TestWhatIsLeftOfARound lets one source take most of a round: another that then has too little time is not blamed for
// it.
func TestWhatIsLeftOfARound(t *testing.T) {
	tries := 0
	greedy := func(ctx context.Context, _ func(metric.Sample)) error {
		time.Sleep(160 * time.Millisecond)
		return nil
	}
	s := &Scraper{errs: plainErrors{}, link: idle{}, meter: NewMeter(), timeout: time.Second, states: []*turn{
		reads(&stub{"greedy", greedy}, Traits{Cost: Light, Budget: 1}, idle{}),
		reads(&stub{"patient", func(ctx context.Context, _ func(metric.Sample)) error {
			tries++
			<-ctx.Done()
			return ctx.Err()
		}}, Traits{Cost: Light}, idle{}),
	}}
	for i := range 3 {
		p := second(i)
		p.budget = 300 * time.Millisecond
		s.round(t.Context(), p)
		if x := s.states[1]; x.fails != 0 || !x.next.IsZero() {
			t.Fatalf("round %d: it waits until %v after %d failures", i, x.next, x.fails)
		}
	}
	if tries > 3 {
		t.Errorf("%d tries", tries)
	}
}

// TestFilesAreReadWhileTheServerHangs: files of the machine are read also in a round whose time the server took.
func TestFilesAreReadWhileTheServerHangs(t *testing.T) {
	n, m := 0, 0
	round := 20 * time.Millisecond
	s := &Scraper{errs: plainErrors{}, link: idle{}, meter: NewMeter(), timeout: time.Second, states: []*turn{
		reads(&stub{"hangs", func(context.Context, func(metric.Sample)) error {
			time.Sleep(round)
			return nil
		}}, Traits{Cost: Light, Budget: 1}, idle{}),
		reads(counted("light", &m), Traits{Cost: Light}, idle{}),
		reads(counted("host", &n), Traits{Cost: Free}, nil),
	}}
	for i := range 3 {
		p := second(i)
		p.budget = round
		r := s.round(t.Context(), p)
		if _, ok := find(r.Samples, "host"); !ok || n != i+1 {
			t.Fatalf("round %d: the machine was read %d times: %+v", i, n, r.Sources)
		}
	}
	if m != 0 {
		t.Errorf("the server was asked %d times more than there was time for", m)
	}
}

// wordy is a source that makes much of one name.
type wordy struct{ n, length int }

func (wordy) Name() source.Name { return "wordy" }
func (w wordy) Scrape(_ context.Context, at int64, emit func(metric.Sample)) error {
	l := metric.L("name", strings.Repeat("x", w.length))
	for i := range w.n {
		emit(metric.Sample{Name: fmt.Sprint("m", i), Labels: l, At: at})
	}
	return nil
}

// TestFiguresWithoutEnd: of one reading neither more figures nor more text is kept than a server can have.
func TestFiguresWithoutEnd(t *testing.T) {
	for _, w := range []wordy{{n: mostSamples + 10, length: 10}, {n: mostText/2000 + 10, length: 2000}} {
		n, text := 0, 0
		st := reads(w, Traits{}, nil)
		o := st.read(t.Context(), 0, time.Minute, func(m metric.Sample) { n++; text += m.Text() })
		if n > mostSamples || text > mostText || n < w.n-100 || !usable(o.err) || o.err == nil {
			t.Errorf("%+v: %d figures with %d bytes are kept: %v", w, n, text, o.err)
		}
	}
}

// broken is a source with a mistake.
type broken struct{ mistake func() }

func (*broken) Name() source.Name { return "broken" }

func (b *broken) Scrape(context.Context, int64, func(metric.Sample)) error {
	b.mistake()
	return nil
}

func TestMistakeOfASourceEndsNothingElse(t *testing.T) {
	var none *broken
	for _, mistake := range []func(){func() { panic("BUG: of a source") }, func() { none.mistake() }} {
		st := reads(&broken{mistake: mistake}, Traits{}, nil)
		var p *Problem
		if o := st.read(t.Context(), 0, time.Minute, func(metric.Sample) {}); !errors.As(o.err, &p) ||
			p.State != source.Failed {
			t.Error(o.err)
		}
	}
}

// stuck is a link whose last question of a round is never answered.
type stuck struct{ idle }

func (stuck) Work() func(context.Context) { return func(ctx context.Context) { <-ctx.Done() } }

// TestALaneEndsByItself: what a connection is asked after its heavy sources ends in time, without anybody's help.
func TestALaneEndsByItself(t *testing.T) {
	n := 0
	s := &Scraper{errs: plainErrors{}, link: idle{}, heavy: stuck{}, meter: NewMeter(), timeout: time.Millisecond}
	s.states = []*turn{reads(counted("x", &n), Traits{Cost: Heavy}, stuck{})}
	l := (*lane)(nil).start(t.Context(), s, pass{whole: true})
	defer l.stop()
	end := time.NewTimer(30 * time.Second)
	defer end.Stop()
	for {
		select {
		case _, more := <-l.done:
			if !more {
				return
			}
		case <-end.C:
			t.Fatal("heavy sources are not read any more")
		}
	}
}
