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

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/state"
)

// killTimeout bounds the look at a session and its KILL.
const killTimeout = 10 * time.Second

// Kill ends a session of a server with KILL, and writes that into the journal as an entry that has an id: before the
// statement is sent, as Apply does. The session must be of that user still: numbers of sessions begin anew with the
// server. Sessions of the server itself and of replicas are refused with change.ErrNotThatSession. Nothing brings a
// session back: its open transaction is rolled back, and the entry has no undo.
func (x Changer) Kill(
	ctx context.Context, j change.Journal, e journal.Entry, which change.Session,
) (journal.Entry, error) {
	t := x.t
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	fail := func(err error) error { return fmt.Errorf("kill session %d: %w", which.ID, err) }
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
		which.ID).Scan(&is, &host, &command)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return e, fail(fmt.Errorf("%w: it is no longer connected", change.ErrNotThatSession))
	case err != nil:
		return e, fail(t.Wrap("look for the session", err))
	case is.String != which.User:
		return e, fail(fmt.Errorf("%w: it is one of %s, not of %s", change.ErrNotThatSession, is.String, which.User))
	case slices.Contains([]string{"", "system user", "event_scheduler"}, is.String) || command.String == "Daemon" ||
		strings.HasPrefix(command.String, "Binlog Dump"):
		return e, fail(fmt.Errorf("%w: the server itself or a replica needs it", change.ErrNotThatSession))
	}
	a := finding.Action{Kind: finding.KillSession, Value: strconv.FormatUint(which.ID, 10), Was: which.User + "@" +
		state.Clip(host.String, change.MostText), SQL: fmt.Sprintf("KILL %d", which.ID)}
	if e, err = change.Once(ctx, x, j, e, a, func(ctx context.Context) error {
		_, err := s.Exec(ctx, a.SQL)
		return err
	}); err != nil {
		return e, fail(err)
	}
	return e, nil
}
