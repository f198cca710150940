package conn

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Owns reports whether a session that pg_stat_activity shows with this pid, application_name, user and client_addr
// ("" on a Unix socket) is Dyno's own work, not a load: a session of this process, or one that bears Dyno's name, of
// the account that Dyno uses and from the same address. The name alone says nothing: any client can set it.
func (t *Target) Owns(pid uint32, application, user, client string) bool {
	t.mu.Lock()
	p, mine := t.own[pid]
	t.mu.Unlock()
	if mine {
		return p != ForLoad
	}
	return application == Application && user == t.facts.User && client == t.client
}

// Kill ends a session with pg_terminate_backend, but only if the process that has this pid still serves the session
// that began at started (pg_stat_activity.backend_start): pids are given again. It is one statement, so nothing comes
// between the check and the end. found is false when that session is gone. The account must be a member of the role of
// the session, or of pg_signal_backend; only superusers end those of superusers.
func (t *Target) Kill(ctx context.Context, pid int, started time.Time) (found bool, err error) {
	c, err := t.ConnFor(ctx, ForChanges)
	if err != nil {
		return false, err
	}
	defer t.End(c)
	err = c.QueryRow(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE pid = $1 AND backend_start = $2 AND pid <> pg_backend_pid()", pid, started).Scan(&found)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return found, t.Wrap("end a session on", err)
}
