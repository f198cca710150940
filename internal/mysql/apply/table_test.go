package apply

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestNothingOfATenantIsAClause: comments, names of partitions and of functions are a tenant's to choose, and what an
// ALTER TABLE is made of is read from between them.
func TestNothingOfATenantIsAClause(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			const forged = "z\n`x` varchar(10) DEFAULT 0,RENAME`victim`.`planted`\n) " +
				"ROW_FORMAT=a,RENAME`victim`.`planted`\nz"
			s.Exec(
				t, "CREATE DATABASE d", "CREATE DATABASE victim", "USE d",
				"CREATE TABLE t (id INT, x VARCHAR(10), KEY i (id)) COMMENT 'ROW_FORMAT=a,RENAME`victim`.`planted`'"+
					" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000) COMMENT = '"+forged+"')",
				"CREATE TABLE q (id INT, x VARCHAR(10)) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN "+
					"(1000) COMMENT = 'a''"+forged+"')",
				"INSERT INTO t VALUES (1, '1')", "INSERT INTO q VALUES (1, '1')",
			)
			x, j := open(t, s, "root"), newJournal(t)
			apply := func(id, table string, c schema.Clause) journal.Entry {
				t.Helper()
				a := finding.Action{
					Kind: finding.AlterTable, Table: schema.Ref{Schema: "d", Table: table},
					Changes: []schema.Clause{c},
				}
				p, err := PreviewChange(t.Context(), x, finding.Finding{Action: &a}, Options{Blocking: true})
				if err != nil {
					t.Fatal(err)
				}
				if text := p.Action.SQL + p.Action.Undo; strings.Contains(text, "RENAME") {
					t.Errorf("%s: %s", id, text)
				}
				if !p.OK() {
					t.Errorf("%s is refused: %v", id, p.Blockers)
				}
				e, err := Apply(t.Context(), x, j, journal.Entry{ID: id, Action: a}, Options{Blocking: true}, nil, nil)
				if err != nil {
					t.Errorf("%s: %v", id, err)
				}
				return e
			}
			for _, table := range []string{"t", "q"} {
				apply("column "+table, table, schema.Clause{
					Kind: schema.ModifyColumn, Column: "x",
					Definition: "varchar(20)",
				})
				apply("option "+table, table, schema.Clause{
					Kind:   schema.TableOption,
					Option: "ROW_FORMAT", Value: "DYNAMIC",
				})
				for _, id := range []string{"option " + table, "column " + table} {
					if _, err := Undo(t.Context(), x, j, id, Options{Blocking: true}, nil, nil); err != nil {
						t.Errorf("%s: undo: %v", id, err)
					}
				}
			}
			var n int
			if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd'").
				Scan(&n); err != nil || n != 2 {
				t.Errorf("%d tables are left: %v", n, err)
			}
		})
	}
	for _, text := range []string{
		"SELECT * FROM t WHERE LEFT(x, `1))),DROP NOTE#`(2)) = '1'",
		"SELECT * FROM t WHERE own.f(x) = '1'", "SELECT * FROM t WHERE `f`(x) = 1",
	} {
		_, list, err := sqlshape.Compared(text)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v %v", text, list, err)
		}
		if e := list[0].Left.Expr; e != "" {
			t.Errorf("%s: an index is advised on %s", text, e)
		}
	}
}
