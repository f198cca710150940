package explain_test

import (
	"database/sql"
	"reflect"
	"testing"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestTabular(t *testing.T) {
	cols := []string{
		"id", "select_type", "table", "partitions", "type", "possible_keys", "key", "key_len", "ref",
		"rows", "filtered", "Extra",
	}
	p := explain.Tabular(cols, [][]string{
		{
			"1", "SIMPLE", "t", "NULL", "ALL", "a,b", "NULL", "NULL", "NULL", "1000", "10.00",
			"Using where; Using filesort",
		},
		{"1", "SIMPLE", "u", "", "ref", "k", "k", "5", "d.t.a", "x", "", ""},
		{"1"},
	})
	want := []explain.Step{
		{
			SelectType: "SIMPLE", Table: "t", Access: "ALL", PossibleKeys: []string{"a", "b"}, Rows: 1000, Filtered: 10,
			Extra: []string{"Using where", "Using filesort"},
		},
		{
			SelectType: "SIMPLE", Table: "u", Access: "ref", PossibleKeys: []string{"k"}, Key: "k",
			KeyLen: "5", Ref: "d.t.a",
		},
		{},
	}
	if p.Error != "" || !reflect.DeepEqual(p.Steps, want) {
		t.Fatalf("got %+v", p)
	}
	if p := explain.Tabular([]string{"EXPLAIN"}, [][]string{{"-> Table scan on t"}}); p.Error == "" {
		t.Fatal("a tree was taken for a table")
	}
	if p := explain.Tabular(cols, nil); p.Error == "" {
		t.Fatal("nothing was taken for a plan")
	}
}

func TestTabularOfRealServers(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, s INT)",
				"CREATE TABLE d.u (id INT PRIMARY KEY, tid INT, KEY k (tid))",
				"INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO d.u SELECT id, id FROM d.t",
				"ANALYZE TABLE d.t, d.u")
			q := "SELECT * FROM t STRAIGHT_JOIN u ON u.tid = t.id WHERE t.s = 2"
			if flavor == "mysql" {
				q = "FORMAT=TRADITIONAL " + q
			}
			rows, err := s.DB(t, "d").Query("EXPLAIN " + q)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			cols, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			var cells [][]string
			for rows.Next() {
				row := make([]sql.NullString, len(cols))
				into := make([]any, len(cols))
				for i := range row {
					into[i] = &row[i]
				}
				if err := rows.Scan(into...); err != nil {
					t.Fatal(err)
				}
				line := make([]string, len(cols))
				for i := range row {
					line[i] = row[i].String
				}
				cells = append(cells, line)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			p := explain.Tabular(cols, cells)
			if p.Error != "" || len(p.Steps) != 2 {
				t.Fatalf("got %+v", p)
			}
			if a, b := p.Steps[0], p.Steps[1]; a.Table != "t" || a.Access != "ALL" || a.Rows != 3 ||
				b.Access != "ref" || b.Key != "k" || len(b.PossibleKeys) != 1 {
				t.Fatalf("got %+v", p)
			}
		})
	}
}
