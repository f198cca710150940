package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/schema"
)

// many is a server with a dictionary, some tables of which are wide: so many columns, each with a long type. It says no
// more than it is asked.
type many struct {
	wide, narrow int
	columns      int
	altered      map[string]int // by table
	asked        map[string]int // how often the columns of each were read
}

const narrowColumns = 4

func (m *many) name(n int) string {
	if n < m.wide {
		return fmt.Sprint("wide", n)
	}
	return fmt.Sprint("narrow", n)
}

func (m *many) says(q string, args ...string) (int, func(int) []string) {
	at := map[string]int{}
	for i, a := range args {
		at[a] = i
	}
	var tables []string
	for n := range m.wide + m.narrow {
		if _, asked := at[m.name(n)]; asked || len(args) <= 1 {
			tables = append(tables, m.name(n))
		}
	}
	switch {
	case strings.Contains(q, "information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema'"):
		return 1, func(int) []string { return []string{"IS_VISIBLE"} }
	case strings.Contains(q, "information_schema.SCHEMATA"):
		return 1, func(int) []string { return []string{"d"} }
	case strings.Contains(q, "TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, CREATE_TIME"):
		return len(tables), func(n int) []string {
			return []string{
				"d", tables[n], "BASE TABLE", "1", fmt.Sprint("made ", m.altered[tables[n]]), "InnoDB", "",
				"", "",
			}
		}
	case strings.Contains(q, "innodb_table_stats"):
		return len(tables), func(n int) []string {
			return []string{"d", tables[n], map[bool]string{true: "9000", false: "1"}[strings.HasPrefix(tables[n],
				"wide")]}
		}
	case strings.Contains(q, "FROM information_schema.TABLES"):
		return len(tables), func(n int) []string {
			return append([]string{"d", tables[n], "BASE TABLE", "InnoDB"}, make([]string, 8)...)
		}
	case strings.Contains(q, "FROM information_schema.COLUMNS"):
		long := fmt.Sprintf("enum('%s')", strings.Repeat("x", 900))
		var rows [][]string
		most := 1 << 30
		if _, limit, ok := strings.Cut(q, " LIMIT "); ok {
			most, _ = strconv.Atoi(limit)
		}
		for _, t := range tables {
			m.asked[t]++
			columns := narrowColumns
			if strings.HasPrefix(t, "wide") {
				columns = m.columns
			}
			for c := range columns {
				if len(rows) < most {
					rows = append(rows, append([]string{"d", t, fmt.Sprint("c", c), long, "enum"}, "", "", "", "", "",
						"", "", "", fmt.Sprint(c), ""))
				}
			}
		}
		return len(rows), func(n int) []string { return rows[n] }
	}
	return 0, nil
}

