package sqlshape

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/shape"
)

func TestCompared(t *testing.T) {
	say := func(o shape.Operand) string {
		s := string(o.Kind) + " " + o.Expr
		if o.Kind == shape.Wrapped {
			s += " by " + o.Func
			if o.Plain {
				s += " plainly"
			}
		}
		if o.Value != "" {
			s += " = " + o.Value
		}
		return s
	}
	f := func(sql string, want ...string) {
		t.Helper()
		_, list, err := Compared(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			return
		}
		var got []string
		for _, c := range list {
			var right []string
			for _, r := range c.Right {
				right = append(right, say(r))
			}
			got = append(got, say(c.Left)+" "+c.Op+" "+strings.Join(right, ", "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s", sql, strings.Join(got, "\n"))
		}
	}
	f("select 1")
	f("select a from t where a = 5", "column `a` = number 5 = 5")
	f("select a from t where 5 < t.a and b = 'x' and c <=> null", "column `a` > number 5 = 5",
		"column `b` = text 'x' = x", "column `c` <=> null NULL")
	f("select a from t where a = -5 and b > 1.5 and c = ?", "column `a` = number -5 = -5",
		"column `b` > number 1.5 = 1.5", "column `c` = parameter ?")
	f("select a from t where a in (1, '2')", "column `a` in number 1 = 1, text '2' = 2")
	f("select a from t where date(d) between '2024-01-01' and ?", "wrapped DATE(`d`) by date plainly between text "+
		"'2024-01-01' = 2024-01-01, parameter ?")
	f("select a from t x where year(x.d) = 2024 and lower(`n``m`) = 'a'", "wrapped YEAR(`d`) by year plainly = "+
		"number 2024 = 2024",
		"wrapped LOWER(`n``m`) by lower plainly = text 'a' = a")
	f("select a from t where substring(n, 1, 3) = 'abc' and a + 1 = 5 and cast(n as char(5)) = 'x'",
		"wrapped SUBSTRING(`n`, 1, 3) by substring = text 'abc' = abc", "wrapped `a` + 1 by arithmetic = number 5 = 5",
		"wrapped CAST(`n` AS CHAR(5)) by cast = text 'x' = x")
	f("select t.a from t join u on t.a = u.b left join w using (a) where u.c = 1 or t.a = 2", "column `a` = column `b`")
	f("select a from t where d >= now() - interval 1 day", "column `d` >= anything DATE_SUB(NOW(), INTERVAL 1 DAY)")
	f("select a from t where concat(a, b) = 'x' and rand() = a", "column `a` = anything RAND()")
	f("select a from t where not (a = 1) and a = (select max(b) from u)", "column `a` = anything (SELECT MAX(`b`) "+
		"FROM `u`)")
	f("update t set a = 1 where n = 7", "column `n` = number 7 = 7")
	f("delete from t where n = 7 limit 5", "column `n` = number 7 = 7")
	f("insert into t values (1)")
	f("select a from t where n like 'x%'", "column `n` like text 'x%' = x%")
	// Fingerprints and digests.
	f("select a from t where date(d) = ?", "wrapped DATE(`d`) by date plainly = parameter ?")
	f("SELECT `a` FROM `t` WHERE LOWER ( `n` ) = ? ", "wrapped LOWER(`n`) by lower plainly = parameter ?")
	if _, list, _ := Compared("select a from t join u on t.a = u.b collate utf8mb4_bin"); len(list) != 1 ||
		list[0].RightCollate != "utf8mb4_bin" {
		t.Errorf("COLLATE is lost: %+v", list)
	}
	if _, _, err := Compared("select '"); err == nil {
		t.Error("half a statement was understood")
	}
	long := "select a from t where a in (1" + strings.Repeat(",2", 9999) + ")"
	if _, list, err := Compared(long); err != nil || len(list[0].Right) != maxList {
		t.Errorf("a long list: %v", err)
	}
}

func TestHinted(t *testing.T) {
	f := func(sql string, want ...string) {
		t.Helper()
		if got := Hinted(sql); !slices.Equal(got, want) {
			t.Errorf("%s: %v", sql, got)
		}
	}
	f("select a from t")
	f("select a from t force index (x, y) join u use index (z) on t.a = u.a", "x", "y", "z")
	f("select a from t where a in (select b from u ignore index (k))", "k")
	f("select /*+ INDEX(t x) */ a from t", "INDEX", "t", "x")
	f("select '")
	f("select /*+ INDEX(`t a` `x``,y`@`q` k?_?2) */ a from `t a`", "INDEX", "t a", "x`,y", "q", "k?_?2")
	f("select '/*+ INDEX(t x) */', `/*+ y */` from t -- /*+ z */")
	f("select /*!50000 /*+ INDEX(t x) */ */ a from t", "INDEX", "t", "x")
	f("select a from t where it's /*+ INDEX(t `x", "s", "/*+", "INDEX", "t", "x") // half a statement
	// Marks without an end are read once, not once for each: this would take hours.
	for _, mark := range []string{
		"/* ", "\"\\ ", "`' ", "\" ", "-- ", "/*! ", "/*M! ", "/*!99999/*+ ", "''", "\\\"\\\"",
	} {
		for _, begin := range []string{"select /* ", "select /*+ "} {
			if got := Hinted(begin + strings.Repeat(mark, 1<<20) + " k"); !slices.Contains(got, "k") {
				t.Errorf("%q in %q hides a name", mark, begin)
			}
		}
	}
}
