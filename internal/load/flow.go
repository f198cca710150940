package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// terminal is where operations come from: a generator and the operation that it has drawn.
type terminal struct {
	gen workload.Generator
	op  workload.Op
	due time.Duration // since the start of the run: when the operation may begin
}

// draw makes the next operation, which is ready after its think time.
func (t *terminal) draw(now time.Duration) {
	t.op.Mark = [4]int64{}
	t.gen.Begin(&t.op)
	t.due = now + max(t.op.Think, 0)
}

// step is what a session has to do next.
type step uint8

const (
	stepSend      step = iota // send flow.call
	stepRollback              // send ROLLBACK
	stepReconnect             // the connection is lost: make another, see reconnected
	stepDone                  // the operation is complete
	stepDropped               // the operation was given up because of an error that is to be ignored
	stepHalted                // the run ends before the operation has
	stepFailed                // flow.err ends the run
)

// over reports whether a step is the last of an operation.
func (s step) over() bool { return s >= stepDone }

// flow takes operations through their statements, one operation after the other: it says what to send, counts, and
// knows what every error means. It knows no connection; sessions of both kinds follow it. Moments are since the start
// of the run.
type flow struct {
	*crew
	t     *terminal
	call  workload.Call
	err   error // why stepFailed, or why stepReconnect
	n     statements
	due   time.Duration
	began time.Duration
	sent  time.Duration
	open  bool // the operation has a moment at which it was due

	events int           // operations completed since the warm-up
	spent  time.Duration // in them

	retries     int  // of the operation, after errors of RetryAFew
	calls       int  // of the attempt
	transaction bool // the attempt has sent a BEGIN or the like
	undoing     bool // ROLLBACK is under way
	dropped     bool // the operation is given up when it has been rolled back
}

// begin starts the operation that t has drawn.
func (f *flow) begin(c *counts, t *terminal, due, now time.Duration, open bool) step {
	f.t, f.due, f.began, f.open = t, due, now, open
	f.n, f.retries, f.dropped = statements{}, 0, false
	return f.attempt(c, now)
}

// attempt begins with the first statement.
func (f *flow) attempt(c *counts, now time.Duration) step {
	f.transaction, f.undoing, f.calls = false, false, 0
	return f.advance(c, now)
}

// advance moves on to the next statement.
func (f *flow) advance(c *counts, now time.Duration) step {
	more, err := f.t.gen.Next(&f.call)
	switch {
	case err != nil:
		return f.fail(c, fmt.Errorf("workload %s: %w", f.plan.Workload, err))
	case more:
		f.transaction = f.transaction || f.plan.Statements[f.call.Statement].Kind == workload.Other
		f.sent = now
		f.calls++
		return stepSend
	case f.calls == 0: // a loop would never come to an end
		return f.fail(c, fmt.Errorf("workload %s: operation %s has no statement", f.plan.Workload,
			f.plan.Operations[f.t.op.Kind]))
	}
	response := noResponse
	if f.open {
		response = now - f.due
	}
	c.done(f.t.op.Kind, now-f.began, response, f.n)
	if now >= f.config.Warmup {
		f.events++
		f.spent += now - f.began
	}
	if f.config.Acknowledged != nil {
		f.config.Acknowledged(f.t.op)
	}
	if f.config.Ended != nil {
		f.config.Ended(f.start.Add(f.began), f.start.Add(now), f.n.reads+f.n.writes+f.n.others)
	}
	return stepDone
}

// answered takes what came of the latest statement or ROLLBACK.
func (f *flow) answered(c *counts, err error, now time.Duration) step {
	if err != nil {
		return f.trouble(c, err, now)
	}
	if f.undoing {
		f.n.others++
		return f.again(c, now)
	}
	f.n.count(f.plan.Statements[f.call.Statement].Kind)
	f.timed(c, now)
	return f.advance(c, now)
}

// timed keeps the time of the statement that has been answered.
func (f *flow) timed(c *counts, now time.Duration) {
	if f.timing {
		c.statement(f.naming.of[f.call.Statement], now-f.sent)
	}
}

// trouble decides what to do about an error. A statement that the server answered is counted, with an error too: the
// server counts it as well.
func (f *flow) trouble(c *counts, err error, now time.Duration) step {
	tr := f.server.Trouble(err)
	statement := "ROLLBACK"
	if !f.undoing {
		st := &f.plan.Statements[f.call.Statement]
		statement = st.SQL
		if tr.Code != "" {
			f.n.count(st.Kind)
			f.timed(c, now)
		}
	}
	switch {
	case f.hard.Err() != nil:
		return f.halt(c)
	case tr.Gone:
		c.lost++
		f.err = err
		return stepReconnect
	case f.undoing:
		return f.fail(c, fmt.Errorf("roll back a failed operation: %w", err))
	case tr.Code == "":
		return f.fail(c, fmt.Errorf("%s: %w", statement, err))
	}
	c.errors[tr.Code]++
	switch {
	case tr.Retry == RetryAlways:
	case tr.Retry == RetryAFew && f.calls > 1 && f.retries < fewRetries:
		f.retries++
	case f.config.IgnoreAll || slices.Contains(f.config.Ignore, tr.Code):
		f.dropped = true
	default:
		return f.fail(c, fmt.Errorf("%s: %w", statement, err))
	}
	if !f.transaction {
		return f.again(c, now)
	}
	// After a lock wait timeout the server has undone the last statement alone.
	f.undoing = true
	f.sent = now
	return stepRollback
}

// reconnected takes what came of stepReconnect.
func (f *flow) reconnected(c *counts, err error, now time.Duration) step {
	switch {
	case errors.Is(err, errStopped):
		return f.halt(c)
	case err != nil:
		return f.fail(c, err)
	}
	c.reconnects++
	return f.again(c, now)
}

// again gives the operation up, or begins it anew.
func (f *flow) again(c *counts, now time.Duration) step {
	switch {
	case f.dropped:
		c.failed(f.t.op.Kind, f.n)
		return stepDropped
	case f.stopped.Load():
		return f.halt(c)
	}
	f.t.gen.Again()
	return f.attempt(c, now)
}

// halt leaves the operation as it is.
func (f *flow) halt(c *counts) step {
	c.unfinished(f.t.op.Kind, f.n)
	return stepHalted
}

// fail ends the run.
func (f *flow) fail(c *counts, err error) step {
	c.unfinished(f.t.op.Kind, f.n)
	f.err = err
	return stepFailed
}
