package screen

import (
	"context"
	"io"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/state"
)

// Update is what is new: a state, events, or both.
type Update struct {
	State  *state.State // nil when there are only events; not changed by anybody afterwards
	Events []event.Event
}

// Source gives the states of one target. Its methods may be called at the same time from several goroutines; all of
// them end soon after their ctx has.
type Source interface {
	// Next waits for the next update. io.EOF says that there will be no more, as when only the past is looked at; any
	// other error is shown and ends the live view likewise.
	Next(ctx context.Context) (Update, error)
	// At returns the newest state at or before t. An error is shown to the user in its own words.
	At(ctx context.Context, t time.Time) (*state.State, error)
	// Times returns moments between from and to that have a state, oldest first, max of them spread evenly when there
	// are more.
	Times(ctx context.Context, from, to time.Time, max int) ([]time.Time, error)
	// Events returns those that touch the time between from and to.
	Events(ctx context.Context, from, to time.Time) ([]event.Event, error)
}

// Options say how the screen is shown.
type Options struct {
	In  io.Reader // keys; nil and os.Stdin for the terminal of the process
	Out io.Writer // nil for the process's standard output
	Env []string  // "TERM=…", "NO_COLOR=…"; nil for the process's own

	Target   string         // name in the headline until the first state has come
	At       time.Time      // look at this moment first; zero for the live view
	Location *time.Location // of the times shown and typed, nil for the local one

	// Status is what the engine's report on itself is called, see state.State.EngineStatus.
	Status string

	// Explain returns the plan of a statement as text of any number of lines; nil where that cannot be asked.
	Explain func(ctx context.Context, sql, db string) (string, error)
}
