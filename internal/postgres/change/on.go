// Package change is how PostgreSQL servers are changed: it implements the Changer of the package of
// the same name for all families. It adds and drops indexes CONCURRENTLY, sets a setting that a
// reload puts into effect, and ends sessions; what else an action may ask for is refused by name.
package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
)

// Changer changes a PostgreSQL server.
type Changer struct {
	t    *conn.Target
	wait time.Duration // of a statement CONCURRENTLY, see lockTimeout
}

// On returns how a server is changed.
func On(t *conn.Target) Changer { return Changer{t, lockTimeout} }

// Server says which server and database it is: a session sees the tables of one database only.
func (x Changer) Server() change.Server {
	f := x.t.Facts()
	return change.Server{Name: x.t.String(), URL: x.t.Spec().URL(), ID: f.Server, Database: f.Database}
}

// Pin asks whether the server that was reached still answers. Every later session asks that, too.
func (x Changer) Pin(ctx context.Context) error {
	s, err := open(ctx, x.t, conn.ForReading)
	if err == nil {
		s.end()
	}
	return err
}

// kind is one kind of action on its way. It makes its statements itself from the action's fields: text that came with
// a snapshot or a file is never sent.
type kind interface {
	// check asks the server as it is now and completes the preview and the kind's own action. It only reads.
	check(ctx context.Context, s session, p *change.Preview, j change.Reader) error
	step() change.Step
}

func (x Changer) kind(a finding.Action) (kind, error) {
	switch a.Kind {
	case finding.AddIndex:
		return &addIndex{ofIndex: ofIndex{x, a}}, nil
	case finding.DropIndex:
		return &dropIndex{ofIndex{x, a}}, nil
	case finding.SetVariable:
		return &setting{t: x.t, a: a}, nil
	case finding.KillSession:
		return nil, errors.New("a session that was ended cannot be restored")
	case finding.HideIndex, finding.AlterTable, finding.SetKernel:
	}
	return nil, fmt.Errorf("the action %s is not there for PostgreSQL yet: this version of dyno carries out %s, %s "+
		"and %s", a.Kind, finding.AddIndex, finding.DropIndex, finding.SetVariable)
}

// Step returns how an action is carried out.
func (x Changer) Step(a finding.Action, _ change.Options) (change.Step, error) {
	k, err := x.kind(a)
	if err != nil {
		return change.Step{}, err
	}
	return k.step(), nil
}

// Check returns what an action would do on the server as it is now.
func (x Changer) Check(ctx context.Context, a finding.Action, o change.Options) (change.Preview, change.Step, error) {
	k, err := x.kind(a)
	if err != nil {
		return change.Preview{}, change.Step{}, fmt.Errorf("plan action: %w", err)
	}
	s, err := open(ctx, x.t, conn.ForReading)
	if err != nil {
		return change.Preview{}, change.Step{}, err
	}
	defer s.end()
	p := change.Preview{Target: x.t.String(), Server: x.t.Facts().Server, Action: a}
	if err := k.check(ctx, s, &p, o.Journal); err != nil {
		return p, change.Step{}, err
	}
	return p, k.step(), nil
}

// session is one session on the server that was reached, and on no other.
type session struct {
	t *conn.Target
	c *pgx.Conn
}

// open opens a session and makes sure that it is on the server process that the target was opened on, without a pooler
// in between: a statement that works for minutes and the session that watches it need a backend of their own.
func open(ctx context.Context, t *conn.Target, p conn.Purpose) (session, error) {
	c, err := t.ConnFor(ctx, p)
	if err != nil {
		return session{}, err
	}
	s := session{t, c}
	var started time.Time
	var pid uint32
	_, err = s.ask(ctx, "ask which server answers", "SELECT pg_postmaster_start_time(), pg_backend_pid()", nil,
		&started, &pid)
	fail := func(k endpoint.Kind, why, fix string) {
		err = &endpoint.Error{Op: "change", Kind: k, Target: t.Spec().Where(), Err: errors.New(why), Fix: fix}
	}
	switch {
	case err != nil:
	case !started.Equal(t.Facts().StartedAt):
		fail(endpoint.Elsewhere, "another server answers than before, or it was restarted: nothing was sent",
			"try again; behind a load balancer, name the server itself")
	case pid != c.PgConn().PID():
		fail(endpoint.Unsupported, "a connection pooler is between Dyno and the server", "name the server itself")
	}
	if err != nil {
		s.end()
		return session{}, err
	}
	return s, nil
}

func (s session) end() { s.t.End(s.c) }

func (s session) pid() uint32 { return s.c.PgConn().PID() }

// tagged puts the comment into a statement by which people and Dyno itself see whose it is.
func tagged(sql string) string { return pgtext.Tagged("apply", sql) }

// ask reads the first row of an answer; false when there is none.
func (s session) ask(ctx context.Context, op, q string, args []any, into ...any) (bool, error) {
	err := s.c.QueryRow(ctx, tagged(q), args...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, s.t.Wrap(op+" on", err)
}

// each calls once for each row of an answer.
func (s session) each(ctx context.Context, op, q string, args []any, row func(pgx.Rows) error) error {
	rows, err := s.c.Query(ctx, tagged(q), args...)
	if err != nil {
		return s.t.Wrap(op+" on", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return s.t.Wrap(op+" on", err)
		}
	}
	return s.t.Wrap(op+" on", rows.Err())
}

// exec sends a statement that must not be in a transaction.
func (s session) exec(ctx context.Context, op, sql string) error {
	_, err := s.c.PgConn().Exec(ctx, tagged(sql)).ReadAll()
	return s.t.Wrap(op+" on", err)
}

// looking opens a session for questions and ends it after them.
func looking(ctx context.Context, t *conn.Target, f func(session) error) error {
	s, err := open(ctx, t, conn.ForReading)
	if err != nil {
		return err
	}
	defer s.end()
	return f(s)
}
