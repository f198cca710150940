package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/snap"
)

const report = "SELECT words, place, COUNT(*), SUM(hits) FROM looks WHERE id BETWEEN 1 AND 8000 GROUP BY words, " +
	"place ORDER BY COUNT(*) DESC LIMIT 10"

func spilled(limit string) *snap.Made {
	m := snap.Build().Set("tmp_table_size", limit).Set("max_heap_table_size", limit)
	m.S.Host.MemBytes = known.Of(uint64(8 << 30))
	return m.Table("looks", 100_000, snap.Col("words", "varchar", 480), snap.Col("place", "varchar", 240),
		snap.Col("hits", "int", 4))
}

func onDisk(per uint64) func(*class.Class) {
	return func(c *class.Class) { c.TmpTables, c.TmpDisk = known.Of(c.Count*2), known.Of(c.Count*per) }
}

func askSpilled(m *snap.Made) []finding.Finding { return diskTempTables(m.View()) }

var temporary = explain.Step{
	SelectType: "SIMPLE", Table: "looks", Access: "range", Key: "PRIMARY", Rows: 8000,
	Extra: []string{"Using where", "Using temporary", "Using filesort"},
}

func TestDiskTempTables(t *testing.T) {
	got := only(t, spilled("262144").Exact(report, 50, 0.15, 16_000, 10, onDisk(1)), askSpilled)
	if !slices.Equal(got.Setting, []string{"tmp_table_size = 16777216", "max_heap_table_size = 16777216"}) ||
		got.Action != nil || got.Confidence != finding.Certain {
		t.Errorf("%v %+v", got.Setting, got)
	}
	// The default itself is too small: as much as it takes.
	m := spilled("16777216")
	m.Last().Rows = known.Of(uint64(10_000_000))
	got = only(t, m.Exact(report, 5, 1.5, 80_000, 10, onDisk(1)), askSpilled)
	if len(got.Setting) != 2 || got.Setting[0] != "tmp_table_size = 134217728" {
		t.Errorf("%v", got.Setting)
	}
	// More than any statement should get.
	got = only(t, spilled("16777216").Exact(report, 5, 1.5, 8_000_000, 10, onDisk(1)), askSpilled)
	if len(got.Setting) != 0 || !strings.Contains(got.Suggestion, "narrower") {
		t.Errorf("%v %s", got.Setting, got.Suggestion)
	}
	// MySQL's own engine knows one limit, which can be set at once.
	got = only(t, spilled("262144").MySQL("9.7.0").Set("internal_tmp_mem_storage_engine", "TempTable").Exact(report, 50,
		0.15, 16_000, 10, onDisk(1)), askSpilled)
	if got.Action == nil || got.Action.SQL != "SET GLOBAL tmp_table_size = 16777216" ||
		got.Action.Undo != "SET GLOBAL tmp_table_size = 262144" || len(got.Setting) != 1 {
		t.Errorf("%+v %v", got.Action, got.Setting)
	}
	// Before 8.0.28 it knew one for all tables together only.
	got = only(t, spilled("262144").MySQL("8.0.20").Set("internal_tmp_mem_storage_engine", "TempTable").
		Set("temptable_max_ram", "1073741824").Exact(report, 50, 0.15, 16_000, 10, onDisk(1)), askSpilled)
	if got.Action != nil || len(got.Setting) != 0 || !slices.Equal(got.Subject.Variables,
		[]string{"temptable_max_ram"}) || strings.Contains(got.Suggestion, "more than one statement should get") ||
		got.Confidence != finding.Likely {
		t.Errorf("%+v %v", got.Action, got.Setting)
	}
	// A column that no table in memory holds.
	m = spilled("16777216")
	m.Last().Columns = append(m.Last().Columns, snap.Col("body", "text", 0))
	got = only(t, m.Exact("SELECT body, COUNT(*) FROM looks WHERE id BETWEEN 1 AND 8000 GROUP BY body", 50, 0.15,
		16_000, 10, onDisk(1)), askSpilled)
	if len(got.Setting) != 0 || got.Subject.Columns[0] != "body" ||
		!strings.Contains(got.Suggestion, "LEFT(body, 200)") {
		t.Errorf("%+v", got)
	}
	// Only looked at: the plan and arithmetic stand in for the counts.
	m = spilled("262144").Sampled(report, 8).Plan(temporary).Status("Created_tmp_disk_tables", 9).Lose("digests",
		source.Missing, "performance_schema is off", "switch it on")
	if got := only(t, m, askSpilled); got.Confidence != finding.Possible || len(got.Unobserved) == 0 {
		t.Errorf("%+v", got)
	}
	// Two classes, one limit.
	got = only(t, spilled("262144").Exact(report, 50, 0.15, 16_000, 10, onDisk(1)).
		Exact("SELECT place, words, MAX(hits) FROM looks GROUP BY place, words", 5, 0.5, 200_000, 10, onDisk(1)),
		askSpilled)
	if len(got.Subject.Classes) != 2 {
		t.Errorf("%v", got.Subject.Classes)
	}
}

func TestDiskTempTablesSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		if out := askSpilled(m); len(out) > 0 {
			t.Errorf("%s: %s", name, out[0].Title)
		}
	}
	f("they stay in memory", spilled("16777216").Exact(report, 50, 0.15, 16_000, 10, onDisk(0)))
	f("now and then one does not", spilled("16777216").Exact(report, 50, 0.15, 16_000, 10, func(c *class.Class) {
		c.TmpDisk = known.Of(uint64(3))
	}))
	f("a small share", spilled("262144").Exact(report, 5, 0.05, 16_000, 10, onDisk(1)).
		Exact("SELECT hits FROM looks WHERE id = 1", 90_000, 0.0001, 1, 1))
	f("not counted by class, and it fits", spilled("16777216").Sampled(report, 8).Plan(temporary).
		Status("Created_tmp_disk_tables", 9))
	f("not counted by class, and there are none", spilled("262144").Sampled(report, 8).Plan(temporary).
		Status("Created_tmp_disk_tables", 0))
	f("no temporary table in the plan", spilled("262144").Sampled(report, 8).Plan(snap.All("looks", 1e5)).
		Status("Created_tmp_disk_tables", 9))
	f("nobody counts anything", spilled("262144").Sampled(report, 8))
	f("counted by other classes", spilled("262144").Sampled(report, 8).Plan(temporary).Status("Created_tmp_disk_tables",
		9).
		Exact("SELECT hits FROM looks WHERE id = 1", 100, 0.0001, 1, 1, func(c *class.Class) {
			c.TmpDisk = known.Of(uint64(900))
		}))
	f("the server's dictionary", spilled("262144").Exact("SELECT TABLE_NAME, COUNT(*) FROM "+
		"information_schema.COLUMNS GROUP BY TABLE_NAME", 50, 0.15, 16_000, 10, onDisk(1)))
}
