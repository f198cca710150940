package conn

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Target is a PostgreSQL server that Dyno has reached, with what was learned about it. It is safe for concurrent use.
type Target struct {
	spec     endpoint.Spec
	facts    Facts
	settings map[string]string
	client   string // our address as the server sees it, "" on a Unix socket

	mu  sync.Mutex
	own map[uint32]Purpose // backends of this process's sessions, by their process id on the server
}

// Open logs in and asks once what the server is and what the account may see. Errors are of type *endpoint.Error and
// say what to do. It holds no connection afterwards.
func Open(ctx context.Context, s endpoint.Spec) (*Target, error) {
	t := &Target{spec: s, own: map[uint32]Purpose{}}
	c, err := t.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer t.End(c)
	if err := t.learn(ctx, c); err != nil {
		return nil, t.Wrap("ask what the server is:", err)
	}
	_, encrypted := c.PgConn().Conn().(*tls.Conn)
	t.facts.TLS, t.facts.Trust = encrypted, s.TrustIn(encrypted)
	return t, nil
}

// Spec returns what the target was opened with.
func (t *Target) Spec() endpoint.Spec { return t.spec }

// Facts returns what the server said about itself when the target was opened.
func (t *Target) Facts() Facts { return t.facts }

// Setting returns a setting of the server (pg_settings.reset_val, in the unit of pg_settings.unit: what Dyno's own
// sessions set is left out) as it was when the target was opened. It is not ok when the server has none of that name or
// does not show it to the account.
func (t *Target) Setting(name string) (value string, ok bool) {
	value, ok = t.settings[strings.ToLower(name)]
	return value, ok
}

// Conn opens a session of the caller's own for reading, see ForReading. End ends it.
func (t *Target) Conn(ctx context.Context) (*pgx.Conn, error) { return t.ConnFor(ctx, ForReading) }

// ConnFor opens a session of the caller's own, set up for its purpose. It is used by one goroutine at a time; End ends
// it. Errors are of type *endpoint.Error.
func (t *Target) ConnFor(ctx context.Context, p Purpose) (*pgx.Conn, error) {
	return t.connTo(ctx, p, t.spec.Database)
}

// ConnTo is ConnFor with another database of the server: a session sees the tables and extensions of its own only.
func (t *Target) ConnTo(ctx context.Context, p Purpose, database string) (*pgx.Conn, error) {
	return t.connTo(ctx, p, database)
}

func (t *Target) connTo(ctx context.Context, p Purpose, database string) (*pgx.Conn, error) {
	s := t.spec
	s.Database = database
	c, err := connect(ctx, s, p)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.own[c.PgConn().PID()] = p
	t.mu.Unlock()
	return c, nil
}

// End ends a session of ConnFor. It may be called more than once.
func (t *Target) End(c *pgx.Conn) {
	t.mu.Lock()
	delete(t.own, c.PgConn().PID())
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = c.Close(ctx) // a server that is gone needs no good-bye
}

// Wrap turns an error of one of the target's sessions into an *endpoint.Error with kind and hint; nil stays nil.
func (t *Target) Wrap(op string, err error) error { return wrap(t.spec, op, err) }

// Close is there for symmetry with package target: a Target holds no connection. Sessions are ended by their owners.
func (t *Target) Close() error { return nil }

// String returns the name the user knows, else the URL without a password.
func (t *Target) String() string { return t.spec.String() }

// Format prints the same as String whatever the verb: a target holds a password deep inside.
func (t *Target) Format(f fmt.State, _ rune) { io.WriteString(f, t.String()) }

// LogValue gives slog the same as String.
func (t *Target) LogValue() slog.Value { return slog.StringValue(t.String()) }
