package capture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/effort"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestStatementsThatNameManyTables: whoever may run statements does not choose how many questions a look asks.
func TestStatementsThatNameManyTables(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
			snap := &snapshot.Snapshot{}
			for i := range 30 {
				c := class.Class{ID: fmt.Sprint(i), Schema: "d", TimeSec: 1, Example: "SELECT * FROM t"}
				for j := range 100 {
					c.Example += fmt.Sprintf(" UNION ALL SELECT * FROM t%d_%d", i, j)
				}
				c.Fingerprint = c.Example
				snap.Classes = append(snap.Classes, c)
			}
			var conditions []string
			for i := range 600 {
				conditions = append(conditions, fmt.Sprintf("c%d = 1", i))
			}
			snap.Classes[7].Example = "SELECT * FROM t WHERE " + strings.Join(conditions, " AND ")
			snap.Classes[7].Fingerprint = snap.Classes[7].Example
			q := questioner{t: open(t, s, "root"), s: snap}
			before, began := s.Status(t, "Questions"), time.Now()
			if err := q.ask(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			n := s.Status(t, "Questions") - before
			t.Logf("%d questions in %v", n, time.Since(began))
			if n > mostTables+500 { // the others are for plans, and the inventory
				t.Errorf("%d questions", n)
			}
			if _, ok := snap.Table(schema.Ref{Schema: "d", Table: "t"}); !ok {
				t.Error("the first table is missing")
			}
			if x := snap.Source("tables"); x.State != source.Failed ||
				!strings.Contains(x.Reason, "more tables than are asked about") {
				t.Errorf("source %+v", x)
			}
			x := snap.Source("statements")
			if x.State != source.Failed || !strings.Contains(x.Reason, "not examined: the statements of 7 are") {
				t.Errorf("source %+v", x)
			}
		})
	}
}

// TestTypicalValues: a statement has as many parameters as its author likes, and a server as many tables.
func TestTypicalValues(t *testing.T) {
	sh := shape.Shape{Tables: []shape.TableRef{{Name: "t0"}, {Name: "t1", Alias: "b"}}}
	effort.Linear(t, "parameters", 1000, func(n int) func() {
		q := questioner{s: &snapshot.Snapshot{}}
		for i := range n {
			q.s.Tables = append(q.s.Tables, schema.Table{
				Ref:     schema.Ref{Schema: "d", Table: fmt.Sprint("t", i)},
				Columns: []schema.Column{{Name: fmt.Sprint("c", i), DataType: []string{"date", "varchar"}[i%2]}},
			})
		}
		return func() {
			value := q.typical(sh, "d")
			for i := range n {
				value("", fmt.Sprint("c", i))
			}
			if a, b, c := value("", "c0"), value("B", "c1"), value("", "c2"); a != "'2020-01-01'" ||
				b != "'a'" || c != "1" {
				t.Fatal(a, b, c)
			}
		}
	})
}
