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

func TestUnusedIndex(t *testing.T) {
	f := func(m *snap.Made) finding.Finding {
		t.Helper()
		all := unusedIndex(usesOf(m.View()))
		if len(all) != 1 {
			t.Errorf("%d findings", len(all))
			return finding.Finding{}
		}
		toldWhole(t, all[0])
		if got := action(all[0]); got != "ALTER TABLE `shop`.`items` ALTER INDEX `by_day` IGNORED" {
			t.Errorf("action %s", got)
		}
		return all[0]
	}
	idle := func() *snap.Made { return stocked().Index("by_day", false, 90_000, "day") }
	x := f(idle())
	if x.Severity != finding.Notice || x.Share <= 0 || !strings.Contains(x.Title, "by_day") ||
		!strings.Contains(strings.Join(x.Against, " "), "replicas") {
		t.Errorf("got %+v", x)
	}
	young := idle()
	young.S.Target.UptimeSec = 86_400
	if x := f(young); x.Severity != finding.Fact || x.Confidence != finding.Possible ||
		!strings.Contains(x.Against[0], "once a week") {
		t.Errorf("a young server: %s %s %v", x.Severity, x.Confidence, x.Against)
	}
	anew := idle()
	anew.Last().AgeSec = known.Of(uint64(3600))
	if x := f(anew); x.Severity != finding.Fact || x.Confidence != finding.Possible ||
		!strings.Contains(x.Title, "1 h") || !strings.Contains(x.Against[0], "rebuilt") ||
		!strings.Contains(x.Cause, "rebuilt") {
		t.Errorf("a table written anew: %s %s %s %v", x.Title, x.Severity, x.Confidence, x.Against)
	}
	untold := idle()
	untold.Last().AgeSec = known.None[uint64]()
	if x := f(untold); x.Severity != finding.Fact || x.Confidence != finding.Possible ||
		!strings.Contains(x.Against[0], "unknown") {
		t.Errorf("a table whose age is not known: %s %s %v", x.Severity, x.Confidence, x.Against)
	}
	quiet := idle()
	quiet.S.Classes = quiet.S.Classes[1:]
	if x := f(quiet); x.Severity != finding.Fact {
		t.Errorf("nobody writes, and it is a %s", x.Severity)
	}
	// The catalog alone tells it.
	alone := idle()
	alone.S.Series = nil
	alone.Lose("table_io", source.Slow, "it took too long", "nothing")
	alone.Last().Indexes[0].Handled, alone.Last().Indexes[1].Handled = known.Of(uint64(5e6)), known.Of(uint64(0))
	f(alone)
	// MariaDB's user statistics tell as well.
	by := idle().Lose("table_io", source.Missing, "performance_schema is off", "performance_schema=ON and a restart")
	by.S.Sources = append(by.S.Sources, source.Source{Name: "userstat", State: source.OK})
	by.Rate("mysql_info_schema_index_statistics_rows_read_total", 5, "schema", "shop", "table",
		"items", "index", "PRIMARY")
	if x := f(by); x.Confidence != finding.Possible || !strings.Contains(x.Against[0], "userstat") {
		t.Errorf("counted since nobody knows when: %s %v", x.Confidence, x.Against)
	}
}

// TestUnusedIndexOfLookupsInVain: servers count the rows that they find. What looks by an index and finds nothing, as a
// check before an insert does, leaves no trace in that.
func TestUnusedIndexOfLookupsInVain(t *testing.T) {
	idle := func() *snap.Made { return stocked().Index("by_day", false, 90_000, "day") }
	all := unusedIndex(usesOf(idle().Exact("SELECT id FROM items WHERE day = 5", 10, 0.001, 0, 0).View()))
	if len(all) != 1 || all[0].Action != nil || all[0].Severity != finding.Fact ||
		all[0].Confidence != finding.Possible ||
		!strings.Contains(strings.Join(all[0].Against, " "), "find nothing are not counted") {
		t.Errorf("no plan is known: %+v", all)
	}
	known := idle().Exact("SELECT id FROM items WHERE day = 5 AND id = 1", 10, 0.001, 0, 0).
		Plan(explain.Step{Table: "items", Access: "const", Key: "PRIMARY"})
	if all = unusedIndex(usesOf(known.View())); len(all) != 1 || all[0].Action == nil || !all[0].Action.Unread {
		t.Errorf("a plan without it: %+v", all)
	}
}

func TestUnusedIndexSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		for _, x := range unusedIndex(usesOf(m.View())) {
			t.Errorf("%s: %s", name, x.Title)
		}
	}
	idle := func() *snap.Made { return stocked().Index("by_day", false, 90_000, "day") }
	f("read now", readsOf(idle(), "by_day", 1))
	f("read once", readsBefore(idle(), "by_day", 1))
	f("nobody counts", idle().Lose("table_io", source.Missing, "performance_schema is off",
		"performance_schema=ON and a restart"))
	f("a plan uses it", idle().Exact("SELECT id FROM items i WHERE day > NOW()", 1, 0.001, 1, 1).
		Plan(explain.Step{Table: "i", Access: "range", Key: "by_day", Rows: 1}))
	f("named in a hint", idle().Exact("SELECT id FROM items IGNORE INDEX (by_day) WHERE day > NOW()", 1, 0.001, 1, 1))
	cold := idle()
	cold.S.Series = nil
	f("nobody uses the table", cold)
	unique := idle()
	unique.Last().Indexes[1].Unique = true
	f("it keeps values apart", unique)
	tied := idle()
	tied.Last().Foreign = []schema.ForeignKey{{Name: "fk", Columns: []string{"day"}}}
	f("a foreign key needs it", tied)
	child := idle().Table("visits", 5000)
	child.Last().Foreign = []schema.ForeignKey{{Name: "fk", Columns: []string{"x"}, To: schema.Ref{
		Schema: "shop",
		Table:  "items",
	}, Refers: []string{"day"}}}
	f("a foreign key refers to it", child)
	f("redundant, which is told by itself", readsOf(stocked().Index("a", false, 90_000, "day").Index("b", false, 90_000,
		"day", "shelf"), "b", 5))
	f("few values, which is told by itself", flagged())
	f("hidden", stocked().Index("by_day", true, 90_000, "day"))
	f("nothing at all", snap.Build())
}
