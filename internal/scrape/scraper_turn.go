package scrape

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/guard"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// turn is a source with how it fares and when it is read again.
type turn struct {
	src    Source
	traits Traits
	link   Link // that it asks on, nil for none
	errs   Errors
	labels metric.Labels
	phase  int64 // where in its cadence it is read, in rounds

	reads    int           // successful readings
	took     time.Duration // of all these
	lastTook time.Duration
	lastLate time.Duration
	ever     bool
	err      error
	fails    int
	next     time.Time // not before

	slot   int64 // of its cadence, in which it was read last
	slow   int   // it is read 2^slow times less often than it wants to, for it is over its budget
	costs  [5]time.Duration
	nCosts int
	used   Usage
	told   float64 // of used.Server, seconds: what the newest samples say
}

// maxSlow bounds how much less often a source is read: 64 times.
const maxSlow = 6

func newTurn(src Source, tr Traits, l Link, errs Errors) *turn {
	h := fnv.New32a()
	h.Write([]byte(src.Name()))
	return &turn{
		src:    src,
		traits: tr,
		link:   l,
		errs:   errs,
		labels: metric.L("source", string(src.Name())),
		phase:  int64(h.Sum32()),
	}
}

// period is the time between two readings when a round comes each interval.
func (st *turn) period(every time.Duration) time.Duration {
	return st.usual(every) << st.slow
}

// usual is the period of a source that is within its budget.
func (st *turn) usual(every time.Duration) time.Duration {
	own := max(st.traits.Every, every)
	if p, ok := st.src.(pacer); ok {
		own = max(own, p.Every())
	}
	return own
}

// due reports whether the source is read in a round. Its time is cut into slots as long as its period, at the same
// moments whenever the program was started, and it is read in the first round of each.
func (st *turn) due(p pass) bool {
	if p.at.Before(st.next) && st.next.Sub(p.at) < 2*time.Minute { // farther away only when the clock was set back
		return false
	}
	return !st.ever || st.slotOf(p) != st.slot
}

func (st *turn) slotOf(p pass) int64 {
	period := st.period(p.every).Milliseconds()
	if p.every <= 0 || period <= 0 {
		return p.at.UnixMilli()
	}
	rounds := max(1, period/p.every.Milliseconds())
	return (p.at.UnixMilli() + st.phase%rounds*p.every.Milliseconds()) / period
}

// outcome is what reading a source once gave.
type outcome struct {
	turn    *turn
	err     error
	samples []metric.Sample // of heavy sources
	began   time.Time
	took    time.Duration
	late    time.Duration // after the round's begin
	short   bool          // it had less time than it is due, for others had taken it
	used    Usage
}

// mostSamples and mostText bound what is kept of one reading of a source: figures, and bytes of their names and labels.
// Every figure is a series in memory and on the disk, which has its text to itself: a few rows can make much of one
// name.
const (
	mostSamples = 50_000
	mostText    = 16 << 20
)

// read reads the source once.
func (st *turn) read(ctx context.Context, ms int64, bound time.Duration, emit func(metric.Sample)) outcome {
	o := outcome{turn: st, began: time.Now()}
	var before Usage
	if st.link != nil {
		before = st.link.Used()
	}
	tctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	n, left, text := 0, 0, 0
	o.err = unbroken(func() error {
		return st.src.Scrape(tctx, ms, func(m metric.Sample) {
			if n++; m.Overlong() {
				return
			}
			if text += m.Text(); n > mostSamples || text > mostText {
				left++
				return
			}
			emit(m)
		})
	})
	if o.err == nil && left > 0 {
		o.err = &Problem{State: source.Failed, Reason: fmt.Sprintf("the server returned %d figures, of which %d "+
			"are stored", n, n-left), Partial: true}
	}
	if o.err != nil && tctx.Err() != nil && !st.answered(o.err) {
		o.err = &Problem{State: source.Slow, Reason: fmt.Sprintf("no answer within %v",
			bound.Round(time.Millisecond)), Err: context.DeadlineExceeded}
	}
	o.took = time.Since(o.began)
	if st.link != nil {
		o.used = st.link.Used().Minus(before)
	}
	return o
}

// unbroken runs f: a mistake of Dyno's that one server brings to light must not end the watching of the others.
func unbroken(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Problem{State: source.Failed, Reason: fmt.Sprintf("Dyno could not read what the server said: %v",
				p)}
		}
	}()
	return guard.Shaped(f)
}

