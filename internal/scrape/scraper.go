package scrape

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"dyno/internal/metric"
	"dyno/internal/snapshot"
	"dyno/internal/target"
)

// Options change how a target is read. The zero value is the usual way.
type Options struct {
	// Timeout bounds one reading of one source; 0 is 800 ms. With Run it is at most four fifths of the interval.
	Timeout time.Duration
	// Sources names the sources to read, nil for all; see Names.
	Sources []string
}

// Scraper reads one target. Its methods are called from one goroutine at a time; Close frees its connection.
type Scraper struct {
	link    *link
	timeout time.Duration
	states  []*sourceState
	size    int // samples of the last round
}

// sourceState is a source with how it fares.
type sourceState struct {
	src      Source
	duration metric.Labels
	reads    int
	took     time.Duration // of all successful readings
	lastTook time.Duration
	tried    bool
	err      error
	fails    int
	next     time.Time // not before
}

// New returns a scraper of t. It connects when it first reads.
func New(t *target.Target, o Options) (*Scraper, error) {
	if o.Timeout <= 0 {
		o.Timeout = 800 * time.Millisecond
	}
	for _, n := range o.Sources {
		if !slices.Contains(Names(), n) {
			return nil, fmt.Errorf("set up scrape: no source is called %q: there are %v", n, Names())
		}
	}
	s := &Scraper{link: &link{t: t}, timeout: o.Timeout}
	for _, src := range all(s.link, t) {
		if o.Sources == nil || slices.Contains(o.Sources, src.Name()) {
			s.states = append(s.states, &sourceState{src: src, duration: metric.L("source", src.Name())})
		}
	}
	return s, nil
}

// Close ends the scraper's connection.
func (s *Scraper) Close() error {
	s.link.close()
	return nil
}

// Statements returns the statements that the scraper has sent so far, in no order: a digest of statements has lost the comment by
// which they are known for Dyno's. It is called between rounds.
func (s *Scraper) Statements() []string { return slices.Collect(maps.Keys(s.link.sent)) }

// Once reads every source now, those that were backing off too. Sources come in the order of Names, with the state of this one
// reading.
func (s *Scraper) Once(ctx context.Context) ([]metric.Sample, []snapshot.Source) {
	for _, st := range s.states {
		st.reads, st.took, st.next = 0, 0, time.Time{}
	}
	s.link.next = time.Time{}
	return s.round(ctx, time.Now(), time.Duration(len(s.states))*s.timeout)
}

