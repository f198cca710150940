package conn

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/test/pgserver"
)

func TestAsker(t *testing.T) {
	s := pgserver.Start(t, "17")
	x := open(t, specOf(s))
	a := x.Asker(nil)
	defer a.Close()
	ask := func(ctx context.Context, sql string) (text string, err error) {
		_, err = a.Query(ctx, sql, func(r pgx.Rows) error { return r.Scan(&text) })
		return text, err
	}
	if text, err := ask(t.Context(), "SELECT 'a'"); text != "a" || err != nil || a.Generation() != 1 {
		t.Errorf("%q, %v, connection %d", text, err, a.Generation())
	}
	if _, err := ask(t.Context(), "SELECT no"); !Answered(err) {
		t.Errorf("%v", err)
	}
	if _, err := ask(t.Context(), "SELECT 'b'"); err != nil || a.Generation() != 1 {
		t.Errorf("after an error of the server's: %v, connection %d", err, a.Generation())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	_, err := ask(ctx, "SELECT pg_sleep(60)::text")
	cancel()
	if KindOf(err) != endpoint.Timeout {
		t.Errorf("given up: %v", err)
	}
	if text, err := ask(t.Context(), "SELECT 'c'"); text != "c" || err != nil || a.Generation() != 2 {
		t.Errorf("%q, %v, connection %d", text, err, a.Generation())
	}
	admin := s.Conn(t, "postgres")
	for end := time.Now().Add(30 * time.Second); ; { // the driver asks for the end on another connection
		var n int
		err := admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' "+
			"AND state = 'active'").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the statement goes on though no one waits for it")
		}
	}
	s.Kill(t)
	if _, err := ask(t.Context(), "SELECT 'd'"); err == nil {
		t.Error("a server that was killed answers")
	}
	s.Launch(t)
	if text, err := ask(t.Context(), "SELECT 'e'"); text != "e" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