// settle draws the consequences of a reading.
func (st *turn) settle(o outcome, p pass) {
	st.ever, st.slot = true, st.slotOf(p)
	st.err, st.lastTook, st.lastLate = o.err, o.took, o.late
	st.used = st.used.Plus(o.used)
	switch {
	case usable(o.err):
		st.reads++
		st.took += o.took
		st.fails = 0
		cost := o.used.Server
		if st.traits.Cost == Free {
			cost = o.took
		}
		if p.every > 0 {
			st.charge(cost, p.every)
		}
	case st.lost(o.err):
		// the server or its process went away: not the source's fault, and it is wanted the moment it is back
		st.fails = 0
	// nor is this; and whether the server is there is asked each time
	case st.silent(o.err) && (o.short || st.traits.Totals):
	default:
		st.fails = min(st.fails+1, 6)
		// a little less, so that the turn is not missed by a hair
		st.next = p.at.Add(time.Second<<st.fails - time.Second/10)
	}
}

// charge compares what readings cost with the budget. The least of the last few counts: on a server that is short of
// CPU, or whose locks are taken, most of the time of a statement is waiting, which it takes from nobody.
func (st *turn) charge(cost, every time.Duration) {
	st.costs[st.nCosts%len(st.costs)] = cost
	st.nCosts++
	n := min(st.nCosts, len(st.costs))
	if n < 3 && st.period(every) < 30*time.Second {
		return
	}
	least := slices.Min(st.costs[:n]).Seconds()
	allowed := func(slow int) float64 { return st.budget() * (st.usual(every) << slow).Seconds() }
	was := st.slow
	for st.slow < maxSlow && least > allowed(st.slow) {
		st.slow++
	}
	for st.slow > 0 && st.slow <= was && least < 0.8*allowed(st.slow-1) { // not to and fro at the limit
		st.slow--
	}
	if st.slow != was {
		st.nCosts = 0
	}
}

func (st *turn) budget() float64 {
	if st.traits.Budget > 0 {
		return st.traits.Budget
	}
	return 0.01
}

// tellState emits how a source fares, in each round, so that these series have no gaps.
func (st *turn) tellState(ms int64, emit func(metric.Sample)) {
	if !st.ever {
		return
	}
	up := 0.0
	if usable(st.err) {
		up = 1
	}
	emit(metric.Sample{Name: "dyno_scrape_success", Labels: st.labels, At: ms, Value: up})
	emit(metric.Sample{Name: "dyno_source_slowed", Labels: st.labels, At: ms, Value: float64(int(1) << st.slow)})
}

// tell emits what reading the source took, in the rounds in which it was read.
func (st *turn) tell(ms int64, emit func(metric.Sample)) {
	emit(metric.Sample{Name: "dyno_scrape_duration_seconds", Labels: st.labels, At: ms, Value: st.lastTook.Seconds()})
	emit(metric.Sample{Name: "dyno_source_late_seconds", Labels: st.labels, At: ms, Value: st.lastLate.Seconds()})
	if st.traits.Cost == Free {
		return
	}
	st.told = st.used.Server.Seconds()
	emit(metric.Sample{
		Name: "dyno_source_seconds_total", Labels: st.labels, Kind: metric.Counter,
		At: ms, Value: st.told,
	})
	emit(metric.Sample{
		Name: "dyno_source_statements_total", Labels: st.labels, Kind: metric.Counter, At: ms,
		Value: float64(st.used.Statements),
	})
	emit(metric.Sample{
		Name: "dyno_source_rows_total", Labels: st.labels, Kind: metric.Counter, At: ms,
		Value: float64(st.used.Rows),
	})
	emit(metric.Sample{
		Name: "dyno_source_bytes_total", Labels: st.labels, Kind: metric.Counter, At: ms,
		Value: float64(st.used.Bytes),
	})
}

func (st *turn) source() source.Source {
	x := source.Source{Name: st.src.Name(), Reads: st.reads}
	x.State, x.Reason, x.Fix = describe(st.err, st.errs)
	if st.reads > 0 {
		x.Took = st.took.Seconds() * 1000 / float64(st.reads)
	}
	if r, ok := st.src.(remarker); ok && st.reads > 0 && x.State == source.OK {
		x.Reason = r.Remark()
	}
	if st.slow > 0 && x.Reason == "" {
		x.Reason = "read " + strconv.Itoa(1<<st.slow) + " times less often than it could be: it takes more than " +
			strconv.FormatFloat(st.budget()*1000, 'g', 3, 64) + " ms a second"
	}
	return x
}

// answered reports whether an error says more than that the time was up.
func (st *turn) answered(err error) bool {
	var p *Problem
	return st.errs.Answered(err) || errors.As(err, &p) && p.State != source.Failed
}

// silent reports whether an error means that the server said nothing: it is not there, or it hangs.
func (st *turn) silent(err error) bool {
	var p *Problem
	return st.lost(err) || errors.As(err, &p) && p.State == source.Slow
}

// lost reports whether an error means that there is no server to ask at this moment.
func (st *turn) lost(err error) bool {
	switch st.errs.Kind(err) {
	case endpoint.Gone, endpoint.Refused, endpoint.AuthFailed, endpoint.TooManyConnections:
		// the link itself waits after the last two
		return true
	}
	return errors.Is(err, os.ErrNotExist)
}
