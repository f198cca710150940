package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/schema"
)

// hostile is a server of the test's own, for what no honest one says: it returns how many rows a question gets, and the
// n-th of them.
type hostile func(question string, args ...string) (rows int, row func(n int) []string)

func (h hostile) Connect(context.Context) (driver.Conn, error) { return h, nil }
func (hostile) Driver() driver.Driver                          { return nil }
func (hostile) Prepare(string) (driver.Stmt, error)            { return nil, driver.ErrSkip }
func (hostile) Begin() (driver.Tx, error)                      { return nil, driver.ErrSkip }
func (hostile) Close() error                                   { return nil }

func (h hostile) QueryContext(_ context.Context, question string, values []driver.NamedValue) (driver.Rows, error) {
	args := make([]string, len(values))
	for i, v := range values {
		args[i] = v.Value.(string)
	}
	a := &hostileRows{}
	a.rows, a.row = h(question, args...)
	return a, nil
}

type hostileRows struct {
	rows, n int
	row     func(int) []string
}

func (r *hostileRows) Columns() []string {
	if r.rows == 0 {
		return nil
	}
	return make([]string, len(r.row(0)))
}
func (*hostileRows) Close() error { return nil }
func (r *hostileRows) Next(to []driver.Value) error {
	if r.n == r.rows {
		return io.EOF
	}
	for i, s := range r.row(r.n) {
		to[i] = s
	}
	r.n++
	return nil
}

func (h hostile) db(t *testing.T) *sql.DB {
	db := sql.OpenDB(h)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestMoreThanWasAskedFor: of an answer that is longer than any honest one no more is kept than was asked for.
func TestMoreThanWasAskedFor(t *testing.T) {
	const many = 3 * mostColumns
	ordinal := func(n int) string { return fmt.Sprint(many - n) }
	server := hostile(func(q string, _ ...string) (int, func(int) []string) {
		switch {
		case strings.Contains(q, "TABLE_NAME, TABLE_TYPE"):
			// the name in 4096 ways, each three times, the others of tables that nobody asked for
			return many, func(n int) []string {
				name := []byte("abcdefghijkl")
				for i := range name {
					name[i] -= byte(n>>i&1) * ('a' - 'A')
				}
				if n%2 == 0 && n < 2*mostColumns {
					name = fmt.Append(nil, "other", n)
				}
				return append([]string{"d", string(name), "BASE TABLE", "InnoDB"}, make([]string, 8)...)[:3+
					9*strings.Count(q, "ENGINE")]
			}
		case strings.Contains(q, "information_schema.COLUMNS WHERE TABLE_SCHEMA ="):
			return many, func(n int) []string {
				return append([]string{"d", "t", "c" + ordinal(n), "int", "int"}, "", "", "", "", "", "",
					"", "", ordinal(n), "")
			}
		case strings.Contains(q, "information_schema.STATISTICS"):
			return many, func(n int) []string {
				return []string{"d", "t", "i" + ordinal(n), "1", "BTREE", "c", "", "A", "1", "1", "", ""}
			}
		case strings.Contains(q, "information_schema.KEY_COLUMN_USAGE"):
			return many, func(n int) []string { return []string{"d", "t", "f" + ordinal(n), "1", "c", "d", "t", "c"} }
		case strings.Contains(q, "information_schema.TRIGGERS"):
			return many, func(n int) []string {
				return []string{
					"d", "t", "x" + ordinal(n), "BEFORE",
					"INSERT", "SET @a = 1",
				}
			}
		case strings.Contains(q, "TABLE_SCHEMA "+ofUsers):
			return mostListed + 1, func(n int) []string { return []string{"d", "t" + fmt.Sprint(n)} }
		}
		return 0, nil
	})
	db := server.db(t)
	for _, dictionary := range []bool{false, true} {
		found := -1
		_, err := describe(t.Context(), db, map[string]bool{"STATISTICS.IS_VISIBLE": dictionary},
			part{schema: "d", names: []string{"ABCDEFGHIJKL"}},
			func(all []schema.Table) []schema.Table {
				found = len(all)
				if !slices.ContainsFunc(all, func(x schema.Table) bool { return x.Table == "ABCDEFGHIJKL" }) {
					t.Errorf("dictionary %v: the table itself is not among them", dictionary)
				}
				return nil
			})
		if err != nil || found > mostAlike+1 {
			t.Errorf("dictionary %v: %d tables for one name: %v", dictionary, found, err)
		}
	}
	tables := []schema.Table{{Ref: schema.Ref{Schema: "d", Table: "t"}}}
	if err := details(t.Context(), db, nil, part{schema: "d", names: []string{"t"}}, tables); !errors.Is(err, errLong) {
		t.Errorf("%d indexes of one table: %v", many, err)
	}
	at := map[schema.Ref]*schema.Table{tables[0].Ref: &tables[0]}
	for _, read := range []func(context.Context, Querier, map[string]bool, part,
		map[schema.Ref]*schema.Table) error{foreign, triggers} {
		if err := read(t.Context(), db, nil, part{schema: "d", names: []string{"t"}}, at); err != nil && !errors.Is(err,
			errLong) {
			t.Error(err)
		}
	}
	x := tables[0]
	for what, n := range map[string]int{
		"columns": len(x.Columns), "indexes": len(x.Indexes),
		"foreign keys": len(x.Foreign), "triggers": len(x.Triggers),
	} {
		if n > mostColumns {
			t.Errorf("%d %s of one table", n, what)
		}
	}
	if first, last := x.Columns[0].Name, x.Columns[len(x.Columns)-1].Name; len(first) > len(last) || first > last &&
		len(first) == len(last) {
		t.Errorf("columns from %s to %s", first, last)
	}
	r := reader{q: db, has: map[string]bool{}}
	if listed, err := r.list(t.Context(), false); len(listed) > mostListed || err == nil {
		t.Errorf("%d tables are listed, and that these are not all is told by %v", len(listed), err)
	}
}
