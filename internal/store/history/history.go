package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/store/reserve"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Options bound what is kept. The zero value means the defaults.
type Options struct {
	StateAge   time.Duration // of states; 0 is 3 days
	StateBytes int64         // of states of all targets together, see share; 0 is 2 GiB
	// PinnedBytes bounds the states that incidents keep, of all targets together, see share; 0 is 256 MiB. They are
	// kept for ClassAge.
	PinnedBytes int64
	MinuteAge   time.Duration // of classes by the minute; 0 is 8 days
	ClassAge    time.Duration // of classes by the hour and day, plans and examples; 0 is 400 days
	ClassBytes  int64         // of classes of all targets together; the minutes go first; 0 is 1 GiB
	PlanBytes   int64         // of plans, and as much of examples, of all targets together; 0 is 256 MiB
	LockAge     time.Duration // of deadlocks and lock waits; 0 is 400 days
	LockBytes   int64         // of those of all targets together; 0 is 64 MiB
	Reach       time.Duration // how much older than the moment asked for a state may be; 0 is 15 seconds
	// BufferBytes bounds the states that wait for a file that cannot be written, compressed; 0 is 16 MiB. The oldest of
	// the target with most of them go first.
	BufferBytes int
	// Reserve is the space on the disk that is left to others: with less nothing is added (ErrFull), states wait within
	// BufferBytes, and what is too old goes all the same.
	Reserve reserve.Reserve
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.StateAge, 3*24*time.Hour)
	set(&o.MinuteAge, 8*24*time.Hour)
	set(&o.ClassAge, 400*24*time.Hour)
	set(&o.LockAge, 400*24*time.Hour)
	set(&o.Reach, 15*time.Second)
	if o.StateBytes <= 0 {
		o.StateBytes = 2 << 30
	}
	if o.PinnedBytes <= 0 {
		o.PinnedBytes = 256 << 20
	}
	if o.ClassBytes <= 0 {
		o.ClassBytes = 1 << 30
	}
	if o.LockBytes <= 0 {
		o.LockBytes = 64 << 20
	}
	if o.PlanBytes <= 0 {
		o.PlanBytes = maxBytes
	}
	if o.BufferBytes <= 0 {
		o.BufferBytes = 16 << 20
	}
	return o
}

// History is an open history. It is safe for concurrent use.
type History struct {
	Locks LockStore // deadlocks and lock waits

	*book
	enc       *zstd.Encoder // of PutState
	packer    *zstd.Encoder // of packs, which take long: nobody's PutState waits for them
	dec       *zstd.Decoder
	retention retention

	flush   chan struct{} // holds the turn of the one that writes waiting states
	mu      sync.Mutex    // guards what follows
	targets map[string]int64
	waiting queue
	closed  bool

	newAtOnce int
	fresh     map[int64]*allowance // by target; of mu
}

// book is the file that all parts of a history share.
type book struct {
	path string
	o    Options
	file *sqlitefile.File
	db   *sql.DB // of file
}

// Open opens the history at path, making the file (mode 0600) and its directory (0700) when there is none. Errors:
// ErrCorrupt, ErrOlder, ErrNewer, ErrForeign, ErrBusy, ErrFull, ErrDenied.
func Open(ctx context.Context, path string, o Options) (*History, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	b := &book{path: path, o: o.withDefaults(), file: sqlitefile.New(&format, path)}
	h := &History{
		book: b, flush: make(chan struct{}, 1), targets: map[string]int64{}, waiting: queue{most: b.o.BufferBytes},
		retention: retention{book: b, maxRows: maxRows, maxBytes: b.o.PlanBytes},
		newAtOnce: newAtOnce, fresh: map[int64]*allowance{},
	}
	h.Locks.h = h
	h.Keep(Options{StateAge: h.o.StateAge, ClassAge: h.o.ClassAge})
	for _, e := range []**zstd.Encoder{&h.enc, &h.packer} {
		if *e, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(packBytes)); err != nil {
			return nil, fmt.Errorf("open history: %w", err)
		}
	}
	if h.dec, err = newDecoder(); err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	if h.db, err = h.file.DB(ctx, true); err != nil {
		h.dec.Close()
		return nil, wrap("open history", path, err)
	}
	return h, nil
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20),
		zstd.WithDecoderLowmem(true))
}

