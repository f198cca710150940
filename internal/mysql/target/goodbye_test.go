package target

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/tunnel"
)

// unread leads to a server over connections that hold no byte that the other end has not taken.
type unread struct{ serve func(net.Conn) }

func (u unread) Dial(context.Context, tunnel.Jump, string) (net.Conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		u.serve(there)
	}()
	return here, nil
}

// TestGoodbyeThatIsNotRead: a server that answers and reads nothing more holds nobody up who closes a connection.
func TestGoodbyeThatIsNotRead(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	f := &fake{answer: func(c io.Writer, sql string) bool {
		if !strings.Contains(sql, "'last'") {
			return false
		}
		rows(c, 1, func(row func(...string)) { row("1") })
		<-stop
		return true
	}}
	s := spec(t, "mysql://u@127.0.0.1:3306/?tls=disabled")
	s.Jump, s.Via = tunnel.Jump{Host: "jump"}, unread{f.serve}
	x, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := x.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var v string
	if err := conn.QueryRowContext(t.Context(), own("SELECT 'last'")).Scan(&v); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = Discard(conn)
		x.Close()
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("closing a connection waits for a server that reads nothing")
	}
}
