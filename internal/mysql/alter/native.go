package alter

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

const (
	poll      = 500 * time.Millisecond // between two looks at a running change
	firstPoll = 100 * time.Millisecond // the same before the server is at work
	firstGap  = time.Second            // before the second attempt; doubles up to lastGap
	lastGap   = 15 * time.Second
	askTime   = 5 * time.Second // most for one question to the server while the change runs
)

// Native lets the server itself change the table while its users go on: ALGORITHM and LOCK are always written out, so
// the server refuses what would stop them. All later statements on the table wait behind a change that waits for the
// table's metadata lock, so at the beginning it waits only for Alteration.LockWait, not at all while a session is known
// to hold the table, and tries again with growing gaps. At the end, where the server would throw away what it has
// built, it waits for up to a minute and reports who holds the table; a build of more than a minute that is lost all
// the same is not repeated. When ctx ends Native kills its own ALTER, and nothing else, and returns after the server
// has taken it back.
//
// The target is pinned, see target.Target.Pin: the change is made on the server that its facts are of, or nowhere.
//
// note, which may be nil, gets one line of text for whatever happens on the way. Errors are of type *Error.
func Native(ctx context.Context, t *target.Target, c Alteration, report progress.Sink, note func(string)) error {
	c, err := c.complete()
	if err != nil {
		return &Error{Why: Refused, Err: &endpoint.Error{
			Op:   "alter " + c.Table.String(),
			Kind: endpoint.Unsupported, Err: err,
		}}
	}
	if !t.Has(target.HasInplaceDDL) {
		return &Error{Why: NotOnline, Err: &endpoint.Error{
			Op: "alter " + c.Table.String(), Kind: endpoint.Unsupported,
			Err: errors.New("this server has no online ALTER TABLE"),
			Fix: "MySQL before 5.6 and MariaDB before 10.0 stop all writers: do it in a maintenance window",
		}}
	}
	if note == nil {
		note = func(string) {}
	}
	w := &worker{t: t, c: c, report: report, note: note, where: t.Spec().Where()}
	if err := t.Pin(ctx); err != nil {
		return w.before(ctx, err)
	}
	gap := firstGap
	for i := 1; ; i++ {
		err := w.attempt(ctx)
		var m *missed
		if !errors.As(err, &m) {
			return err
		}
		if e := w.given(m, i == c.Attempts); e != nil {
			return e
		}
		note(fmt.Sprintf("attempt %d of %d: %v; next try in %v", i, c.Attempts, m, gap))
		select {
		case <-ctx.Done():
			return w.stopped(ctx)
		case <-time.After(gap):
		}
		gap = min(2*gap, lastGap)
	}
}

// missed says that an attempt did not get the metadata lock.
type missed struct {
	how   string // what happened, in words
	lost  bool   // what the server had built
	built time.Duration
	err   error // of the server, if it gave up
}

func (m *missed) Error() string { return m.how }

// given returns the error that an attempt without the lock ends with, nil when it is to be repeated.
func (w *worker) given(m *missed, last bool) error {
	e := &endpoint.Error{Op: "alter " + w.c.Table.String(), Kind: endpoint.Timeout, Target: "on " + w.where}
	switch {
	case m.lost && m.built >= w.c.long:
		e.Err = fmt.Errorf("%s: %w", m.how, m.err)
		e.Fix = fmt.Sprintf("nothing was changed, and there is no automatic retry: it costs the same %v of work on "+
			"the server again; "+
			"end the transaction that holds the table first", m.built.Round(time.Second))
		return &Error{Why: Locked, Built: m.built, Err: e}
	case last:
		e.Err = fmt.Errorf("its metadata lock was not free in %d attempts of %v; the last one: %s",
			w.c.Attempts, w.c.LockWait, m.how)
		if m.err != nil {
			e.Err = fmt.Errorf("%w: %w", e.Err, m.err)
		}
		e.Fix = "end the transaction that holds the table, or wait for it; nothing was changed"
		return &Error{Why: Locked, Err: e}
	}
	return nil
}

type worker struct {
	t      *target.Target
	c      Alteration
	report progress.Sink
	note   func(string)
	where  string
	watch  *target.Session // looks at the change and kills it; nil when it is lost
	seen   time.Time       // when the change that is being stopped was last seen on the server
	said   string          // of the stopping, last
	times  int             // that something was said of it
}

func (w *worker) stopped(ctx context.Context) error {
	return &Error{Why: Stopped, Err: &endpoint.Error{
		Op: "alter " + w.c.Table.String(), Target: "on " + w.where, Err: fmt.Errorf("stopped: %w", context.Cause(ctx)),
		Fix: "nothing was changed",
	}}
}

// holders says in words who has held the table for a number of seconds, but for one session; it is only an explanation,
// so it may find none.
func (w *worker) holders(ctx context.Context, olderSec int, but uint64) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	hs, err := Holders(ctx, w.t, w.c.Table, olderSec)
	if err != nil {
		return ""
	}
	return heldBy(slices.DeleteFunc(hs, func(h Holder) bool { return h.Thread == but }))
}

