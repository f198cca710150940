package target

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// one runs a query in the text protocol and returns one column of its only row as text.
func one(t *testing.T, s *Session, q string, col int) (out string) {
	t.Helper()
	n, err := s.Query(t.Context(), q, func(row []driver.Value) {
		if b, ok := row[col].([]byte); ok {
			out = string(b)
		} else {
			out = fmt.Sprint(row[col])
		}
	})
	if err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", q, n, err)
	}
	return out
}

func TestSessionCountsAgreeWithTheServer(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(20), n BIGINT UNSIGNED, "+
				"f DOUBLE, b BLOB, x INT)")
			x := open(t, s, "root")
			ctx := t.Context()
			ses, err := x.Session(ctx, SessionOptions{Database: "d", Settings: map[string]string{"sql_mode": "''"}})
			if err != nil {
				t.Fatal(err)
			}
			defer ses.Close()
			if got := one(t, ses, "SELECT CONNECTION_ID()", 0); got != fmt.Sprint(ses.ID()) || ses.ID() == 0 {
				t.Errorf("id %d, the server says %s", ses.ID(), got)
			}
			if got := one(t, ses, "SELECT CONCAT('(', @@sql_mode, ')', DATABASE())", 0); got != "()d" {
				t.Errorf("settings: %s", got)
			}
			before := statusOf(t, ses)

			ins, err := ses.Prepare(ctx, "INSERT INTO t VALUES (?,?,?,?,?,?)")
			if err != nil {
				t.Fatal(err)
			}
			const rows = 300
			for i := range rows {
				n, err := ins.Exec(ctx, []driver.Value{int64(i), "größe", uint64(1<<64 - 1), 1.5, []byte{0, 255}, nil})
				if err != nil || n != 1 {
					t.Fatal(n, err)
				}
			}
			sel, err := ses.Prepare(ctx, "SELECT * FROM t WHERE id >= ?")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 10 {
				sum := int64(0)
				n, err := sel.Query(ctx, []driver.Value{int64(i * 10)}, func(r []driver.Value) {
					sum += r[0].(int64)
					if string(r[1].([]byte)) != "größe" || string(r[2].([]byte)) != "18446744073709551615" ||
						r[3].(float64) != 1.5 || string(r[4].([]byte)) != "\x00\xff" ||
						r[5] != nil {
						t.Fatalf("row %v", r)
					}
				})
				from := int64(i * 10)
				if err != nil || n != rows-i*10 || sum != (from+rows-1)*(rows-from)/2 {
					t.Fatalf("from %d: %d rows, sum %d, %v", from, n, sum, err)
				}
			}
			if n, err := ses.Exec(ctx, "UPDATE t SET x = 1 WHERE id < 5"); n != 5 || err != nil {
				t.Error(n, err)
			}
			if n, err := ses.Query(ctx, "SELECT id FROM t LIMIT 7", nil); n != 7 || err != nil {
				t.Error(n, err)
			}
			after := statusOf(t, ses)
			for name, want := range map[string]int64{
				"Com_stmt_prepare": 2, "Com_stmt_execute": rows + 10,
				"Com_insert": rows, "Com_update": 1, "Com_select": 11,
			} {
				if got := after[name] - before[name]; got != want {
					t.Errorf("%s: the server counts %d, we sent %d", name, got, want)
				}
			}
			if err := errors.Join(ins.Close(), sel.Close(), ses.Ping(ctx)); err != nil {
				t.Error(err)
			}
			if got := s.Status(t, "Prepared_stmt_count"); got != 0 {
				t.Errorf("%d prepared statements are left", got)
			}
		})
	}
}

