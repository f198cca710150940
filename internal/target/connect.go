package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// connector makes authenticated connections; database/sql and Session both use it. Its errors are of type *Error.
type connector struct {
	spec  Spec
	inner driver.Connector
	pin   *atomic.Pointer[pin] // of the target; nil where any server will do
	long  atomic.Bool          // an answer was too long
}

// attempt collects what one connect leaves besides its result.
type attempt struct {
	conn net.Conn
	cert *x509.Certificate // the server's, when the connection is encrypted

	mu  sync.Mutex
	err error // what the driver wrote to its log instead of returning it
}

// Print takes the driver's log: for a connection that the server cut short it alone holds the reason.
func (a *attempt) Print(v ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range v {
		if err, ok := x.(error); ok && a.err == nil {
			a.err = err
		}
	}
}

func (a *attempt) logged() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

type attemptKey struct{}

// ownSettings are set in every connection that asks Dyno's own questions. Strict mode, because without it the server shortens an
// index that is too long instead of refusing it; no ANSI_QUOTES and no NO_BACKSLASH_ESCAPES, so that quoting means the same
// everywhere; a metadata lock is waited for 5 s, not the server's year, because whoever waits for one stops all who come later; and no
// question leaves a transaction open, with its locks, where the server is set up with autocommit=OFF.
// MySQL 8 would answer with statistics that are up to a day old: the variable that mends it hides in a comment that older versions
// skip, and MariaDB skips all comments for MySQL 5.7 and later.
func ownSettings() map[string]string {
	return map[string]string{
		"sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", "time_zone": "'+00:00'",
		"autocommit":        "1",
		"lock_wait_timeout": "5 /*!80003 , information_schema_stats_expiry = 0 */",
	}
}

// programName is what the server shows in performance_schema.session_connect_attrs.
const programName = "program_name:dyno"

// newConnector prepares connections with settings for each; role is shown by the server beside the program's name.
func newConnector(s Spec, settings map[string]string, role string) (*connector, error) {
	tc, fallback, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	k := &connector{spec: s}
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName = s.User, s.Password.Reveal(), s.Database
	c.Net, c.Addr = s.Network, s.Address
	if c.Net == "" {
		c.Net = "tcp"
	}
	if c.Addr == "" {
		c.Addr = s.Where()
	}
	c.TLS, c.AllowFallbackToPlaintext = tc, fallback
	c.Params = settings
	c.InterpolateParams = true
	c.ConnectionAttributes = programName
	if role != "" {
		c.ConnectionAttributes += ",dyno_role:" + role
	}
	c.Logger = &mysql.NopLogger{}
	if s.ServerKey != "" {
		if c.ServerPubKey, err = s.sealKey(); err != nil {
			return nil, err
		}
	}
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := s.dial(ctx, network, address)
		if g, ok := conn.(*greeted); ok {
			g.long = &k.long
		}
		if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
			a.conn = conn
		}
		return conn, err
	}
	// A hook gives each connection its own copy of the configuration, which the driver changes when it falls back to plain text.
	err = c.Apply(mysql.BeforeConnect(func(ctx context.Context, c *mysql.Config) error {
		if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
			c.Logger = a
			if c.TLS != nil {
				check := c.TLS.VerifyConnection
				c.TLS.VerifyConnection = func(st tls.ConnectionState) error {
					if check != nil {
						if err := check(st); err != nil {
							return err
						}
					}
					a.cert = st.PeerCertificates[0]
					return nil
				}
			}
		}
		return nil
	}))
	if err != nil {
		return nil, s.bad("prepare connections", err)
	}
	if k.inner, err = mysql.NewConnector(c); err != nil {
		return nil, s.bad("prepare connections", err)
	}
	return k, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, _, err := c.connect(ctx)
	return conn, err
}

func (c *connector) connect(ctx context.Context) (conn driver.Conn, raw net.Conn, err error) {
	d := c.spec.ConnectTimeout
	if d <= 0 {
		d = DefaultConnectTimeout
	}
	tctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
	defer cancel()
	a := &attempt{}
	defer func() {
		// The driver takes the shape of the packets after the greeting on trust.
		if p := recover(); p != nil {
			if a.conn != nil {
				a.conn.Close()
			}
			conn, raw = nil, nil
			err = &Error{
				Op: "connect to", Kind: NotAServer, Target: c.spec.Where(), Hint: hint(NotAServer, nil, &c.spec),
				Err: fmt.Errorf("malformed packet while logging in: %v", p),
			}
		}
	}()
	conn, err = c.inner.Connect(context.WithValue(tctx, attemptKey{}, a))
	if changed(err) {
		if cert := c.spec.vouched(tctx); cert != nil {
			c.spec.remember(cert)
			conn, err = c.inner.Connect(context.WithValue(tctx, attemptKey{}, a))
		}
	}
	if err == nil {
		if err = c.verify(tctx, conn); err == nil {
			c.spec.remember(a.cert)
			return conn, a.conn, nil
		}
		conn.Close()
		if KindOf(err) == Elsewhere {
			return nil, nil, err
		}
	}
	if l := a.logged(); l != nil && classify(l) != Gone && errors.Is(err, mysql.ErrInvalidConn) {
		err = l
	}
	if tctx.Err() != nil && ctx.Err() == nil {
		err = context.Cause(tctx)
	}
	return nil, nil, c.spec.connectError(err)
}

func (s Spec) connectError(err error) error {
	var e *Error
	if errors.As(err, &e) {
		err = e.Err
		return &Error{Op: "connect to", Kind: e.Kind, Target: s.Where(), Hint: hint(e.Kind, err, &s), Err: err}
	}
	k := classify(err)
	if k == Gone && s.Cert != "" && s.Mode() != TLSDisabled {
		// A server that does not trust the certificate says so and hangs up; whether its word is read before the end of the
		// connection is a matter of luck.
		return &Error{
			Op: "connect to", Kind: TLSFailed, Target: s.Where(), Err: err,
			Hint: "the server hung up while the connection was being encrypted: it may not trust the client certificate that ssl-cert names; its error log tells",
		}
	}
	return &Error{Op: "connect to", Kind: k, Target: s.Where(), Hint: hint(k, err, &s), Err: err}
}
