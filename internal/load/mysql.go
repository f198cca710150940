package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// MySQL is a Server of the MySQL family.
type MySQL struct{ T *target.Target }

var (
	_ Server   = MySQL{}
	_ Sessions = MySQL{}
)

// Fit changes nothing: workloads are written for this family.
func (MySQL) Fit(w workload.Workload, o map[string]string) (workload.Workload, map[string]string, error) {
	return w, o, nil
}

// Prepare is the function of that name.
func (m MySQL) Prepare(ctx context.Context, d Data, sink progress.Sink) error {
	return Prepare(ctx, m.T, d, sink)
}

// Cleanup is the function of that name.
func (m MySQL) Cleanup(ctx context.Context, d Data) ([]schema.Ref, error) {
	return Cleanup(ctx, m.T, d)
}

// Preflight is the function of that name.
func (m MySQL) Preflight(ctx context.Context, c Config) ([]Remark, error) {
	return Preflight(ctx, m.T, c)
}

// Run is the function of that name.
func (m MySQL) Run(ctx context.Context, c Config, sink func(loadresult.Tick)) (loadresult.Run, error) {
	return Run(ctx, m.T, c, sink)
}

// Close closes the target.
func (m MySQL) Close() error { return m.T.Close() }

// Dial opens a session over the general driver.
func (m MySQL) Dial(ctx context.Context, plan *workload.Plan, mode PSMode) (Session, error) {
	l, err := dial(ctx, m.T, plan, mode)
	if err != nil {
		return nil, err // never a nil *link in the interface
	}
	return l, nil
}

// Kill ends a connection of a load.
func (m MySQL) Kill(ctx context.Context, id uint64) { kill(ctx, m.T, id) }

// Trouble says what an error means.
func (MySQL) Trouble(err error) (t Trouble) {
	number, answered := target.ServerErrorNumber(err)
	if i := slices.Index(Retried[:], number); i >= 0 {
		t.Code, t.Retry = retriedCodes[i], RetryAlways
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
	t.Hopeless = t.Hopeless || answered && number == noSuchTable || errors.Is(err, ErrOtherWay)
	return t
}

// Explain adds what to do about data that does not exist and about too many prepared statements.
func (MySQL) Explain(err error, plan *workload.Plan) error { return explain(err, plan) }

// Retried returns the numbers of Retried.
func (MySQL) Retried() (codes []string, option string) { return retriedCodes[:], "mysql-ignore-errors" }

// retriedCodes are Retried as text, which their errors need not make again.
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
