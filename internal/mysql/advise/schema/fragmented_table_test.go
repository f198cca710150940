package schema

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

// sparse has 20 000 rows of 300 bytes on 58 MiB of pages.
func sparse() *snap.Made {
	m := snap.Build().Set("innodb_file_per_table", "ON").Table("boxes", 20_000, snap.Col("code", "char", 32),
		snap.Col("label", "char", 240), snap.Col("place", "int", 4))
	keyed(m, "code")
	m.Last().DataBytes, m.Last().IndexBytes, m.Last().FreeBytes = known.Of(uint64(58<<20)), known.Of(uint64(0)),
		known.Of(uint64(4<<20))
	return m
}

func askSparse(m *snap.Made) []finding.Finding { return fragmentedTable(m.View()) }

func TestFragmentedTable(t *testing.T) {
	got := only(t, sparse(), askSparse)
	if got.Action == nil || got.Action.SQL != "ALTER TABLE `shop`.`boxes` FORCE" || got.Severity != finding.Notice ||
		!strings.Contains(got.Cause, "pages") {
		t.Errorf("%+v", got)
	}
	if e := got.Evidence[0]; e.Value.Or(0) != 58*64 || !strings.Contains(e.Expected, "≤") {
		t.Errorf("%+v", e)
	}
	// What is free lies within the file: rows without a bound say nothing, free pages do.
	m := sparse()
	m.Last().Columns = append(m.Last().Columns, snap.Col("body", "text", 0))
	m.Last().FreeBytes = known.Of(uint64(400 << 20))
	if got := only(t, m, askSparse); !strings.Contains(got.Cause, "file") {
		t.Errorf("%s", got.Cause)
	}
	// Deleted rows that are not purged yet.
	if got := only(t, sparse().Gauge("dyno_innodb_history_length", 3e6),
		askSparse); got.Confidence != finding.Possible || len(got.Against) == 0 {
		t.Errorf("%+v", got)
	}
	// Entries of an index are bounded as well.
	m = sparse()
	m.Index("p", false, 500, "place")
	m.Last().DataBytes, m.Last().IndexBytes = known.Of(uint64(10<<20)), known.Of(uint64(60<<20))
	only(t, m, askSparse)
}

func TestFragmentedTableSilent(t *testing.T) {
	f := func(name string, change func(*snap.Made)) {
		t.Helper()
		m := sparse()
		change(m)
		if out := askSparse(m); len(out) > 0 {
			t.Errorf("%s: %s", name, out[0].Title)
		}
	}
	f("two thirds full, as random inserts leave it", func(m *snap.Made) { m.Last().Rows = known.Of(uint64(130_000)) })
	f("half full, by an estimate that may be off", func(m *snap.Made) { m.Last().Rows = known.Of(uint64(70_000)) })
	f("a small table", func(m *snap.Made) {
		m.Last().Rows, m.Last().DataBytes = known.Of(uint64(2000)), known.Of(uint64(6<<20))
	})
	f("rows of any length", func(m *snap.Made) {
		m.Last().Columns = append(m.Last().Columns,
			snap.Col("body", "text", 0))
	})
	f("rows that may be long", func(m *snap.Made) {
		m.Last().Columns = append(m.Last().Columns, snap.Col("note", "varchar", 8000))
	})
	f("what InnoDB keeps in reserve", func(m *snap.Made) {
		m.Last().Rows, m.Last().FreeBytes = known.Of(uint64(180_000)), known.Of(uint64(7<<20))
	})
	f("nobody counted the rows yet", func(m *snap.Made) { m.Last().Rows = known.Of(uint64(0)) })
	f("free pages of a file that all tables share", func(m *snap.Made) {
		m.Set("innodb_file_per_table", "OFF")
		m.Last().Rows, m.Last().FreeBytes = known.Of(uint64(180_000)), known.Of(uint64(900<<20))
	})
	f("free pages of a tablespace that two tables share", func(m *snap.Made) {
		m.Last().Rows, m.Last().FreeBytes = known.Of(uint64(180_000)), known.Of(uint64(900<<20))
		m.Table("lids", 10, snap.Col("code", "char", 32))
		m.Last().FreeBytes = known.Of(uint64(900 << 20))
	})
	f("compressed", func(m *snap.Made) { m.Last().RowFormat = "Compressed" })
	f("another engine", func(m *snap.Made) { m.Last().Engine = "MyISAM" })
	f("sizes unknown", func(m *snap.Made) { m.Last().DataBytes = known.None[uint64]() })
	f("free pages, less than the half", func(m *snap.Made) {
		m.Last().Rows, m.Last().DataBytes, m.Last().FreeBytes = known.Of(uint64(900_000)), known.Of(uint64(400<<20)),
			known.Of(uint64(150<<20))
	})
	f("the server's own", func(m *snap.Made) { m.Last().Schema = "mysql" })
	f("rows that are written anew all the time", func(m *snap.Made) {
		m.Rate("mysql_perf_schema_table_io_waits_total", float64(m.Last().Rows.Or(0))/snap.Window, "name",
			m.Last().Table, "operation", "update", "schema", m.Last().Schema)
	})
}
