package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/stat"
)

// clock cuts a run into ticks.
type clock struct {
	crew      *crew
	recorders []*recorder
	loops     func() []time.Duration
	sink      func(loadresult.Tick)

	start    time.Time // of what counts: the end of the warm-up
	last     time.Time // end of the tick before
	seq      int
	cpu      time.Duration
	total    loadresult.Tick
	complete bool          // the run reached its time or its number of events
	settled  bool          // it ended because its rate was stationary
	halted   time.Duration // when the run was stopped, since its start
	due      uint64        // operations due by the end of the tick before
	rates    []float64     // of the ticks that count
	late     time.Duration // by which the end of this tick was late
	pulse    pulse
	client   client
}

func newClock(cr *crew, p party, sink func(loadresult.Tick)) *clock {
	k := &clock{
		crew: cr, recorders: p.recorders(), loops: p.loops, sink: sink, start: cr.start.Add(cr.config.Warmup),
		last: cr.start, cpu: platform.OwnCPU(),
	}
	if cr.config.Warmup > 0 {
		cr.left.Store(noLimit)
	} else {
		k.measured()
	}
	return k
}

// next returns when the tick after now ends. Ticks are aligned to the end of the warm-up.
func (k *clock) next(now time.Time, stopping bool) time.Time {
	since := now.Sub(k.start)
	if since < 0 {
		return k.start.Add(-((-since - 1) / tick * tick))
	}
	next := k.start.Add(since.Truncate(tick) + tick)
	if limit := k.crew.config.Time; limit > 0 && !stopping {
		if end := k.start.Add(limit); end.Before(next) {
			return end
		}
	}
	return next
}

// watch emits ticks until all sessions have finished, and ends the run when it is time. The last tick is as long as the
// sessions took to finish. It returns the error that ended the run.
func (k *clock) watch(ctx context.Context, finished <-chan struct{}, failed <-chan error, wake,
	breakAll func(),
) (failure error) {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	endPulse := sync.OnceFunc(k.pulse.begin())
	defer endPulse()
	var forced <-chan time.Time
	done := ctx.Done()
	limit := k.crew.config.Time
	stopping := false
	stop := func() {
		if !stopping {
			stopping = true
			k.halted = k.crew.now()
			k.crew.stopped.Store(true)
			close(k.crew.stop)
			wake()
		}
	}
	force := func() {
		stop()
		if forced == nil {
			forced = time.After(grace)
		}
	}
	for {
		now := time.Now()
		next := k.next(now, stopping)
		timer.Reset(next.Sub(now))
		select {
		case <-finished:
			select { // the last session may have failed
			case err := <-failed:
				failure = errors.Join(failure, k.crew.server.Explain(err, k.crew.plan))
			default:
			}
			if !stopping && failure == nil {
				k.complete = true // all events were used up
			}
			endPulse() // what it has seen belongs to the last tick
			k.emit(time.Now(), true)
			return failure
		case err := <-failed:
			if failure == nil {
				failure = k.crew.server.Explain(err, k.crew.plan)
			}
			force()
		case <-done:
			done = nil
			force()
		case <-forced:
			breakAll()
			wake()
		case <-timer.C:
			now = time.Now()
			if now.Before(next) {
				continue
			}
			k.late = now.Sub(next)
			if limit > 0 && !stopping && now.Sub(k.start) >= limit {
				// The sessions end with the operations they are at: these belong to the tick that closes then.
				k.complete = true
				stop()
				continue
			}
			k.emit(now, false)
			if k.crew.config.Steady && !stopping && k.steady() {
				k.complete, k.settled = true, true
				stop()
			}
		}
	}
}

const (
	// beat is how often it is looked whether the client runs.
	beat = 20 * time.Millisecond
	// stall is the lateness from which on the client stood still; what is less is the turns that threads of one CPU
	// take.
	stall = 50 * time.Millisecond
)

