package loader

import (
	"context"
	"fmt"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// Source gives the entries of one or several logs in the order of time. Next fills e, whose slices are valid until the
// call after; it returns io.EOF after the last one, and soon when the context it was made with ends.
type Source interface {
	Next(e *slowlog.Entry) error
}

// Replay sends the statements of a slow log or a general log again; see load.Replay.
func (s Server) Replay(
	ctx context.Context, c load.ReplayConfig, src Source, sink func(loadresult.Tick),
) (loadresult.Run, load.Replayed, error) {
	c.Database = s.T.Spec().Database
	r, x, err := load.Replay(ctx, s, newReplayer(s.T, c.Writes, src), c, sink)
	r.Target = s.T.String()
	return r, x, err
}

// Preview tells what Replay would do with a log; see load.Preview.
func Preview(c load.ReplayConfig, src Source) (load.Replayed, error) {
	return load.Preview(newReplayer(nil, c.Writes, src), c)
}

// replayer is the load.Replayer of a target.
type replayer struct {
	t      *target.Target // nil where nothing is sent
	writes bool
	src    Source
	entry  slowlog.Entry
	calls  ownCalls
}

func newReplayer(t *target.Target, writes bool, src Source) *replayer {
	return &replayer{t: t, writes: writes, src: src, calls: ownCalls{known: map[string]bool{}}}
}

// Check logs in and asks whether statements can be proven to read.
func (r *replayer) Check(ctx context.Context) error {
	s, err := r.session(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if r.writes {
		return nil
	}
	return r.provable(ctx, s)
}

// Next reads an entry and says what it means.
func (r *replayer) Next(ctx context.Context, e *load.Logged) error {
	r.entry = slowlog.Entry{Figures: r.entry.Figures[:0]}
	if err := r.src.Next(&r.entry); err != nil {
		return err
	}
	x := &r.entry
	took, timed := queryTime(x)
	*e = load.Logged{
		At: x.At, AtBegin: x.AtBegin, Took: took, Thread: x.Thread, HasID: x.HasID, User: x.User, Host: x.Host,
		DB: x.DB, SQL: x.SQL, Rate: x.Rate,
	}
	if x.Admin {
		e.Quit, e.Skip = string(x.SQL) == "Quit", load.SkipAdmin
		return nil
	}
	what := inspect(x.SQL, r.writes, !timed)
	if sqltext.Own(string(x.SQL[:min(len(x.SQL), 256)])) {
		what.Skip = load.SkipOwn
	}
	if what.Skip == load.NoSkip && what.calls != "" && r.t != nil && !r.own(ctx, what.calls) {
		what.Skip = load.SkipNotRead
	}
	e.Meaning = what.Meaning
	return nil
}

// queryTime returns how long a statement took, in microseconds, and whether its log tells that.
func queryTime(e *slowlog.Entry) (took int64, timed bool) {
	for i := range e.Figures {
		if e.Figures[i].Attribute == slowlog.QueryTime {
			if v := e.Figures[i].Value * 1e6; v > 0 && v < 1e15 {
				took = int64(v)
			}
			return took, true
		}
	}
	return 0, false
}

// readOnly makes the server refuse every write of a session, also one that a stored function makes
// (https://dev.mysql.com/doc/refman/8.4/en/set-transaction.html, "Transaction Access Mode").
var readOnly = sqltext.Tagged("load", "replay", "SET SESSION TRANSACTION READ ONLY")

// session opens a connection, read-only unless writes are asked for.
func (r *replayer) session(ctx context.Context) (*target.Session, error) {
	s, err := r.t.Session(ctx, target.SessionOptions{Unbounded: true})
	if err != nil {
		return nil, err
	}
	if !r.writes {
		if _, err := s.Exec(ctx, readOnly); err != nil {
			s.Close()
			return nil, fmt.Errorf("make the session read-only: %w", err)
		}
	}
	return s, nil
}

// Dial opens a connection for a session of the log.
func (r *replayer) Dial(ctx context.Context) (load.ReplaySession, error) {
	s, err := r.session(ctx)
	if err != nil {
		return nil, err // never a nil session in the interface
	}
	return replaySession{s}, nil
}

// Close ends the session that asks for functions.
func (r *replayer) Close() { _ = r.closeCalls() }

// replaySession is the load.ReplaySession of a connection.
type replaySession struct{ *target.Session }

// Send executes a text and drops the rows of its answer.
func (s replaySession) Send(ctx context.Context, sql string) error {
	_, err := s.Query(ctx, sql, nil)
	return err
}

// Use goes to another database.
func (s replaySession) Use(ctx context.Context, db string) error {
	_, err := s.Exec(ctx, "USE "+ddl.Quote(db))
	return err
}
