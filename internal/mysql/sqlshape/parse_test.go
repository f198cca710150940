package sqlshape

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/shape"
)

// text writes a shape in one line.
func text(s shape.Shape) string {
	var b strings.Builder
	name := func(i int) string {
		if i == shape.Unresolved {
			return "?"
		}
		return fmt.Sprint(i)
	}
	b.WriteString(string(s.Kind))
	for _, t := range s.Tables {
		fmt.Fprintf(&b, " %s", strings.Trim(t.Schema+"."+t.Name+"/"+t.Alias, "./"))
	}
	for _, p := range s.Predicates {
		fmt.Fprintf(&b, " [%s.%s %s", name(p.Table), p.Column, p.Op)
		if p.Join {
			fmt.Fprintf(&b, " %s.%s", name(p.OtherTable), p.OtherColumn)
		}
		if p.Outer {
			b.WriteString(" outer")
		}
		if p.Func != "" {
			b.WriteString(" " + p.Func)
		}
		b.WriteString("]")
	}
	for _, c := range s.OrderBy {
		fmt.Fprintf(&b, " order:%s.%s", name(c.Table), c.Column)
		if c.Desc {
			b.WriteString("-")
		}
	}
	for _, c := range s.GroupBy {
		fmt.Fprintf(&b, " group:%s.%s", name(c.Table), c.Column)
	}
	for _, c := range s.Output {
		fmt.Fprintf(&b, " out:%s.%s", name(c.Table), c.Column)
	}
	for _, c := range s.Set {
		b.WriteString(" set:" + c)
	}
	if s.Star {
		b.WriteString(" *")
	}
	if s.Limit {
		b.WriteString(" limit")
	}
	if s.Folded {
		b.WriteString(" folded")
	}
	if s.Locking {
		b.WriteString(" locking")
	}
	if len(s.Opaque) > 0 {
		fmt.Fprintf(&b, " {%s}", strings.Join(s.Opaque, "; "))
	}
	return b.String()
}

