package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"

	"github.com/google/go-cmp/cmp"
)

func pool(t *testing.T, s *servers.Server) *sql.DB { return poolOf(t, s, "root") }

func poolOf(t *testing.T, s *servers.Server, user string) *sql.DB {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x.DB()
}

func read(t *testing.T, db *sql.DB, name string) schema.Table {
	t.Helper()
	ts, err := Tables(t.Context(), db, []schema.Ref{{Schema: "d", Table: name}})
	if err != nil || len(ts) != 1 {
		t.Fatalf("%s: %v, %v", name, ts, err)
	}
	return ts[0]
}

func TestTables(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d DEFAULT CHARSET utf8mb4", "CREATE DATABASE e",
				"CREATE TABLE d.t (id INT UNSIGNED NOT NULL AUTO_INCREMENT, a VARCHAR(40) CHARACTER SET latin1, n "+
					"DECIMAL(20,4), d DATETIME(3) NOT NULL, `Größe \"x\"` TINYINT,"+
					" g INT GENERATED ALWAYS AS (`Größe \"x\"` + 1) STORED, v VARCHAR(10) GENERATED ALWAYS AS "+
					"(CONCAT(a, 'x')) VIRTUAL, j TEXT, e ENUM('a','b'),"+
					" PRIMARY KEY (id), UNIQUE KEY ud (d, id), KEY `k ``odd`` key` (`Größe \"x\"`), KEY ka (a(10), "+
					"n), FULLTEXT KEY f (j)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
				"CREATE TABLE d.empty (a INT)",
				"CREATE TABLE d.p (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4",
				"CREATE VIEW d.v AS SELECT id, a FROM d.t",
				"CREATE TABLE d.`my ``t`` Ω` (`a b` INT, KEY `ü` (`a b`))",
				"CREATE TABLE e.t (x INT)")
			var rows []string
			for i := range 500 {
				rows = append(rows, fmt.Sprintf("('v%d', 1, '2026-01-01' + INTERVAL %d DAY, %d, 'b')", i%10, i, i%7))
			}
			s.Exec(t, "INSERT INTO d.t (a, n, d, `Größe \"x\"`, e) VALUES "+strings.Join(rows, ","),
				"ANALYZE TABLE d.t")
			db := pool(t, s)

			x := read(t, db, "t")
			if x.View || x.Engine != "InnoDB" || !strings.EqualFold(x.RowFormat, "dynamic") ||
				!strings.HasPrefix(x.Collation, "utf8mb4") || x.Partitions != 0 {
				t.Errorf("table %+v", x)
			}
			if n, ok := x.Rows.Get(); !ok || n < 400 || n > 600 {
				t.Errorf("rows %v %v", n, ok)
			}
			if n, ok := x.AgeSec.Get(); !ok || n > 300 {
				t.Errorf("age %v %v", n, ok)
			}
			if n, ok := x.DataBytes.Get(); !ok || n == 0 {
				t.Errorf("data %v %v", n, ok)
			}
			if n, ok := x.IndexBytes.Get(); !ok || n == 0 {
				t.Errorf("indexes %v %v", n, ok)
			}
			var names []string
			for _, c := range x.Columns {
				names = append(names, fmt.Sprint(c.Name, " ", c.DataType, " ", c.Nullable, " ", c.Bytes, " ", c.Charset,
					" ", c.Generated != ""))
			}
			if diff := cmp.Diff([]string{
				"id int false 4  false", "a varchar true 40 latin1 false", "n decimal true 10  false",
				"d datetime false 7  false",
				"Größe \"x\" tinyint true 1  false", "g int true 4  true", "v varchar true 40 utf8mb4 true",
				"j text true 65535 utf8mb4 false",
				"e enum true 2 utf8mb4 false",
			}, names); diff != "" {
				t.Error(diff)
			}
			if id, _ := x.Column("ID"); id.Extra != "auto_increment" || !strings.Contains(id.Type, "unsigned") {
				t.Errorf("id %+v", id)
			}
			if v, _ := x.Column("v"); !strings.Contains(v.Generated, "'x'") || strings.Contains(v.Generated, `\`) {
				t.Errorf("v %+v", v)
			}
			var keys []string
			for _, i := range x.Indexes {
				keys = append(keys, fmt.Sprint(i.Name, " ", i.Unique, " ", i.Type, " ", i.Hidden, " ",
					ddl.PartsSQL(i.Parts)))
			}
			if diff := cmp.Diff([]string{
				"PRIMARY true BTREE false `id`", "f false FULLTEXT false `j`", "k `odd` key false BTREE false `Größe " +
					"\"x\"`",
				"ka false BTREE false `a`(10), `n`", "ud true BTREE false `d`, `id`",
			}, keys); diff != "" {
				t.Error(diff)
			}
			if n, ok := x.Indexes[2].Parts[0].Cardinality.Get(); !ok || n < 5 || n > 20 {
				t.Errorf("cardinality of a column with 7 values: %v %v", n, ok)
			}

			e := read(t, db, "empty")
			if n, ok := e.Rows.Get(); !ok || n != 0 || len(e.Columns) != 1 || len(e.Indexes) != 0 {
				t.Errorf("empty table %+v: %v %v", e, n, ok)
			}
			if p := read(t, db, "p"); p.Partitions != 4 {
				t.Errorf("partitions %+v", p)
			}
			if v := read(t, db, "v"); !v.View || v.Rows.OK() || v.DataBytes.OK() ||
				len(v.Columns) != 0 || len(v.Indexes) != 0 {
				t.Errorf("view %+v", v)
			}
			if o := read(t, db, "my `t` Ω"); len(o.Columns) != 1 || o.Columns[0].Name != "a b" || len(o.Indexes) != 1 ||
				o.Indexes[0].Name != "ü" {
				t.Errorf("odd names %+v", o)
			}

			refs := []schema.Ref{
				{Schema: "e", Table: "t"},
				{Schema: "d", Table: "none"},
				{Schema: "d", Table: "t"},
				{Schema: "e", Table: "t"},
				{Schema: "none", Table: "t"},
			}
			ts, err := Tables(t.Context(), db, refs)
			if err != nil || len(ts) != 2 || ts[0].Ref != refs[0] || ts[1].Ref != refs[2] {
				t.Errorf("tables in order, each once: %v, %v", ts, err)
			}
			if ts, err := Tables(t.Context(), db, nil); err != nil || ts != nil {
				t.Errorf("no tables: %v, %v", ts, err)
			}
			if refs, err := Find(t.Context(), db, "t"); err != nil || fmt.Sprint(refs) != "[d.t e.t]" {
				t.Errorf("found %v, %v", refs, err)
			}
			if refs, err := Find(t.Context(), db, "tables_priv"); err != nil || len(refs) != 0 {
				t.Errorf("found the server's own %v, %v", refs, err)
			}
			vars, err := Variables(t.Context(), db)
			if err != nil || vars["port"] != fmt.Sprint(s.Port) {
				t.Errorf("variables: port %q, %v", vars["port"], err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := Tables(ctx, db, refs); err == nil {
				t.Error("reads with an ended context")
			}
		})
	}
}

