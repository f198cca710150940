package target

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

func TestLoadData(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			server := servers.Start(t, flavor, "local_infile=ON")
			server.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(10))")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := open(t, server, "root").Session(ctx, SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			f := func(rows string, want int64) {
				t.Helper()
				n, err := s.LoadData(ctx, "INTO TABLE d.t", strings.NewReader(rows))
				if err != nil || n != want {
					t.Errorf("%d rows, %v, want %d", n, err, want)
				}
			}
			f("1\ta\n2\tb\n", 2)
			f("", 0)
			f("2\tdouble\n3\tc\n", 1) // as the comment says

			broken := errors.New("no more")
			_, err = s.LoadData(ctx, "INTO TABLE d.t", iotest.ErrReader(broken))
			if !errors.Is(err, broken) || KindOf(err) == endpoint.Gone {
				t.Errorf("a reader that fails: %v", err)
			}
			f("4\td\n", 1) // the session is as good as before

			if _, err := s.LoadData(ctx, "INTO TABLE d.nowhere", strings.NewReader("1\n")); err == nil ||
				NoLoadData(err) {
				t.Errorf("no such table: %v", err)
			}
			if _, err := s.Exec(ctx, "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE d.t"); err == nil {
				t.Error("the server got a file that nobody offered")
			}
			server.Exec(t, "SET GLOBAL local_infile = OFF")
			if _, err := s.LoadData(ctx, "INTO TABLE d.t", strings.NewReader("5\te\n")); !NoLoadData(err) {
				t.Errorf("not allowed: %v", err)
			}
			server.Exec(t, "SET GLOBAL local_infile = ON")
			_, err = s.LoadData(ctx, "INTO TABLE d.t", iotest.DataErrReader(endless(func() { cancel() })))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a stream without end, cancelled: %v", err)
			}
		})
	}
}

// endless is a reader of rows that never ends; begun is called at the first read.
type endless func()

func (e endless) Read(b []byte) (int, error) {
	e()
	return copy(b, "9\tz\n"), nil
}
