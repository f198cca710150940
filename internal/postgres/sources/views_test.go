package sources

import (
	"strconv"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/pgserver"
)

var testTime = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// TestFiguresAreTheServersOwn compares what is read with what the server says on another connection.
func TestFiguresAreTheServersOwn(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			s := pgserver.Start(t, version, "autovacuum=off", "checkpoint_timeout=1d")
			s.Exec(t, "postgres", "CREATE TABLE t (a int PRIMARY KEY)", "INSERT INTO t SELECT generate_series(1, 1000)",
				"ANALYZE t", "DELETE FROM t WHERE a < 11", "SELECT * FROM t WHERE a = 500", "CHECKPOINT",
				"CREATE DATABASE other", "SELECT pg_stat_force_next_flush()")
			r := scraper(t, open(t, s, "postgres")).Once(t.Context())
			f := func(query, name string, labels ...string) {
				t.Helper()
				want, err := strconv.ParseFloat(s.Value(t, "postgres", query), 64)
				if got := value(t, r, name, labels...); err != nil || got != want {
					t.Errorf("%s is %v, the server says %v (%v)", name, got, want, err)
				}
			}
			table := []string{"datname", "postgres", "schemaname", "public", "relname", "t"}
			f("SELECT 1000", "pg_stat_user_tables_n_tup_ins", table...)
			const tables = " FROM pg_stat_user_tables WHERE relname = 't'"
			f("SELECT n_tup_del"+tables, "pg_stat_user_tables_n_tup_del", table...)
			f("SELECT n_dead_tup"+tables, "pg_stat_user_tables_n_dead_tup", table...)
			f("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 't_pkey'",
				"pg_stat_user_indexes_idx_scan_total", append(table, "indexrelname", "t_pkey")...)
			f("SELECT heap_blks_hit FROM pg_statio_user_tables WHERE relname = 't'",
				"pg_statio_user_tables_heap_blocks_hit", table...)
			f("SELECT pg_total_relation_size('t')", "pg_stat_user_tables_size_bytes", table...)
			f("SELECT pg_database_size('other')", "pg_database_size_bytes", "datname", "other")
			f("SELECT tup_inserted FROM pg_stat_database WHERE datname = 'other'", "pg_stat_database_tup_inserted",
				"datname", "other")
			f("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'", "pg_stat_database_deadlocks",
				"datname", "postgres")
			f("SELECT extract(epoch FROM pg_postmaster_start_time())", "pg_postmaster_start_time_seconds")
			if version < "17" {
				f("SELECT checkpoints_req FROM pg_stat_bgwriter", "pg_stat_bgwriter_checkpoints_req_total")
			} else {
				f("SELECT num_requested FROM pg_stat_checkpointer", "pg_stat_checkpointer_num_requested_total")
			}
			if version > "15" {
				f("SELECT writes FROM pg_stat_io WHERE backend_type = 'checkpointer' AND object = 'relation' "+
					"AND context = 'normal'", "pg_stat_io_writes_total", "backend_type", "checkpointer", "object",
					"relation", "context", "normal")
			} else if x := sourceOf(t, r, source.IO); x.State != source.Missing || x.Reason == "" {
				t.Errorf("%+v", x)
			}
			if v := value(t, r, "pg_stat_wal_bytes_total"); v < 50_000 {
				t.Errorf("%v bytes of WAL", v)
			}
			if v := value(t, r, "dyno_checkpoint_age_bytes"); v < 0 || v > 64<<20 {
				t.Errorf("the checkpoint's age is %v", v)
			}
		})
	}
}

func TestLockCounts(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE TABLE t (a int)")
	begin(t, s, "BEGIN", "LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE")
	r := scraper(t, open(t, s, "postgres"), "lock_counts").Once(t.Context())
	if v := value(t, r, "pg_locks_count", "datname", "postgres", "mode", "sharerowexclusivelock"); v != 1 {
		t.Errorf("%v locks", v)
	}
}

// TestStatementTotals: what the server forgets is no fall, and what is not counted is not there.
func TestStatementTotals(t *testing.T) {
	s := pgserver.Start(t, "17", "autovacuum=off")
	sc := scraper(t, open(t, s, "postgres"), "statement_totals")
	r := sc.Once(t.Context())
	if x := sourceOf(t, r, source.StatementTotals); x.State != source.Missing || x.Fix == "" {
		t.Fatalf("without the extension: %+v", x)
	}
	s.Exec(t, "postgres", "CREATE EXTENSION pg_stat_statements")
	first := value(t, sc.Once(t.Context()), "pg_stat_statements_calls_total")
	s.Exec(t, "postgres", "SELECT 1", "SELECT 1", "SELECT 2")
	r = sc.Once(t.Context())
	if v := value(t, r, "dyno_client_statements_total"); v != first+3 {
		t.Errorf("3 statements count as %v", v-first)
	}
	if v := value(t, r, "pg_stat_statements_rows_total"); v < 3 {
		t.Errorf("3 rows count as %v", v)
	}
	s.Exec(t, "postgres", "SELECT pg_stat_statements_reset()")
	if v, ok := find(sc.Once(t.Context()), "pg_stat_statements_calls_total"); ok {
		t.Errorf("in the round of a reset: %v", v)
	}
	if v := value(t, sc.Once(t.Context()), "dyno_client_statements_total"); v != first+3 {
		t.Errorf("after a reset it is %v, before %v", v, first+3)
	}
	s.Exec(t, "postgres", "ALTER SYSTEM SET pg_stat_statements.track = none", "SELECT pg_reload_conf()")
	for end := time.Now().Add(time.Minute); sourceOf(t, sc.Once(t.Context()), source.StatementTotals).State == "ok"; {
		if time.Now().After(end) {
			t.Fatal("that nothing is counted is not seen")
		}
	}
}
