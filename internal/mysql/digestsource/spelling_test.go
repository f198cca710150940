package digestsource

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestOneIDFromEverySource runs statements that are not written as digests write them, and reads them from
// performance_schema, the slow log and the processlist: a statement has the id of pt-query-digest in all, and Dyno's
// own are in none.
func TestOneIDFromEverySource(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON", "slow_query_log=ON", "long_query_time=0")
			db := table(t, s)
			sqls := []string{
				"SELECT id,v FROM t WHERE v=5 AND SLEEP(0.2)=0 LIMIT 1", "SELECT `id`  FROM `t` WHERE v IN (1,2,3) " +
					"AND SLEEP(0.2)=0 LIMIT 2",
				"UPDATE t SET v=v+1 WHERE id=3 AND SLEEP(0.2)=0",
			}
			want := make([]string, len(sqls))
			for i, sql := range sqls {
				want[i] = class.ID(mytext.Fingerprint(sql))
			}
			r := open(t, s, "root", Options{Interval: 50 * time.Millisecond})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			t.Cleanup(func() { stop(); <-done })
			if err := r.Begin(ctx); err != nil {
				t.Fatal(err)
			}
			known := map[string]bool{}
			for range 20 { // until each was seen running at least once
				for _, sql := range sqls {
					run(t, db, sql)
				}
				settle(t, db)
				list, sources, err := r.Turn(ctx)
				if err != nil {
					t.Fatal(err, sources)
				}
				clear(known)
				for _, c := range list {
					if c.Schema != "d" || !strings.Contains(c.Fingerprint, "sleep") {
						for _, own := range []string{
							"processlist", "performance_schema", "information_schema",
							"global status", "session_status", "lock_wait_timeout", "connection_id",
						} {
							if strings.Contains(c.Fingerprint, own) {
								t.Errorf("Dyno's own: %s", c.Fingerprint)
							}
						}
						continue
					}
					if c.Origin != class.PerformanceSchema || len(c.Digest) < 32 || known[c.ID] {
						t.Errorf("%+v", c)
					}
					known[c.ID] = !c.Guessed
				}
				if len(known) != len(sqls) {
					t.Fatalf("%d classes for %d statements: %v", len(known), len(sqls), list)
				}
				if !slices.ContainsFunc(want, func(id string) bool { return !known[id] }) {
					break
				}
			}
			for i, id := range want {
				if !known[id] {
					t.Errorf("performance_schema: no class %s for %s: %v", id, sqls[i], known)
				}
			}
			// The log's own, as pt-query-digest takes it.
			path := ""
			if err := s.DB(t, "").QueryRow("SELECT @@slow_query_log_file").Scan(&path); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(path, "/") {
				path = s.Dir + "/data/" + path
			}
			if _, err := os.Stat(path); err != nil {
				t.Fatal(err)
			}
			sum, _, err := Files(t.Context(), LogOptions{Paths: []string{path}})
			if err != nil {
				t.Fatal(err)
			}
			logged := map[string]bool{}
			for _, c := range sum.Report(digest.Options{}).Classes {
				logged[c.ID] = true
			}
			for i, id := range want {
				if !logged[id] {
					t.Errorf("slow log: no class %s for %s", id, sqls[i])
				}
			}
		})
	}
}
