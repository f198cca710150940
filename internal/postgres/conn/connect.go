package conn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// base is a configuration that nothing of this process's environment has a say in: what libpq's variables mean to Dyno
// is Resolve's. The driver makes configurations only by reading a text.
var base = sync.OnceValues(func() (*pgx.ConnConfig, error) {
	return pgx.ParseConfig("host=localhost port=5432 user=dyno password=none dbname=postgres sslmode=disable " +
		"passfile=/dev/null connect_timeout=0 target_session_attrs=any sslnegotiation=postgres " +
		"channel_binding=prefer require_auth='' sslcertmode=allow min_protocol_version=3.0 max_protocol_version=3.0")
})

// attempt collects what one connect leaves besides its result.
type attempt struct {
	cert  *x509.Certificate // the server's, when the connection is encrypted
	owner string            // the account of this machine that answers, as a number
	*watched
}

// connect logs in and sets the session up. Errors are of type *endpoint.Error.
func connect(ctx context.Context, s endpoint.Spec, p Purpose) (*pgx.Conn, error) {
	d := s.ConnectTimeout
	if d <= 0 {
		d = endpoint.DefaultConnectTimeout
	}
	tctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
	defer cancel()
	b, err := base()
	if err != nil {
		return nil, &endpoint.Error{
			Op: "prepare connections", Kind: endpoint.BadTarget,
			Err: errors.New("the variable PGSERVICE names a service that cannot be read"),
			Fix: "unset PGSERVICE: dyno does not read pg_service.conf",
		}
	}
	tc, fallback, err := s.TLSConfig()
	if err != nil {
		return nil, err
	}
	a := &attempt{}
	c := b.Copy()
	c.User, c.Password, c.Database = s.User, s.Password.Reveal(), s.Database
	c.RuntimeParams = map[string]string{"application_name": p.application(), "client_encoding": "UTF8"}
	c.Fallbacks, c.ValidateConnect = nil, nil
	if p == ForLoad { // the answers of a load are of any length, and nothing of them is kept
		s.MaxAnswer = -1
	}
	c.MaxProtocolMessageBodyLen = int(mostOf(&s)) // the driver makes room for what a message claims to have
	// Without names for statements on the server a session also works through a pooler.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, &s, tc, fallback, a) }
	c.AfterNetConnect = func(_ context.Context, c *pgconn.Config, conn net.Conn) (net.Conn, error) {
		if _, encrypted := conn.(*tls.Conn); !encrypted && s.Network != "unix" && s.Mode() != endpoint.TLSDisabled {
			c.RequireAuth = "!password" // whoever answers may ask for it in plain text
		}
		return conn, nil
	}
	conn, err := pgx.ConnectConfig(tctx, c)
	if err == nil && a.vouch != nil { // no password was asked for
		if err = a.vouch(); err != nil {
			_ = conn.PgConn().Conn().Close()
		}
		a.vouch = nil
	}
	if err == nil {
		a.most.Store(a.later)
		s.Remember(a.cert, a.owner)
		if _, err = conn.PgConn().Exec(tctx, p.settings()).ReadAll(); err == nil {
			return conn, nil
		}
		_ = conn.PgConn().Conn().Close()
	}
	if tctx.Err() != nil && ctx.Err() == nil {
		err = context.Cause(tctx)
	}
	return nil, wrap(s, "connect to", err)
}