func statusOf(t *testing.T, s *Session) map[string]int64 {
	t.Helper()
	m := map[string]int64{}
	_, err := s.Query(t.Context(), "SHOW SESSION STATUS LIKE 'Com%'", func(r []driver.Value) {
		var n int64
		fmt.Sscan(string(r[1].([]byte)), &n)
		m[string(r[0].([]byte))] = n
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSessionErrors(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			x := open(t, s, "root")
			ctx := t.Context()
			ses, err := x.Session(ctx, SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer ses.Close()
			number := func(err error, want uint16) {
				t.Helper()
				if n, ok := ServerErrorNumber(err); !ok || n != want || KindOf(err) == endpoint.Gone {
					t.Errorf("got %d %v (%v), want %d", n, KindOf(err), err, want)
				}
			}
			_, err = ses.Exec(ctx, "SELEKT 1")
			number(err, 1064)
			_, err = ses.Query(ctx, "SELECT * FROM mysql.nothing", nil)
			number(err, 1146)
			_, err = ses.Prepare(ctx, "SELECT FROM")
			number(err, 1064)
			// An error after the first rows: the second argument of the result is too large only in its last row.
			_, err = ses.Query(ctx, "SELECT EXP(a) FROM (SELECT 1 a UNION ALL SELECT 2 UNION ALL SELECT 100000) t", nil)
			number(err, 1690)
			st, err := ses.Prepare(ctx, "SELECT ?")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Query(ctx, nil, nil); err == nil {
				t.Error("a statement runs without its values")
			}
			if got := one(t, ses, "SELECT 'alive'", 0); got != "alive" {
				t.Error("the session does not live on after errors of statements")
			}
			if _, err := x.Session(ctx, SessionOptions{Database: "none"}); KindOf(err) != endpoint.NoSuchDatabase {
				t.Errorf("session in no database: %v", err)
			}
			if _, err := x.Session(ctx, SessionOptions{Settings: map[string]string{"no_such": "1"}}); err == nil {
				t.Error("a session with an unknown setting opens")
			}
		})
	}
}

func TestSessionEndsWithItsContext(t *testing.T) {
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	f := func(what string, call func(ctx context.Context, s *Session) error) {
		t.Helper()
		ses, err := x.Session(t.Context(), SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer ses.Close()
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := ses.Exec(ctx, "DO 1"); err != nil { // the context is being watched before the call in question
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, cancel)
		began := time.Now()
		if err := call(ctx, ses); !errors.Is(err, context.Canceled) || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %v after %v", what, err, time.Since(began))
		}
		if _, err := ses.Exec(t.Context(), "DO 1"); KindOf(err) != endpoint.Gone {
			t.Errorf("%s: a broken session answers: %v", what, err)
		}
	}
	f("exec", func(ctx context.Context, s *Session) error { _, err := s.Exec(ctx, "DO SLEEP(60)"); return err })
	f("query", func(ctx context.Context, s *Session) error {
		_, err := s.Query(ctx, "SELECT SLEEP(60)", nil)
		return err
	})
	f("rows", func(ctx context.Context, s *Session) error {
		_, err := s.Query(ctx,
			"SELECT a.column_name, SLEEP(0.01), REPEAT('x', 65536) FROM information_schema.columns a", nil)
		return err
	})

	// A context that ends between calls breaks nothing that comes with another one.
	ses, err := x.Session(t.Context(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer ses.Close()
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := ses.Exec(ctx, "DO 1"); err != nil {
			t.Fatal(i, err)
		}
		if i == 0 {
			cancel()
		}
		if _, err := ses.Exec(t.Context(), "DO 1"); err != nil {
			t.Fatal(i, err)
		}
		cancel()
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ses.Exec(done, "DO 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if _, err := ses.Exec(t.Context(), "DO 1"); err != nil {
		t.Errorf("an ended context broke a session that was idle: %v", err)
	}
}

func TestSessionAllocatesLittle(t *testing.T) {
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, c CHAR(120))",
		"INSERT INTO d.t VALUES (1, 'x')")
	ses, err := x.Session(t.Context(), SessionOptions{Database: "d"})
	if err != nil {
		t.Fatal(err)
	}
	defer ses.Close()
	st, err := ses.Prepare(t.Context(), "SELECT c FROM t WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	args, bytes := []driver.Value{int64(1)}, 0
	row := func(r []driver.Value) { bytes += len(r[0].([]byte)) }
	n := math.Inf(1)
	for range 5 { // what other tests have left running allocates too, so the least counts
		n = min(n, testing.AllocsPerRun(200, func() {
			if _, err := st.Query(t.Context(), args, row); err != nil {
				t.Fatal(err)
			}
		}))
	}
	if n > 12 || bytes == 0 {
		t.Errorf("%v allocations for a point select of %d bytes", n, bytes)
	}
}

func BenchmarkSessionPointSelect(b *testing.B) {
	s := servers.Start(b, "mariadb")
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		b.Fatal(err)
	}
	x, err := Open(b.Context(), spec)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	s.Exec(b, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, c CHAR(120))",
		"INSERT INTO d.t VALUES (1, 'x')")
	ses, err := x.Session(b.Context(), SessionOptions{Database: "d"})
	if err != nil {
		b.Fatal(err)
	}
	defer ses.Close()
	st, err := ses.Prepare(b.Context(), "SELECT c FROM t WHERE id = ?")
	if err != nil {
		b.Fatal(err)
	}
	args := []driver.Value{int64(1)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := st.Query(b.Context(), args, nil); err != nil {
			b.Fatal(err)
		}
	}
}
