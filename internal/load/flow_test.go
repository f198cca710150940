package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

// played is what a flow was told and said.
type played struct {
	*flow
	c *counts
	t *testing.T
}

// planOf returns a plan of one operation of these statements.
func planOf(list ...workload.Statement) *workload.Plan {
	return &workload.Plan{
		Workload: "fixed", Operations: []string{"fixed"}, Statements: list,
		Generator: func(uint64, int) workload.Generator {
			var g fixed
			for i := range list {
				g.Calls = append(g.Calls, workload.Call{Statement: i})
			}
			return &g
		},
	}
}

// fixed is an operation that is the same every time.
type fixed struct {
	workload.Listed
	think time.Duration
}

func (g *fixed) Begin(op *workload.Op) {
	*op = workload.Op{Think: g.think}
	g.Again()
}

// someFamily is a family of servers by its errors alone, which are their meaning themselves.
type someFamily struct{ Dialer }

func (someFamily) Trouble(err error) (t Trouble) {
	var x meant
	errors.As(err, &x)
	return Trouble(x)
}

func (someFamily) Explain(err error, _ *workload.Plan) error { return err }

func (someFamily) Retried() (codes []string, option string) {
	return []string{"1020", "1205", "1213", "1412", "1615"}, "mysql-ignore-errors"
}

// meant is an error of someFamily.
type meant Trouble

func (e meant) Error() string { return e.Code }

// refusal is an answer of the server.
func refusal(number int) error {
	e := meant{Code: strconv.Itoa(number)}
	if codes, _ := (someFamily{}).Retried(); slices.Contains(codes, e.Code) {
		e.Retry = RetryAlways
	}
	return fmt.Errorf("execute: %w", e)
}

func hungUp() error { return fmt.Errorf("receive: %w", meant{Gone: true}) }

// play returns a flow over a transaction of four statements.
func play(t *testing.T, c Config) *played {
	plan := planOf(
		workload.Statement{SQL: "BEGIN", Kind: workload.Other},
		workload.Statement{SQL: "SELECT 1", Kind: workload.Read},
		workload.Statement{SQL: "UPDATE x", Kind: workload.Write},
		workload.Statement{SQL: "COMMIT", Kind: workload.Other},
	)
	cr := &crew{
		config: c, plan: plan, naming: namesOf(plan), timing: true, hard: context.Background(), server: someFamily{},
	}
	p := &played{flow: &flow{crew: cr}, c: newCounts(1, len(namesOf(plan).names)), t: t}
	tm := cr.newTerminal(0)
	tm.draw(0)
	p.want(p.begin(p.c, tm, 5, 10, true), stepSend, 0)
	return p
}

// want checks what the flow says, and which statement comes next.
func (p *played) want(got, want step, statement int) {
	p.t.Helper()
	if got != want || got == stepSend && p.call.Statement != statement {
		p.t.Fatalf("step %d with statement %d, want %d with %d (%v)", got, p.call.Statement, want, statement, p.err)
	}
}

// answer feeds an answer at a moment.
func (p *played) answer(err error, now time.Duration) step { return p.answered(p.c, err, now) }

func TestFlowOfAnOperation(t *testing.T) {
	var done []workload.Op
	p := play(t, Config{Acknowledged: func(op workload.Op) { done = append(done, op) }})
	p.want(p.answer(nil, 20), stepSend, 1)
	p.want(p.answer(nil, 30), stepSend, 2)
	p.want(p.answer(nil, 40), stepSend, 3)
	p.want(p.answer(nil, 50), stepDone, 0)
	o := p.c.ops[0]
	if o.statements != (statements{1, 1, 2}) || o.latency.Max() != 40 || o.response.Max() != 45 || len(done) != 1 {
		t.Errorf("%+v, service %v, response %v, %d acknowledged", o.statements, o.latency.Max(),
			o.response.Max(), len(done))
	}
}

func TestFlowAfterErrors(t *testing.T) {
	p := play(t, Config{})
	p.want(p.answer(nil, 20), stepSend, 1)
	p.want(p.answer(refusal(1213), 30), stepRollback, 0)
	p.want(p.answer(nil, 40), stepSend, 0) // again from its beginning
	p.want(p.answer(nil, 50), stepSend, 1)
	p.want(p.answer(hungUp(), 60), stepReconnect, 0)
	p.want(p.reconnected(p.c, nil, 70), stepSend, 0)
	p.want(p.answer(refusal(1205), 80), stepRollback, 0)
	p.want(p.answer(hungUp(), 90), stepReconnect, 0) // while it rolls back
	p.want(p.reconnected(p.c, nil, 100), stepSend, 0)
	for now := time.Duration(110); now < 140; now += 10 {
		p.answer(nil, now)
	}
	p.want(p.answer(nil, 140), stepDone, 0)
	o := p.c.ops[0]
	// BEGIN, the refused SELECT, ROLLBACK; BEGIN; the refused BEGIN; all four.
	if o.statements != (statements{2, 1, 2 + 1 + 1 + 2}) || o.latency.Max() != 130 || p.c.lost != 2 ||
		p.c.reconnects != 2 || p.c.errors["1213"] != 1 || p.c.errors["1205"] != 1 {
		t.Errorf("%+v", p.c)
	}
}

