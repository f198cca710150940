package sources

import (
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
)

// newLockCounts reads how many locks are held or waited for, by database and mode: pg_locks_count{datname,mode}, with
// modes as postgres_exporter writes them. Locks of no database have an empty datname. Dyno's own, of this session, are
// left out. Reading pg_locks holds the lock manager's partitions for a moment.
// https://www.postgresql.org/docs/current/view-pg-locks.html
func newLockCounts(q querier, f conn.Facts) *viewSource {
	return newViews(source.LockCounts, q, f, view{
		from: "(SELECT d.datname, lower(l.mode) AS mode, count(*) AS n FROM pg_locks l LEFT JOIN pg_database d " +
			"ON d.oid = l.database WHERE l.pid IS DISTINCT FROM pg_backend_pid() GROUP BY 1, 2) AS x",
		labels:  []string{"datname", "mode"},
		columns: []column{{expr: "n", metric: "pg_locks_count"}},
	})
}