func TestHiddenAndFunctionalIndexes(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		s := servers.Start(t, "mariadb")
		s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (a INT, b INT, KEY ka (a) IGNORED, KEY kd (a, b DESC))")
		x := read(t, pool(t, s), "t")
		if !x.Indexes[0].Hidden || x.Indexes[1].Hidden || x.Indexes[1].Parts[0].Desc || !x.Indexes[1].Parts[1].Desc {
			t.Errorf("indexes %+v", x.Indexes)
		}
	})
	t.Run("mysql", func(t *testing.T) {
		s := servers.Start(t, "mysql")
		s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (a INT, b VARCHAR(20), KEY ka (a) INVISIBLE, KEY kd (a, b "+
			"DESC), KEY ke ((LOWER(b)), a), KEY kq ((COALESCE(b, 'it''s \"q\"'))))")
		db := pool(t, s)
		x := read(t, db, "t")
		if !x.Indexes[0].Hidden || x.Indexes[1].Hidden || x.Indexes[1].Parts[0].Desc || !x.Indexes[1].Parts[1].Desc {
			t.Errorf("indexes %+v", x.Indexes)
		}
		if p := x.Indexes[2].Parts; len(p) != 2 || p[0].Column != "" ||
			p[0].Expr != "lower(`b`)" || p[1].Column != "a" {
			t.Errorf("functional index %+v", p)
		}
		// What was read makes the same index again.
		for _, i := range x.Indexes {
			again := i
			again.Name += "2"
			s.Exec(t, ddl.AddIndexSQL(x.Ref, again))
		}
		y := read(t, db, "t")
		for _, i := range x.Indexes {
			found := false
			for _, j := range y.Indexes {
				if j.Name == i.Name+"2" {
					found = schema.SameKey(i, j)
				}
			}
			if !found {
				t.Errorf("%s cannot be made again from %+v: %+v", i.Name, i, y.Indexes)
			}
		}
	})
}

