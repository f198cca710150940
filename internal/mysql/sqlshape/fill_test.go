package sqlshape

import "testing"

func TestFill(t *testing.T) {
	value := func(table, column string) string { return "'" + table + "." + column + "'" }
	f := func(sql, want string) {
		t.Helper()
		got, err := Fill(sql, value)
		if err != nil || got != want {
			t.Errorf("%s\n got  %s %v\n want %s", sql, got, err, want)
		}
	}
	f("select a from t where b=? and c in(?+) and d is not ? and e like ? and f between ? and ? limit ?",
		"select a from t where b='t.b' and c in('t.c') and d is not NULL and e like 't.e' and f between 't.f' and "+
			"'t.f' limit 10")
	f("select a from t x, u where x.id = u.id and x.s = ? and ? < u.k and q = ?",
		"select a from t x, u where x.id = u.id and x.s = 't.s' and 'u.k' < u.k and q = '.q'")
	f("update t set a = ?, b = b ? ? where c = ?", "update t set a = 't.a', b = b  +  't.b' where c = 't.c'")
	f("select concat(?, a) from t", "select concat('.', a) from t")
	f("SELECT `a` FROM `t` WHERE `b` IN (...) LIMIT ?, ...", "SELECT `a` FROM `t` WHERE `b` IN ('t.b') LIMIT 10, 10")
	f("select a from t where b = 3", "select a from t where b = 3")
	for _, sql := range []string{"select c from sbtest? where id = ?", "select a? from t", "gibberish ?"} {
		if got, err := Fill(sql, value); err == nil {
			t.Errorf("%s: got %s", sql, got)
		}
	}
}
