package schema

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/snap"
)

// TestLayoutChangesOnServers carries out what the rules propose, and takes it back: the table must be as it was.
func TestLayoutChangesOnServers(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor)
			db := s.DB(t, "")
			db.SetMaxOpenConns(1)
			exec := func(q string) {
				t.Helper()
				if _, err := db.Exec(q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}
			shown := func(table string) (text string) {
				t.Helper()
				var name string
				if err := db.QueryRow("SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
					t.Fatal(err)
				}
				return text
			}
			f := func(table, create string, m *snap.Made, ask func(*snap.Made) []finding.Finding, backAgain bool) {
				t.Helper()
				a := only(t, m, ask).Action
				exec("DROP DATABASE IF EXISTS shop")
				exec("CREATE DATABASE shop")
				exec("USE shop")
				exec("CREATE TABLE " + table + " " + create + " ENGINE=InnoDB")
				before := shown(table)
				exec(a.SQL)
				if after := shown(table); after == before && backAgain {
					t.Errorf("%s: nothing changed", a.SQL)
				}
				if a.Undo == "" {
					if backAgain {
						t.Errorf("%s: nothing takes it back", a.SQL)
					}
					return
				}
				exec(a.Undo)
				if got := shown(table); got != before {
					t.Errorf("%s, then %s: it was\n%s\nand is\n%s", a.SQL, a.Undo, before, got)
				}
			}
			const cars = "(seen INT NOT NULL, id BIGINT NOT NULL, plate VARCHAR(16) NOT NULL, speed INT NOT NULL, " +
				"PRIMARY KEY (seen, id), KEY by_plate (plate), " +
				"KEY by_speed (speed, plate), UNIQUE KEY by_id (id))"
			moved := func(m *snap.Made) *snap.Made {
				return m.Exact("UPDATE cars SET seen = 17 WHERE id BETWEEN 5 AND 44", 500, 0.02,
					80, 0, affects(20_000)).
					Exact("SELECT id FROM cars WHERE seen >= 5 ORDER BY seen LIMIT 20", 100, 0.001, 20, 20)
			}
			// A unique key stands before the others wherever it was added.
			f("cars", cars, moved(hotTable()), askHot, true)
			m := moved(hotTable())
			m.Last().Indexes[1].Unique = false
			m.Last().Columns[0].Name, m.Last().Indexes[0].Parts[1].Column = "number", "number"
			f("cars", "(seen INT NOT NULL, number BIGINT NOT NULL, plate VARCHAR(16) NOT NULL, speed INT NOT NULL, "+
				"PRIMARY KEY (seen, number), KEY by_plate (plate))", m, askHot, true)

			f("papers", "(tenant VARCHAR(60) NOT NULL, folder VARCHAR(120) NOT NULL, name VARCHAR(80) NOT NULL, "+
				"owner INT, size INT, kind SMALLINT, "+
				"PRIMARY KEY (tenant, folder, name), KEY a (owner))", wideTable(), askWide, true)
			f("mails", "(id BIGINT NOT NULL PRIMARY KEY, box INT, body VARCHAR(1500)) ROW_FORMAT=COMPRESSED "+
				"KEY_BLOCK_SIZE=4", mailed(squeezed(300, 80)), askSqueezed, true)
			f("boxes", "(code CHAR(32) NOT NULL PRIMARY KEY, label CHAR(240), place INT)", sparse(), askSparse, false)

			m = spilled("262144").MySQL("9.7.0").Set("internal_tmp_mem_storage_engine", "TempTable")
			m.S.Host.MemBytes = known.Of(uint64(8 << 30))
			a := only(t, m.Exact(report, 50, 0.15, 16_000, 10, onDisk(1)), askSpilled).Action
			exec("SET GLOBAL tmp_table_size = 262144")
			value := func() (v int) {
				t.Helper()
				if err := db.QueryRow("SELECT @@global.tmp_table_size").Scan(&v); err != nil {
					t.Fatal(err)
				}
				return v
			}
			exec(a.SQL)
			if v := value(); v != 16<<20 {
				t.Errorf("tmp_table_size is %d", v)
			}
			exec(a.Undo)
			if v := value(); v != 256<<10 {
				t.Errorf("tmp_table_size is %d", v)
			}
		})
	}
}
