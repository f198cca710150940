package fault

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestLayoutsHurt proves by the servers' own counters that what is planted is there.
func TestLayoutsHurt(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor, "local_infile=ON", "tmp_table_size=256K", "max_heap_table_size=256K")
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			const seed = 5
			n := fault.Names(seed)
			db := s.DB(t, "")
			db.SetMaxOpenConns(1)
			number := func(q string) (v float64) {
				t.Helper()
				if err := db.QueryRow(q).Scan(&v); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
				return v
			}
			exec := func(q string) {
				t.Helper()
				if _, err := db.Exec(n.SQL(q)); err != nil {
					t.Fatalf("%s: %v", n.SQL(q), err)
				}
			}
			status := func(name string) float64 {
				t.Helper()
				var k string
				var v float64
				if err := db.QueryRow("SHOW SESSION STATUS LIKE '"+name+"'").Scan(&k, &v); err != nil {
					t.Fatal(err)
				}
				return v
			}
			size := func(table, column string) float64 {
				t.Helper()
				exec("ANALYZE TABLE " + table)
				return number(fmt.Sprintf("SELECT %s FROM information_schema.TABLES WHERE TABLE_SCHEMA='%s' AND "+
					"TABLE_NAME='%s'", column, n.Of(fault.SchemaKey), n.SQL(table)))
			}
			// planted sets one up; the next one drops its database first.
			planted := func(f fault.Fault, rows int) {
				t.Helper()
				exec("DROP DATABASE IF EXISTS {" + fault.SchemaKey + "}")
				more := map[string]string{"table-size": strconv.Itoa(rows)}
				if err := put(t.Context(), tg, f, seed, more); err != nil {
					t.Fatal(err)
				}
				exec("USE {" + fault.SchemaKey + "}")
				if flavor == "mysql" {
					exec("SET SESSION information_schema_stats_expiry = 0")
				}
			}

			// Rows that move make about as many page accesses as there are indexes; rows that stay make few.
			if flavor == "mysql" {
				// else the history keeps what is long purged
				exec("SET GLOBAL innodb_purge_rseg_truncate_frequency = 1")
			}
			planted(hotColumnInPK(), 4000)
			global := func(name string) float64 {
				t.Helper()
				var k string
				var v float64
				if err := db.QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&k, &v); err != nil {
					t.Fatal(err)
				}
				return v
			}
			// purged waits until nothing old is left, whose removal writes pages too; then both ways are counted whole.
			purged := func() {
				t.Helper()
				for range 600 {
					if flavor == "mysql" {
						if number("SELECT count FROM information_schema.innodb_metrics WHERE name = "+
							"'trx_rseg_history_len'") == 0 {
							return
						}
					} else if global("Innodb_history_list_length") == 0 {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
				t.Fatal("old versions of rows are left after a minute")
			}
			moves := func(to int) float64 {
				t.Helper()
				purged()
				before := global("Innodb_buffer_pool_write_requests")
				for i := range 20 {
					exec(fmt.Sprintf("UPDATE {vehicles} SET {vehicles.seen_at} = %d WHERE {vehicles.id} BETWEEN %d "+
						"AND %d", to+i, 1+50*i, 40+50*i))
				}
				purged()
				return global("Innodb_buffer_pool_write_requests") - before
			}
			hot := moves(firstSeen + 1_000_000)
			exec("ALTER TABLE {vehicles} DROP PRIMARY KEY, ADD PRIMARY KEY ({vehicles.id}), DROP INDEX " +
				"{vehicles.by_id}, ADD INDEX seen ({vehicles.seen_at})")
			cold := moves(firstSeen + 2_000_000)
			t.Logf("%s: %v page accesses for writing with the time in the primary key, %v without", flavor, hot, cold)
			if hot < 2*cold {
				t.Errorf("800 updates made %v page accesses for writing, with another key %v: the fault hardly hurts",
					hot, cold)
			}

			planted(widePK(), 6000)
			wide := size("{documents}", "INDEX_LENGTH")
			exec("ALTER TABLE {documents} ADD COLUMN number BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, DROP PRIMARY " +
				"KEY, ADD PRIMARY KEY (number), " +
				"ADD UNIQUE INDEX old ({documents.tenant}, {documents.folder}, {documents.name})")
			exec("ALTER TABLE {documents} FORCE")
			if narrow := size("{documents}", "INDEX_LENGTH"); wide < 1.5*narrow {
				t.Errorf("indexes of %v bytes, with another key %v", wide, narrow)
			}

			planted(fragmentedTable(), 12_000)
			sparse := size("{pallets}", "DATA_LENGTH")
			rows := number("SELECT COUNT(*) FROM " + n.Of("pallets"))
			exec("ALTER TABLE {pallets} FORCE")
			if dense := size("{pallets}", "DATA_LENGTH"); sparse < 2*dense || rows != 2000 {
				t.Errorf("%v rows in %v bytes, rebuilt %v", rows, sparse, dense)
			}

			planted(failedCompression(), 500)
			failed := number("SELECT SUM(compress_ops - compress_ops_ok) FROM information_schema.INNODB_CMP WHERE " +
				"page_size = 4096")
			all := number("SELECT SUM(compress_ops) FROM information_schema.INNODB_CMP WHERE page_size = 4096")
			t.Logf("%s: %v of %v compressions failed", flavor, failed, all)
			if failed < 20 || failed < all/10 {
				t.Errorf("%v of %v compressions failed", failed, all)
			}

			planted(triggerCost(), 100)
			insert := func(table string) time.Duration {
				begin := time.Now()
				exec("INSERT INTO {" + table + "} ({orders.kind}, {orders.amount}, {orders.discount}, {orders.text}) " +
					"SELECT 1, {orders.amount}, 0, 'x' FROM {orders} LIMIT 100")
				return time.Since(begin)
			}
			insert("orders_lean")
			lean, heavy := insert("orders_lean"), insert("orders")
			t.Logf("%s: 100 rows in %v, with a lean trigger %v", flavor, heavy, lean)
			if heavy < 2*lean {
				t.Errorf("100 rows took %v with the trigger, %v with a lean one", heavy, lean)
			}

			planted(diskTempTables(), 9000)
			spill := func() float64 {
				before := status("Created_tmp_disk_tables")
				exec("SELECT {searches.words}, {searches.place}, COUNT(*) FROM {searches} WHERE {searches.id} < 8000 " +
					"GROUP BY {searches.words}, {searches.place} ORDER BY COUNT(*) DESC LIMIT 10")
				return status("Created_tmp_disk_tables") - before
			}
			if v := spill(); v < 1 {
				t.Errorf("a report made %v temporary tables on disk", v)
			}
			exec("SET SESSION tmp_table_size = 16777216, max_heap_table_size = 16777216")
			if v := spill(); v != 0 {
				t.Errorf("with room a report made %v temporary tables on disk", v)
			}

			// The job deletes all that has expired at once, and others come.
			del := bigDelete()
			planted(del, 13_000)
			stage, err := del.Stage(tg, seed)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []fault.Actor{del.Actors[0], del.Cure.Actors[0]} {
				deleted, statements := global("Handler_delete"), global("Com_delete")
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- a.Run(ctx, stage) }()
				for deadline := time.Now().Add(60 * time.Second); global("Handler_delete")-deleted < 2*
					expiredRows; time.Sleep(20 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("%s: no second round", a.Name)
					}
				}
				cancel()
				if err := <-done; err != nil {
					t.Errorf("%s: %v", a.Name, err)
				}
				per := (global("Handler_delete") - deleted) / (global("Com_delete") - statements)
				if chunked := strings.Contains(a.Name, "hundred"); chunked != (per <= deleteChunk) ||
					!chunked && per < 5000 {
					t.Errorf("%s: %v rows a statement", a.Name, per)
				}
			}
		})
	}
}
