package load

import (
	"context"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Server is a server of any family that can be loaded: MySQL in this package, those of other families in theirs.
type Server interface {
	Tables
	Runner
	// Fit returns a workload as this family has it, with the options that the target decides. An error says that the
	// family does not have it yet.
	Fit(w workload.Workload, options map[string]string) (workload.Workload, map[string]string, error)
	// Retried is as of Errors.
	Retried() (codes []string, option string)
	// Close ends the use of the server.
	Close() error
}

// Tables makes and drops the tables of a workload; see the functions Prepare and Cleanup.
type Tables interface {
	Prepare(ctx context.Context, d Data, sink progress.Sink) error
	Cleanup(ctx context.Context, d Data) ([]schema.Ref, error)
}

// Runner runs a workload; see the functions Preflight and Run.
type Runner interface {
	Preflight(ctx context.Context, c Config) ([]Remark, error)
	Run(ctx context.Context, c Config, sink func(loadresult.Tick)) (loadresult.Run, error)
}

// Sessions is what a run needs of a family of servers.
type Sessions interface {
	Dialer
	Errors
}

// Dialer opens sessions and ends them.
type Dialer interface {
	// Dial opens a session in the plan's database and prepares the plan's statements. The session breaks when ctx ends,
	// also later.
	Dial(ctx context.Context, plan *workload.Plan, mode PSMode) (Session, error)
	// Kill has the server end a session, by its ID. A failure is not reported: the session may be gone already.
	Kill(ctx context.Context, id uint64)
}

// Session is one connection with its prepared statements. It belongs to one goroutine.
type Session interface {
	// Call executes one statement and reads all of its answer, each row of which goes to row.
	Call(ctx context.Context, c *workload.Call, row func([]workload.Datum)) error
	// Send executes a text and drops the rows of its answer.
	Send(ctx context.Context, sql string) error
	// ID is the server's number of the connection.
	ID() uint64
	Close()
}

// WireDialer is a Dialer whose sessions event loops can drive.
type WireDialer interface {
	// DialWire is Dial for an event loop. An error that is ErrOtherWay means that this server needs the general driver.
	DialWire(ctx context.Context, plan *workload.Plan, mode PSMode) (Wire, error)
}

// Wire is a session for an event loop, which sends and receives its bytes. With a method Unasked() it also takes what
// its server says while nothing is under way: Next, without a generator, then needs more.
type Wire interface {
	Codec
	// FD is the connection's descriptor.
	FD() int
	// ID is the server's number of the connection.
	ID() uint64
	// Wrap gives an error of reading, writing or Next what there is to say about it.
	Wrap(op string, err error) error
	Close() error
}

// Codec turns calls into bytes, and bytes into answers. It never waits, and allocates nothing in the steady state.
type Codec interface {
	// AppendCall appends the command for one call to dst; the answer is to be read next.
	AppendCall(dst []byte, c *workload.Call) ([]byte, error)
	// AppendText is AppendCall for a text.
	AppendText(dst []byte, sql string) []byte
	// Feed takes bytes that have arrived, which are valid until Next says that it needs more.
	Feed(b []byte)
	// Next goes through the answer and hands rows to gen. Unless done it needs more. An error is the server's answer,
	// or says why the connection is of no more use.
	Next(gen workload.Generator) (done bool, err error)
}

// Errors knows what the errors of a family's servers mean.
type Errors interface {
	Trouble(err error) Trouble
	// Explain adds to an error that ends a run what to do about it.
	Explain(err error, plan *workload.Plan) error
	// Retried returns the codes of the errors that are always retried, and the name of the option for others to ignore.
	Retried() (codes []string, option string)
}

// Trouble says what an error means to a run. The zero value is an error of no server.
type Trouble struct {
	Code     string // the server's, such as 1213 or 40P01; "" when the server did not answer
	Gone     bool   // the connection is lost
	Retry    Retry
	Hopeless bool // no later attempt to connect can succeed unless someone changes something
}

// Retry says whether an operation is tried again after an error.
type Retry uint8

const (
	NoRetry     Retry = iota
	RetryAlways       // as its message asks for, such as after a deadlock
	// RetryAFew is for an error that a concurrent transaction may have caused, or the operation itself: an operation of
	// several statements is retried fewRetries times, one of a single statement is not.
	RetryAFew
)

// fewRetries is how often an operation is retried after errors of RetryAFew.
const fewRetries = 100