func TestParse(t *testing.T) {
	f := func(sql, want string) {
		t.Helper()
		s, err := Parse(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := text(s); got != want {
			t.Errorf("%s\n got  %s\n want %s", sql, got, want)
		}
	}
	both := func(sql, want string) { // as a statement and as its fingerprint
		t.Helper()
		f(sql, want)
		f(mytext.Fingerprint(sql), want)
	}
	both("SELECT a FROM t WHERE id=5 AND s = 'open' AND x IN (1,2) AND y IS NULL AND d BETWEEN 1 AND 2 ORDER BY d "+
		"DESC LIMIT 5",
		"select t [0.id eq] [0.s eq] [0.x in] [0.y is_null] [0.d range] order:0.d- out:0.a limit")
	both("select * from t where 5 < a and b <> 3 and c is not null and not (d = 1)",
		"select t [0.a range] [0.b other] [0.c other] * {NOT}")
	both("select a from t where b = 1 or c = 2", "select t out:0.a {OR}")
	both("select a from t where (b = 1 or b = 2) and (c = 3)", "select t [0.b in] [0.c eq] out:0.a")
	both("select a from t where date(d) = '2020-01-01' and k - 1 > 3",
		"select t [0.d other date] [0.k other arithmetic] out:0.a {function date around a column; function "+
			"arithmetic around a column}")
	both("select a from t where b in (select c from u) and exists (select 1 from u where u.x = t.x) and e = (select "+
		"max(k) from u)",
		"select t out:0.a {sub-query}")
	both("select x.a from t x join u y on x.id = y.tid where y.s = 'a' for update",
		"select t/x u/y [0.id eq 1.tid] [1.tid eq 0.id] [1.s eq] out:0.a locking")
	both("select a from t left join u on t.id = u.id and u.s = 'x' and t.q = 1 where t.k = -3",
		"select t u [1.id eq 0.id outer] [1.s eq outer] [0.k eq] out:?.a")
	both("select a from t join u using (id) where b = 1", "select t u [0.id eq 1.id] [1.id eq 0.id] [?.b eq] out:?.a")
	both("select count(*) from d.t group by s having count(*) > 3", "select d.t group:0.s folded")
	both("select s as x, count(*) c from t where a > now() - interval 1 day group by x order by x",
		"select t [0.a range] order:0.s group:0.s out:0.s folded")
	both("select a from t order by rand()", "select t out:0.a {ORDER BY an expression}")
	both("select a from (select a from t where b = 1) x where a = 3", "select x [0.a eq] out:0.a {derived table}")
	both("select a from t where b = 1 union select a from u where c = 2", "select {UNION}")
	both("update t set a = a + 1 where b = 3 order by c limit 1", "update t [0.b eq] order:0.c set:a limit")
	both("delete from t where a in (1, 2) and b > 3", "delete t [0.a in] [0.b range]")
	both("insert into t (a, b) values (1, 'x'), (2, 'y')", "insert t")
	both("replace into t values (1)", "insert t")
	both("select a from t where (a, b) in ((1, 2), (3, 4))", "select t out:0.a {comparison of rows}")
	both("select a from t where b = c and d = e + 1", "select t out:0.a {comparison of two columns; comparison with "+
		"an expression over columns}")
	both("set autocommit = 1", "other")
	f("select a from t where b like 'x%' and c like '%x'", "select t [0.b like_prefix] [0.c other] out:0.a {LIKE "+
		"that begins with a wildcard}")
	f("select a from t where b like ?", "select t [0.b other] out:0.a {LIKE with an unknown pattern}")
	f(mytext.Fingerprint("select c from sbtest12 where k1 = 5 and id between 1 and 2"),
		"select sbtest? [0.k? eq] [0.id range] out:0.c")
	f("SELECT SUM ( `k` ) FROM `d` . `t` WHERE ID BETWEEN ? AND ? AND `x` = - ? AND `y` IN (...) LIMIT ?, ...",
		"select d.t [0.ID range] [0.x eq] [0.y in] out:0.k limit folded")
	f("SELECT `a` FROM `t` WHERE `b` = `c` ( ? )", "select t [0.b eq] out:0.a")
}

// TestNumber: a column that is held against a number without quotes is told, whichever way it stands.
func TestNumber(t *testing.T) {
	f := func(where string, want bool) {
		t.Helper()
		s, err := Parse("SELECT a FROM t WHERE " + where)
		if err != nil || len(s.Predicates) != 1 || s.Predicates[0].Number != want {
			t.Errorf("%s: %+v %v", where, s.Predicates, err)
		}
	}
	for _, where := range []string{
		"phone = 5", "-5.5 = phone", "phone > 5", "phone IN ('1', 2)",
		"phone BETWEEN 1 AND '9'", "phone = '1' OR phone = 2",
	} {
		f(where, true)
	}
	for _, where := range []string{
		"phone = '5'", "phone = ?", "phone IN ('1','2')", "phone BETWEEN '1' AND '9'",
		"phone LIKE '5%'", "phone IS NULL", "phone = '1' OR phone = '2'",
	} {
		f(where, false)
	}
}

func TestParseErrorShowsNoText(t *testing.T) {
	for _, sql := range []string{
		"", "select from where secret", "select 1; select 2", "selec 'secret'", "use ?",
		strings.Repeat("x", MaxBytes+1), "'",
	} {
		_, err := Parse(sql)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: got %v", sql, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"select a from t? where b = ? and c in(?+) and d is not ? or k ? ? > ??",
		"SELECT `a` FROM `t` WHERE ID IN (...) /* , ... */ ?, ...", "delete from t where a like 'x%' limit ?",
		"with x as (select 1) select * from x natural join y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		_, _ = Parse(sql)
		_ = Explainable(sql)
		_, _ = Fill(sql, func(string, string) string { return "1" })
		_, _ = Parse(mytext.Fingerprint(sql))
	})
}
