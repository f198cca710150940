package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Annotate keeps a person's note on the timeline and returns it with its id. Without a target it belongs to all. The
// text is one line; a target that is not in the inventory is refused, so that a note is not lost to a slip of the pen.
func (a Actions) Annotate(ctx context.Context, e event.Event) (event.Event, error) {
	e.Kind = event.Annotation
	e.Text = strings.TrimSpace(e.Text)
	if err := e.CheckNote(); err != nil {
		return e, fmt.Errorf("annotate: %w", err)
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return e, err
	}
	if e.Target != "" && !strings.HasPrefix(e.Target, "sandbox:") {
		if _, err := a.Locate(ctx, e.Target, &Login{}); err != nil {
			return e, err
		}
	}
	if e.ID, err = l.NewID(ctx, ledger.EventID); err != nil {
		return e, err
	}
	return e, l.Events.Put(ctx, e)
}

// Events returns the marks of a target, or of all with target "", that reach into a time, in order.
func (a Actions) Events(ctx context.Context, target string, from, to time.Time) ([]event.Event, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	return l.Events.List(ctx, target, from, to)
}
