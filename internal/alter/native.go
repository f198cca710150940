package alter

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dyno/internal/progress"
	"dyno/internal/sqltext"
	"dyno/internal/target"
)

const (
	poll     = 500 * time.Millisecond // between two looks at a running change
	firstGap = time.Second            // before the second attempt; doubles up to lastGap
	lastGap  = 15 * time.Second
)

// Native lets the server itself change the table while its users go on: ALGORITHM and LOCK are always written out, so the server
// refuses what would stop them. It waits for the table's metadata lock only for Change.LockWait, because all later statements on the
// table wait behind it, and tries again with growing gaps. When ctx ends it kills its own ALTER, and nothing else, and returns after
// the server has taken it back.
//
// note, which may be nil, gets one line of text for whatever happens on the way. Errors are of type *Error.
func Native(ctx context.Context, t *target.Target, c Change, report progress.Sink, note func(string)) error {
	c, err := c.complete()
	if err != nil {
		return &Error{Refused, &target.Error{Op: "alter " + c.Table.String(), Kind: target.Unsupported, Err: err}}
	}
	if !t.Has(target.HasInplaceDDL) {
		return &Error{NotOnline, &target.Error{
			Op: "alter " + c.Table.String(), Kind: target.Unsupported, Err: errors.New("this server has no online ALTER TABLE"),
			Hint: "MySQL before 5.6 and MariaDB before 10.0 stop all writers: do it in a maintenance window",
		}}
	}
	if note == nil {
		note = func(string) {}
	}
	w := worker{t, c, report, note, t.Spec().Where()}
	gap := firstGap
	for i := 1; ; i++ {
		err := w.attempt(ctx)
		n, ok := target.ServerErrorNumber(err)
		if err == nil || !ok || n != 1205 {
			return err
		}
		who := w.holders(ctx)
		if i == c.Attempts {
			return &Error{Locked, &target.Error{
				Op: "alter " + c.Table.String(), Kind: target.Timeout, Target: "on " + w.where,
				Err:  fmt.Errorf("its metadata lock was not free in %d attempts of %v%s: %w", c.Attempts, c.LockWait, who, err),
				Hint: "end the transaction that holds the table, or wait for it; nothing was changed",
			}}
		}
		note(fmt.Sprintf("attempt %d of %d: the metadata lock was not free within %v%s; next try in %v", i, c.Attempts, c.LockWait, who, gap))
		select {
		case <-ctx.Done():
			return w.stopped(ctx)
		case <-time.After(gap):
		}
		gap = min(2*gap, lastGap)
	}
}

type worker struct {
	t      *target.Target
	c      Change
	report progress.Sink
	note   func(string)
	where  string
}

func (w worker) stopped(ctx context.Context) error {
	return &Error{Stopped, &target.Error{
		Op: "alter " + w.c.Table.String(), Target: "on " + w.where, Err: fmt.Errorf("stopped: %w", context.Cause(ctx)),
		Hint: "nothing was changed",
	}}
}

// holders says in words who held the lock; it is only an explanation, so it may find none.
func (w worker) holders(ctx context.Context) string {
	hs, err := Holders(ctx, w.t, w.c.Table, int(w.c.LockWait/time.Second))
	if err != nil || len(hs) == 0 {
		return ""
	}
	var text []string
	for i, h := range hs {
		if i == 3 {
			text = append(text, fmt.Sprintf("and %d more", len(hs)-i))
			break
		}
		text = append(text, h.String())
	}
	return ", held by " + strings.Join(text, "; ")
}

