package change

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// killTime bounds the look at a session and its end.
const killTime = 10 * time.Second

// Kill ends a session with pg_terminate_backend and waits until it is gone. It is in the journal before that is sent.
// The session must still be the one of that user that began at Began (pg_stat_activity.backend_start): the system gives
// pids again. Only sessions of clients are ended: those of the server itself and of standbys are refused with
// change.ErrNotThatSession. Without Began the error says how to end the session by hand. The open transaction is rolled
// back, and nothing undoes that.
func (x Changer) Kill(
	ctx context.Context, j change.Journal, e journal.Entry, which change.Session,
) (journal.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	fail := func(err error) error { return fmt.Errorf("end session %d: %w", which.ID, err) }
	s, err := open(ctx, x.t, conn.ForReading)
	if err != nil {
		return e, fail(err)
	}
	defer s.end()
	var user, client, kind string
	var began *time.Time
	var ours bool
	const q = `SELECT coalesce(usename::text, ''), coalesce(host(client_addr), 'local'), coalesce(backend_type, ''),
 backend_start, pid = pg_backend_pid() FROM pg_stat_activity WHERE pid = $1`
	found, err := s.ask(ctx, "look for the session", q, []any{int64(which.ID)}, &user, &client, &kind, &began, &ours)
	not := func(why string) error { return fail(fmt.Errorf("%w: %s", change.ErrNotThatSession, why)) }
	switch {
	case err != nil:
		return e, fail(err)
	case !found || ours:
		return e, not("it is no longer connected")
	case user != which.User:
		return e, not(fmt.Sprintf("it is one of %s, not of %s", user, which.User))
	case began == nil:
		f := x.t.Facts()
		return e, fail(&endpoint.Error{
			Op: "look for the session", Kind: endpoint.Denied, Target: x.t.Spec().Where(),
			Err: errors.New("the server does not say when the session began"),
			Fix: "GRANT pg_monitor TO " + conn.Quote(f.User),
		})
	case kind != "client backend":
		return e, not("the server itself or a standby needs it")
	case which.Began.IsZero(): // as the web UI asks, which does not know it
		return e, &endpoint.Error{
			Op: fmt.Sprintf("end session %d of", which.ID), Kind: endpoint.Unsupported, Target: x.t.String(),
			Err: errors.New("dyno does not end sessions of PostgreSQL from the web UI yet"),
			Fix: fmt.Sprintf("execute in psql: SELECT pg_terminate_backend(%d)", which.ID),
		}
	case !began.Equal(which.Began):
		return e, not("a session that began at " + began.UTC().Format(time.RFC3339Nano) + " has its number now")
	}
	a := finding.Action{
		Kind: finding.KillSession, Value: strconv.FormatUint(which.ID, 10),
		Was: user + "@" + client + " since " + began.UTC().Format(time.RFC3339Nano),
		SQL: fmt.Sprintf("SELECT pg_terminate_backend(%d)", which.ID),
	}
	e, err = change.Once(ctx, x, j, e, a, func(ctx context.Context) error {
		found, err := x.t.Kill(ctx, int(which.ID), *began)
		if err == nil && !found {
			err = fmt.Errorf("%w: it ended on its own", change.ErrNotThatSession)
		}
		for err == nil {
			const q = "SELECT pid FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2"
			if found, err = s.ask(ctx, "look whether it ended", q, []any{int64(which.ID), *began}, new(int)); !found {
				break
			}
			select {
			case <-ctx.Done():
				err = fmt.Errorf("it has the order to end, and has not ended yet: %w", ctx.Err())
			case <-time.After(50 * time.Millisecond):
			}
		}
		return err
	})
	if err != nil {
		return e, fail(err)
	}
	return e, nil
}
