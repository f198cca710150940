package change

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// longTransaction is the age from which an open transaction is worth a warning.
const longTransaction = 5 * time.Second

// holder is a session whose transaction a change has to wait for.
type holder struct {
	pid                       int
	user, client, application string
	state                     string // "idle in transaction"; of other roles only with the rights of pg_monitor
	age                       float64
	kind                      string
}

const askHolder = `SELECT a.pid, coalesce(a.usename::text, ''), coalesce(host(a.client_addr), 'local'),
 coalesce(a.application_name, ''), coalesce(a.state, ''),
 coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::float8, coalesce(a.backend_type, '')
 FROM pg_stat_activity a`

func scanHolder(r pgx.Rows) (h holder, err error) {
	err = r.Scan(&h.pid, &h.user, &h.client, &h.application, &h.state, &h.age, &h.kind)
	return h, err
}

// String returns who it is: "session 4711 (app@10.0.0.7, psql), idle in transaction for 35 s".
func (h holder) String() string {
	who := h.kind
	if h.user != "" {
		who = h.user + "@" + h.client
	}
	if h.application != "" {
		who += ", " + h.application
	}
	text := fmt.Sprintf("session %d (%s)", h.pid, who)
	if h.state != "" {
		text += ", " + h.state
	}
	if h.age > 0 {
		text += fmt.Sprintf(", its transaction open for %.0f s", h.age)
	}
	return text
}

// checkWaits warns of transactions that a change of the table's indexes would have to wait for: with its snapshots only
// a build does.
// https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY
func checkWaits(ctx context.Context, s session, oid uint32, builds bool, p *change.Preview) error {
	const q = askHolder + ` WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND
 a.xact_start < clock_timestamp() - make_interval(secs => $3) AND ($2 AND a.backend_xmin IS NOT NULL AND
 a.backend_type <> 'autovacuum worker' OR EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND
 l.locktype = 'relation' AND l.relation = $1 AND
 NOT ($2 AND l.mode IN ('AccessShareLock', 'RowShareLock')))) ORDER BY a.xact_start`
	n := 0
	err := s.each(ctx, "look for long transactions", q, []any{oid, builds, longTransaction.Seconds()},
		func(r pgx.Rows) error {
			h, err := scanHolder(r)
			if n++; err == nil && n <= 3 {
				p.Warn("the change has to wait for %s", h)
			}
			return err
		})
	if err != nil {
		return err
	}
	if n > 3 {
		p.Warn("and %d more such transactions", n-3)
	}
	const prepared = `SELECT p.gid FROM pg_prepared_xacts p JOIN pg_locks l ON
 l.virtualtransaction = '-1/' || p.transaction::text WHERE l.relation = $1`
	err = s.each(ctx, "look for prepared transactions", prepared, []any{oid}, func(r pgx.Rows) error {
		var gid string
		err := r.Scan(&gid)
		p.Block("the prepared transaction %q holds the table: COMMIT PREPARED or ROLLBACK PREPARED ends it", gid)
		return err
	})
	if conn.KindOf(err) == endpoint.Denied {
		err = nil
	}
	if !s.t.Facts().Monitor {
		p.Warn("long transactions of other roles are not visible: GRANT pg_monitor TO %s",
			conn.Quote(s.t.Facts().User))
	}
	return err
}
