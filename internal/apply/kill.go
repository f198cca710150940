package apply

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/target"
)

// ErrNotThatSession is the answer to ending a session that is not, or no longer, the one that was meant.
var ErrNotThatSession = errors.New("it is not the session that was meant")

// killTimeout bounds the look at a session and its KILL.
const killTimeout = 10 * time.Second

// Kill ends a session of a server with KILL, and writes that into the journal as an entry that has an id: before the
// statement is sent, as Apply does. The session must be of that user still: numbers of sessions begin anew with the
// server. Sessions of the server itself and of replicas are refused with ErrNotThatSession. Nothing brings a session
// back: its open transaction is rolled back, and the entry has no undo.
func Kill(ctx context.Context, t *target.Target, j Journal, e journal.Entry, session uint64,
	user string,
) (journal.Entry, error) {
	if e.ID == "" {
		return e, errors.New("kill session: the entry has no id")
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	fail := func(err error) error { return fmt.Errorf("kill session %d: %w", session, err) }
	if err := t.Pin(ctx); err != nil { // the session of that number is looked at and ended on one server
		return e, fail(err)
	}
	s, err := t.Session(ctx, target.SessionOptions{Purpose: target.ForChanges})
	if err != nil {
		return e, fail(err)
	}
	defer s.Close()
	var is, host, command sql.NullString
	err = t.DB().QueryRowContext(ctx, "SELECT USER, HOST, COMMAND FROM information_schema.PROCESSLIST WHERE ID = ?",
		session).Scan(&is, &host, &command)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return e, fail(fmt.Errorf("%w: it is no longer connected", ErrNotThatSession))
	case err != nil:
		return e, fail(t.Wrap("look for the session", err))
	case is.String != user:
		return e, fail(fmt.Errorf("%w: it is one of %s, not of %s", ErrNotThatSession, is.String, user))
	case slices.Contains([]string{"", "system user", "event_scheduler"}, is.String) || command.String == "Daemon" ||
		strings.HasPrefix(command.String, "Binlog Dump"):
		return e, fail(fmt.Errorf("%w: the server itself or a replica needs it", ErrNotThatSession))
	}
	r := &recorder{j, e, nil}
	now := time.Now().UTC()
	r.e.Server, r.e.URL, r.e.State, r.e.Planned, r.e.Started = t.Facts().Server, t.Spec().URL(),
		journal.Running, now, now
	r.e.Action = finding.Action{Kind: finding.KillSession, Value: strconv.FormatUint(session, 10), Was: user + "@" +
		state.Clip(host.String, mostText), SQL: fmt.Sprintf("KILL %d", session)}
	if err := r.put(ctx); err != nil {
		return r.e, fail(fmt.Errorf("nothing was sent: %w", err))
	}
	if _, err := s.Exec(ctx, r.e.Action.SQL); err != nil {
		return r.e, r.failed(ctx, fail(err))
	}
	r.e.State, r.e.Ended = journal.Done, time.Now().UTC()
	return r.e, r.put(ctx)
}
