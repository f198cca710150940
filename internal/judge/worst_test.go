package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/effort"
	"github.com/dyno-perf/dyno/test/judged"
	"github.com/dyno-perf/dyno/test/snap"
)

// worst is the size of what tenants of a server make, statements and tables, and of what the server says of them.
type worst struct {
	classes, conditions, joined int // statements, and what each has of both
	tables, columns, indexes    int // and of each of these
}

// snapshot returns what is seen of a server with all that: each statement reads all of its tables and finds little, in
// every way that a rule looks for.
func (w worst) snapshot() *snapshot.Snapshot {
	m := snap.Build().Saturated()
	s := m.S
	s.Target.UptimeSec = 40 * 86400
	s.Sources = append(s.Sources, source.Source{Name: "table_io", State: source.OK, Reads: snap.Window},
		source.Source{Name: "tables", State: source.OK})
	for i := range w.tables {
		t := schema.Table{
			Ref: schema.Ref{Schema: "shop", Table: fmt.Sprint("t", i)}, Engine: "InnoDB", Rows: known.Of[uint64](1e6),
			DataBytes:  known.Of[uint64](1 << 34),
			IndexBytes: known.Of[uint64](1 << 34), AgeSec: known.Of[uint64](1e7),
		}
		for j := range w.columns {
			t.Columns = append(t.Columns, schema.Column{
				Name: fmt.Sprintf("c%d_%d", i%max(1, w.joined), j), DataType: "varchar", Type: "varchar(40)",
				Bytes: 160, Charset: []string{"utf8mb4", "latin1"}[i%2], Collation: "utf8mb4_bin",
			})
		}
		for j := range w.indexes {
			x := schema.Index{Name: fmt.Sprint("k", j), Type: "BTREE", Handled: known.Of[uint64](uint64(j % 2))}
			for k := range 1 + j%2 { // every third one is the front of the next
				x.Parts = append(x.Parts, schema.IndexPart{
					Column:      t.Columns[(j-j%3/2+k)%len(t.Columns)].Name,
					Cardinality: known.Of[uint64](2),
				})
			}
			t.Indexes = append(t.Indexes, x)
		}
		s.Tables = append(s.Tables, t)
	}
	for i := range w.classes {
		from := make([]string, w.joined)
		for j := range from {
			from[j] = fmt.Sprint("t", (i*w.joined+j)%w.tables)
		}
		// all returns a text for each condition: @ is a column, # its number.
		all := func(between string, texts ...string) string {
			out := make([]string, w.conditions)
			for j := range out {
				c := fmt.Sprintf("c%d_%d", j%w.joined, j/w.joined%w.columns)
				out[j] = strings.NewReplacer("@", c, "#", fmt.Sprint(j)).Replace(texts[j%len(texts)])
			}
			return strings.Join(out, between)
		}
		where := []string{
			all(" and ", "upper(concat(@, #)) = 'A'"), all(" and ", "@ = 5", "@ in (1, #)"), all(" and ", "@ = ?",
				"@ like 'a%'", "@ < ?"), all(" and ", "@ = c1_0", "@ = c0_0"),
			all(" or ", "(@ = # and c0_2 = #)", "@ = #"), all(" and ", "left(@, #) = 5", "@ = 'a'"),
		}[i%6]
		sql := "select * from " + strings.Join(from, ", ") + " where " + where + " order by c0_0 limit 5"
		switch i % 7 {
		case 1:
			sql = "update " + from[0] + " set " + all(", ", "@ = #") + " where " + where
		case 2:
			sql = "delete from " + from[0] + " where " + where
		case 3:
			sql = all(" union ", "select @ from "+from[0]+" where @ = 5",
				"select @ from "+from[0]+" force index (k#) where @ = 6")
		}
		fp := mytext.Fingerprint(sql)
		one := class.Class{
			ID: class.ID(fmt.Sprint(fp, i)), Fingerprint: fp, Example: sql, Schema: "shop",
			Origin: class.PerformanceSchema, Count: 10, TimeSec: 1000 / float64(10+i),
			TmpDisk:  known.Of[uint64](10),
			Examined: known.Of[uint64](1e7), RowsSent: known.Of[uint64](10), Affected: known.Of[uint64](10),
			FullScans: known.Of[uint64](10), FullJoins: known.Of[uint64](10),
		}
		if i%5 == 4 { // names without digits
			one.Example = ""
		}
		s.Classes = append(s.Classes, one)
		if i < 30 {
			p := explain.Plan{Class: one.ID, Schema: "shop"}
			for _, t := range from {
				p.Steps = append(p.Steps, explain.Step{
					Table: t, Access: "ALL", Rows: 1e6,
					Extra: []string{"Using temporary"},
				})
			}
			s.Plans = append(s.Plans, p)
		}
	}
	return s
}

// TestJudgingGrowsWithItsInput: whoever may run statements and make tables on a watched server chooses how many there
// are and how long.
func TestJudgingGrowsWithItsInput(t *testing.T) {
	for name, x := range map[string]struct {
		n  int
		of func(n int) worst
	}{
		"conditions":                {300, func(n int) worst { return worst{20, n, 1, 1, 100, 10} }},
		"conditions of many tables": {200, func(n int) worst { return worst{20, n, 20, 20, 100, 10} }},
		"joined tables":             {6, func(n int) worst { return worst{20, 240, n, 60, 300, 10} }},
		"SELECTs":                   {20, func(n int) worst { return worst{20, n, 1, 20, 100, 10} }},
		"classes":                   {300, func(n int) worst { return worst{n, 6, 1, 300, 20, 10} }},
		"tables":                    {500, func(n int) worst { return worst{20, 6, 2, n, 10, 10} }},
		"columns":                   {100, func(n int) worst { return worst{20, 200, 20, 100, n, 10} }},
		"indexes":                   {10, func(n int) worst { return worst{20, 6, 1, 20, 50, n} }},
	} {
		effort.Linear(t, name, x.n, func(n int) func() {
			s := x.of(n).snapshot()
			return func() { judged.Findings(s) }
		})
	}
}