func heldBy(hs []Holder) string {
	if len(hs) == 0 {
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

// seconds is the LockWait as the server counts it.
func (w *worker) seconds() int { return int(w.c.LockWait / time.Second) }

// free waits, without a place in the table's queue, for sessions that are known to have held the table for longer than
// LockWait. It returns who holds it still after another LockWait.
func (w *worker) free(ctx context.Context) string {
	for end := time.Now().Add(w.c.LockWait); ; {
		hs, err := Holders(ctx, w.t, w.c.Table, w.seconds())
		hs = slices.DeleteFunc(hs, func(h Holder) bool { return !h.Sure })
		switch {
		case err != nil || len(hs) == 0: // not shown: the wait in the queue tells
			return ""
		case time.Now().After(end):
			return heldBy(hs)
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(poll):
		}
	}
}

// attempt runs the statement once. The error is *missed when the lock was not free.
func (w *worker) attempt(ctx context.Context) error {
	if who := w.free(ctx); who != "" {
		return &missed{how: "not sent, because its metadata lock was not free within " + w.c.LockWait.String() + who}
	}
	if ctx.Err() != nil {
		return w.stopped(ctx)
	}
	// Two connections of its own: the ALTER's, and one to watch and to kill it even when the server has no connection
	// left then. The server's own time zone, because a change between TIMESTAMP and DATETIME converts by it.
	set := map[string]string{
		"lock_wait_timeout": strconv.Itoa(int(w.c.last / time.Second)),
		"time_zone":         "@@global.time_zone",
	}
	if _, ok := w.t.Variable("max_statement_time"); ok { // MariaDB's limit would end a long ALTER too
		set["max_statement_time"] = "0"
	}
	work, err := w.t.Session(ctx, target.SessionOptions{Purpose: target.ForChanges, Settings: set})
	if err != nil {
		return w.before(ctx, err)
	}
	defer work.Close()
	defer w.unwatch()
	if err := w.watching(ctx); err != nil {
		return w.before(ctx, err)
	}

	id := mark()
	x := course{sent: time.Now()}
	done := make(chan error, 1)
	own, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	go func() { // ends with the statement, which the loop below waits for
		_, err := work.Exec(own, sqltext.Tagged("alter", id, w.c.Statement()))
		done <- err
	}()
	tick := time.NewTimer(firstPoll)
	defer tick.Stop()
	stop := ctx.Done()
	killing, tooLong, reported := false, false, false
	who := ""
	for {
		select {
		case err := <-done:
			n, ok := target.ServerErrorNumber(err)
			switch {
			case err == nil:
				if killing && ctx.Err() != nil {
					w.note("the change had been made before it could be stopped")
				}
				w.report.Report(progress.Progress{
					Step: "altering " + w.c.Table.String(), Done: 100, Total: 100,
					Unit: "%", Started: x.sent, At: time.Now(), End: true,
				})
				return nil
			case ok && n == 1205 && ctx.Err() != nil:
				return w.stopped(ctx)
			case ok && (n == 1205 || n == 1317 && tooLong && ctx.Err() == nil):
				if who == "" {
					who = w.holders(ctx, w.seconds(), work.ID())
				}
				if n == 1317 {
					err = nil // that was us
				}
				return w.missed(x, tooLong, who, err)
			}
			return fail(ctx, w.c, w.where, err)
		case <-stop:
			stop, killing, w.seen = nil, true, time.Now()
			w.note("stopping the change; the server rolls it back")
			w.kill(id, work.ID())
		case <-tick.C:
			if killing {
				w.kill(id, work.ID()) // the first may have come before the statement had begun
				if ctx.Err() != nil && time.Since(w.seen) > w.c.deaf {
					giveUp()
					if err := <-done; err == nil { // at that very moment
						return nil
					}
					return fail(ctx, w.c, w.where, fmt.Errorf("the server no longer shows the change, and does not "+
						"report its outcome: %w", io.ErrUnexpectedEOF))
				}
				tick.Reset(firstPoll)
				continue
			}
			p, phase, err := w.look(ctx, work.ID())
			if err == nil {
				x.see(phase, p.Done, time.Now())
				switch {
				case x.waits.IsZero():
					reported = false
				case x.begun.IsZero():
					if killing = x.seen.Sub(x.waits) >= w.c.LockWait; killing {
						tooLong, who = true, w.holders(ctx, w.seconds(), work.ID())
						w.kill(id, work.ID())
					}
				case !reported:
					reported, who = true, w.holders(ctx, 0, work.ID())
					w.note(fmt.Sprintf("at its end the change waits up to %v for the metadata lock, and later "+
						"statements on the table wait behind it%s", w.c.last, who))
				}
				if reported {
					p.Step = "built; " + p.Step + who
				}
				p.Started, p.At = x.sent, time.Now()
				w.report.Report(p)
			}
			tick.Reset(x.pace())
		}
	}
}

// missed tells what a change came to that waited for the lock for too long.
func (w *worker) missed(x course, killed bool, who string, err error) error {
	waited := w.c.last
	if killed {
		waited = w.c.LockWait
	}
	if x.begun.IsZero() {
		return &missed{how: fmt.Sprintf("the metadata lock was not free within %v%s", waited, who), err: err}
	}
	m := &missed{lost: true, built: x.built(time.Now(), waited), err: err}
	m.how = fmt.Sprintf("the server threw away what it had built in %v: at the end the metadata lock was not free "+
		"within %v%s", m.built.Round(time.Second), waited, who)
	return m
}

// before is the error of an attempt that could not begin.
func (w *worker) before(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return w.stopped(ctx)
	}
	return &Error{Why: Refused, Err: err}
}

// mark returns what tells one statement from all others.
func mark() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// watching opens the watching session when there is none, on the server that the target is pinned to.
func (w *worker) watching(ctx context.Context) (err error) {
	if w.watch == nil {
		w.watch, err = w.t.Session(ctx, target.SessionOptions{Purpose: target.ForChanges})
	}
	return err
}

func (w *worker) unwatch() {
	if w.watch != nil {
		w.watch.Close()
		w.watch = nil
	}
}

// asks runs f on the watching session; one that broke is opened again the next time.
func (w *worker) asks(f func(context.Context, *target.Session) error) error {
	// The end of the change's context must not break the connection that is to kill the ALTER then.
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if err := w.watching(ctx); err != nil {
		return err
	}
	err := f(ctx, w.watch)
	if _, answered := target.ServerErrorNumber(err); err != nil && !answered {
		w.unwatch()
	}
	return err
}

// kill ends our own statement, if the session that kills sees it there: the number alone may be somebody else's. A
// failure is not the end: the loop tries again.
func (w *worker) kill(mark string, id uint64) {
	err := w.asks(func(ctx context.Context, s *target.Session) error {
		ours := false
		q := fmt.Sprintf("SELECT INFO FROM information_schema.PROCESSLIST WHERE ID = %d", id)
		_, err := s.Query(ctx, sqltext.Tagged("alter", "", q), func(r []driver.Value) {
			ours = strings.HasPrefix(text(r[0]), sqltext.Tagged("alter", mark, ""))
		})
		if err != nil || !ours {
			return err
		}
		w.seen = time.Now()
		_, err = s.Exec(ctx, sqltext.Tagged("alter", "", fmt.Sprintf("KILL QUERY %d", id)))
		return err
	})
	if n, ok := target.ServerErrorNumber(err); err != nil && !(ok && n == 1094) &&
		w.said != err.Error() && w.times < mostSaid {
		// 1094: it has ended meanwhile
		w.said, w.times = err.Error(), w.times+1
		w.note("stopping the change: " + w.said)
	}
}

// look asks how far the change is, and in which state its session is. MySQL tells how far in performance_schema, for
// whose stages a consumer must be on; MariaDB in its processlist. Where neither says anything, the step alone is known.
func (w *worker) look(ctx context.Context, id uint64) (p progress.Progress, phase string, err error) {
	p = progress.Progress{Step: "altering " + w.c.Table.String(), Unit: "%"}
	if ctx.Err() != nil {
		return p, "", ctx.Err()
	}
	cols := "STATE, 0, 0, 0"
	if w.t.Has(target.HasProcesslistProgress) {
		cols = "STATE, STAGE, MAX_STAGE, PROGRESS"
	}
	err = w.asks(func(ctx context.Context, s *target.Session) error {
		_, err := s.Query(ctx, sqltext.Tagged("alter", "",
			fmt.Sprintf("SELECT %s FROM information_schema.PROCESSLIST WHERE ID = %d", cols, id)),
			func(r []driver.Value) {
				if phase = text(r[0]); waiting(phase) {
					p.Step = "waiting for the metadata lock of " + w.c.Table.String()
				}
				if stages := float(r[2]); stages > 0 { // PROGRESS is the percentage of one stage
					p.Done, p.Total = (max(float(r[1]), 1)-1)/stages*100+float(r[3])/stages, 100
				}
			})
		if err != nil || !w.t.Has(target.HasStages) {
			return err
		}
		_, err = s.Query(ctx, sqltext.Tagged("alter", "",
			fmt.Sprintf("SELECT WORK_COMPLETED, WORK_ESTIMATED FROM performance_schema.events_stages_current"+
				" JOIN performance_schema.threads USING (THREAD_ID) WHERE PROCESSLIST_ID = %d AND WORK_ESTIMATED > 0",
				id)),
			func(r []driver.Value) {
				if of := float(r[1]); of > 0 {
					p.Done, p.Total = min(float(r[0])/of, 1)*100, 100
				}
			})
		return err
	})
	return p, phase, err
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
		if math.Abs(x) < math.MaxInt64 { // a server's word may be anything
			return x
		}
	case []byte:
		if f, err := strconv.ParseFloat(string(x), 64); err == nil && math.Abs(f) < math.MaxInt64 {
			return f
		}
	}
	return 0
}
