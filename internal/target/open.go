package target

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

// Target is a server that Dyno has reached, with what was learned about it. It is safe for concurrent use.
type Target struct {
	spec      Spec
	db        *sql.DB
	facts     Facts
	vars      map[string]string
	can       map[Capability]Answer
	rawAnswer *atomic.Pointer[error] // whether Raw is out of the question, nil until it is known
	process   *atomic.Pointer[process]
	pin       *atomic.Pointer[pin] // nil until Pin
	long      *atomic.Bool         // an answer was too long
}

// poolSize bounds the connections for Dyno's own questions; sessions of a load come on top.
const poolSize = 8

// Open logs in and asks once what the server is and can do. Errors are of type *Error and say what to do.
func Open(ctx context.Context, s Spec) (*Target, error) {
	c, err := newConnector(s, ownSettings(), "ask")
	if err != nil {
		return nil, err
	}
	t := &Target{
		spec: s, db: sql.OpenDB(c), long: &c.long, rawAnswer: new(atomic.Pointer[error]),
		process: new(atomic.Pointer[process]), pin: new(atomic.Pointer[pin]),
	}
	c.pin = t.pin
	t.db.SetMaxOpenConns(poolSize)
	t.db.SetMaxIdleConns(poolSize / 2)
	t.db.SetConnMaxIdleTime(time.Minute)
	if err := t.learn(ctx); err != nil {
		t.db.Close()
		return nil, err
	}
	return t, nil
}

func (t *Target) learn(ctx context.Context) error {
	conn, err := t.db.Conn(ctx)
	if err != nil {
		return t.spec.Wrap("connect to", err)
	}
	defer conn.Close()
	if t.facts, t.vars, err = readFacts(ctx, conn); err != nil {
		return t.Wrap("ask what the server is:", err)
	}
	t.facts.Trust = t.spec.trust(t.facts.TLS != "")
	if t.can, err = readCapabilities(ctx, conn, t.facts, t.vars); err != nil {
		return t.Wrap("ask what the server can do:", err)
	}
	return nil
}

// Spec returns what the target was opened with.
func (t *Target) Spec() Spec { return t.spec }

// Facts returns what the server said about itself when the target was opened.
func (t *Target) Facts() Facts { return t.facts }

// DB returns the small pool for Dyno's own questions. Each of its connections has the settings of Conn. Statements carry the
// comment that marks them as Dyno's own; parameters are put into the text, not prepared. Times come as text, in UTC.
func (t *Target) DB() *sql.DB { return t.db }

// Conn returns a connection of the pool for one user alone: strict sql_mode, UTC, lock_wait_timeout 5 s. Close gives it back.
func (t *Target) Conn(ctx context.Context) (*sql.Conn, error) {
	c, err := t.db.Conn(ctx)
	if err != nil {
		return nil, t.spec.Wrap("connect to", err)
	}
	return c, nil
}

// Wrap turns an error of one of the target's connections into an *Error with kind and hint; nil stays nil.
func (t *Target) Wrap(op string, err error) error {
	if KindOf(err) == Gone && t.long.Swap(false) { // the driver only says that the connection broke
		err = fmt.Errorf("%w: %w", errTooLong, err)
	}
	return t.spec.Wrap(op, err)
}

// Close closes the pool. Sessions are closed by their owners.
func (t *Target) Close() error { return t.db.Close() }

// String returns the name the user knows, else the URL without a password.
func (t *Target) String() string { return t.spec.String() }

// Format prints the same as String whatever the verb: a target holds a password deep inside.
func (t *Target) Format(f fmt.State, _ rune) { io.WriteString(f, t.String()) }

// LogValue gives slog the same as String.
func (t *Target) LogValue() slog.Value { return slog.StringValue(t.String()) }
