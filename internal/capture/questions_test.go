package capture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dyno/internal/class"
	"dyno/internal/schema"
	"dyno/internal/snapshot"
	"dyno/test/servers"
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
			if x := snap.Source("tables"); x.State != snapshot.Failed || !strings.Contains(x.Reason, "more tables than are asked about") {
				t.Errorf("source %+v", x)
			}
		})
	}
}
