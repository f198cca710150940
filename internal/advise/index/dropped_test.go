package index

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/snap"
)

// stocked is a server that counts who reads which index, with a table of items that is read by its primary key and
// written.
func stocked() *snap.Made {
	m := snap.Build().Table("items", 200_000, snap.Col("shelf", "int", 4), snap.Col("day", "datetime", 5),
		snap.Col("flag", "tinyint", 1), snap.Col("name", "varchar", 160))
	m.S.Sources = append(m.S.Sources, source.Source{Name: "table_io", State: source.OK, Reads: 2},
		source.Source{Name: "plans", State: source.OK})
	m.S.Target.UptimeSec = 30 * 86_400
	m.Last().AgeSec = known.Of(uint64(90 * 86_400))
	return readsOf(m.Exact("INSERT INTO items (shelf, day, flag, name) VALUES (1, NOW(), 0, 'a')", 2000,
		0.0005, 0, 0, changes(2000)).
		Exact("SELECT name FROM items WHERE id = 5", 20_000, 0.0001, 1, 1).Plan(explain.Step{
		Table:  "items",
		Access: "const", Key: "PRIMARY", Rows: 1,
	}).
		Rate("mysql_perf_schema_table_io_waits_total", 2000, "schema", "shop", "name", "items", "operation", "fetch"),
		"PRIMARY", 2000)
}

func changes(n uint64) func(*class.Class) { return func(c *class.Class) { c.Affected = known.Of(n) } }

func TestWhoReadsAnIndexIsCounted(t *testing.T) {
	m := readsOf(stocked().Index("by_shelf", false, 2000, "shelf").Index("by_day", false, 9000, "day").Index("by_flag",
		false, 9000, "flag"), "by_shelf", 50)
	v := m.View()
	u := usesOf(v)
	f := func(name string, reads, total float64) {
		t.Helper()
		x, ok := indexOf(*m.Last(), name)
		if !ok {
			t.Errorf("no index %s", name)
		}
		n := u.of(*m.Last(), x)
		if n.reads.Or(-1) != reads || n.total.Or(-1) != total {
			t.Errorf("%s: %v a second of %v", name, n.reads, n.total)
		}
	}
	f("PRIMARY", 2000, 21_000)
	f("by_shelf", 50, 1500)
	f("by_day", 0, 0) // not counted: nobody read it
	// A source that tells so many leaves others untold.
	for i := range counted {
		readsOf(m, "x"+strconv.Itoa(i), 1)
	}
	u = usesOf(m.View())
	f("by_shelf", 50, 1500)
	f("by_day", -1, -1)
	// The catalog tells of every table.
	m.Last().Indexes[2].Handled, m.Last().Indexes[3].Handled = known.Of(uint64(0)), known.Of(uint64(70))
	f("by_day", 0, 0)
	f("by_flag", -1, 70)
	// Nobody counts.
	u = usesOf(stocked().Lose("table_io", source.Missing, "performance_schema is off",
		"performance_schema=ON").View())
	f("PRIMARY", -1, -1)
}

func TestHintsAreSeen(t *testing.T) {
	m := stocked().Exact("SELECT id FROM items FORCE INDEX (By_Shelf) WHERE shelf = 5", 1, 0.001, 1, 1)
	m.S.Programs = []snapshot.Program{{Kind: "procedure", Name: "p", Body: "BEGIN SELECT 1 FROM items USE INDEX " +
		"(`by_day`); END"}}
	u := usesOf(m.View())
	if !u.hinted["by_shelf"] || !u.hinted["by_day"] || u.hinted["by_name"] {
		t.Errorf("hinted: %v", u.hinted)
	}
	// Whoever has many statements with hints does not hide those of others.
	m = stocked()
	for i := range maxHinted {
		m.Exact(fmt.Sprintf("SELECT c%c%c FROM items USE INDEX (by_day) WHERE day = 1", 'a'+i%26, 'a'+i/26), 1, 1, 1, 1)
	}
	u = usesOf(m.Exact("SELECT id FROM items FORCE INDEX (By_Shelf) WHERE shelf = 5", 1, 0.001, 1, 1).View())
	if !u.hinted["by_shelf"] || u.hinted["by_name"] {
		t.Errorf("hinted after %d others: %v", maxHinted, u.hinted)
	}
}