// pulse tells how long the process did not run. It beats beside the clock, which may be at work, or wait for whoever
// reads what it writes, when the process is stopped.
type pulse struct{ still, longest atomic.Int64 } // nanoseconds, since they were taken

// begin lets it beat until end is called.
func (p *pulse) begin() (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(beat)
		defer timer.Stop()
		for {
			at := time.Now().Add(beat)
			timer.Reset(beat)
			ended := false
			select {
			case <-stop:
				ended = true
			case <-timer.C:
			}
			if late := time.Since(at); late >= stall {
				p.still.Add(int64(late))
				p.longest.Store(max(p.longest.Load(), int64(late)))
			}
			if ended {
				return
			}
		}
	}()
	return func() { close(stop); <-done }
}

// take returns for how long in sum, and at a time, the process stood still since the last call.
func (p *pulse) take() (still, longest time.Duration) {
	return time.Duration(p.still.Swap(0)), time.Duration(p.longest.Swap(0))
}

// steady reports whether the rate has been stationary for at least half of the time that counts.
func (k *clock) steady() bool {
	if len(k.rates) < steadyTicks {
		return false
	}
	from, ok := stat.Stationary(k.rates)
	return ok && from <= len(k.rates)/2
}

// steadyTicks is how many ticks a run has at least before it is called steady.
const steadyTicks = 10

// empty returns a tick without figures.
func (k *clock) empty() loadresult.Tick {
	t := loadresult.Tick{
		Seq: k.seq, At: k.last, Threads: int(k.crew.up.Load()),
		Ops: make([]loadresult.Op, len(k.crew.plan.Operations)),
	}
	for i, name := range k.crew.plan.Operations {
		t.Ops[i] = loadresult.Op{Name: name, Latency: hist.New()}
		if k.crew.queue != nil {
			t.Ops[i].Response = hist.New()
		}
	}
	if k.crew.timing {
		t.Statements = make([]loadresult.Statement, len(k.crew.naming.names))
		for i, name := range k.crew.naming.names {
			t.Statements[i] = loadresult.Statement{Name: name, Latency: hist.New()}
		}
	}
	return t
}

// emit closes the tick that ends now.
func (k *clock) emit(now time.Time, last bool) {
	t := k.empty()
	t.Length, t.Warm = now.Sub(k.last), k.last.Before(k.start)
	var own ownFigures
	for _, r := range k.recorders {
		own.add(r.take(&t).own())
	}
	k.arrivals(&t, now, last)
	cpu := platform.OwnCPU()
	t.ClientCPU, k.cpu = cpu-k.cpu, cpu
	still, longest := k.pulse.take()
	t.Delay = max(t.Delay, k.late, longest)
	switch {
	case !t.Warm:
		k.total.Add(t)
		if t.Length >= tick/2 { // what is left at the end has a rate by chance
			k.rates = append(k.rates, t.TPS())
		}
		k.client.ownFigures.add(own)
		k.client.still += still
	case !now.Before(k.start):
		k.start = now // no tick is half warm-up
		k.measured()
	}
	k.late = 0
	k.seq++
	k.last = now
	if k.sink != nil {
		k.sink(t)
	}
}

// measured says that what comes from now on counts.
func (k *clock) measured() {
	k.crew.measured()
	k.client.loopsBefore = k.loops()
}

// arrivals tells what was due in a tick.
func (k *clock) arrivals(t *loadresult.Tick, now time.Time, last bool) {
	q := k.crew.queue
	if q == nil {
		return
	}
	until := now.Sub(k.crew.start)
	if k.halted > 0 {
		until = min(until, k.halted) // nothing is due in a run that has been stopped
	}
	due, taken := q.count(until)
	due = max(due, taken)
	t.Open = &loadresult.Open{Due: due - k.due, Queue: due - taken, Busy: int(k.crew.busy.Load())}
	if last {
		t.Open.Dropped = due - taken
	}
	k.due = due
}
