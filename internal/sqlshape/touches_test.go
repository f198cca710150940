package sqlshape

import (
	"slices"
	"strings"
	"testing"
)

func TestTouches(t *testing.T) {
	f := func(sql string, want ...TableRef) {
		t.Helper()
		got, err := Touches(sql)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v %v", sql, got, err)
		}
	}
	f("select 1")
	f("select a from t x join d.u on x.id = u.id where a in (select b from v where exists (select 1 from `w`)) union select 1 from t",
		TableRef{Name: "t"}, TableRef{Schema: "d", Name: "u"}, TableRef{Name: "v"}, TableRef{Name: "w"})
	f("select * from (select a from t) x, u", TableRef{Name: "t"}, TableRef{Name: "u"})
	f("update t join u using (id) set t.a = (select max(b) from w)", TableRef{Name: "t"}, TableRef{Name: "u"}, TableRef{Name: "w"})
	f("delete from t where a = 1", TableRef{Name: "t"})
	f("with c as (select a from t) select * from c", TableRef{Name: "t"}, TableRef{Name: "c"})
	if _, err := Touches("select '"); err == nil {
		t.Error("half a statement touches something")
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
}
