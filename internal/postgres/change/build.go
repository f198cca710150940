package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/progress"
)

const (
	// lockTimeout is how long one wait of a statement CONCURRENTLY may take: for the table's lock, for the transactions
	// that use it, for old snapshots. None of these waits blocks a reader or writer of the table; until they end, the
	// table can be neither vacuumed nor altered.
	lockTimeout = 60 * time.Second
	// watchEach is the interval of the watching session.
	watchEach = 250 * time.Millisecond
	// cancelTime is how long a cancelled statement may take to end.
	cancelTime = 30 * time.Second
)

// build sends a CREATE or DROP INDEX CONCURRENTLY and watches it: its progress goes to report, who holds it up to note.
// When ctx ends, the statement is cancelled and its end awaited.
func (x Changer) build(ctx context.Context, sql string, report progress.Sink, note func(string)) error {
	watcher, err := open(ctx, x.t, conn.ForReading)
	if err != nil {
		return err
	}
	defer watcher.end()
	s, err := open(ctx, x.t, conn.ForChanges)
	if err != nil {
		return err
	}
	defer s.end()
	bound := fmt.Sprintf("SET lock_timeout = %d", x.wait.Milliseconds())
	if err := s.exec(ctx, "bound the waits", bound); err != nil {
		return err
	}
	works, give := context.WithCancel(context.WithoutCancel(ctx))
	defer give()
	done := make(chan error, 1)
	go func() { done <- s.exec(works, "change the index", sql) }()
	w := watch{s: watcher, pid: s.pid(), report: report, note: note, seen: map[int]string{}}
	tick := time.NewTicker(watchEach)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return w.lasted(err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), w.cancel(done, give))
		case <-tick.C:
			w.look(ctx)
		}
	}
}

// watch is what a second session sees of a statement.
type watch struct {
	s       session
	pid     uint32
	report  progress.Sink
	note    func(string)
	phase   string
	began   time.Time
	seen    map[int]string // whom the statement waited for, and how they were described
	last    []string       // whom it waited for when it last did
	failure error          // why nothing is seen
}

// cancel ends the statement on the server and waits until it has ended; a server that does not answer is left.
func (w *watch) cancel(done <-chan error, give func()) error {
	ctx, stop := context.WithTimeout(context.Background(), cancelTime)
	defer stop()
	_, err := w.s.ask(ctx, "cancel the statement", "SELECT pg_cancel_backend($1)", []any{w.pid}, new(bool))
	select {
	case failed := <-done:
		return failed
	case <-ctx.Done():
		give()
		return errors.Join(<-done, err, errors.New("the server did not say whether the statement was cancelled"))
	}
}

// look reports how far the statement is and who holds it up.
// https://www.postgresql.org/docs/current/progress-reporting.html
func (w *watch) look(ctx context.Context) {
	if w.failure != nil {
		return
	}
	var phase string
	var p progress.Progress
	const q = `SELECT phase, CASE WHEN phase LIKE 'waiting%' THEN lockers_done
  WHEN tuples_total > 0 THEN tuples_done ELSE blocks_done END::float8,
 CASE WHEN phase LIKE 'waiting%' THEN lockers_total
  WHEN tuples_total > 0 THEN tuples_total ELSE blocks_total END::float8,
 CASE WHEN phase LIKE 'waiting%' THEN 'transactions' WHEN tuples_total > 0 THEN 'rows' ELSE 'blocks' END
 FROM pg_stat_progress_create_index WHERE pid = $1`
	found, err := w.s.ask(ctx, "watch the build", q, []any{w.pid}, &phase, &p.Done, &p.Total, &p.Unit)
	if err == nil && found {
		if phase != w.phase {
			w.phase, w.began = phase, time.Now()
		}
		p.Step, p.Started, p.At = "index: "+phase, w.began, time.Now()
		w.report.Report(p)
	}
	if err == nil {
		err = w.blockers(ctx)
	}
	if err != nil && ctx.Err() == nil {
		w.failure = err
		w.note("the change is no longer watched: " + err.Error())
	}
}

// blockers notes whom the statement waits for, each once.
func (w *watch) blockers(ctx context.Context) error {
	var now []string
	err := w.s.each(ctx, "ask who holds the change up", askHolder+
		" WHERE a.pid = ANY (pg_blocking_pids($1))", []any{w.pid}, func(r pgx.Rows) error {
		h, err := scanHolder(r)
		if err != nil {
			return err
		}
		if w.seen[h.pid] == "" {
			w.seen[h.pid] = h.String()
			w.note("the change waits for " + h.String())
		}
		now = append(now, h.String())
		return nil
	})
	if len(now) > 0 {
		w.last = now
	}
	return err
}

// lasted adds to the error of a statement that waited too long whom it waited for.
func (w *watch) lasted(err error) error {
	if code, _ := conn.SQLState(err); code == "55P03" && len(w.last) > 0 { // lock_not_available
		return fmt.Errorf("%w: it waited for %s: end that, or try again when it has ended", err,
			strings.Join(w.last, "; "))
	}
	return err
}