// TestTablesWithoutEnd: whoever may make tables on a server chooses how many there are and how wide.
func TestTablesWithoutEnd(t *testing.T) {
	m := &many{wide: 300, narrow: 50, columns: 400, altered: map[string]int{}, asked: map[string]int{}}
	db, c := hostile(m.says).db(t), (&Cache{}).Of("this")
	all := func(what string) (inv Inventory) {
		t.Helper()
		for range 50 { // a server that is slow has more turns
			var err error
			if inv, err = All(t.Context(), db, c, 10_000, time.Minute, nil); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(inv.Why, "in detail") {
				break
			}
		}
		bytes, narrow := 0, 0
		for _, x := range inv.Tables {
			bytes += x.Memory()
			want := narrowColumns
			if strings.HasPrefix(x.Table, "wide") {
				want = m.columns
			} else {
				narrow++
			}
			if len(x.Columns) != want {
				t.Errorf("%s: %s has %d columns", what, x.Table, len(x.Columns))
			}
		}
		if bytes > mostOfServer || bytes < mostOfServer/2 {
			t.Errorf("%s: %d MB are kept of one server", what, bytes>>20)
		}
		if narrow != m.narrow {
			t.Errorf("%s: %d of %d narrow tables", what, narrow, m.narrow)
		}
		if left, ok := inv.Left.Get(); !ok || left != m.wide+m.narrow-len(inv.Tables) || left == 0 ||
			!strings.Contains(inv.Why, fmt.Sprintf("not observed: %d of %d tables", left, m.wide+m.narrow)) {
			t.Errorf("%s: left %v of %d: %q", what, inv.Left, len(inv.Tables), inv.Why)
		}
		return inv
	}
	first := all("first")
	clear(m.asked)
	if again := all("again"); again.Read > 0 || len(again.Tables) != len(first.Tables) {
		t.Errorf("%d tables were read again, though none had changed; %d tables before, %d now", again.Read,
			len(first.Tables), len(again.Tables))
	}
	// What is full still reads what has changed, of what it holds and of what it does not.
	m.altered["narrow333"], m.altered["wide3"] = 1, 1
	all("altered")
	if len(m.asked) != 2 || m.asked["narrow333"] != 1 || m.asked["wide3"] != 1 {
		t.Errorf("read after two were altered: %v", m.asked)
	}
	m.narrow++
	all("made")
	// What there is room for again is read.
	m.wide, m.narrow = 40, 10
	inv, err := All(t.Context(), db, c, 10_000, time.Minute, nil)
	if err != nil || len(inv.Tables) != 50 || inv.Left.Or(-1) != 0 || inv.Why != "" {
		t.Errorf("with room for all: %d tables, left %v: %q, %v", len(inv.Tables), inv.Left, inv.Why, err)
	}
}

// TestTableWithoutEnd: one table whose description is too long costs the others nothing.
func TestTableWithoutEnd(t *testing.T) {
	m := &many{wide: 1, narrow: 150, columns: 3 * mostRows, altered: map[string]int{}, asked: map[string]int{}}
	db, c := hostile(m.says).db(t), (&Cache{}).Of("this")
	for range 3 {
		inv, err := All(t.Context(), db, c, 10_000, time.Minute, nil)
		if err != nil || len(inv.Tables) != m.narrow || inv.Left.Or(-1) != 1 || !strings.Contains(inv.Why,
			"not observed: 1 of 151 tables") {
			t.Fatalf("%d tables, left %v: %q, %v", len(inv.Tables), inv.Left, inv.Why, err)
		}
	}
	if m.asked["wide0"] > 10 {
		t.Errorf("it was read %d times", m.asked["wide0"])
	}
	if _, err := Tables(t.Context(), db, []schema.Ref{{Schema: "d", Table: "wide0"}, {
		Schema: "d",
		Table:  "narrow1",
	}}); err == nil {
		t.Error("what is too long was read in full")
	}
}

// TestManyServers: what is kept of all servers together has a bound, whichever comes first, and each has its part.
func TestManyServers(t *testing.T) {
	var all Caches
	fill := func(server string, tables int) *Cache {
		c := all.Of(server)
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range tables {
			x := schema.Table{Ref: schema.Ref{Schema: "d", Table: fmt.Sprint("t", i)}, Options: strings.Repeat("x",
				mostOfTable-1000)}
			c.keep([]schema.Ref{x.Ref}, []schema.Table{x}, nil, time.Now())
		}
		return c
	}
	sum := func() (n int64) {
		for _, c := range all.of {
			n += c.bytes.Load()
		}
		return n
	}
	first := fill("s0", 40)
	if n := first.bytes.Load(); n > mostOfServer || n < mostOfServer*9/10 {
		t.Errorf("%d bytes of a server that is alone", n)
	}
	for i := range 12 {
		c := fill(fmt.Sprint("s", i), 40)
		if n := c.bytes.Load(); n < mostOfServers/12*2/3 || n > mostOfServer {
			t.Errorf("%d bytes of server %d", n, i)
		}
		if sum() > mostOfServers {
			t.Fatalf("%d MB of %d servers", sum()>>20, i+1)
		}
	}
	all.Keep([]string{"s7"})
	if n := fill("s7", 40).bytes.Load(); len(all.of) != 1 || n < mostOfServer*9/10 {
		t.Errorf("%d bytes when the others are gone", n)
	}
}
