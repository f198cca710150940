package alter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// Why says for what reason a change did not happen. The table is as it was before, except for Lost.
type Why string

const (
	Refused   Why = "refused"    // the server would not do it at all
	NotOnline Why = "not online" // the server can do it only by stopping writers
	Locked    Why = "locked"     // the metadata lock was not free
	LogFull   Why = "log full"   // writers changed more during the change than the server keeps
	Stopped   Why = "stopped"    // cancelled here, or killed by somebody
	Lost      Why = "lost"       // the connection broke: only the server knows
)

// Error says why a change did not happen. It wraps an *endpoint.Error, which says what to do.
type Error struct {
	Why Why
	// Built is how long the server had worked on what it threw away because the metadata lock was not free at the end.
	// It is set only for what is too long to be repeated without being asked for.
	Built time.Duration
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// WhyOf returns the reason of an error of this package, "" for others.
func WhyOf(err error) Why {
	var e *Error
	if errors.As(err, &e) {
		return e.Why
	}
	return ""
}

// BuiltOf returns Error.Built, 0 for other errors.
func BuiltOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.Built
	}
	return 0
}

// fail judges the error of an ALTER.
// Numbers: https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html
func fail(ctx context.Context, c Alteration, where string, err error) error {
	e := &Error{Why: Refused}
	t := &endpoint.Error{
		Op: "alter " + c.Table.String(), Kind: target.KindOf(err), Target: "on " + where,
		Fix: target.HintOf(err), Err: err,
	}
	e.Err = t
	n, ok := target.ServerErrorNumber(err)
	switch {
	case ok && (n == 1845 || n == 1846):
		e.Why = NotOnline
		t.Fix = "the server cannot do this without stopping writers, so nothing was changed: do it in a maintenance " +
			"window, or on a copy of the table"
	case ok && n == 1799:
		e.Why = LogFull
		t.Fix = "the table is written faster than innodb_online_alter_log_max_size allows: raise it, or try at a " +
			"quieter time; nothing was changed"
	case ok && (n == 1317 || n == 3024 || n == 1969):
		e.Why = Stopped
		t.Fix = "the change was stopped half-way and the server took it back; nothing was changed"
		if ctx.Err() != nil {
			t.Err = fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
	case ok && n == 1061:
		t.Fix = "an index of that name is there already: choose another name"
	case ok && (n == 1114 || n == 1021 || n == 1030 || n == 3 || n == 28):
		t.Fix = "the server ran out of space, in the data directory or in tmpdir (innodb_tmpdir); nothing was changed"
	case ok && n == 1062:
		t.Fix = "the table has duplicate values: a unique index is impossible until they are gone; nothing was changed"
	case target.KindOf(err) == endpoint.Gone:
		e.Why = Lost
		t.Fix = "the connection broke in the middle of the change: check on the server whether it was made; MySQL " +
			"and MariaDB finish or roll back an ALTER as a whole"
	}
	return e
}
