package catalog

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/test/servers"
)

// session is one connection with the counters of its session.
type session struct {
	*sql.Conn
}

func connect(t *testing.T, s *servers.Server) session {
	t.Helper()
	c, err := pool(t, s).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return session{c}
}

// opened is how many tables the session has opened because the cache did not hold them.
func (c session) opened(t *testing.T) (n int) {
	t.Helper()
	var name string
	if err := c.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Opened_tables'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// use reads tables, in this order.
func (c session) use(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		var n int
		if err := c.QueryRowContext(t.Context(), fmt.Sprintf("SELECT COUNT(*) FROM d.t%03d", i)).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

// makeTables makes d.t000 and so on.
func makeTables(t *testing.T, s *servers.Server, n int) {
	t.Helper()
	s.Exec(t, "CREATE DATABASE d")
	for at := 0; at < n; at += 50 {
		var b strings.Builder
		for i := at; i < min(n, at+50); i++ {
			fmt.Fprintf(&b, "CREATE TABLE d.t%03d (id INT PRIMARY KEY, c INT, KEY kc (c));", i)
		}
		s.Exec(t, b.String())
	}
}

// TestCache reads the catalog of a server that has more tables than room for open ones, and then again what has
// changed.
func TestCache(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, fmt.Sprint("table-open-cache=", mostOpen), "table-open-cache-instances=1",
				"innodb-flush-log-at-trx-commit=0")
			makeTables(t, s, tables)
			t.Run("busy tables stay open", func(t *testing.T) { busyStayOpen(t, s) })
			s.Exec(t, "SET GLOBAL table_open_cache = 2000")
			t.Run("only changes are read", func(t *testing.T) { onlyChanges(t, s) })
		})
	}
}

// A dictionary takes some forty places of the room by itself.
const tables, mostOpen, busy = 160, 120, 40

func busyStayOpen(t *testing.T, s *servers.Server) {
	users, look, c := connect(t, s), connect(t, s), (&Cache{}).Of("this")
	users.use(t, 0, mostOpen) // the cache is full,
	users.use(t, 0, busy)     // and these are the last ones that were used
	users.use(t, 0, busy)
	before, mine := users.opened(t), look.opened(t)
	inv, err := All(t.Context(), look, c, 1000, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	opened := look.opened(t) - mine
	users.use(t, 0, busy)
	if n := users.opened(t) - before; n != 0 {
		t.Errorf("%d of %d busy tables were closed by a look that opened %d tables", n, busy, opened)
	}
	if s.Flavor == "mysql" { // has a dictionary, and opens nothing
		if len(inv.Tables) != tables || inv.Why != "" {
			t.Errorf("%d tables: %s", len(inv.Tables), inv.Why)
		}
		return
	}
	if most := mostOpen / 8; opened > most {
		t.Errorf("%d tables were opened, and %d are few", opened, most)
	}
	// Tables that were open are read, and the inventory says that it lacks the rest.
	if n := len(inv.Tables); n < busy || n+inv.Left.Or(0) != tables ||
		!strings.Contains(inv.Why, fmt.Sprint("table_open_cache = ", mostOpen)) {
		t.Errorf("%d tables, left %v: %q", n, inv.Left, inv.Why)
	}
	again, err := All(t.Context(), look, c, 1000, time.Minute, nil)
	if err != nil || len(again.Tables) <= len(inv.Tables) {
		t.Errorf("the next look has %d tables, and this one had %d: %v", len(again.Tables), len(inv.Tables), err)
	}
}

func onlyChanges(t *testing.T, s *servers.Server) {
	s.Exec(t, "CREATE DATABASE `odd ü`", "CREATE TABLE `odd ü`.`a#b/c` (id INT PRIMARY KEY) PARTITION BY HASH (id) "+
		"PARTITIONS 2", "CREATE VIEW d.v AS SELECT id FROM d.t000",
		// a server with a dictionary does not tell apart what happens within the second in which a table was made
		"DO SLEEP(2.1)")
	conn, c := connect(t, s), (&Cache{}).Of("this")
	look := func(c *Cache) Inventory {
		t.Helper()
		inv, err := All(t.Context(), conn, c, 1000, time.Minute, nil)
		if err != nil || inv.Why != "" || inv.Left.Or(-1) != 0 {
			t.Fatalf("left %v: %q, %v", inv.Left, inv.Why, err)
		}
		return inv
	}
	if first := look(c); len(first.Tables) != tables+1 || first.Read < tables+1 {
		t.Fatalf("%d tables, %d read", len(first.Tables), first.Read)
	}
	s.Exec(t, "FLUSH TABLES")
	before := conn.opened(t)
	same := look(c)
	if len(same.Tables) != tables+1 || same.Read > 0 {
		t.Errorf("%d tables, of which %d were read although none had changed", len(same.Tables), same.Read)
	}
	if n := conn.opened(t) - before; n > tables/2 { // but the server's own: those of its dictionary, and the statistics
		t.Errorf("%d tables were opened although none had changed", n)
	}
	same.Tables[3].Indexes[0].Name, same.Tables[3].Columns[0].Name = "altered by", "whoever got it"
	s.Exec(t,
		"ALTER TABLE d.t001 ADD KEY added (id, c), ALGORITHM=INPLACE",
		"ALTER TABLE d.t002 ADD COLUMN added INT, ALGORITHM=INSTANT",
		"DROP TABLE d.t003", "RENAME TABLE d.t004 TO d.renamed",
		"DROP TABLE d.t005", "CREATE TABLE d.t005 (other INT PRIMARY KEY)",
		"RENAME TABLE d.t006 TO d.x, d.t007 TO d.t006, d.x TO d.t007",
		"ALTER TABLE d.t008 DROP KEY kc", "CREATE TABLE d.new (id INT PRIMARY KEY)",
		"DROP VIEW d.v", "CREATE TABLE d.v (id INT PRIMARY KEY)",
		"ALTER TABLE `odd ü`.`a#b/c` ADD COLUMN n INT, ADD KEY kn (n)")
	changed := look(c)
	got, want := shapes(changed), shapes(look(nil))
	for _, x := range want {
		if !slices.Contains(got, x) {
			t.Errorf("not seen: %s", x)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tables, and there are %d", len(got), len(want))
	}
	if changed.Read > 15 {
		t.Errorf("%d tables were read, and some ten had changed", changed.Read)
	}
	// Another server behind the same name has nothing in common.
	if inv := look(c.Of("another")); inv.Read < tables {
		t.Errorf("%d tables of another server were read", inv.Read)
	}
}

// shapes words tables with their columns and indexes.
func shapes(inv Inventory) (out []string) {
	for _, x := range inv.Tables {
		line := x.String()
		for _, col := range x.Columns {
			line += " " + col.Name
		}
		for _, i := range x.Indexes {
			line += " " + i.Name + " " + ddl.PartsSQL(i.Parts)
		}
		out = append(out, line)
	}
	return out
}
