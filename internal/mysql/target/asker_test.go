package target

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/test/servers"
)

// nobodyRuns waits until no session of the server is at a text.
func nobodyRuns(t *testing.T, s *servers.Server, text string) {
	t.Helper()
	db := s.DB(t, "")
	eventually(t, "nobody runs "+text, func() bool {
		n := 0
		q := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND INFO LIKE ?"
		if err := db.QueryRow(q, "%"+text+"%").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
}

func TestAQuestionThatIsGivenUpIsEnded(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			x := open(t, s, "root")
			ask := func(query func(ctx context.Context, sql string) error, text string) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				// Servers notice that a client is gone who waits in SLEEP, and MySQL's own limit is for SELECT alone.
				if err := query(ctx, sqltext.Tagged("test", "", text)); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s: %v", text, err)
				}
			}
			t.Run("pool", func(t *testing.T) {
				ask(func(ctx context.Context, sql string) error {
					_, err := x.DB().ExecContext(ctx, sql)
					return err
				}, "DO BENCHMARK(2000000000, SHA2(600, 512))")
				nobodyRuns(t, s, "DO BENCHMARK(2000000000, SHA2(600, 512))")
			})
			t.Run("asker", func(t *testing.T) {
				a := x.Asker(SessionOptions{}, nil)
				defer a.Close()
				query := func(ctx context.Context, sql string) error {
					_, err := a.Query(ctx, sql, func([]driver.Value) {})
					return err
				}
				if err := query(t.Context(), "SELECT 1"); err != nil || a.Generation() != 1 {
					t.Fatal(err, a.Generation())
				}
				ask(query, "DO BENCHMARK(2000000000, SHA2(601, 512))")
				if err := query(t.Context(), "SELECT 1"); err != nil || a.Generation() != 2 {
					t.Fatal(err, a.Generation())
				}
				nobodyRuns(t, s, "DO BENCHMARK(2000000000, SHA2(601, 512))")
			})
			t.Run("asker that is closed", func(t *testing.T) {
				a := x.Asker(SessionOptions{}, nil)
				ask(func(ctx context.Context, sql string) error {
					if err := a.Open(t.Context()); err != nil {
						return err
					}
					_, err := a.Query(ctx, sql, nil)
					return err
				}, "DO BENCHMARK(2000000000, SHA2(602, 512))")
				a.Close()
				nobodyRuns(t, s, "DO BENCHMARK(2000000000, SHA2(602, 512))")
			})
		})
	}
}

// TestNobodyElseIsKilled leaves connections behind that are somebody else's by now.
func TestNobodyElseIsKilled(t *testing.T) {
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	other, err := s.DB(t, "").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var id uint64
	if err := other.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	const text = "/* dyno:test */ DO SLEEP(600)"
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	f := func(what string, left leftover) {
		t.Helper()
		a := x.Asker(SessionOptions{}, nil)
		a.left = left
		defer a.Close()
		if err := a.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.left.id != 0 {
			t.Errorf("%s: it would try again and again", what)
		}
		var n int
		if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID=?", id).
			Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: the other connection is gone: %d %v", what, n, err)
		}
	}
	here := x.self
	here.id = id
	f("an idle connection", leftover{here, text})
	go func() {
		defer close(done)
		_, _ = other.ExecContext(ctx, text)
	}()
	eventually(t, "it runs", func() bool {
		var n int
		_ = s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID=? AND INFO LIKE "+
			"'%SLEEP%'", id).Scan(&n)
		return n == 1
	})
	f("another statement of Dyno's", leftover{here, "/* dyno:test */ SELECT SLEEP(600)"})
	there := here
	there.where = "another server:3306:/var/lib/mysql:"
	f("another server", leftover{there, text})

	a := x.Asker(SessionOptions{}, nil)
	a.left = leftover{here, text}
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Close()
	select {
	case <-done: // the same server and statement: it was ended
	case <-time.After(30 * time.Second):
		t.Error("what was left behind goes on")
	}
	stop()
	<-done
}

