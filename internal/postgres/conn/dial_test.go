package conn

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestAnswersAreBounded: what a server says to one question does not fill the memory; a load may read all it likes.
func TestAnswersAreBounded(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, specOf(s))
	for _, q := range []string{
		"SELECT repeat('x', 1000000) FROM generate_series(1, 100)", "SELECT repeat('x', 100000000)",
	} {
		for _, p := range []Purpose{ForReading, ForLoad} {
			c, err := x.ConnFor(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			rows, err := c.Query(t.Context(), q)
			if err == nil {
				for rows.Next() {
					n += len(rows.RawValues()[0])
				}
				rows.Close()
				err = rows.Err()
			}
			if (err != nil) != (p == ForReading) || p == ForLoad && n != 100_000_000 || n > 100_000_000 {
				t.Errorf("%s, to %s: %d bytes, %v", q, p, n, err)
			}
			x.End(c)
		}
	}
}

// TestImpostors: what is no PostgreSQL server, or one that asks for too much, is named and given nothing.
func TestImpostors(t *testing.T) {
	f := func(says string, kind endpoint.Kind, want string) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		heard := make(chan string, 2)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(c, says) // the other end may have heard enough
				c.SetReadDeadline(time.Now().Add(10 * time.Second))
				b, _ := io.ReadAll(c)
				heard <- string(b)
				c.Close()
			}
		}()
		for _, m := range []endpoint.TLSMode{endpoint.TLSPreferred, endpoint.TLSDisabled} {
			_, err = Open(t.Context(), endpoint.Spec{
				Scheme: endpoint.Postgres, Network: "tcp", Address: l.Addr().String(), User: "u", TLS: m,
				Password: endpoint.NewSecret("geheim7"), ConnectTimeout: 5 * time.Second,
			})
			if KindOf(err) != kind || !strings.Contains(err.Error(), want) || HintOf(err) == "" {
				t.Errorf("%q, %s: %v (%s); %s", says, m, err, KindOf(err), HintOf(err))
			}
			if e := (*endpoint.Error)(nil); !errors.As(err, &e) {
				t.Errorf("%T", err)
			}
			if strings.Contains(<-heard, "geheim7") {
				t.Errorf("%q, %s: the password was sent", says, m)
			}
		}
	}
	f("SSH-2.0-OpenSSH_9.2\r\n", endpoint.NotAServer, "not a PostgreSQL server: it said")
	f("HTTP/1.1 400 Bad Request\r\n\r\n", endpoint.NotAServer, "HTTP")
	f("\x4e\x00\x00\x00\x0a9.0.0\x00", endpoint.NotAServer, "MySQL") // a greeting as long as TLS's N says
	f("R\xff\xff\xff\xff\x00\x00\x00\x00", endpoint.NotAServer, "not a PostgreSQL server")
}

// TestReadWhileWriting: the driver reads beside when a write takes long. It tells something with -race only.
func TestReadWhileWriting(t *testing.T) {
	here, there := net.Pipe()
	w := &watched{Conn: here, spec: &endpoint.Spec{}}
	w.vouch = func() error { return nil }
	heard := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 64))
		heard <- err
	}()
	go func() { // it answers before it has read all
		b := make([]byte, 4)
		io.ReadFull(there, b[:1])
		there.Write([]byte{'R', 0, 0, 0, 8})
		io.ReadFull(there, b[:3])
	}()
	if _, err := w.Write([]byte("four")); err != nil {
		t.Error(err)
	}
	if err := <-heard; err != nil {
		t.Error(err)
	}
}
