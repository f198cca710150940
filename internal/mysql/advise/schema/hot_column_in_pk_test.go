package schema

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/snap"
)

// only asks one rule and expects exactly one finding.
func only(t *testing.T, m *snap.Made, rule func(*snap.Made) []finding.Finding) finding.Finding {
	t.Helper()
	out := rule(m)
	if len(out) != 1 {
		t.Fatalf("%d findings: %+v", len(out), out)
	}
	f := out[0]
	if f.ID == "" || f.Title == "" || f.Cause == "" || f.Suggestion == "" || f.Cost == "" || f.Falsify == "" ||
		f.Gain == nil || len(f.Evidence) == 0 || len(f.Why) == 0 || f.Reference == "" {
		t.Errorf("incomplete: %+v", f)
	}
	for _, e := range f.Evidence {
		if e.Text == "" || e.Source == "" || strings.Contains(e.Text, "NaN") {
			t.Errorf("incomplete evidence: %+v", e)
		}
	}
	if f.Gain != nil && !(f.Gain.Lo >= 1 && f.Gain.Hi >= f.Gain.Lo) || f.Share < 0 || f.Share > 1 {
		t.Errorf("gain %+v, share %v", f.Gain, f.Share)
	}
	return f
}

// affects sets how many rows a class changed in all.
func affects(n uint64) func(*class.Class) {
	return func(c *class.Class) { c.Affected = known.Of(n) }
}

// keyed makes the primary key of the table added last.
func keyed(m *snap.Made, columns ...string) {
	pk := &m.Last().Indexes[0]
	pk.Parts = nil
	for _, c := range columns {
		pk.Parts = append(pk.Parts, schema.IndexPart{Column: c, Cardinality: m.Last().Rows})
	}
}

func hotTable() *snap.Made {
	m := snap.Build().Table("cars", 100_000, snap.Col("seen", "int", 4), snap.Col("plate", "varchar", 64),
		snap.Col("speed", "int", 4))
	keyed(m, "seen", "id")
	m.Index("by_id", false, 100_000, "id").Index("by_plate", false, 90_000, "plate").Index("by_speed",
		false, 100, "speed", "plate")
	m.Last().Indexes[1].Unique = true
	return m
}

func askHot(m *snap.Made) []finding.Finding { return hotColumnInPK(m.View()) }

func TestHotColumnInPk(t *testing.T) {
	update := func(m *snap.Made) *snap.Made {
		return m.Exact("UPDATE cars SET seen = 17 WHERE id BETWEEN 5 AND 44", 500, 0.02, 80, 0, affects(20_000))
	}
	f := func(m *snap.Made, sql string, sure finding.Confidence) {
		t.Helper()
		got := only(t, m, askHot)
		if got.Action == nil || got.Action.SQL != sql || got.Confidence != sure || got.Subject.Columns[0] != "seen" ||
			len(got.Subject.Classes) != 1 {
			t.Errorf("got %+v\n%+v", got.Action, got)
		}
	}
	const replaced = "ALTER TABLE `shop`.`cars` DROP PRIMARY KEY, ADD PRIMARY KEY (`id`), DROP INDEX `by_id`"
	f(update(hotTable()), replaced, finding.Certain)
	// somebody reads in that order
	f(update(hotTable()).Exact("SELECT id FROM cars WHERE seen >= 5 ORDER BY seen LIMIT 20", 100, 0.001, 20, 20),
		replaced+", ADD INDEX `seen` (`seen`)", finding.Certain)

	m := update(hotTable()) // not unique, but it counts up
	m.Last().Indexes[1].Unique = false
	m.Last().Columns[0].Extra = "auto_increment"
	f(m, "ALTER TABLE `shop`.`cars` DROP PRIMARY KEY, ADD PRIMARY KEY (`id`)", finding.Certain)

	m = update(hotTable()) // nothing else is known to be unique
	m.Last().Indexes[1].Unique = false
	m.Last().Columns[0].Name = "number"
	m.Last().Indexes[0].Parts[1].Column = "number"
	f(m, "ALTER TABLE `shop`.`cars` ADD COLUMN `id` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, DROP PRIMARY KEY, ADD "+
		"PRIMARY KEY (`id`), "+
		"ADD UNIQUE INDEX `seen_number` (`seen`, `number`)", finding.Certain)
	if undo := only(t, m, askHot).Action.Undo; undo != "ALTER TABLE `shop`.`cars` DROP PRIMARY KEY, ADD PRIMARY KEY "+
		"(`seen`, `number`), DROP COLUMN `id`, DROP INDEX `seen_number`" {
		t.Errorf("undo %s", undo)
	}

	m = update(hotTable()) // a unique key that the old one does not imply: what was unique stays so
	m.Last().Indexes[1].Parts[0].Column = "plate"
	f(m, "ALTER TABLE `shop`.`cars` DROP PRIMARY KEY, ADD PRIMARY KEY (`plate`), DROP INDEX `by_id`, ADD UNIQUE "+
		"INDEX `seen_id` (`seen`, `id`)", finding.Certain)

	// Only looked at, without counts.
	f(hotTable().Sampled("UPDATE cars SET seen = 17 WHERE id BETWEEN 5 AND 44", 9), replaced, finding.Likely)

	m = update(hotTable()) // the column that counts is in the key and changed: there is no second one
	m.Last().Indexes[1].Unique = false
	m.Last().Columns[1].Extra = "auto_increment"
	if got := only(t, m, askHot); m.Last().Columns[1].Name != "seen" || got.Action != nil || len(got.Against) == 0 {
		t.Errorf("counts: %+v", got.Action)
	}
	m = update(hotTable()) // a foreign key of another table looks for the column by the old key
	m.Last().Foreign = append(m.Last().Foreign, schema.ForeignKey{
		Name: "fk", Columns: []string{"seen"},
		To: schema.Ref{Schema: "shop", Table: "days"}, Refers: []string{"id"},
	})
	f(m, replaced+", ADD INDEX `seen` (`seen`)", finding.Certain)

	m = update(hotTable())
	m.Last().Partitions = 4
	if got := only(t, m, askHot); got.Action != nil || len(got.Against) == 0 || got.Confidence != finding.Likely {
		t.Errorf("partitioned: %+v", got)
	}
}

func TestHotColumnInPkSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		if out := askHot(m); len(out) > 0 {
			t.Errorf("%s: %s", name, out[0].Title)
		}
	}
	f("another column", hotTable().Exact("UPDATE cars SET speed = 17 WHERE id BETWEEN 5 AND 44", 500, 0.02,
		80, 0, affects(20_000)))
	f("the row written back as it was", hotTable().Exact("UPDATE cars SET seen = 17, id = 5, speed = 8 WHERE seen = "+
		"17 AND id = 5", 50_000, 0.0002, 1, 0, affects(50_000)))
	f("to itself", hotTable().Exact("UPDATE cars SET seen = seen, speed = 8 WHERE id = 5", 50_000, 0.0002,
		1, 0, affects(50_000)))
	f("a small share", hotTable().Exact("UPDATE cars SET seen = 17 WHERE id = 5", 500, 0.0005, 1, 0, affects(500)).
		Exact("SELECT plate FROM cars WHERE id = 5", 90_000, 0.0001, 1, 1))
	f("next to no load", hotTable().Exact("UPDATE cars SET seen = 17 WHERE id = 5", 100, 0.001, 1, 0, affects(100)))
	f("nothing changes", hotTable().Exact("UPDATE cars SET seen = 17 WHERE id BETWEEN 5 AND 44", 500,
		0.02, 80, 0, affects(0)))
	f("few rows", hotTable().Exact("UPDATE cars SET seen = 17 WHERE id = 5", 20, 0.1, 1, 0, affects(20)))
	f("inserts", hotTable().Exact("INSERT INTO cars (seen, id) VALUES (1, 2)", 50_000, 0.0002, 0, 0, affects(50_000)))
	m := hotTable().Exact("UPDATE cars SET seen = 17 WHERE id = 5", 50_000, 0.0002, 1, 0, affects(50_000))
	keyed(m, "id")
	f("another primary key", m)
	m = hotTable().Exact("UPDATE cars SET seen = 17 WHERE id = 5", 50_000, 0.0002, 1, 0, affects(50_000))
	m.Last().Engine = "MyISAM"
	f("an engine that does not sort rows", m)
	m = hotTable().Exact("UPDATE cars SET seen = 17 WHERE id = 5", 50_000, 0.0002, 1, 0, affects(50_000))
	m.Last().Indexes = m.Last().Indexes[1:]
	f("no primary key", m)
	f("nothing at all", snap.Build())
	f("unknown table", snap.Build().Exact("UPDATE cars SET seen = 17 WHERE id = 5", 50_000, 0.0002,
		1, 0, affects(50_000)))
}
