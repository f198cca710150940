package schema

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

func squeezed(ops, failed float64) *snap.Made {
	m := snap.Build().Table("mails", 8000, snap.Col("box", "int", 4), snap.Col("body", "varchar", 6000))
	m.Last().RowFormat, m.Last().Options, m.Last().DataBytes = "Compressed", "row_format=COMPRESSED KEY_BLOCK_SIZE=4",
		known.Of(uint64(8<<20))
	m.Rate("mysql_info_schema_innodb_cmp_compress_ops_total", ops, "page_size", "4096").
		Rate("mysql_info_schema_innodb_cmp_compress_ops_ok_total", ops-failed, "page_size", "4096")
	m.Rate("mysql_info_schema_innodb_cmp_compress_ops_total", 0, "page_size", "8192").
		Rate("mysql_info_schema_innodb_cmp_compress_ops_ok_total", 0, "page_size", "8192")
	return m.Rate("mysql_info_schema_innodb_cmp_compress_time_seconds_total", 0.2, "page_size", "4096")
}

func mailed(m *snap.Made) *snap.Made {
	return m.Exact("INSERT INTO mails (box, body) VALUES (1, 'x')", 1000, 0.008, 0, 0, affects(1000)).
		Exact("SELECT body FROM mails WHERE id = 1", 1000, 0.001, 1, 1)
}

func askSqueezed(m *snap.Made) []finding.Finding { return failedCompression(m.View()) }

func TestFailedCompression(t *testing.T) {
	got := only(t, mailed(squeezed(300, 80)), askSqueezed)
	if got.Action == nil || got.Action.SQL != "ALTER TABLE `shop`.`mails` ROW_FORMAT=DYNAMIC, KEY_BLOCK_SIZE=0" ||
		got.Confidence != finding.Certain || len(got.Subject.Classes) != 1 {
		t.Errorf("%+v %+v", got.Action, got)
	}
	if got.Action.Undo != "ALTER TABLE `shop`.`mails` ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=4" ||
		!strings.Contains(got.Suggestion, "KEY_BLOCK_SIZE=8") {
		t.Errorf("%s; %s", got.Action.Undo, got.Suggestion)
	}
	// Another table with such pages that nobody writes.
	m := mailed(squeezed(300, 80)).Table("old", 8000)
	m.Last().RowFormat, m.Last().Options = "Compressed", "row_format=COMPRESSED key_block_size=4"
	if got := only(t, m, askSqueezed); got.Confidence != finding.Likely || got.Subject.Tables[0].Table != "mails" {
		t.Errorf("%+v", got)
	}
	// Another one that is written as well: the server counts them together.
	m.Exact("INSERT INTO old (id) VALUES (1)", 1000, 0.002, 0, 0, affects(1000))
	if got := only(t, m, askSqueezed); got.Confidence != finding.Possible || len(got.Subject.Tables) != 2 ||
		len(got.Unobserved) == 0 {
		t.Errorf("%+v", got)
	}
	// Half a page is what ROW_FORMAT=COMPRESSED alone means.
	m = snap.Build().Table("mails", 8000, snap.Col("body", "varchar", 6000))
	m.Last().RowFormat, m.Last().Options = "Compressed", "row_format=COMPRESSED"
	m.Rate("mysql_info_schema_innodb_cmp_compress_ops_total", 100, "page_size", "8192").
		Rate("mysql_info_schema_innodb_cmp_compress_ops_ok_total", 20, "page_size", "8192")
	if got := only(t, m, askSqueezed); got.Confidence != finding.Possible {
		t.Errorf("nobody was seen to write it: %+v", got)
	}
}

func TestFailedCompressionSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		if out := askSqueezed(m); len(out) > 0 {
			t.Errorf("%s: %s", name, out[0].Title)
		}
	}
	f("it works", mailed(squeezed(300, 0)))
	f("a few fail, as they do", mailed(squeezed(300, 20)))
	f("next to nothing is compressed", mailed(squeezed(3, 1)))
	m := mailed(squeezed(300, 80))
	m.Last().Options = "row_format=COMPRESSED KEY_BLOCK_SIZE=8"
	f("tables have pages of another size", m)
	m = mailed(squeezed(300, 80))
	m.Last().RowFormat, m.Last().Options = "Dynamic", "KEY_BLOCK_SIZE=4"
	f("no table is compressed: what is counted was an ALTER", m)
	f("the counters are missing", mailed(snap.Build().Table("mails", 8000)))
}
