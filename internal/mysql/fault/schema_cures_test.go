package fault

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestComparisonsAreCured proves faults of comparisons and their cures by the server's own counters, on small tables:
// with the fault an operation reads the whole table, with the cure only what it wants. The cures are the statements
// that the rules suggest.
func TestComparisonsAreCured(t *testing.T) {
	const rows = 20_000
	const seed = 11
	n := fault.Names(seed)
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor, "local_infile=ON")
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			version := tg.Facts().Version.String()
			more := map[string]string{"table-size": strconv.Itoa(rows)}
			f := func(x fault.Fault, slow, cure string, cured workload.Workload) {
				t.Helper()
				if x.On(dbms.Flavor(flavor), version) != nil {
					return
				}
				if err := put(t.Context(), tg, x, seed, more); err != nil {
					t.Error(err)
					return
				}
				o := fault.Options(seed)
				o["table-size"] = strconv.Itoa(rows)
				defer func() {
					if _, err := (loader.Server{T: tg}).Cleanup(t.Context(), load.Data{
						Workload: x.Workload,
						Options:  o,
					}); err != nil {
						t.Error(err)
					}
				}()
				if strings.HasSuffix(x.Name, "join") {
					s.Exec(t, n.SQL("ANALYZE TABLE {crm}.{letters}"))
				}
				measure := func(w workload.Workload) float64 {
					t.Helper()
					before := s.Status(t, "Handler_read_rnd_next") + s.Status(t, "Handler_read_next")
					r, err := loader.Server{T: tg}.Run(t.Context(), load.Config{
						Workload: w, Options: o, Threads: 2,
						Events: 120, Seed: 1,
					}, nil)
					if err != nil || r.Total.ErrorCount() > 0 {
						t.Errorf("%s: %v %v", x.Name, err, r.Total.Errors)
						return 0
					}
					calls := 1.0
					for _, op := range r.Total.Ops {
						if op.Name == slow {
							calls = max(1, float64(op.Latency.Count()))
						}
					}
					return float64(s.Status(t, "Handler_read_rnd_next")+s.Status(t, "Handler_read_next")-before) / calls
				}
				with := measure(x.Workload)
				if cure != "" {
					s.Exec(t, n.SQL(cure))
				}
				if cured == nil {
					cured = x.Workload
				}
				without := measure(cured)
				t.Logf("%s on %s: %.0f rows read per %s, then %.0f", x.Name, flavor, with, slow, without)
				if with < 0.7*rows || without > rows/20 {
					t.Errorf("%s: the fault has a call read %.0f rows of %d, the cure %.0f",
						x.Name, with, rows, without)
				}
			}
			f(functionOnColumn(), "find_by_day", "", functionOnColumn().Cure.Workload)
			f(foldedLookup(), "find_by_email", "ALTER TABLE {crm}.{clients} ADD INDEX {added} "+
				"((LOWER(`{clients.email}`)))", nil)
			f(implicitConversion(), "find_crate", "", implicitConversion().Cure.Workload)
			f(mismatchedJoin(), "list_team_letters", "ALTER TABLE {crm}.{letters} MODIFY COLUMN {letters.member} int "+
				"unsigned NOT NULL", nil)
			f(collationJoin(), "list_team_letters", "ALTER TABLE {crm}.{letters} MODIFY COLUMN {letters.member} "+
				"varchar(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL", nil)
		})
	}
}

// TestGeneratedColumnServesMariaDB proves what the rule suggests where a server cannot index an expression: the column
// is not seen by SELECT *, and a condition on it finds its rows by its index.
func TestGeneratedColumnServesMariaDB(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE DATABASE d")
	s.Exec(t, "CREATE TABLE d.t (id INT PRIMARY KEY, mail VARCHAR(120) CHARACTER SET utf8mb4 COLLATE "+
		"utf8mb4_general_ci NOT NULL, made DATETIME NOT NULL)")
	s.Exec(t, "INSERT INTO d.t SELECT seq, CONCAT('Mail', seq, '@x'), '2024-01-01' + INTERVAL seq HOUR FROM "+
		"d.seq_1_to_3000")
	s.Exec(t, "ALTER TABLE d.t ADD COLUMN `mail_lower` varchar(120) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci "+
		"GENERATED ALWAYS AS (LOWER(`mail`)) VIRTUAL INVISIBLE, ADD INDEX `idx_mail_lower` (`mail_lower`)")
	s.Exec(t, "ALTER TABLE d.t ADD COLUMN `made_month` smallint GENERATED ALWAYS AS (MONTH(`made`)) VIRTUAL "+
		"INVISIBLE, ADD INDEX `idx_made_month` (`made_month`)")
	db := s.DB(t, "d")
	cols, err := db.Query("SELECT * FROM t LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := cols.Columns()
	if err := errors.Join(cols.Err(), cols.Close()); err != nil || len(got) != 3 {
		t.Errorf("SELECT * shows %v", got)
	}
	f := func(q string, most uint64) {
		t.Helper()
		before := s.Status(t, "Handler_read_rnd_next") + s.Status(t, "Handler_read_next")
		var n int
		if err := db.QueryRow(q).Scan(&n); err != nil || n == 0 {
			t.Errorf("%s: %d %v", q, n, err)
		}
		if read := s.Status(t, "Handler_read_rnd_next") + s.Status(t, "Handler_read_next") - before; read > most {
			t.Errorf("%s read %d rows", q, read)
		}
	}
	f("SELECT COUNT(id) FROM t WHERE mail_lower = 'mail55@x'", 5)
	f("SELECT COUNT(id) FROM t WHERE made_month = 2", 800)
}
