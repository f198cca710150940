package loader

import (
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/workload"
)

// SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	serialization   = "40001" // serialization_failure
	deadlock        = "40P01" // deadlock_detected
	lockTimeout     = "55P03" // lock_not_available, by lock_timeout or NOWAIT
	duplicate       = "23505" // unique_violation
	undefinedTable  = "42P01"
	undefinedColumn = "42703"
	denied          = "42501" // insufficient_privilege
	duplicateTable  = "42P07"
	duplicateDB     = "42P04"
)

// taken reports whether what was to be made is there. That another session makes at the same time shows as a duplicate
// key of the catalog instead.
func taken(code string) bool {
	return code == duplicateTable || code == duplicateDB || code == duplicate
}

// sessions is the load.Sessions of a target.
type sessions struct{ t *conn.Target }

var _ load.Sessions = sessions{}

// Trouble says what an error means. A deadlock, a serialization failure and a lock that was not to be had are
// retried. So is a duplicate key, as sysbench does: at READ COMMITTED two transactions that delete and insert
// the same row meet in it (https://www.postgresql.org/docs/current/transaction-iso.html).
func (sessions) Trouble(err error) (t load.Trouble) {
	t.Code, _ = conn.SQLState(err)
	switch t.Code {
	case serialization, deadlock, lockTimeout:
		t.Retry = load.RetryAlways
	case duplicate:
		t.Retry = load.RetryAFew
	}
	switch conn.KindOf(err) {
	case endpoint.Gone:
		t.Gone = true
	case endpoint.AuthFailed, endpoint.TLSFailed, endpoint.NoSuchDatabase, endpoint.Denied, endpoint.BadTarget,
		endpoint.Unsupported:
		t.Hopeless = true
	}
	t.Hopeless = t.Hopeless || t.Code == undefinedTable || errors.Is(err, load.ErrOtherWay)
	return t
}

// Explain adds what to do about data that does not exist.
func (sessions) Explain(err error, plan *workload.Plan) error {
	code, _ := conn.SQLState(err)
	if code == undefinedTable || conn.KindOf(err) == endpoint.NoSuchDatabase {
		return fmt.Errorf("%w (the data of %s does not exist: prepare it first)", err, plan.Workload)
	}
	return err
}

// Retried returns the SQLSTATEs that are always retried.
func (sessions) Retried() (codes []string, option string) {
	return []string{duplicate, serialization, deadlock, lockTimeout}, "pgsql-ignore-errors"
}
