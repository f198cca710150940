package target

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Target is a server that Dyno has reached, with what was learned about it. It is safe for concurrent use.
type Target struct {
	spec      endpoint.Spec
	db        *sql.DB // for changes
	reading   *sql.DB
	self      self // the connection by which the server was learned about
	endings   *endings
	logins    *logins
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

// Open logs in and asks once what the server is and can do. Errors are of type *endpoint.Error and say what to do.
func Open(ctx context.Context, s endpoint.Spec) (*Target, error) {
	if s.Scheme == endpoint.Postgres {
		return nil, &endpoint.Error{
			Op: "connect to", Kind: endpoint.Unsupported, Target: s.Where(),
			Err: errors.New("this does not work with PostgreSQL yet"),
			Fix: "it works with MySQL, Percona Server and MariaDB",
		}
	}
	t := &Target{
		spec: s, rawAnswer: new(atomic.Pointer[error]), endings: new(endings), logins: new(logins),
		process: new(atomic.Pointer[process]), pin: new(atomic.Pointer[pin]), long: new(atomic.Bool),
	}
	var err error
	if t.reading, err = newPool(t, ForReading); err != nil {
		return nil, err
	}
	if t.db, err = newPool(t, ForChanges); err != nil {
		return nil, err
	}
	if err := learn(ctx, t); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// newPool makes a pool, which does not connect yet.
func newPool(t *Target, p Purpose) (*sql.DB, error) {
	// MySQL 8 would answer with statistics that are up to a day old. The variable that mends it hides in a comment, see
	// settings.
	fresh := map[string]string{"lock_wait_timeout": "5 /*!80003 , information_schema_stats_expiry = 0 */"}
	c, err := connectorOf(t, t.spec, SessionOptions{Purpose: p, Settings: fresh})
	if err != nil {
		return nil, err
	}
	c.long = t.long
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize / 2)
	db.SetConnMaxIdleTime(idleUse)
	return db, nil
}

func learn(ctx context.Context, t *Target) error {
	conn, err := t.reading.Conn(ctx)
	if err != nil {
		return wrap(t.spec, "connect to", err)
	}
	defer conn.Close()
	_ = conn.Raw(func(c any) error { t.self = c.(*pooled).self; return nil })
	facts, vars, err := readFacts(ctx, conn)
	if err != nil {
		return t.Wrap("ask what the server is:", err)
	}
	t.facts, t.vars = facts, vars
	t.facts.Trust = t.spec.TrustIn(t.facts.TLS != "")
	if t.can, err = readCapabilities(ctx, conn, t.facts, t.vars); err != nil {
		return t.Wrap("ask what the server can do:", err)
	}
	if readOnlyByOldName(t) { // this one is not: nobody knew the server when it was opened
		return Discard(conn)
	}
	return nil
}

// Spec returns what the target was opened with.
func (t *Target) Spec() endpoint.Spec { return t.spec }

// Facts returns what the server said about itself when the target was opened.
func (t *Target) Facts() Facts { return t.facts }

// DB returns the small pool for what changes the server, and for what is asked on the way. Statements carry the comment
// that marks them as Dyno's own; parameters are put into the text, not prepared. Times come as text, in UTC. Strict
// sql_mode, lock_wait_timeout 5 s; the server ends a connection that is silent for a minute.
func (t *Target) DB() *sql.DB { return t.db }

// Reading returns the small pool for questions: the same as DB, but that its sessions change no data and that the
// server ends a SELECT after ten seconds, where it can do either.
func (t *Target) Reading() *sql.DB { return t.reading }

// Conn returns a connection of DB for one user alone. Close gives it back.
func (t *Target) Conn(ctx context.Context) (*sql.Conn, error) { return takeConn(ctx, t.spec, t.db) }

// ReadingConn returns a connection of Reading for one user alone. Close gives it back.
func (t *Target) ReadingConn(ctx context.Context) (*sql.Conn, error) {
	return takeConn(ctx, t.spec, t.reading)
}

func takeConn(ctx context.Context, spec endpoint.Spec, pool *sql.DB) (*sql.Conn, error) {
	c, err := pool.Conn(ctx)
	if err != nil {
		return nil, wrap(spec, "connect to", err)
	}
	return c, nil
}

// Wrap turns an error of one of the target's connections into an *endpoint.Error with kind and hint; nil stays nil.
func (t *Target) Wrap(op string, err error) error {
	if KindOf(err) == endpoint.Gone && t.long.Swap(false) { // the driver only says that the connection broke
		err = fmt.Errorf("%w: %w", errTooLong, err)
	}
	return wrap(t.spec, op, err)
}

// Close ends what was given up and closes the pools. Sessions are closed by their owners, before.
func (t *Target) Close() error {
	t.endings.Wait()
	return errors.Join(t.db.Close(), t.reading.Close())
}

// String returns the name the user knows, else the URL without a password.
func (t *Target) String() string { return t.spec.String() }

// Format prints the same as String whatever the verb: a target holds a password deep inside.
func (t *Target) Format(f fmt.State, _ rune) { io.WriteString(f, t.String()) }

// LogValue gives slog the same as String.
func (t *Target) LogValue() slog.Value { return slog.StringValue(t.String()) }
