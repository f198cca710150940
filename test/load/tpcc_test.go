package load_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/internal/workload/tpcc"
	"github.com/dyno-perf/dyno/test/servers"
)

// orders are new orders by warehouse, district and number.
type orders struct {
	sync.Mutex
	all map[[3]int64]bool
}

// acknowledged keeps an operation when it is a new order.
func (o *orders) acknowledged(op workload.Op) bool {
	if op.Mark[3] != 1 {
		return false
	}
	o.Lock()
	defer o.Unlock()
	o.all[[3]int64(op.Mark[:3])] = true
	return true
}

// missing returns those that the server does not have.
func (o *orders) missing(t *testing.T, s *servers.Server) (lost []string) {
	t.Helper()
	there := map[[3]int64]bool{}
	rows, err := s.DB(t, "sbtest").Query("SELECT o_w_id, o_d_id, o_id FROM orders1 WHERE o_id > 3000")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var k [3]int64
		if err := rows.Scan(&k[0], &k[1], &k[2]); err != nil {
			t.Fatal(err)
		}
		there[k] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for k := range o.all {
		if !there[k] {
			lost = append(lost, fmt.Sprint(k))
		}
	}
	slices.Sort(lost)
	return lost
}

// TestTPCC prepares, runs and checks as a user does, then kills the server under the load, on both ways to the server:
// what it has acknowledged must be there when it is back, and all twelve conditions must hold until somebody alters a
// row.
func TestTPCC(t *testing.T) {
	s := servers.Start(t, "mariadb", "innodb_flush_log_at_trx_commit=1", "innodb_buffer_pool_size=256M")
	data := words("--scale=1 --threads=4")
	holds := func(when string) {
		t.Helper()
		e := dyno(t, words("tpcc check"), as(s), data)
		for n := range 12 {
			if !strings.Contains(e.out, fmt.Sprintf("3.3.2.%-4d holds ", n+1)) {
				t.Fatalf("%s, not a word that condition %d of 3.3.2 holds:\n%s", when, n+1, e.out)
			}
		}
	}
	dyno(t, words("tpcc prepare"), as(s), data)
	e := dyno(t, words("tpcc run --time=2 --verify"), as(s), data)
	for _, when := range []string{"before", "after"} {
		if !strings.Contains(e.err, "All conditions hold "+when+" the run") {
			t.Errorf("no word of the conditions %s the run in %q", when, e.err)
		}
	}
	if r := report(t, e.out); r.Transactions == 0 || r.Writes == 0 {
		t.Errorf("%+v", r)
	}
	for _, name := range words("new_order payment order_status delivery stock_level") {
		if !strings.Contains(strings.ReplaceAll(e.out, " ", "_"), name) {
			t.Errorf("nothing about %s in\n%s", name, e.out)
		}
	}

	done := &orders{all: map[[3]int64]bool{}}
	for _, driver := range []bool{false, true} {
		before := len(done.all)
		r := crash(t, s, driver, done)
		if want := map[bool]string{false: "loops", true: "driver"}[driver]; r.Path != want {
			t.Errorf("the sessions were driven by %s, want %s", r.Path, want)
		}
		t.Logf("%s: %d new orders acknowledged before the crash", r.Path, len(done.all)-before)
		if lost := done.missing(t, s); len(lost) > 0 {
			t.Fatalf("%d of %d acknowledged orders are gone: %s", len(lost), len(done.all),
				strings.Join(lost[:min(5, len(lost))], " "))
		}
	}
	holds("after two crashes")

	s.Exec(t, "UPDATE sbtest.warehouse1 SET w_ytd = w_ytd + 0.01")
	e = finish(t, command(t, join([][]string{words("tpcc check"), as(s), data})...))
	if e.code != 1 || !strings.Contains(e.out, "3.3.2.1    VIOLATED") || !strings.Contains(e.out, "3.3.2.2    holds") ||
		!strings.Contains(e.err, "do not hold") {
		t.Errorf("a cent too much, and check ends with code %d: %s%s", e.code, e.out, e.err)
	}
	for k := range done.all {
		s.Exec(t, "SET foreign_key_checks=0", fmt.Sprintf("DELETE FROM sbtest.orders1 WHERE o_w_id=%d AND o_d_id=%d "+
			"AND o_id=%d", k[0], k[1], k[2]))
		break
	}
	if lost := done.missing(t, s); len(lost) != 1 {
		t.Errorf("one order was taken away, and the test misses %q", lost)
	}
}

// crash runs the load until some orders have been acknowledged, kills the server and starts it again.
func crash(t *testing.T, s *servers.Server, driver bool, done *orders) loadresult.Run {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	enough := make(chan struct{})
	var n atomic.Int64
	cfg := load.Config{
		Workload: tpcc.Workload{}, Options: map[string]string{"scale": "1"}, Threads: 8, Driver: driver,
		Acknowledged: func(op workload.Op) {
			if done.acknowledged(op) && n.Add(1) == 100 {
				close(enough)
			}
		},
	}
	ended := make(chan loadresult.Run, 1)
	go func() {
		r, err := loader.Server{T: tg}.Run(ctx, cfg, nil)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	select {
	case <-enough:
	case <-ctx.Done():
		t.Fatal("no 100 new orders in a minute")
	}
	s.Kill(t)
	stop()
	r := <-ended
	s.Launch(t)
	return r
}
