package sqlshape

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/shape"
)

func TestTouches(t *testing.T) {
	f := func(sql string, want ...shape.TableRef) {
		t.Helper()
		got, err := Touches(sql)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v %v", sql, got, err)
		}
	}
	f("select 1")
	f("select a from t x join d.u on x.id = u.id where a in (select b from v where exists (select 1 from `w`)) union "+
		"select 1 from t",
		shape.TableRef{Name: "t"}, shape.TableRef{Schema: "d", Name: "u"}, shape.TableRef{Name: "v"},
		shape.TableRef{Name: "w"})
	f("select * from (select a from t) x, u", shape.TableRef{Name: "t"}, shape.TableRef{Name: "u"})
	f("update t join u using (id) set t.a = (select max(b) from w)", shape.TableRef{Name: "t"},
		shape.TableRef{Name: "u"}, shape.TableRef{Name: "w"})
	f("delete from t where a = 1", shape.TableRef{Name: "t"})
	f("with c as (select a from t) select * from c", shape.TableRef{Name: "t"}, shape.TableRef{Name: "c"})
	if _, err := Touches("select '"); err == nil {
		t.Error("half a statement touches something")
	}
}

// TestNamesOfAStatement: a statement names as many tables as its author likes, and each of them costs questions.
func TestNamesOfAStatement(t *testing.T) {
	union := func(table string, n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprint("select * from ", table, i))
		}
		return strings.Join(parts, " union all ")
	}
	with := func(t, u int) string {
		return "with c as (" + union("t", t) + ") select * from c union all " + union("u", u)
	}
	for _, x := range []struct {
		sql  string
		many bool
	}{
		{union("t", 64), false},
		{with(40, 20), false},
		{union("t", 65), true},
		{union("t", 2000), true},
		{with(2000, 1), true},
		{with(40, 40), true},
		{with(1, 2000), true},
	} {
		for name, f := range map[string]func(string) ([]shape.TableRef, error){"Touches": Touches, "Opened": Opened} {
			got, err := f(x.sql)
			if len(got) > 64 || x.many != errors.Is(err, ErrTooManyTables) || x.many && len(got) == 0 {
				t.Errorf("%s of %.60s…: %d names, %v", name, x.sql, len(got), err)
			}
		}
	}
}

func TestReads(t *testing.T) {
	f := func(sql string, want bool) {
		t.Helper()
		if got := Reads(sql); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
	f("select a from t where b = 'x for update'", true)
	f("select a from t union select b from u", true)
	f("select a from t for update", false)
	f("select a from t lock in share mode", false)
	f("select a from t for share", false)
	f("select a from t where b in (select c from u for update)", false)
	f("update t set a = 1", false)
	f("select '", false)
}

func TestOpened(t *testing.T) {
	f := func(sql, want string) {
		t.Helper()
		got, err := Opened(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		var names []string
		for _, r := range got {
			names = append(names, strings.TrimPrefix(r.Schema+"."+r.Name, "."))
		}
		if s := strings.Join(names, ","); s != want {
			t.Errorf("%s: got %q, want %q", sql, s, want)
		}
	}
	f("select 1", "")
	f("select * from a join d.b where x in (select y from c)", "a,d.b,c")
	f("with a as (select * from b), b as (select * from a) select * from a, b, c", "b,c")
	f("with a as (select * from a) select * from a", "a")
	f("with recursive a as (select 1 union all select * from a) select * from a", "")
	f("with a as (select 1) select * from d.a", "d.a")
	f("select * from (with a as (select 1) select * from a) x", "a") // not told apart: it is taken for a table
	f("delete x from t as x join u on x.id = u.id", "t,u")
	f("update t join u on t.id = u.id set t.a = 1", "t,u")
	for _, of := range []string{"", "[]", "[auto_rand]", "[unknown]"} {
		sql := "select 1 /*T!" + of + " , ' */ from evil.v where ' , ' /* ' */"
		if got, err := Opened(sql); err == nil {
			t.Errorf("%s: got %v: what only the parser takes for no comment hides what a server opens", sql, got)
		}
		if sh, err := Parse(sql); err != nil || len(sh.Tables) != 1 || sh.Tables[0].Schema != "evil" {
			t.Errorf("%s: %+v, %v", sql, sh.Tables, err)
		}
	}
}
