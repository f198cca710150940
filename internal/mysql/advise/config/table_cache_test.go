package config

import (
	"fmt"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

// crowded is a server with 400 tables in use and room for 100.
func crowded(more ...func(*snap.Made)) *snap.Made {
	m := snap.Build().Set("table_open_cache", "100").Set("open_files_limit", "30000").Set("max_connections", "151").
		Exact("SELECT a FROM t1 WHERE id = 7", 20_000, 0.001, 1, 1)
	for i := range 400 {
		m.Table(fmt.Sprintf("t%d", i), 100)
	}
	m.Status("Opened_tables", 900).Status("Table_open_cache_overflows", 900).Status("Questions", 2000)
	status(m, "Open_tables", 100)
	status(m, "Threads_running", 10)
	for _, f := range more {
		f(m)
	}
	return m
}

func TestTableCache(t *testing.T) {
	f := one(t, tableCache, crowded())
	has(t, f, "table_open_cache = 4000") // 400 tables × 10 sessions
	if f.Action == nil || f.Action.Value != "4000" || f.Action.Undo != "SET GLOBAL table_open_cache = 100" ||
		f.Confidence != finding.Certain {
		t.Errorf("%+v %s", f.Action, f.Confidence)
	}
	// as far as descriptors reach
	has(t, one(t, tableCache, crowded(func(m *snap.Made) { m.Set("open_files_limit", "2171") })),
		"table_open_cache = 1000")
	if f = one(t, tableCache, crowded(drop("mysql_global_status_table_open_cache_overflows"))); f.Confidence !=
		finding.Likely {
		t.Errorf("a server that does not count what is pushed out: %s", f.Confidence)
	}
}

// Thousands of tables times hundreds of sessions are no size for a cache, and one that has all descriptors already
// cannot grow.
func TestTableCacheBounded(t *testing.T) {
	big := crowded(func(m *snap.Made) {
		m.Set("table_open_cache", "4000").Set("open_files_limit", "1048576")
		replace("mysql_global_status_open_tables", 4000)(m)
		replace("mysql_global_status_threads_running", 200)(m)
	})
	has(t, one(t, tableCache, big), "table_open_cache = 16384")
	f := one(t, tableCache, crowded(func(m *snap.Made) {
		m.Set("table_open_cache", "2000").Set("open_files_limit", "4171")
		replace("mysql_global_status_open_tables", 2000)(m)
	}))
	if f.Action != nil || len(f.Setting) != 2 || f.Setting[0] != "open_files_limit = 8171" {
		t.Errorf("no descriptors are left: %+v", f.Setting)
	}
}

func TestTableCacheSilent(t *testing.T) {
	silent(t, tableCache, "nothing is seen", snap.Build())
	silent(t, tableCache, "a cache that fills after a start", crowded(replace("mysql_global_status_open_tables", 60)))
	silent(t, tableCache, "opened for the first time, nobody is pushed out",
		crowded(replace("mysql_global_status_table_open_cache_overflows", 0)))
	silent(t, tableCache, "one in a thousand statements", crowded(replace("mysql_global_status_questions", 1e6)))
	silent(t, tableCache, "a full cache without opens", crowded(replace("mysql_global_status_opened_tables", 0.5)))
}
