package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestSessionFaultsHold plants the faults in which somebody is in the way, and sees by the server's own eyes that
// somebody is, and that nothing of him is left when he is told to go.
func TestSessionFaultsHold(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor, "innodb_lock_wait_timeout=10")
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			db := s.DB(t, "")
			count := func(query string) (n int) {
				t.Helper()
				if err := db.QueryRow(query).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			until := func(what, query string, enough func(int) bool) {
				t.Helper()
				n := 0
				for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(
					100 * time.Millisecond) {
					if n = count(query); enough(n) {
						return
					}
				}
				t.Errorf("%s: %d", what, n)
			}
			f := func(x fault.Fault, what, query string, least int) {
				t.Helper()
				const seed = 5
				o := fault.Options(seed)
				o["table-size"] = "2000"
				if err := put(t.Context(), tg, x, seed, map[string]string{"table-size": "2000"}); err != nil {
					t.Error(err)
					return
				}
				stage, err := x.Stage(tg, seed)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				n := 0
				ends := make(chan error)
				for _, a := range x.Actors {
					n++
					go func() { ends <- a.Run(ctx, stage) }()
				}
				n++
				go func() {
					_, err := loader.Server{T: tg}.Run(ctx,
						load.Config{Workload: x.Workload, Options: o, Threads: x.Threads}, nil)
					ends <- err
				}()
				until(x.Name+": "+what, query, func(n int) bool { return n >= least })
				cancel()
				for range n {
					if err := <-ends; err != nil {
						t.Errorf("%s: %v", x.Name, err)
					}
				}
				until(x.Name+": transactions left", "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE "+
					"trx_mysql_thread_id > 0", func(n int) bool { return n == 0 })
				until(x.Name+": sessions left", fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST "+
					"WHERE DB = '%s'", stage.Schema), func(n int) bool { return n == 0 })
				for end := time.Now().Add(60 * time.Second); ; {
					// MariaDB holds tables while it clears away old versions of their rows
					_, err := loader.Server{T: tg}.Cleanup(t.Context(), load.Data{Workload: x.Workload, Options: o})
					if err == nil {
						break
					}
					if time.Now().After(end) {
						t.Fatal(err)
					}
				}
			}
			waiting := "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
			f(idleTransaction(), "sessions that wait for a row", waiting, 4)
			f(victimQuery(), "sessions that wait for a row", waiting, 3)
			f(mdlPileup(), "sessions that wait for the table", "SELECT COUNT(*) FROM information_schema.PROCESSLIST "+
				"WHERE STATE LIKE '%metadata lock%'", 5)
			f(lockPileup(), "sessions that wait for a row", waiting, 4)
			f(rowVersions(), "an old transaction that has changed nothing",
				"SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_modified = 0"+
					" AND trx_mysql_thread_id > 0 AND trx_started < NOW() - INTERVAL 1 SECOND", 1)
			f(deadlocks(), "deadlocks", "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = "+
				"'lock_deadlocks'", 5)
		})
	}
}

func TestShiftDealsToGroups(t *testing.T) {
	x := idleTransaction().Workload
	p, err := x.Build(fault.Options(0))
	if err != nil {
		t.Fatal(err)
	}
	for session := range 16 {
		g := p.Generator(1, session)
		seen := map[string]bool{}
		for range 300 {
			var op workload.Op
			g.Begin(&op)
			seen[p.Operations[op.Kind]] = true
		}
		if writes := seen["update_balance"]; writes != (session%8 < 4) || seen["last_visits"] == writes {
			t.Errorf("session %d does %v", session, seen)
		}
	}
	// A transaction is one operation of statements in order.
	p, err = lockPileup().Workload.Build(fault.Options(0))
	if err != nil {
		t.Fatal(err)
	}
	g := p.Generator(1, 0)
	for {
		var op workload.Op
		g.Begin(&op)
		var texts []string
		for {
			var c workload.Call
			ok, err := g.Next(&c)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			texts = append(texts, p.Statements[c.Statement].SQL)
			if len(c.Args) != strings.Count(p.Statements[c.Statement].SQL, "?") {
				t.Errorf("%d arguments for %s", len(c.Args), p.Statements[c.Statement].SQL)
			}
		}
		if p.Operations[op.Kind] != "serve_client" {
			continue
		}
		if len(texts) != 7 || texts[0] != "BEGIN" || !strings.HasPrefix(texts[1], "UPDATE totals") ||
			texts[6] != "COMMIT" {
			t.Errorf("%q", texts)
		}
		break
	}
}
