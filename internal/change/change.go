// Package change carries out one action on a server of any family, with its undo: it previews the
// action, writes a journal entry with the undo before anything is sent, has the action carried out,
// verifies the result, and can undo it, also after a crash. The action is one that a person has
// accepted. How a family of servers makes a change is a Changer, which it implements.
package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
)

// Changer is a server that was reached, as its family changes it.
type Changer interface {
	// Server says which one it is.
	Server() Server
	// Pin makes sure that all that follows happens on the server that Server names, or fails.
	Pin(ctx context.Context) error
	// Step returns how an action is carried out and undone; an error when this family or version cannot do that. It
	// asks the server nothing.
	Step(a finding.Action, o Options) (Step, error)
	// Check pins the server, asks it as it is now and returns the preview with the action completed: its statements and
	// what an undo needs. It only reads. The step is that of the completed action.
	Check(ctx context.Context, a finding.Action, o Options) (Preview, Step, error)
}

// Killer is a Changer that can end a session. Kill writes that into the journal before anything is sent, as an entry
// that has an id. A session that is not the one named is refused with ErrNotThatSession. Nothing undoes it.
type Killer interface {
	Kill(ctx context.Context, j Journal, e journal.Entry, s Session) (journal.Entry, error)
}

// Session names a session of a server: numbers are used again.
type Session struct {
	ID   uint64 // as KILL or pg_terminate_backend takes it
	User string // whose it is
	// Began is when it connected, by the server's clock; zero where the family does not say.
	Began time.Time
}

// Server names a server in previews and in the journal.
type Server struct {
	Name string // as the user knows it
	URL  string // where it is, without a password
	ID   string // its own identity, so that an undo cannot hit another one
	// Database is the one whose tables are changed, where a session sees those of one only; else empty.
	Database string
}

// Key is what the journal knows it by.
func (s Server) Key() string {
	if s.Database == "" {
		return s.ID
	}
	return s.ID + "/" + s.Database
}

// Step is an action on its way on one server. A family fills in what it has; the first group is required.
type Step struct {
	// Subject names what is changed, "index k", and Place where that is: " on shop.orders", or empty.
	Subject, Place string
	// Apply carries the action out and Revert undoes it. note passes on what happens on the way.
	Apply, Revert func(ctx context.Context, report progress.Sink, note func(string)) error
	// Compare says how the server compares with what the action brings about, and how it is now when that is Different
	// or HalfDone.
	Compare func(ctx context.Context) (Standing, string, error)
	// CheckRevert adds to the preview what stands against an undo of the entry and what is worth knowing before.
	CheckRevert func(ctx context.Context, j Reader, e journal.Entry, p *Preview) error

	// Busy reports whether a statement of an action like this one is at work on the server.
	Busy func(ctx context.Context) (bool, error)
	// Applied returns the action with what the server made of it, once Apply has returned.
	Applied func() finding.Action
	// Adjusted returns the action with what a server that shows something else made of it; false when that is somebody
	// else's doing.
	Adjusted func(ctx context.Context) (finding.Action, bool, error)
	// Reverse returns the statement of the undo, where that depends on more than the action.
	Reverse func() string
	// Unsure reports whether an action that ended with an error may be in effect all the same.
	Unsure func(ctx context.Context, err error) bool
	// Lost adds to an error how to repeat the command whose work is lost, "apply shop f-1"; empty when there is none.
	Lost func(err error, command string) error
	// Still returns what the server shows instead of the action, "" while it is in effect or when nothing can tell; nil
	// when Compare says all there is.
	Still func(ctx context.Context) (instead string, err error)
	// Unmarked says that the server looks the same after the action as before: only the answer to its statement shows
	// that it was made.
	Unmarked bool
}

// Standing says how a server compares with what an action brings about.
type Standing string

const (
	InEffect  Standing = "in effect"      // the action was carried out
	AsBefore  Standing = "not in effect"  // the server is as before
	Different Standing = "something else" // it was changed since
	HalfDone  Standing = "half done"      // the action, or its undo, was left half-way: an undo cleans that up
	Missing   Standing = "missing"        // the table or the variable is gone
)

// Options say how an action may be carried out, or undone.
type Options struct {
	// Blocking lets a change to a table that the server cannot make online stop the table's writers until it is made.
	Blocking bool
	// Host is where the kernel shows its settings; the zero value is this machine.
	Host host.FS
	// Agreed is the statement that was shown and agreed to: Apply and Undo send no other one, see ErrPreviewChanged.
	// Empty: the one that fits to the server as it is now.
	Agreed string
	// Journal tells PreviewChange of earlier actions that rest on an index which the action takes away; Apply and Undo
	// ask their own.
	Journal Reader
	// By is the user of the web UI who requests an undo, for the journal; empty for the command line.
	By string
}

// agreed refuses a statement that nobody agreed to.
func (o Options) agreed(sql string) error {
	if o.Agreed == "" || o.Agreed == sql {
		return nil
	}
	return fmt.Errorf("%w: it would be %s; review it again", ErrPreviewChanged, sql)
}

var (
	// ErrPreviewChanged is the answer to a change that would now be another one than the one that was agreed to.
	ErrPreviewChanged = errors.New("the change differs from the one that was shown")
	// ErrNotThatSession is the answer to ending a session that is not, or no longer, the one that was meant.
	ErrNotThatSession = errors.New("it is not the session that was meant")
)

// BlockedError is the answer to an action that must not be done now.
type BlockedError struct{ Blockers []string }

func (e *BlockedError) Error() string {
	return "nothing was changed: " + strings.Join(e.Blockers, "; ")
}

// Journal keeps entries for good: when PutEntry returns nil, the entry outlives a crash.
type Journal interface {
	PutEntry(ctx context.Context, e journal.Entry) error
	Reader
}

// Reader reads the journal.
type Reader interface {
	Entry(ctx context.Context, id string) (journal.Entry, error)
	// Entries returns the latest n entries of a target, newest first; of all targets with "", and all entries with 0.
	Entries(ctx context.Context, target string, n int) ([]journal.Entry, error)
}