// Path returns the absolute name of the history's file.
func (h *History) Path() string { return h.path }

// Close writes what waits and ends the use of the history. A second call does nothing.
func (h *History) Close() error {
	h.mu.Lock()
	done := h.closed
	h.mu.Unlock()
	if done {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sqlitefile.Patience)
	defer cancel()
	err := h.Flush(ctx)
	h.mu.Lock()
	done, h.closed = h.closed, true
	h.mu.Unlock()
	if done {
		return err
	}
	err = errors.Join(err, wrap("close history", h.path, h.file.Close()))
	h.dec.Close()
	return errors.Join(err, h.enc.Close(), h.packer.Close())
}

// Run flushes each second and maintains each minute, neither of which waits for the other, until
// ctx ends, which is no error; it then flushes once more. What goes wrong is given to report, which
// may be nil, and tried again.
func (h *History) Run(ctx context.Context, report func(error)) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	tell := func(err error) {
		if err != nil && report != nil && ctx.Err() == nil {
			report(err)
		}
	}
	next := time.Now().Add(10 * time.Second)
	var maintained chan error // nil but while it is under way
	for {
		select {
		case <-ctx.Done():
			if maintained != nil {
				tell(<-maintained)
			}
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), sqlitefile.Patience)
			defer cancel()
			return h.Flush(end)
		case err := <-maintained:
			maintained = nil
			tell(err)
			continue
		case <-tick.C:
		}
		tell(h.Flush(ctx))
		if now := time.Now(); maintained == nil && (!now.Before(next) || next.Sub(now) > 2*time.Minute) {
			// or the clock was set back
			next = now.Add(time.Minute)
			maintained = make(chan error, 1)
			go func(done chan<- error) {
				now := clock.Now()
				end, err := h.retention.horizon(ctx, now)
				done <- errors.Join(err, h.maintain(ctx, now, end))
			}(maintained)
		}
	}
}

// add is write for what adds to the file.
func (b *book) add(ctx context.Context, op string, f func(*sql.Tx) error) error {
	if err := b.o.Reserve.Check(filepath.Dir(b.path), 0); err != nil {
		return wrap(op, b.path, err)
	}
	return b.write(ctx, op, f)
}

// write runs f in one transaction.
func (b *book) write(ctx context.Context, op string, f func(*sql.Tx) error) error {
	return wrap(op, b.path, b.file.Write(ctx, f))
}

// target returns the number of a target, giving it one when it has none and tx is not nil; 0 when it has none.
func (h *History) target(ctx context.Context, tx *sql.Tx, name string) (int64, error) {
	h.mu.Lock()
	id := h.targets[name]
	h.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	if tx != nil {
		if _, err := tx.ExecContext(ctx, "INSERT INTO target (name) VALUES (?) ON CONFLICT DO NOTHING",
			name); err != nil {
			return 0, err
		}
		// Not remembered: the transaction may yet fail.
		return id, tx.QueryRowContext(ctx, "SELECT id FROM target WHERE name = ?", name).Scan(&id)
	}
	switch err := h.db.QueryRowContext(ctx, "SELECT id FROM target WHERE name = ?", name).Scan(&id); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	}
	h.mu.Lock()
	h.targets[name] = id
	h.mu.Unlock()
	return id, nil
}

// Targets lists the names of the targets of which something is kept.
func (h *History) Targets(ctx context.Context) ([]string, error) {
	names, err := query(ctx, h.db, func(r *sql.Rows, s *string) error { return r.Scan(s) },
		"SELECT name FROM target ORDER BY name")
	return names, wrap("read targets", h.path, err)
}

// query reads rows into values.
func query[T any](ctx context.Context, q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, scan func(*sql.Rows, *T) error, text string, args ...any,
) ([]T, error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		switch err := scan(rows, &v); {
		case err == nil:
			out = append(out, v)
		case !errors.Is(err, errLeftOut):
			return nil, err
		}
	}
	return out, rows.Err()
}

// errLeftOut is what a scan returns of a row that is not wanted.
var errLeftOut = errors.New("not wanted")
