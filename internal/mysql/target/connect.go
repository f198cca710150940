package target

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// connector makes authenticated connections; database/sql and Session both use it. Its errors are of type
// *endpoint.Error.
type connector struct {
	t       *Target
	spec    endpoint.Spec
	options SessionOptions
	inner   driver.Connector
	long    *atomic.Bool // an answer was too long
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

// owner returns the account of this machine that answered, see greeted.
func (a *attempt) owner() string {
	if g, ok := a.conn.(*greeted); ok {
		return g.owner
	}
	return ""
}

type attemptKey struct{}

// programName is what the server shows in performance_schema.session_connect_attrs.
const programName = "program_name:dyno"

// connectorOf prepares connections to what s names.
func connectorOf(t *Target, s endpoint.Spec, o SessionOptions) (*connector, error) {
	tc, fallback, err := s.TLSConfig()
	if err != nil {
		return nil, err
	}
	k := &connector{t: t, spec: s, options: o, long: new(atomic.Bool)}
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
	c.InterpolateParams = true
	c.ConnectionAttributes = programName + ",dyno_role:" + o.Purpose.String()
	c.Logger = &mysql.NopLogger{}
	if s.ServerKey != "" {
		if c.ServerPubKey, err = sealKey(s.ServerKey); err != nil {
			return nil, err
		}
	}
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, &s, network, address)
		if g, ok := conn.(*greeted); ok {
			g.long = k.long
		}
		if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
			a.conn = conn
		}
		return conn, err
	}
	// A hook gives each connection its own copy of the configuration, which the driver changes when it falls back to
	// plain text.
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
		return nil, endpoint.BadCertificate("prepare connections", err)
	}
	if k.inner, err = mysql.NewConnector(c); err != nil {
		return nil, endpoint.BadCertificate("prepare connections", err)
	}
	return k, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, nc, me, m, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	times := 0
	if most := c.spec.MaxAnswer; most >= 0 {
		times = int(max(1, most/maxAnswer))
	}
	return &pooled{driverConn: conn, self: me, meter: m, t: c.t, net: nc, times: times}, nil
}

func (c *connector) connect(ctx context.Context) (conn driverConn, raw net.Conn, me self, m *meter, err error) {
	d := c.spec.ConnectTimeout
	if d <= 0 {
		d = endpoint.DefaultConnectTimeout
	}
	tctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
	defer cancel()
	if c.options.Purpose == ForReading {
		c.t.logins.begun.Add(1)
		defer c.t.logins.ended.Add(1)
	}
	if err := malformed.why(c.spec.Place(), c.options.Purpose == ForChanges); err != nil {
		return nil, nil, self{}, nil, err
	}
	a := &attempt{}
	var dc driver.Conn
	defer func() {
		// The driver takes the shape of the packets after the greeting on trust.
		if p := recover(); p != nil {
			if a.conn != nil {
				a.conn.Close()
			}
			if dc != nil { // what waits for its end holds it
				_, _ = shield(a.conn, func() (struct{}, error) { return struct{}{}, dc.Close() })
			}
			conn, raw, me, m = nil, nil, self{}, nil
			defer func() { malformed.add(c.spec.Place(), c.options.Purpose == ForChanges, err) }()
			err = &endpoint.Error{
				Op:     "connect to",
				Kind:   endpoint.NotAServer,
				Target: c.spec.Where(),
				Fix:    hint(endpoint.NotAServer, nil, &c.spec),
				Err:    fmt.Errorf("%w while logging in: %s", errMalformed, cut(fmt.Sprint(p))),
			}
		}
	}()
	dc, err = c.inner.Connect(context.WithValue(tctx, attemptKey{}, a))
	if proved(tctx, c.spec, err) {
		dc, err = c.inner.Connect(context.WithValue(tctx, attemptKey{}, a))
	}
	if err == nil {
		if err = watchHeads(dc); err == nil {
			if g, ok := a.conn.(*greeted); ok {
				g.most = g.later
			}
			conn, me, err = c.introduce(tctx, dc)
		}
		if err == nil {
			c.spec.Remember(a.cert, a.owner())
			m = newMeter(c.t, me.where, c.options.Purpose)
			m.answered(askConnected, 1)
			publish(me.where)
			return conn, a.conn, me, m, nil
		}
		a.conn.SetDeadline(time.Now().Add(settleTime)) // as when a pool's is closed
		dc.Close()
		if KindOf(err) == endpoint.Elsewhere {
			return nil, nil, self{}, nil, err
		}
	}
	if l := a.logged(); l != nil && classify(l) != endpoint.Gone && errors.Is(err, mysql.ErrInvalidConn) {
		err = l
	}
	if tctx.Err() != nil && ctx.Err() == nil && KindOf(err) != endpoint.NotAServer {
		err = context.Cause(tctx)
	}
	return nil, nil, self{}, nil, connectError(c.spec, err)
}