// TestTheLastConnectionIsLeftToAdministrators fills a server up.
func TestTheLastConnectionIsLeftToAdministrators(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "max_connections=10")
			s.Exec(t, "CREATE USER u@localhost")
			x := open(t, s, "root")
			crowd := open(t, s, "u")
			for i := 0; ; i++ {
				if c, err := crowd.Session(t.Context(), SessionOptions{}); err == nil {
					defer c.Close()
				} else if n, ok := ServerErrorNumber(err); ok && n == 1040 {
					break
				} else if i > 20 {
					t.Fatalf("never full: %v", err)
				}
			}
			a := x.Asker(SessionOptions{}, nil)
			defer a.Close()
			// The server takes its time to notice that one who was refused has gone.
			eventually(t, "it comes in last and leaves", func() bool {
				a.Retry()
				_, err := a.Query(t.Context(), "SELECT 1", nil)
				if KindOf(err) != endpoint.TooManyConnections {
					t.Fatalf("it stays: %v", err)
				}
				return strings.Contains(err.Error(), "connections are used up")
			})
			if a.pause < retryFull {
				t.Errorf("the next attempt is in %v", a.pause)
			}
			began := x.reading.Stats().OpenConnections
			if _, err := a.Query(t.Context(), "SELECT 1", nil); KindOf(err) != endpoint.TooManyConnections ||
				a.gen != 0 || began != 1 {
				t.Errorf("%v, %d connections, %d in the pool", err, a.gen, began)
			}
			// The one that is there stays in use.
			if err := x.Reading().Ping(); err != nil {
				t.Errorf("the connection of the pool: %v", err)
			}
			admin := s.DB(t, "")
			eventually(t, "an administrator comes in", func() bool { return admin.Ping() == nil })
		})
	}
}

func TestPauses(t *testing.T) {
	var a Asker
	f := func(err error, want time.Duration) {
		t.Helper()
		a.next = time.Time{}
		a.refused(err)
		if got := time.Until(a.next); got > want || got < want-time.Minute {
			t.Errorf("%v: the next attempt is in %v, want %v", err, got, want)
		}
	}
	full := &endpoint.Error{Kind: endpoint.TooManyConnections, Err: fmt.Errorf("%w: all", errLastSeat)}
	f(full, retryFull)
	f(full, 2*retryFull)
	f(full, 4*retryFull)
	f(full, 8*retryFull)
	f(full, retryFullMax)
	f(full, retryFullMax)
	f(&endpoint.Error{Kind: endpoint.AuthFailed}, retryRefused)
	f(full, retryFull)
	a.refused(nil)
	if a.next = (time.Time{}); a.last != nil {
		t.Error(a.last)
	}
}

func TestAnIdleConnectionIsNotReliedUpon(t *testing.T) {
	x := open(t, servers.Start(t, "mariadb"), "root")
	a := x.Asker(SessionOptions{}, nil)
	defer a.Close()
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.used = time.Now().Add(-idleUse / 2)
	a.Ping(t.Context())
	if a.Generation() != 1 || time.Since(a.used) > idleUse/4 {
		t.Errorf("connection %d, used %v ago", a.Generation(), time.Since(a.used))
	}
	a.used = time.Now().Add(-idleUse - time.Second)
	if _, err := a.Query(t.Context(), "SELECT 1", nil); err != nil || a.Generation() != 2 {
		t.Errorf("%v, connection %d", err, a.Generation())
	}
}

// TestPreparingHasTheQuestionsDeadline: a server that lets a connection in and then says nothing costs a question its
// time, no more.
func TestPreparingHasTheQuestionsDeadline(t *testing.T) {
	silent := make(chan struct{})
	f := &fake{answer: func(_ io.Writer, sql string) bool {
		if !strings.Contains(sql, "ready") {
			return false
		}
		<-silent
		return true
	}}
	t.Cleanup(func() { close(silent) })
	x, err := Open(t.Context(), spec(t, "mysql://u@"+f.listen(t)+"/"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	a := x.Asker(SessionOptions{}, func(ctx context.Context, s *Session) error {
		_, err := s.Query(ctx, own("SELECT 'ready'"), nil)
		return err
	})
	defer a.Close()
	bounded(t, "preparing", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := a.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
