package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Server is a load.Server of the MySQL family, and what a run needs of it.
type Server struct{ T *target.Target }

var (
	_ load.Server   = Server{}
	_ load.Verifier = Server{}
	_ load.Warmer   = Server{}
	_ load.Sizer    = Server{}
	_ load.Sessions = Server{}
)

// Fit changes nothing: workloads are written for this family.
func (Server) Fit(w workload.Workload, o map[string]string) (workload.Workload, map[string]string, error) {
	return w, o, nil
}

// Run runs a workload; see load.RunOn. A table that is shorter than the workload assumes is among the warnings.
func (s Server) Run(ctx context.Context, c load.Config, sink func(loadresult.Tick)) (loadresult.Run, error) {
	var warnings []string
	if _, plan, err := c.Settle(); err == nil {
		warnings = shortTables(ctx, s.T, plan)
	}
	out, err := load.RunOn(ctx, s, c, sink)
	out.Target = s.T.String()
	out.Warnings = append(out.Warnings, warnings...)
	return out, err
}

// retried are the server's errors after which an operation is tried again from its beginning, as its message asks for:
// 1213 deadlock, 1205 lock wait timeout, 1020 record changed since last read (sysbench ignores the same three), and
// 1412 and 1615, a table that was altered under a transaction or a prepared statement.
// https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html
var retried = [...]uint16{1020, 1205, 1213, 1412, 1615}

// Close closes the target.
func (s Server) Close() error { return s.T.Close() }

// Dial opens a session over the general driver.
func (s Server) Dial(ctx context.Context, plan *workload.Plan, mode load.PSMode) (load.Session, error) {
	l, err := dial(ctx, s.T, plan, mode)
	if err != nil {
		return nil, err // never a nil *link in the interface
	}
	return l, nil
}

// Kill ends a connection of a load.
func (s Server) Kill(ctx context.Context, id uint64) { kill(ctx, s.T, id) }

// Trouble says what an error means.
func (Server) Trouble(err error) (t load.Trouble) {
	number, answered := target.ServerErrorNumber(err)
	if i := slices.Index(retried[:], number); i >= 0 {
		t.Code, t.Retry = retriedCodes[i], load.RetryAlways
	} else if answered {
		t.Code = strconv.Itoa(int(number))
	}
	switch target.KindOf(err) {
	case endpoint.Gone:
		t.Gone = true
	case endpoint.AuthFailed, endpoint.TLSFailed, endpoint.NoSuchDatabase, endpoint.Denied,
		endpoint.BadTarget, endpoint.Unsupported:
		t.Hopeless = true
	}
	t.Hopeless = t.Hopeless || answered && number == noSuchTable || errors.Is(err, load.ErrOtherWay)
	return t
}

// Explain adds what to do about data that does not exist and about too many prepared statements.
func (Server) Explain(err error, plan *workload.Plan) error { return explain(err, plan) }

// Retried returns the numbers of errors that are always retried.
func (Server) Retried() (codes []string, option string) {
	return retriedCodes[:], "mysql-ignore-errors"
}

// retriedCodes are retried as text, which their errors need not make again.
var retriedCodes = [...]string{"1020", "1205", "1213", "1412", "1615"}

// explain adds what to do about data that is not there.
func explain(err error, plan *workload.Plan) error {
	n, ok := target.ServerErrorNumber(err)
	if target.KindOf(err) == endpoint.NoSuchDatabase || ok && n == noSuchTable {
		return fmt.Errorf("%w (the data of %s does not exist: prepare it first)", err, plan.Workload)
	}
	if ok && n == tooManyPrepared {
		return fmt.Errorf("%w (every session prepares %d statements: raise max_prepared_stmt_count, or use "+
			"db-ps-mode=disable)", err, len(plan.Statements))
	}
	return err
}

const (
	noSuchTable     = 1146 // ER_NO_SUCH_TABLE
	tooManyPrepared = 1461 // ER_MAX_PREPARED_STMT_COUNT_REACHED
)

// kill ends a connection of a load. A failure is no news: the connection may be gone already.
func kill(ctx context.Context, t *target.Target, id uint64) {
	_, _ = t.Kill(ctx, id)
}