// errMalformed says that the driver did not understand a login. It may keep what it read of it.
var errMalformed = errors.New("malformed packet")

// errLastSeat says that a login came in where servers let administrators in although all connections are in use.
var errLastSeat = errors.New("connections are used up")

// introduce learns what a new connection is to the server.
func (c *connector) introduce(ctx context.Context, dc driver.Conn) (driverConn, self, error) {
	conn, ok := dc.(driverConn)
	if !ok {
		return nil, self{}, fmt.Errorf("the driver's connection is a %T", dc) // a driver of another make
	}
	// Not by the driver's parameters, which it sends while nothing watches how many results come.
	set := "SET " + settingsOf(c.t, c.options.Purpose, c.options.Limit, c.options.Settings)
	if _, err := conn.ExecContext(ctx, set, nil); err != nil {
		return nil, self{}, err
	}
	me, most, err := who(ctx, conn, c.options.Purpose)
	if err != nil {
		return nil, self{}, err
	}
	failed := true
	defer func() {
		if failed { // or the driver panics
			me.left()
		}
	}()
	count(me.where, set)
	if err = c.verify(ctx, conn, me.where); err == nil && c.options.Purpose == ForReading {
		err = leaveTheLastSeat(ctx, conn, me.where, most)
	}
	if err != nil {
		return nil, self{}, err
	}
	failed = false
	return conn, me, nil
}

// leaveTheLastSeat returns an error when there are more connections than the server has for everybody: this one is then
// the one that it keeps for an administrator, who may need it to find out what is wrong.
func leaveTheLastSeat(ctx context.Context, conn driver.QueryerContext, where string, most uint64) error {
	count(where, askConnected)
	rows, err := conn.QueryContext(ctx, own(askConnected), nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil || len(row) != 2 || number(row[1]) <= most {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
	return &endpoint.Error{
		Op: "log in", Kind: endpoint.TooManyConnections,
		Err: fmt.Errorf("%w: all %d are taken, and the last one is left to administrators", errLastSeat, most),
	}
}

func connectError(s endpoint.Spec, err error) error {
	brief(err)
	var e *endpoint.Error
	if errors.As(err, &e) {
		err = e.Err
		return &endpoint.Error{
			Op: "connect to", Kind: e.Kind, Target: s.Where(), Fix: cmp.Or(e.Fix, hint(e.Kind, err, &s)),
			Err: err,
		}
	}
	k := classify(err)
	advice := hint(k, err, &s)
	err = short(err) // the driver quotes a key that is none
	if k == endpoint.Gone && s.Cert != "" && s.Mode() != endpoint.TLSDisabled {
		// A server that does not trust the certificate says so and hangs up; whether its word is read before the end of
		// the connection is a matter of luck.
		return &endpoint.Error{
			Op: "connect to", Kind: endpoint.TLSFailed, Target: s.Where(), Err: err,
			Fix: "the server hung up while the connection was being encrypted: it may not trust the client " +
				"certificate that ssl-cert names; see its error log",
		}
	}
	return &endpoint.Error{Op: "connect to", Kind: k, Target: s.Where(), Fix: advice, Err: err}
}
