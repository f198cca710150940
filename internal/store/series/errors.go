package series

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/store/failure"
)

// What can be wrong with a store, for errors.Is.
var (
	ErrBusy    = errors.New("series store is in use")
	ErrCorrupt = errors.New("series store is damaged")
	ErrFull    = errors.New("disk is full")
	ErrDenied  = errors.New("no permission")
)

var errClosed = errors.New("it is closed")

// BusyError says who has the store open.
type BusyError struct {
	Dir string
	PID int // 0 when it cannot be told
}

func (e *BusyError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("open series store (%s): %s has it open; end that first, or use another directory", e.Dir, who)
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// Span is a time whose samples cannot be read, or not all of them.
type Span struct {
	Where string    `json:"where"`         // file or block, relative to the store
	From  time.Time `json:"from,omitzero"` // zero: not known, possibly since the beginning
	To    time.Time `json:"to,omitzero"`   // zero: not known, possibly to the end
	Cause string    `json:"cause"`
}

func (s Span) String() string {
	at := func(t time.Time, none string) string {
		if t.IsZero() {
			return none
		}
		return t.UTC().Format("2006-01-02 15:04:05")
	}
	return fmt.Sprintf("%s: samples from %s to %s UTC (%s)", s.Where, at(s.From, "an unknown time"),
		at(s.To, "an unknown time"), s.Cause)
}

// CorruptError says which spans are lost.
type CorruptError struct {
	Op    string
	Dir   string
	Spans []Span
	Err   error // what the database said, may be nil
}

func (e *CorruptError) Error() string {
	var lost []string
	for _, s := range e.Spans {
		lost = append(lost, s.String())
	}
	if len(lost) == 0 && e.Err != nil {
		lost = append(lost, e.Err.Error())
	}
	return fmt.Sprintf("%s series store (%s): damaged, these cannot be read: %s; nothing was changed or deleted: "+
		"`dyno store check` examines "+
		"everything, and to start over, move the directory aside. The ledger is stored separately and is not affected",
		e.Op, e.Dir, strings.Join(lost, "; "))
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns what the database said.
func (e *CorruptError) Unwrap() error { return e.Err }

// OutOfOrderError says that samples were older than what their series already had.
type OutOfOrderError struct {
	Samples int    // left out
	Name    string // of the first
	At      int64  // its time, Unix milliseconds
	Newest  int64  // what the series already had
}

func (e *OutOfOrderError) add(m *metric.Sample, newest int64) {
	if e.Samples == 0 {
		e.Name, e.At, e.Newest = m.Name, m.At, newest
	}
	e.Samples++
}

func (e *OutOfOrderError) Error() string {
	return fmt.Sprintf("write to series store: %d samples left out because they are older than what is stored, the "+
		"first %s at %s, %v late: was the clock set back?",
		e.Samples, e.Name, time.UnixMilli(e.At).UTC().Format(time.RFC3339Nano),
		time.Duration(e.Newest-e.At)*time.Millisecond)
}

// failed is any other error, with a hint where there is one.
func failed(op, dir string, err error) error {
	e := &failure.Error{Op: op + " series store", Path: dir, Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Hint = ErrFull, "what was stored before is intact: free some space and try again"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Kind, e.Hint = ErrDenied, "the directory must be writable by the user that runs dyno"
	}
	return e
}

// memo is a log handler that prints nothing and keeps the warnings and errors. It is bounded: what repeats is kept
// once.
type memo struct {
	mu    sync.Mutex
	lines []string
}

const maxNotes = 50

func (m *memo) note(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.lines, line) && len(m.lines) < maxNotes {
		m.lines = append(m.lines, line)
	}
}

func (m *memo) list() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines)
}

// Enabled is part of slog.Handler.
func (m *memo) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle is part of slog.Handler.
func (m *memo) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	m.note(line)
	return nil
}

// WithAttrs is part of slog.Handler.
func (m *memo) WithAttrs([]slog.Attr) slog.Handler { return m }

// WithGroup is part of slog.Handler.
func (m *memo) WithGroup(string) slog.Handler { return m }
