package index

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestRedundantIndex(t *testing.T) {
	f := func(m *snap.Made, want ...string) []finding.Finding {
		t.Helper()
		all := redundantIndex(usesOf(m.View()))
		var got []string
		for _, x := range all {
			toldWhole(t, x)
			got = append(got, action(x))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if len(all) == 0 {
			all = []finding.Finding{{}}
		}
		return all
	}
	const hides = "ALTER TABLE `shop`.`items` ALTER INDEX `by_shelf` IGNORED"
	prefix := func() *snap.Made {
		return stocked().Index("by_shelf", false, 2000, "shelf").Index("by_both", false, 90_000, "shelf", "day")
	}
	x := f(prefix(), hides)[0]
	if x.Severity != finding.Notice || x.Confidence != finding.Certain || x.Share <= 0 || x.Share > 0.1 ||
		x.Action.Undo != "ALTER TABLE `shop`.`items` ALTER INDEX `by_shelf` NOT IGNORED" ||
		!strings.Contains(x.Suggestion, "DROP INDEX `by_shelf`") || len(x.Against) != 0 || x.Gain == nil {
		t.Errorf("got %+v", x)
	}
	// It is used, as the shorter of two often is: no objection, but said.
	used := readsOf(prefix().Exact("SELECT name FROM items WHERE shelf = 5", 100, 0.001, 9, 9).
		Plan(explain.Step{Table: "items", Access: "ref", Key: "by_shelf", Rows: 9}), "by_shelf", 90)
	if x := f(used, hides)[0]; len(x.Against) != 1 || !strings.Contains(x.Against[0], "It is used") {
		t.Errorf("against: %v", x.Against)
	}
	f(prefix().MySQL("8.0.36"), "ALTER TABLE `shop`.`items` ALTER INDEX `by_shelf` INVISIBLE")
	f(prefix().MySQL("5.7.40"), "ALTER TABLE `shop`.`items` DROP INDEX `by_shelf`")
	old := prefix()
	old.S.Target.Version = "10.5.9"
	f(old, "ALTER TABLE `shop`.`items` DROP INDEX `by_shelf`")
	f(stocked().Index("again", false, 200_000, "id"), "ALTER TABLE `shop`.`items` ALTER INDEX `again` IGNORED")
	unique := stocked().Index("again", false, 200_000, "id")
	unique.Last().Indexes[1].Unique = true
	f(unique, "ALTER TABLE `shop`.`items` ALTER INDEX `again` IGNORED")
	f(stocked().Index("x", false, 2000, "shelf").Index("a", false, 2000, "shelf"), "ALTER TABLE `shop`.`items` ALTER "+
		"INDEX `x` IGNORED")
	f(prefix().Index("by_all", false, 90_000, "shelf", "day", "flag"), hides, "ALTER TABLE `shop`.`items` ALTER "+
		"INDEX `by_both` IGNORED")
	short := stocked().Index("by_name", false, 2000, "name").Index("by_start", false, 900, "name")
	short.Last().Indexes[2].Parts[0].Prefix = 10
	f(short, "ALTER TABLE `shop`.`items` ALTER INDEX `by_start` IGNORED")
	// Who names it in a hint would fail.
	if x := f(prefix().Exact("SELECT name FROM items FORCE INDEX (by_shelf) WHERE shelf = 5", 1, 0.001, 9, 9),
		"")[0]; !strings.Contains(x.Suggestion, "hint") {
		t.Errorf("suggests %s", x.Suggestion)
	}
	// Nobody writes: a fact, not a finding.
	idle := prefix()
	idle.S.Classes = idle.S.Classes[1:]
	if x := f(idle, hides)[0]; x.Severity != finding.Fact || x.Share != 0 {
		t.Errorf("%s of %v", x.Severity, x.Share)
	}
	// Nobody counts who reads it: it is as redundant as before, and what is not seen is said.
	if x := f(prefix().Lose("table_io", source.Missing, "performance_schema is off",
		"performance_schema=ON and a restart"), hides)[0]; len(x.Unobserved) != 1 {
		t.Errorf("unobserved: %v", x.Unobserved)
	}
	tied := prefix()
	tied.Last().Foreign = []schema.ForeignKey{{Name: "fk", Columns: []string{"shelf"}}}
	if x := f(tied, hides)[0]; !strings.Contains(strings.Join(x.Against, " "), "foreign key fk") {
		t.Errorf("against: %v", x.Against)
	}
}

func TestRedundantIndexSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		for _, x := range redundantIndex(usesOf(m.View())) {
			t.Errorf("%s: %s", name, x.Title)
		}
	}
	f("one index", stocked().Index("by_shelf", false, 2000, "shelf"))
	f("another order", stocked().Index("by_shelf", false, 2000, "day", "shelf").Index("by_both",
		false, 9000, "shelf", "day"))
	f("not the front", stocked().Index("by_day", false, 2000, "day").Index("by_both", false, 9000, "shelf", "day"))
	unique := stocked().Index("by_name", false, 200_000, "name").Index("by_both", false, 200_000, "name", "day")
	unique.Last().Indexes[1].Unique = true
	f("the shorter one is unique", unique)
	f("the longer one is hidden", stocked().Index("by_shelf", false, 2000, "shelf").Index("by_both",
		true, 9000, "shelf", "day"))
	f("it is hidden already", stocked().Index("by_shelf", true, 2000, "shelf").Index("by_both",
		false, 9000, "shelf", "day"))
	full := stocked().Index("by_name", false, 2000, "name").Index("words", false, 2000, "name")
	full.Last().Indexes[2].Type = "FULLTEXT"
	f("full text", full)
	down := stocked().Index("by_shelf", false, 2000, "shelf").Index("by_both", false, 9000, "shelf", "day")
	down.Last().Indexes[1].Parts[0].Desc = true
	f("the other direction", down)
	start := stocked().Index("by_name", false, 2000, "name").Index("by_both", false, 9000, "name", "day")
	start.Last().Indexes[2].Parts[0].Prefix = 10
	f("the longer one has a part of the column alone", start)
	f("rows in the order of the primary key are wanted", stocked().Index("by_shelf", false, 2000, "shelf").
		Index("by_both", false, 9000, "shelf", "day").
		Exact("SELECT name FROM items WHERE shelf = 5 ORDER BY id DESC LIMIT 10", 100, 0.001, 10, 10).
		Plan(explain.Step{Table: "items", Access: "ref", Key: "by_shelf", Rows: 100}))
	f("a range of the primary key behind it", stocked().Index("by_shelf", false, 2000, "shelf").Index("by_both",
		false, 9000, "shelf", "day").
		Exact("SELECT name FROM items WHERE shelf = 5 AND id > 1000", 100, 0.001, 10, 10).
		Plan(explain.Step{Table: "items", Access: "range", Key: "by_shelf", Rows: 100}))
	own := stocked().Index("by_shelf", false, 2000, "shelf").Index("by_both", false, 9000, "shelf", "day")
	own.Last().Schema = "mysql"
	f("the server's own", own)
	f("nothing at all", snap.Build())
}