func TestForeignKeysKeepTheirIndex(t *testing.T) {
	m := stocked().Index("by_shelf", false, 2000, "shelf").Index("by_both", false, 2000, "shelf", "day")
	tab := m.Last()
	tab.Foreign = []schema.ForeignKey{{Name: "fk", Columns: []string{"shelf"}, To: schema.Ref{
		Schema: "shop",
		Table:  "shelves",
	}, Refers: []string{"id"}}}
	x, _ := indexOf(*tab, "by_shelf")
	if needed(*tab)[x.Name] != "" {
		t.Error("the other index serves the foreign key as well")
	}
	tab.Foreign[0].Columns = []string{"day", "shelf"} // in another order an index does not serve it
	if _, ok := keyedBy(*tab, tab.Indexes[2]); ok {
		t.Error("(shelf, day) was taken to serve a foreign key on (day, shelf)")
	}
	tab.Foreign[0].Columns = []string{"shelf"}
	tab.Indexes = tab.Indexes[:2]
	if needed(*tab)[x.Name] != "fk" {
		t.Error("the foreign key's only index was taken for one too many")
	}
}

// TestManyIndexesAreQuick judges the indexes of ten thousand tables.
func TestManyIndexesAreQuick(t *testing.T) {
	m := stocked()
	for i := range 10_000 {
		m.Table("t"+strconv.Itoa(i), 50_000, snap.Col("a", "int", 4), snap.Col("b", "int", 4)).Index("a", false, 2,
			"a").Index("ab", false, 2, "a", "b").Index("b", false, 3, "b")
	}
	for i := range 5000 {
		n := strconv.Itoa(i)
		m.Exact("UPDATE t"+n+" SET a = 1, b = 2 WHERE id = 5", 10, 0.001, 1, 0, changes(10))
	}
	v := m.View()
	begin := time.Now()
	for _, r := range dropRules() {
		r.Find(v)
	}
	if d := time.Since(begin); d > 5*time.Second { // it takes 0.2 s on a calm machine
		t.Errorf("it took %v", d)
	} else {
		t.Logf("10 000 tables and 5000 classes: %v", d)
	}
}

func action(x finding.Finding) string {
	if x.Action == nil {
		return ""
	}
	return x.Action.SQL
}

func toldWhole(t *testing.T, x finding.Finding) {
	t.Helper()
	if x.ID == "" || x.Title == "" || x.Cause == "" || x.Suggestion == "" || x.Cost == "" || x.Falsify == "" ||
		x.Reference == "" || len(x.Evidence) == 0 || len(x.Why) == 0 {
		t.Errorf("not all is told: %+v", x)
	}
	for _, e := range x.Evidence {
		if e.Text == "" || e.Source == "" || strings.Contains(e.Text, "NaN") {
			t.Errorf("evidence is not told: %+v", e)
		}
	}
}

// readsOf has the server count reads through an index of items.
func readsOf(m *snap.Made, index string, perSec float64) *snap.Made {
	return m.Rate("mysql_perf_schema_index_io_waits_total", perSec, "schema", "shop", "name", "items", "index",
		index, "operation", "fetch")
}

// readsBefore has it count reads that were before the window.
func readsBefore(m *snap.Made, index string, total float64) *snap.Made {
	m.Rate("mysql_perf_schema_index_io_waits_total", 0, "schema", "shop", "name", "items", "index",
		index, "operation", "fetch")
	x := &m.S.Series[len(m.S.Series)-1]
	for i := range x.Points {
		x.Points[i] = metric.Point{At: x.Points[i].At, Value: total}
	}
	return m
}