// attempt runs the statement once. The error of a lock that was not free is returned as the server gave it.
func (w worker) attempt(ctx context.Context) error {
	if ctx.Err() != nil {
		return w.stopped(ctx)
	}
	// Two connections of its own: the ALTER's, and one to watch and to kill it even when the server has no connection left then.
	set := map[string]string{"sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", "lock_wait_timeout": strconv.Itoa(int(w.c.LockWait / time.Second))}
	if _, ok := w.t.Variable("max_statement_time"); ok { // MariaDB's limit would end a long ALTER too
		set["max_statement_time"] = "0"
	}
	work, err := w.t.Session(ctx, target.SessionOptions{Settings: set})
	if err != nil {
		return w.before(ctx, err)
	}
	defer work.Close()
	watch, err := w.t.Session(ctx, target.SessionOptions{})
	if err != nil {
		return w.before(ctx, err)
	}
	defer watch.Close()

	began := time.Now()
	done := make(chan error, 1)
	go func() { // ends with the statement, which the loop below waits for
		_, err := work.Exec(context.Background(), sqltext.Tagged("alter", "", w.c.Statement()))
		done <- err
	}()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	stop := ctx.Done()
	killing := false
	for {
		select {
		case err := <-done:
			n, ok := target.ServerErrorNumber(err)
			switch {
			case err == nil:
				if killing {
					w.note("the change had been made before it could be stopped")
				}
				w.report.Report(progress.Progress{Step: "altering " + w.c.Table.String(), Done: 100, Total: 100, Unit: "%", Started: began, At: time.Now(), End: true})
				return nil
			case ok && n == 1205 && ctx.Err() == nil:
				return err
			case ok && n == 1205:
				return w.stopped(ctx)
			}
			return fail(ctx, w.c, w.where, err)
		case <-stop:
			stop, killing = nil, true
			w.note("stopping the change; the server takes it back")
			w.kill(watch, work.ID())
		case <-tick.C:
			if killing {
				w.kill(watch, work.ID()) // the first may have come before the statement had begun
				continue
			}
			p, err := w.look(ctx, watch, work.ID())
			if err == nil {
				p.Started, p.At = began, time.Now()
				w.report.Report(p)
			}
		}
	}
}

// before is the error of an attempt that could not begin.
func (w worker) before(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return w.stopped(ctx)
	}
	return &Error{Refused, err}
}

// kill ends our own statement. A failure is not the end: the loop tries again.
func (w worker) kill(s *target.Session, id uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	q := sqltext.Tagged("alter", "", fmt.Sprintf("KILL QUERY %d", id))
	_, err := s.Exec(ctx, q)
	if _, ok := target.ServerErrorNumber(err); err != nil && !ok { // the watching connection is lost
		_, err = w.t.DB().ExecContext(ctx, q)
	}
	if n, ok := target.ServerErrorNumber(err); err != nil && !(ok && n == 1094) { // 1094: it has ended meanwhile
		w.note("stopping the change: " + err.Error())
	}
}

// look asks how far the change is. MySQL tells it in performance_schema, for whose stages a consumer must be on; MariaDB in its
// processlist. Where neither says anything, the step alone is known.
func (w worker) look(ctx context.Context, s *target.Session, id uint64) (progress.Progress, error) {
	p := progress.Progress{Step: "altering " + w.c.Table.String(), Unit: "%"}
	ask := func(q string, f func([]driver.Value)) error {
		// The end of ctx must not break the connection that is to kill the ALTER then.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, err := s.Query(ctx, sqltext.Tagged("alter", "", q), f)
		return err
	}
	cols := "STATE, 0, 0, 0"
	if w.t.Has(target.HasProcesslistProgress) {
		cols = "STATE, STAGE, MAX_STAGE, PROGRESS"
	}
	err := ask(fmt.Sprintf("SELECT %s FROM information_schema.PROCESSLIST WHERE ID = %d", cols, id), func(r []driver.Value) {
		if state := text(r[0]); strings.Contains(state, "metadata lock") {
			p.Step = "waiting for the metadata lock of " + w.c.Table.String()
		}
		if stages := float(r[2]); stages > 0 { // PROGRESS is the percentage of one stage
			p.Done, p.Total = (max(float(r[1]), 1)-1)/stages*100+float(r[3])/stages, 100
		}
	})
	if err != nil || !w.t.Has(target.HasStages) {
		return p, err
	}
	err = ask(fmt.Sprintf("SELECT WORK_COMPLETED, WORK_ESTIMATED FROM performance_schema.events_stages_current JOIN performance_schema.threads USING (THREAD_ID)"+
		" WHERE PROCESSLIST_ID = %d AND WORK_ESTIMATED > 0", id), func(r []driver.Value) {
		if of := float(r[1]); of > 0 {
			p.Done, p.Total = min(float(r[0])/of, 1)*100, 100
		}
	})
	return p, err
}

func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return ""
}

func float(v driver.Value) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case float64:
		return x
	case []byte:
		f, _ := strconv.ParseFloat(string(x), 64)
		return f
	}
	return 0
}
