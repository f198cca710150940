package capture

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/effort"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestSampleTellsHowValuesAreSpread(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id BIGINT PRIMARY KEY, flag TINYINT, code INT, gone "+
				"INT, note VARCHAR(20))",
				"CREATE TABLE d.nokey (flag TINYINT)", "CREATE TABLE d.small (a VARCHAR(10) PRIMARY KEY, b INT)",
				"INSERT INTO d.small VALUES ('x', 1), ('y', 1), ('z', NULL)")
			for base := 0; base < 40000; base += 4000 {
				var rows []string
				for i := base; i < base+4000; i++ {
					// gaps, as deleted rows leave them
					rows = append(rows, fmt.Sprintf("(%d, %d, %d, NULL, '%s')", i*3+i/1000*5000, i%2, i, secret))
				}
				s.Exec(t, "INSERT INTO d.t VALUES "+strings.Join(rows, ","), "INSERT INTO d.nokey SELECT flag FROM "+
					"d.t LIMIT 4000")
			}
			s.Exec(t, "ANALYZE TABLE d.t, d.nokey, d.small")
			x := open(t, s, "root")
			q := questioner{t: x, s: &snapshot.Snapshot{}}
			conn, err := x.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var w wanted
			conditions := map[string]string{"t": "flag code gone", "nokey": "flag", "small": "b", "none": "b"}
			for table, columns := range conditions {
				sh := shape.Shape{Tables: []shape.TableRef{{Name: table}}}
				for column := range strings.FieldsSeq(columns) {
					sh.Predicates = append(sh.Predicates, shape.Predicate{Column: column})
				}
				w.add(sh, inD)
			}
			q.s.Tables = tablesOf(t, conn, schema.Ref{Schema: "d", Table: "t"}, schema.Ref{Schema: "d", Table: "nokey"},
				schema.Ref{Schema: "d", Table: "small"})
			before := s.Status(t, "Handler_read_rnd_next")
			if err := q.sample(context.Background(), w); err != nil {
				t.Fatal(err)
			}
			if src := q.s.Source("row_samples"); src.State != source.OK || src.Reads != 3 {
				t.Fatalf("source %+v", src)
			}
			if n := s.Status(t, "Handler_read_rnd_next") - before; n > 3000 {
				// temporary tables of the UNION and of the dictionary
				t.Errorf("%d rows were read by scans", n)
			}
			get := func(table, column string) *schema.ColumnSample {
				tab, _ := q.s.Table(schema.Ref{Schema: "d", Table: table})
				c, _ := tab.Column(column)
				return c.Sample
			}
			if c := get("t", "flag"); c == nil || c.Rows < sampleRows/2 || c.Distinct != 2 || c.Top < 0.35 ||
				c.Top > 0.8 || c.Nulls != 0 {
				t.Errorf("a flag of halves: %+v", c)
			}
			if c := get("t", "code"); c == nil || c.Distinct < c.Rows*8/10 {
				t.Errorf("a column of different values: %+v", c)
			}
			if c := get("t", "gone"); c == nil || c.Nulls != 1 || c.Distinct != 0 {
				t.Errorf("a column of NULLs: %+v", c)
			}
			if get("t", "note") != nil || get("nokey", "flag") != nil {
				t.Error("a column that nobody asked for, or of a table without a key, has a sample")
			}
			if c := get("small", "b"); c == nil || c.Rows != 3 || c.Distinct != 1 || c.Top < 0.6 {
				t.Errorf("a small table: %+v", c)
			}
		})
	}
}

// inD places a table in the schema d.
func inD(r shape.TableRef) (schema.Ref, bool) { return schema.Ref{Schema: "d", Table: r.Name}, true }

func TestConditionedColumns(t *testing.T) {
	sh, err := sqlshape.Parse("SELECT a.x FROM t a JOIN u ON u.id = a.uid WHERE a.p = 1 AND (a.q = 2 OR a.R > 3) AND " +
		"a.p < 9 AND EXISTS (SELECT 1 FROM u WHERE u.z = 4)")
	if err != nil {
		t.Fatal(err)
	}
	var got wanted
	got.add(sh, inD)
	if a := got.columns[schema.Ref{Schema: "d", Table: "t"}]; !a["p"] || !a["q"] || !a["r"] || a["x"] {
		t.Errorf("columns of t: %v", a)
	}
	if u := got.columns[schema.Ref{Schema: "d", Table: "u"}]; !u["z"] || len(got.tables) != 2 {
		t.Errorf("columns of u: %v, tables %v", u, got.tables)
	}
	effort.Linear(t, "columns of many statements", 3000, func(n int) func() {
		sh := shape.Shape{Tables: []shape.TableRef{{Name: "t"}}}
		for i := range n {
			sh.Predicates = append(sh.Predicates, shape.Predicate{Column: fmt.Sprint("c", i)})
		}
		return func() {
			var w wanted
			w.add(sh, inD)
		}
	})
}

func tablesOf(t *testing.T, q catalog.Querier, refs ...schema.Ref) []schema.Table {
	t.Helper()
	list, err := catalog.Tables(context.Background(), q, refs)
	if err != nil || len(list) != len(refs) {
		t.Fatalf("%d tables of %v: %v", len(list), refs, err)
	}
	return list
}