// Run reads every source each interval until ctx ends, which is no error. Readings are taken when the clock is at a whole
// multiple of every (at least 100 ms), and all their samples carry that time, even when the machine woke us later:
// dyno_scrape_late_seconds tells how much. When a round takes longer than the interval the missed ones stay a gap.
//
// sink gets each round's samples, which are its own, and the state of every source since Run began: a source that fails is
// tried again after 2, 4, … 64 seconds and shows its last problem until then. A lost server is looked for in each round. sink is called from the goroutine of Run.
func (s *Scraper) Run(ctx context.Context, every time.Duration, sink func(at time.Time, samples []metric.Sample, sources []snapshot.Source)) error {
	if every < 100*time.Millisecond {
		return fmt.Errorf("scrape every %v: the shortest interval is 100ms", every)
	}
	for _, st := range s.states {
		st.reads, st.took = 0, 0
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for last := (time.Time{}); ; {
		now := time.Now()
		at := now.Truncate(every).Add(every)
		if !at.After(last) { // the clock was set back
			at = last.Add(every)
		}
		timer.Reset(time.Until(at))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if late := time.Since(at); late > every/2 && late < time.Hour { // nearer to the next one
			continue
		}
		last = at
		samples, sources := s.round(ctx, at, every*9/10)
		if ctx.Err() != nil { // a round that was cut off is not complete
			return nil
		}
		sink(at, samples, sources)
	}
}

// round reads the sources whose turn it is. budget bounds all of them together.
func (s *Scraper) round(ctx context.Context, at time.Time, budget time.Duration) ([]metric.Sample, []snapshot.Source) {
	began := time.Now()
	end := began.Add(budget)
	each := min(s.timeout, budget*8/9)
	ms := at.UnixMilli()
	out := make([]metric.Sample, 0, s.size+32)
	emit := func(x metric.Sample) { out = append(out, x) }
	for _, st := range s.states {
		now := time.Now()
		if now.Before(st.next) || end.Sub(now) < time.Millisecond { // backing off, or another source took all the time
			continue
		}
		n := len(out)
		if !st.read(ctx, ms, min(each, end.Sub(now)), emit) {
			out = out[:n]
		}
	}
	for _, st := range s.states {
		if st.tried {
			emit(metric.Sample{Name: "dyno_scrape_duration_seconds", Labels: st.duration, At: ms, Value: st.lastTook.Seconds()})
		}
		up := 0.0
		if st.tried && usable(st.err) {
			up = 1
		}
		emit(metric.Sample{Name: "dyno_scrape_success", Labels: st.duration, At: ms, Value: up})
		st.tried = false
	}
	if u, ok := ownCPU(); ok {
		emit(metric.Sample{Name: "dyno_scrape_client_cpu_seconds_total", Kind: metric.Counter, At: ms, Value: u})
	}
	emit(metric.Sample{Name: "dyno_scrape_late_seconds", At: ms, Value: max(0, began.Sub(at).Seconds())})
	s.size = len(out)
	sources := make([]snapshot.Source, len(s.states))
	for i, st := range s.states {
		sources[i] = st.source()
	}
	return out, sources
}

// read reads the source once and reports whether its samples can be used.
func (st *sourceState) read(ctx context.Context, ms int64, bound time.Duration, emit func(metric.Sample)) bool {
	began := time.Now()
	tctx, cancel := context.WithTimeout(ctx, bound)
	err := st.src.Scrape(tctx, ms, emit)
	if err != nil && tctx.Err() != nil && !answered(err) {
		err = &Problem{State: snapshot.Slow, Reason: fmt.Sprintf("no answer within %v", bound.Round(time.Millisecond)), Err: context.DeadlineExceeded}
	}
	cancel()
	st.tried, st.err, st.lastTook = true, err, time.Since(began)
	switch {
	case usable(err):
		st.reads++
		st.took += st.lastTook
		st.fails = 0
		return true
	case lost(err): // the server or its process went away: not the source's fault, and it is wanted the moment it is back
		st.fails = 0
	default:
		st.fails = min(st.fails+1, 6)
		st.next = began.Add(time.Second<<st.fails - time.Second/10) // a little less, so that the turn is not missed by a hair
	}
	return false
}

func (st *sourceState) source() snapshot.Source {
	x := snapshot.Source{Name: st.src.Name(), Reads: st.reads}
	x.State, x.Reason, x.Fix = describe(st.err)
	if st.reads > 0 {
		x.Took = st.took.Seconds() * 1000 / float64(st.reads)
	}
	return x
}

func usable(err error) bool {
	var p *Problem
	return err == nil || errors.As(err, &p) && p.Partial
}

// answered reports whether an error says more than that the time was up.
func answered(err error) bool {
	var p *Problem
	if _, ok := target.ServerErrorNumber(err); ok {
		return true
	}
	return errors.As(err, &p) && p.State != snapshot.Failed
}

// lost reports whether an error means that there is no server to ask at this moment.
func lost(err error) bool {
	switch target.KindOf(err) {
	case target.Gone, target.Refused, target.AuthFailed, target.TooManyConnections: // the link itself waits after the last two
		return true
	}
	return errors.Is(err, os.ErrNotExist)
}

// ownCPU returns the CPU time of this whole program, user and system, seconds: with nothing else to do it is the scraper's.
func ownCPU() (sec float64, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), true
}
