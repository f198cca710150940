package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestAll(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE a", "CREATE DATABASE b",
				"CREATE TABLE a.parent (x INT, y INT, v VARCHAR(10), PRIMARY KEY (x, y)) ROW_FORMAT=COMPRESSED "+
					"KEY_BLOCK_SIZE=4",
				"CREATE TABLE a.child (id INT PRIMARY KEY, py INT, px INT, g INT AS (px + 1), KEY k (px, py), "+
					"CONSTRAINT fk FOREIGN KEY (px, py) REFERENCES parent (x, y))",
				"CREATE TRIGGER a.tr BEFORE INSERT ON a.child FOR EACH ROW SET NEW.py = NEW.py + 0",
				"CREATE VIEW a.v AS SELECT id FROM a.child",
				"CREATE TABLE b.`odd ``name`` ü` (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3",
				"INSERT INTO a.parent VALUES (1, 1, 'a')", "INSERT INTO a.child (id, px, py) VALUES (1, 1, 1)")
			for i := range 30 {
				s.Exec(t, fmt.Sprintf("CREATE TABLE b.t%d (id INT PRIMARY KEY, c INT, KEY kc (c))", i))
			}
			db := pool(t, s)
			inv, err := All(t.Context(), db, nil, 100, time.Minute, nil)
			if err != nil || inv.Why != "" || inv.Left.Or(-1) != 0 {
				t.Fatalf("%d tables, left %v: %q %v", len(inv.Tables), inv.Left, inv.Why, err)
			}
			var refs []schema.Ref
			for _, x := range inv.Tables {
				refs = append(refs, x.Ref)
			}
			if len(refs) != 33 {
				t.Fatalf("%d tables: %v", len(refs), refs)
			}
			// In bulk or one by one, tables read the same.
			one, err := Tables(t.Context(), db, refs)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(one, inv.Tables, cmp.Comparer(func(a, b known.Value[uint64]) bool {
				return a.OK() == b.OK()
			}), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			get := func(sch, name string) schema.Table {
				i := slices.Index(refs, schema.Ref{Schema: sch, Table: name})
				if i < 0 {
					t.Fatalf("no %s.%s", sch, name)
				}
				return inv.Tables[i]
			}
			child := get("a", "child")
			if d := cmp.Diff([]schema.ForeignKey{{
				Name: "fk", Columns: []string{"px", "py"},
				To: schema.Ref{Schema: "a", Table: "parent"}, Refers: []string{"x", "y"},
			}}, child.Foreign); d != "" {
				t.Error(d)
			}
			if len(child.Triggers) != 1 || child.Triggers[0].Timing != "BEFORE" ||
				child.Triggers[0].Event != "INSERT" || !strings.Contains(child.Triggers[0].Body, "NEW.py") {
				t.Errorf("triggers %+v", child.Triggers)
			}
			if p := get("a", "parent"); !strings.Contains(strings.ToUpper(p.Options), "KEY_BLOCK_SIZE=4") ||
				!p.FreeBytes.OK() {
				t.Errorf("options %q, free %v", p.Options, p.FreeBytes)
			}
			if p := get("b", "odd `name` ü"); p.Partitions != 3 {
				t.Errorf("partitions %d", p.Partitions)
			}

			some, err := All(t.Context(), db, nil, 10, time.Minute, refs[:5])
			if err != nil || len(some.Tables) != 10 || some.Left.Or(0) < 1 || some.Why == "" {
				t.Errorf("%d tables with a limit of ten, left %v: %q %v", len(some.Tables), some.Left, some.Why, err)
			}
			for _, x := range some.Tables {
				if slices.Contains(refs[:5], x.Ref) {
					t.Errorf("%s was to be skipped", x.Ref)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			if _, err := All(ctx, db, nil, 10, time.Minute, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("with an ended context: %v", err)
			}
		})
	}
}

func TestAllWithoutGrants(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE a", "CREATE DATABASE b", "CREATE TABLE a.t (id INT PRIMARY KEY)",
				"CREATE TABLE b.t (id INT PRIMARY KEY)",
				"CREATE USER poor@localhost", "GRANT SELECT ON a.* TO poor@localhost")
			inv, err := All(t.Context(), poolOf(t, s, "poor"), nil, 100, time.Minute, nil)
			if err != nil || len(inv.Tables) != 1 || inv.Tables[0].Schema != "a" {
				t.Errorf("%+v: %v", inv, err)
			}
		})
	}
}

func TestIndexUse(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE d",
				"CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, KEY ka (a), KEY kb (b))",
				"INSERT INTO d.t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3)",
				"SELECT b FROM d.t FORCE INDEX (ka) WHERE a = 1")
			use, err := IndexUse(t.Context(), pool(t, s), 100)
			if err != nil {
				t.Fatal(err)
			}
			at := func(index string) (uint64, bool) {
				n, ok := use[IndexRef{schema.Ref{Schema: "d", Table: "t"}, index}]
				return n, ok
			}
			if n, ok := at("ka"); !ok || n < 2 {
				t.Errorf("ka handled %d rows (%v), and two were read by it", n, ok)
			}
			if n, ok := at("kb"); !ok || n != 0 {
				t.Errorf("kb handled %d rows (%v), and nobody used it", n, ok)
			}
		})
	}
}
