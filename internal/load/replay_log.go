package load

import (
	"context"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Replayer reads a log and sends its statements to a server again, as the family of that server does it.
type Replayer interface {
	// Check logs in once. Its error says why nothing can be replayed.
	Check(ctx context.Context) error
	// Next gives the entries of one or several logs in the order of time. It fills e, whose slices are valid until the
	// call after; it returns io.EOF after the last one. What it asks the server ends with ctx.
	Next(ctx context.Context, e *Logged) error
	// Dial opens a connection for a session of the log, which may only read unless writes are asked for.
	Dial(ctx context.Context) (ReplaySession, error)
	// Close ends what Next has opened to ask the server; Next is not called after it.
	Close()
}

// ReplaySession is a connection of a replay. It belongs to one goroutine.
type ReplaySession interface {
	// Send executes a text and drops the rows of its answer.
	Send(ctx context.Context, sql string) error
	// Use goes to another database.
	Use(ctx context.Context, db string) error
	// ID is the server's number of the connection.
	ID() uint64
	Close() error
}

// Logged is an entry of a log. Times are in microseconds.
type Logged struct {
	At      int64 // since 1970: when it ended, or with AtBegin when it began; 0 = the log has not said yet
	AtBegin bool
	Took    int64 // 0 where the log does not tell
	Thread  uint64
	HasID   bool // Thread is known
	User    []byte
	Host    []byte
	DB      []byte // its default database
	SQL     []byte // of a statement that is sent
	Quit    bool   // the session ends here
	Rate    uint32 // how many statements the entry stands for, 0 or 1 for itself alone
	Meaning
}

// Meaning is what a statement of a log means to a replay.
type Meaning struct {
	Kind workload.Kind
	Skip Skip // why it is not sent
	// What it does to its session.
	Begins, Ends bool   // a transaction
	Pins         bool   // something that ends with the connection
	Use          string // the database that the session is in afterwards; "" where it stays
}

// Skip says why a statement of a log is not sent again.
type Skip uint8

const (
	NoSkip       Skip = iota // it is sent
	SkipNotRead              // it is not proven to read alone
	SkipServer               // it changes the server, accounts or other sessions, or needs files of the logged server
	SkipAdmin                // an administrator's command, of which there is nothing to send
	SkipOwn                  // Dyno's own
	SkipEncoding             // after it the server would read other words than what is looked at
	SkipTwice                // the log has its execution once more, with the values filled in
	skips
)

// skipTexts finish the sentence "N statements were not sent: …".
var skipTexts = [skips]string{
	SkipNotRead:  "not proven to be reads; --writes sends them",
	SkipServer:   "they would change the server itself, accounts or other sessions, or need files of the logged server",
	SkipAdmin:    "administrator's commands",
	SkipOwn:      "Dyno's own",
	SkipEncoding: "they set an encoding other than UTF-8, in which servers may read statements differently from Dyno",
	SkipTwice:    "the log has them again with their values",
}

// String finishes the sentence "N statements were not sent: …".
func (s Skip) String() string { return skipTexts[s] }
