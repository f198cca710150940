package capture_test

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/postgres/capture"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestClassesAfterBreak has the server end the session of a window: the next window that is read has what ran in it
// alone, not all that the server has counted.
func TestClassesAfterBreak(t *testing.T) {
	s := start(t, "17", orders...)
	work := func(times int) {
		for range times {
			s.Exec(t, database, `SELECT note FROM "Orders" WHERE id = 1`)
		}
	}
	count := func(all []class.Class) (n uint64) {
		for _, c := range all {
			if c.Fingerprint == `select note from "Orders" where id = ?` {
				n += c.Count
			}
		}
		return n
	}
	x := capture.OpenClasses(open(t, s, pgserver.Superuser))
	defer x.Close()
	if err := x.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	work(3)
	if all, _, err := x.Turn(t.Context()); err != nil || count(all) != 3 {
		t.Fatalf("%d calls, %v", count(all), err)
	}
	work(20)
	s.Exec(t, database, "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE application_name = '"+
		conn.Application+"'")
	if _, _, err := x.Turn(t.Context()); err == nil {
		t.Fatal("the session was not ended")
	}
	if all, _, err := x.Turn(t.Context()); err != nil || len(all) > 0 { // connects and begins
		t.Fatalf("%+v, %v", all, err)
	}
	work(2)
	if all, _, err := x.Turn(t.Context()); err != nil || count(all) != 2 {
		t.Errorf("%d calls, want 2: %v", count(all), err)
	}
}