// TestATableInUseIsNotGone: a table that somebody has locked is there, whatever can be told of it.
func TestATableInUseIsNotGone(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=InnoDB",
				"CREATE TABLE d.u (id INT PRIMARY KEY) ENGINE=InnoDB")
			conn, err := s.DB(t, "d").Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.ExecContext(t.Context(), "LOCK TABLES t WRITE"); err != nil {
				t.Fatal(err)
			}
			db := s.DB(t, "")
			one, err := Tables(t.Context(), db, []schema.Ref{{Schema: "d", Table: "t"}})
			if err == nil && len(one) == 0 {
				t.Error("a locked table is gone")
			}
			both, _ := Tables(t.Context(), db, []schema.Ref{{Schema: "d", Table: "t"}, {Schema: "d", Table: "u"}})
			if len(both) == 0 || both[len(both)-1].Table != "u" {
				t.Errorf("the other one is not read: %v", both)
			}
			none, err := Tables(t.Context(), db, []schema.Ref{{Schema: "d", Table: "none"}})
			if err != nil || len(none) != 0 {
				t.Errorf("one that is not there: %v %v", none, err)
			}
		})
	}
}

// TestLongTypes: a tenant makes types, expressions and triggers as long as a server takes them. What is long is told in
// short, or not at all.
func TestLongTypes(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			var values []string
			for i := range 3000 {
				values = append(values, fmt.Sprintf("'value %d'", i))
			}
			sum := strings.Repeat("a + ", 500) + "a"
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, e ENUM ("+strings.Join(values,
				",")+"), g INT GENERATED ALWAYS AS ("+sum+") VIRTUAL, KEY ka (a))",
				"CREATE TRIGGER d.x BEFORE INSERT ON d.t FOR EACH ROW SET @a = '"+strings.Repeat("x",
					2*longestBody)+"'",
				"CREATE TABLE d.other (id INT PRIMARY KEY)")
			db := pool(t, s)
			x := read(t, db, "t")
			e, _ := x.Column("e")
			g, _ := x.Column("g")
			if e.Type != "enum(...)" || e.DataType != "enum" || g.Generated != "..." || len(x.Columns) != 4 ||
				len(x.Indexes) != 2 {
				t.Errorf("%+v", x)
			}
			if len(x.Triggers) != 1 || len(x.Triggers[0].Body) > longestBody+10 ||
				!strings.HasSuffix(x.Triggers[0].Body, " …") {
				t.Errorf("%d triggers", len(x.Triggers))
			}
			if flavor != "mysql" {
				return
			}
			s.Exec(t, "ALTER TABLE d.t ADD KEY kf (("+sum+" + 1))")
			all, err := Tables(t.Context(), db, []schema.Ref{{Schema: "d", Table: "t"}, {Schema: "d", Table: "other"}})
			if !errors.Is(err, errLong) || len(all) != 1 || all[0].Table != "other" {
				t.Errorf("an index that is not told as it is: %v, %v", all, err)
			}
		})
	}
}
