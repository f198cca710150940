package index

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
)

// TestWishForTexts: an index is of no use for a text that is held against a number, and none is wished for it.
func TestWishForTexts(t *testing.T) {
	column := func(name, dataType string) schema.Column {
		return schema.Column{Name: name, DataType: dataType, Type: dataType, Charset: "latin1"}
	}
	calls := schema.Table{
		Ref: schema.Ref{Schema: "s", Table: "calls"},
		Columns: []schema.Column{
			column("phone", "varchar"), column("note", "text"), column("state", "int"),
			column("kind", "enum"),
		},
	}
	lines := schema.Table{Ref: schema.Ref{Schema: "s", Table: "lines"}, Columns: []schema.Column{
		column("id", "int"),
		column("number", "char"), column("kind", "enum"), column("day", "date"),
	}}
	f := func(sql, want string) {
		t.Helper()
		sh, err := sqlshape.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		b := block{sh: sh, Tables: &advise.Tables{List: []schema.Table{calls, lines}[:len(sh.Tables)]}}
		w, _ := b.wish(0, true)
		if got := strings.Join(w.Columns, ","); got != want {
			t.Errorf("%s: an index on %q, want %q", sql, got, want)
		}
	}
	f("SELECT * FROM calls WHERE phone = '5551234'", "phone")
	f("SELECT * FROM calls WHERE phone = ?", "phone")
	f("SELECT * FROM calls WHERE phone = 5551234", "")
	f("SELECT * FROM calls WHERE phone IN (1, 2)", "")
	f("SELECT * FROM calls WHERE phone > 5 AND state = 3", "state")
	f("SELECT * FROM calls WHERE kind = 2", "kind") // its values are numbers, too
	f("SELECT * FROM calls JOIN `lines` ON calls.phone = `lines`.number", "phone")
	f("SELECT * FROM calls JOIN `lines` ON calls.phone = `lines`.id", "")
	f("SELECT * FROM calls JOIN `lines` ON calls.phone = `lines`.day", "")
	f("SELECT * FROM calls JOIN `lines` ON calls.state = `lines`.number", "state")
}
