package index

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/snap"
)

const setFlag = "UPDATE items SET flag = 1 - flag WHERE id BETWEEN 100 AND 149"

// flagged changes an indexed flag of two values, 50 rows at a time.
func flagged() *snap.Made {
	return stocked().Index("by_flag", false, 2, "flag").Exact(setFlag, 200, 0.02, 50, 0, changes(10_000)).
		Plan(explain.Step{Table: "items", Access: "range", Key: "PRIMARY", Rows: 50})
}

func TestLowCardinalityIndex(t *testing.T) {
	f := func(m *snap.Made) finding.Finding {
		t.Helper()
		all := lowCardinalityIndex(usesOf(m.View()))
		if len(all) != 1 {
			t.Errorf("%d findings", len(all))
			return finding.Finding{}
		}
		toldWhole(t, all[0])
		if got := action(all[0]); got != "ALTER TABLE `shop`.`items` DROP INDEX `by_flag`" ||
			all[0].Action.Undo != "ALTER TABLE `shop`.`items` ADD INDEX `by_flag` (`flag`)" {
			t.Errorf("action %s", got)
		}
		return all[0]
	}
	x := f(flagged())
	if x.Severity != finding.Warning || x.Confidence != finding.Certain || x.Share < 0.1 || x.Share > 0.3 ||
		len(x.Against) != 0 || x.Gain == nil {
		t.Errorf("got %+v", x)
	}
	if !strings.Contains(x.Title, "1200 rows/s") { // 10 000 updated and 2000 inserted in 10 s
		t.Error(x.Title)
	}
	young := flagged()
	young.S.Target.UptimeSec = 600
	if x := f(young); x.Confidence != finding.Likely || len(x.Against) != 1 {
		t.Errorf("a young server: %s, %v", x.Confidence, x.Against)
	}
	anew := flagged()
	anew.Last().AgeSec = known.Of(uint64(7200))
	if x := f(anew); x.Confidence != finding.Likely || len(x.Against) != 1 ||
		!strings.Contains(x.Against[0], "rebuilt") {
		t.Errorf("a table written anew: %s, %v", x.Confidence, x.Against)
	}
	untold := flagged()
	untold.Last().AgeSec = known.None[uint64]()
	if x := f(untold); x.Confidence != finding.Likely || len(x.Against) != 1 ||
		!strings.Contains(x.Against[0], "unknown") {
		t.Errorf("a table whose age is not known: %s, %v", x.Confidence, x.Against)
	}
	// Somebody has read it: it is hidden first.
	if all := lowCardinalityIndex(usesOf(readsBefore(flagged(), "by_flag", 5e6).View())); len(all) != 1 ||
		all[0].Confidence != finding.Likely || !strings.Contains(all[0].Against[0], "before this window") ||
		action(all[0]) != "ALTER TABLE `shop`.`items` ALTER INDEX `by_flag` IGNORED" ||
		all[0].Action.Undo != "ALTER TABLE `shop`.`items` ALTER INDEX `by_flag` NOT IGNORED" {
		t.Errorf("read before: %+v", all)
	}
	// Who reads it is not counted: hiding it is undone at once, dropping it is not.
	uncounted := flagged().Lose("table_io", source.Missing, "performance_schema is off",
		"performance_schema=ON and a restart")
	if all := lowCardinalityIndex(usesOf(uncounted.View())); len(all) != 1 || all[0].Confidence != finding.Possible ||
		len(all[0].Unobserved) == 0 ||
		action(all[0]) != "ALTER TABLE `shop`.`items` ALTER INDEX `by_flag` IGNORED" {
		t.Errorf("uncounted: %+v", all)
	}
	// It is read, but half of the table each time.
	half := readsOf(flagged().Exact("SELECT MAX(day) FROM items WHERE flag = 1", 5, 0.2, 100_000, 1).
		Plan(explain.Step{Table: "items", Access: "ref", Key: "by_flag", Rows: 99_000}), "by_flag", 50_000)
	if x := f(half); !strings.Contains(strings.Join(x.Against, " "), "most of the table") {
		t.Errorf("against: %v", x.Against)
	}
	looked := flagged()
	looked.Last().Columns[3].Sample = &schema.ColumnSample{Rows: 200, Distinct: 2, Top: 0.55}
	// statistics can be absurd, what was seen is not
	looked.Last().Indexes[1].Parts[0].Cardinality = known.Of(uint64(1000))
	f(looked)
	seldom := flagged()
	seldom.S.Classes[0].TimeSec, seldom.S.Classes[2].TimeSec, seldom.S.Classes[2].Count = 10, 0.2, 10
	if x := f(seldom); x.Severity != finding.Warning && x.Severity != finding.Notice {
		t.Errorf("%s of %v", x.Severity, x.Share)
	}
}

func TestLowCardinalityIndexSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		for _, x := range lowCardinalityIndex(usesOf(m.View())) {
			t.Errorf("%s: %s", name, x.Title)
		}
	}
	change := func(do func(*snap.Made, *schema.Table)) *snap.Made {
		m := flagged()
		do(m, m.Last())
		return m
	}
	f("many values", change(func(_ *snap.Made, t *schema.Table) {
		t.Indexes[1].Parts[0].Cardinality = known.Of(uint64(50))
	}))
	f("values are not counted", change(func(_ *snap.Made, t *schema.Table) {
		t.Indexes[1].Parts[0].Cardinality = known.None[uint64]()
	}))
	f("one value is rare", change(func(_ *snap.Made, t *schema.Table) {
		t.Columns[3].Sample = &schema.ColumnSample{Rows: 200, Distinct: 2, Top: 0.97}
	}))
	f("most are NULL", change(func(_ *snap.Made, t *schema.Table) {
		t.Columns[3].Sample = &schema.ColumnSample{Rows: 200, Distinct: 2, Top: 0.02, Nulls: 0.97}
	}))
	f("a small table", change(func(_ *snap.Made, t *schema.Table) { t.Rows = known.Of(uint64(5000)) }))
	f("unique", change(func(_ *snap.Made, t *schema.Table) { t.Indexes[1].Unique = true }))
	f("hidden", change(func(_ *snap.Made, t *schema.Table) { t.Indexes[1].Hidden = true }))
	f("two columns", change(func(_ *snap.Made, t *schema.Table) {
		t.Indexes[1].Parts = append(t.Indexes[1].Parts, schema.IndexPart{Column: "shelf"})
	}))
	f("a foreign key needs it", change(func(_ *snap.Made, t *schema.Table) {
		t.Foreign = []schema.ForeignKey{{Name: "fk", Columns: []string{"flag"}}}
	}))
	f("seldom written", change(func(m *snap.Made, _ *schema.Table) { m.S.Classes = m.S.Classes[1:2] }))
	f("written in other columns", stocked().Index("by_flag", false, 2, "flag").Exact("UPDATE items SET name = 'b' "+
		"WHERE id = 5", 9000, 0.01, 1, 0, changes(9000)))
	f("a queue that takes the next few by it",
		readsOf(flagged().Exact("SELECT id FROM items WHERE flag = 0 LIMIT 10", 500, 0.0005, 10, 10).
			Plan(explain.Step{Table: "items", Access: "ref", Key: "by_flag", Rows: 99_000}), "by_flag", 500))
	f("counted by the index alone", readsOf(flagged().Exact("SELECT COUNT(*) FROM items WHERE flag = 1", 5, 0.02,
		100_000, 1).
		Plan(explain.Step{Table: "items", Access: "ref", Key: "by_flag", Rows: 99_000, Extra: []string{"Using index"}}),
		"by_flag", 50_000))
	f("read by somebody who was not seen", readsOf(flagged(), "by_flag", 5))
	f("named in a hint", flagged().Exact("SELECT id FROM items FORCE INDEX (by_flag) WHERE flag = 1", 1, 0.001, 1, 1))
	f("a part of another, which is told by itself", flagged().Index("flag_day", false, 9000, "flag", "day"))
	f("nothing at all", snap.Build())
}