func TestFlowThatEnds(t *testing.T) {
	f := func(c Config, prepare func(*played), err error, want step, mention string) {
		t.Helper()
		p := play(t, c)
		p.answer(nil, 20)
		if prepare != nil {
			prepare(p)
		}
		got := p.answer(err, 30)
		if got == stepRollback {
			got = p.answer(nil, 40)
		}
		if got != want || mention != "" && (p.err == nil || !strings.Contains(p.err.Error(), mention)) {
			t.Errorf("step %d, %v; want %d, %q", got, p.err, want, mention)
		}
		if p.c.ops[0].latency != nil {
			t.Error("it was counted as complete")
		}
	}
	hard, cancel := context.WithCancel(t.Context())
	cancel()
	f(Config{}, nil, refusal(1062), stepFailed, "SELECT 1")
	f(Config{Ignore: []string{"1062"}}, nil, refusal(1062), stepDropped, "")
	f(Config{IgnoreAll: true}, nil, refusal(9999), stepDropped, "")
	f(Config{IgnoreAll: true}, nil, errors.New("no answer of the server"), stepFailed, "no answer")
	f(Config{}, func(p *played) { p.stopped.Store(true) }, refusal(1213), stepHalted, "")
	f(Config{}, func(p *played) { p.hard = hard }, hungUp(), stepHalted, "")
	f(Config{}, func(p *played) { p.t.Helper(); p.undoing = true }, refusal(1064), stepFailed, "roll back")
	p := play(t, Config{Ignore: []string{"1062"}})
	p.want(p.answer(refusal(1062), 20), stepRollback, 0)
	p.want(p.answer(hungUp(), 30), stepReconnect, 0)
	p.want(p.reconnected(p.c, nil, 40), stepDropped, 0)
	if p.c.ops[0].failed != 1 {
		t.Error("a dropped operation is not counted")
	}
	p = play(t, Config{})
	p.want(p.answer(hungUp(), 30), stepReconnect, 0)
	p.want(p.reconnected(p.c, errors.New("no other connection"), 40), stepFailed, 0)
	p = play(t, Config{})
	p.want(p.answer(hungUp(), 30), stepReconnect, 0)
	p.want(p.reconnected(p.c, fmt.Errorf("x: %w", errStopped), 40), stepHalted, 0)
}

func TestAnOperationWithoutStatementsEndsTheRun(t *testing.T) {
	plan := planOf()
	cr := &crew{plan: plan, hard: context.Background()}
	f := flow{crew: cr}
	tm := cr.newTerminal(0)
	tm.draw(0)
	if s := f.begin(newCounts(1, 0), tm, 0, 0, false); s != stepFailed ||
		!strings.Contains(f.err.Error(), "no statement") {
		t.Errorf("step %d, %v", s, f.err)
	}
}

// TestEnded tells of every operation when it began and ended, and of none that did not complete.
func TestEnded(t *testing.T) {
	type told struct {
		began, took time.Duration
		statements  uint64
	}
	var got []told
	start := time.Now()
	c := Config{Ignore: []string{"1062"}, Ended: func(began, ended time.Time, n uint64) {
		got = append(got, told{began.Sub(start), ended.Sub(began), n})
	}}
	p := play(t, c)
	p.start = start
	for _, at := range []time.Duration{20, 30, 40, 50} {
		p.answer(nil, at)
	}
	p = play(t, c)
	p.start = start
	p.answer(refusal(1062), 30)
	p.answer(nil, 40)
	if !slices.Equal(got, []told{{10, 40, 4}}) {
		t.Errorf("%+v", got)
	}
}

func TestFlowAllocatesNothing(t *testing.T) {
	var statements uint64
	p := play(t, Config{Ended: func(_, _ time.Time, n uint64) { statements += n }})
	for range 4 {
		p.answer(nil, 20)
	}
	tm := p.flow.t
	n := testing.AllocsPerRun(100, func() {
		tm.draw(0)
		p.begin(p.c, tm, 0, 0, true)
		for range 4 {
			p.answer(nil, 20)
		}
	})
	if n > 0 {
		t.Errorf("an operation allocates %v times", n)
	}
	if statements == 0 {
		t.Error("nobody was told of it")
	}
	if !slices.Equal(p.naming.names, []string{"other", "read", "write"}) {
		t.Errorf("%v", p.naming.names)
	}
}
