package schema

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/snap"
)

// wideTable has a primary key of three texts, some 90 bytes, below five other indexes.
func wideTable() *snap.Made {
	m := snap.Build().Table("papers", 80_000, snap.Col("tenant", "varchar", 240), snap.Col("folder", "varchar", 480),
		snap.Col("name", "varchar", 320),
		snap.Col("owner", "int", 4), snap.Col("size", "int", 4), snap.Col("kind", "smallint", 2))
	m.Last().Columns = m.Last().Columns[1:]
	keyed(m, "tenant", "folder", "name")
	m.Last().DataBytes, m.Last().IndexBytes = known.Of(uint64(14_000_000)), known.Of(uint64(78_000_000))
	return m.Index("a", false, 0, "owner").Index("b", false, 0, "size").Index("c", false, 0, "kind").Index("d", false,
		0, "owner", "kind").Index("e", false, 0, "size", "kind")
}

func askWide(m *snap.Made) []finding.Finding { return widePK(m.View()) }

func TestWidePk(t *testing.T) {
	got := only(t, wideTable().Exact("SELECT size FROM papers WHERE tenant = 'a' AND folder = 'b' AND name = 'c'",
		1000, 0.001, 1, 1), askWide)
	const sql = "ALTER TABLE `shop`.`papers` ADD COLUMN `id` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, DROP PRIMARY " +
		"KEY, ADD PRIMARY KEY (`id`), " +
		"ADD UNIQUE INDEX `tenant_folder_name` (`tenant`, `folder`, `name`)"
	if got.Action == nil || got.Action.SQL != sql || got.Severity != finding.Notice || got.Share != 0 ||
		len(got.Against) != 1 {
		t.Errorf("got %+v, %+v", got.Action, got)
	}
	if b := got.Evidence[0].Value.Or(0); b < 70 || b > 100 {
		t.Errorf("%v bytes of key", b)
	}
	m := wideTable()
	m.Last().Columns = append(m.Last().Columns, snap.Col("seq", "bigint", 8))
	m.Last().Columns[len(m.Last().Columns)-1].Extra = "auto_increment"
	m.Index("f", false, 0, "seq")
	if got := only(t, m, askWide); got.Action.Changes[0].Index.Parts[0].Column != "seq" {
		t.Errorf("it has a number already: %s", got.Action.SQL)
	}
	m = wideTable() // a number within the key
	m.Last().Columns = append(m.Last().Columns, snap.Col("seq", "bigint", 8))
	m.Last().Columns[len(m.Last().Columns)-1].Extra = "auto_increment"
	keyed(m, "tenant", "folder", "name", "seq")
	if got := only(t, m.Index("f", false, 0, "seq"), askWide); got.Action.Changes[0].Kind != schema.PrimaryKey ||
		got.Action.Changes[0].Index.Parts[0].Column != "seq" {
		t.Errorf("a second column that counts: %s", got.Action.SQL)
	}
	// A UUID as text: its length is exact.
	m = snap.Build().Table("events", 400_000, snap.Col("uuid", "char", 36), snap.Col("x", "int", 4),
		snap.Col("y", "int", 4), snap.Col("z", "int", 4))
	m.Last().Columns[1].Type = "char(36)"
	keyed(m, "uuid")
	m.Last().DataBytes, m.Last().IndexBytes = known.Of(uint64(40_000_000)), known.Of(uint64(80_000_000))
	m.Index("a", false, 0, "x").Index("b", false, 0, "y").Index("c", false, 0, "z")
	if got := only(t, m, askWide); got.Evidence[0].Value.Or(0) != 36 {
		t.Errorf("%+v", got.Evidence[0])
	}
}

func TestWidePkSilent(t *testing.T) {
	f := func(name string, change func(*snap.Made)) {
		t.Helper()
		m := wideTable()
		change(m)
		if out := askWide(m); len(out) > 0 {
			t.Errorf("%s: %s", name, out[0].Title)
		}
	}
	f("few other indexes", func(m *snap.Made) { m.Last().Indexes = m.Last().Indexes[:3] })
	f("a small table", func(m *snap.Made) {
		m.Last().Rows, m.Last().DataBytes, m.Last().IndexBytes = known.Of(uint64(8000)), known.Of(uint64(1_400_000)),
			known.Of(uint64(7_800_000))
	})
	f("long by definition, short in fact", func(m *snap.Made) { m.Last().IndexBytes = known.Of(uint64(25_000_000)) })
	f("a number", func(m *snap.Made) {
		m.Last().Columns = append(m.Last().Columns, snap.Col("id", "bigint", 8))
		keyed(m, "id")
	})
	f("two binary UUIDs would do", func(m *snap.Made) {
		m.Last().Columns = append(m.Last().Columns, snap.Col("u", "binary", 16))
		keyed(m, "u")
	})
	f("the rows are long, the key is not what counts", func(m *snap.Made) {
		m.Last().DataBytes = known.Of(uint64(900_000_000))
	})
	f("indexes hold the key's columns anyhow", func(m *snap.Made) {
		for i := range m.Last().Indexes[1:] {
			x := &m.Last().Indexes[i+1]
			x.Parts[0].Column = "tenant"
		}
	})
	f("sizes are not known", func(m *snap.Made) { m.Last().IndexBytes = known.None[uint64]() })
	f("rows are not known", func(m *snap.Made) { m.Last().Rows = known.None[uint64]() })
	f("no rows", func(m *snap.Made) { m.Last().Rows = known.Of(uint64(0)) })
	f("full text", func(m *snap.Made) { m.Last().Indexes[3].Type = "FULLTEXT" })
	f("another engine", func(m *snap.Made) { m.Last().Engine = "Aria" })
	f("no primary key", func(m *snap.Made) { m.Last().Indexes = m.Last().Indexes[1:] })
	f("a view", func(m *snap.Made) { m.Last().View = true })
	f("compressed pages", func(m *snap.Made) { m.Last().RowFormat = "Compressed" })
}
