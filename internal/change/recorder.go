package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/state"
)

// writeTimeout bounds the last words in the journal after everything else was stopped, lookTimeout a look at what was
// done.
const (
	writeTimeout = 10 * time.Second
	lookTimeout  = time.Minute
)

// Afterwards is the context of a look at what was done: it outlives the command that did it, but not a server that says
// nothing.
func Afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
}

// recorder keeps an entry and writes each of its states.
type recorder struct {
	j    Journal
	e    journal.Entry
	tell func(string)
}

// put writes the entry as it is. A cancelled action is written down too.
func (r *recorder) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	r.e.Error, r.e.Notes = state.Clip(r.e.Error, MostText), slices.Clone(r.e.Notes)
	for i := range r.e.Notes {
		r.e.Notes[i].Text = state.Clip(r.e.Notes[i].Text, MostText)
	}
	if err := r.j.PutEntry(ctx, r.e); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// MostText is the longest text that an entry keeps of what happened, in bytes: parts of it come from the server.
// mostNotes bounds their number.
const (
	MostText  = 4 << 10
	mostNotes = 200
)

// note adds a remark and passes it on. It is in the journal with the next put. Of too many, those in the middle go.
func (r *recorder) note(text string) {
	r.keep(text)
	if r.tell != nil {
		r.tell(state.Clip(text, MostText))
	}
}

// keep adds a remark that has been told: a preview's warning.
func (r *recorder) keep(text string) {
	if len(r.e.Notes) >= mostNotes {
		r.e.Notes = slices.Delete(slices.Clone(r.e.Notes), mostNotes/2, mostNotes/2+1)
	}
	r.e.Notes = append(r.e.Notes, journal.Note{At: time.Now().UTC(), Text: state.Clip(text, MostText)})
}

// failed writes down why an action did not happen and returns the error.
func (r *recorder) failed(ctx context.Context, err error) error {
	r.e.State, r.e.Error, r.e.Ended = journal.Failed, state.Clip(err.Error(), MostText), time.Now().UTC()
	return errors.Join(err, r.put(ctx))
}
