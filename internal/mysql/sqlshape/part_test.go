package sqlshape

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/shape"
)

// whole writes a shape with its ORs and its parts.
func whole(s shape.Shape) string {
	out := text(s)
	for _, any := range s.Any {
		var alt []string
		for _, b := range any {
			alt = append(alt, strings.TrimPrefix(text(shape.Shape{Predicates: b}), " "))
		}
		out += " any(" + strings.Join(alt, " or ") + ")"
	}
	for _, p := range s.Parts {
		out += fmt.Sprintf(" <%s", p.Role)
		if p.Correlated {
			out += " correlated"
		}
		out += ": " + text(p) + ">"
	}
	return out
}

func TestParts(t *testing.T) {
	f := func(sql, want string) {
		t.Helper()
		for _, q := range []string{sql, mytext.Fingerprint(sql)} {
			s, err := Parse(q)
			if err != nil {
				t.Errorf("%s: %v", q, err)
			} else if got := whole(s); got != want {
				t.Errorf("%s\n got  %s\n want %s", q, got, want)
			}
		}
	}
	f("select a from t where b in (select c from u where d = 1)", "select t out:0.a {sub-query} <sub-query: select u "+
		"[0.d eq] [0.c eq ?.] out:0.c>")
	f("select a from t where not exists (select 1 from u where u.x = t.x and u.y > 3)",
		"select t out:0.a {sub-query} <sub-query correlated: select u [0.x eq] [0.y range]>")
	f("select a, (select max(k) from u where u.x = t.x) from t", "select t out:0.a {sub-query} <sub-query "+
		"correlated: select u [0.x eq] out:0.k folded>")
	f("select a from t where b = 1 union all select a from u where c = 2 order by 1",
		"select {UNION} <union: select t [0.b eq] out:0.a> <union: select u [0.c eq] out:0.a>")
	f("select a from (select a from t where b = 1) x where a = 3", "select x [0.a eq] out:0.a {derived table} "+
		"<derived table: select t [0.b eq] out:0.a>")
	f("insert into t select a from u where b = 1", "insert t {the SELECT of an INSERT} <source: select u [0.b eq] "+
		"out:0.a>")
	f("with x as (select a from t where b = 1) select a from x where a = 2", "select x [0.a eq] out:0.a {WITH; "+
		"derived table} <derived table: select t [0.b eq] out:0.a>")
	f("delete from t where id in (select t_id from u where v = 3 and exists (select 1 from w where w.k = u.k))",
		"delete t {sub-query} <sub-query: select u [0.v eq] [0.t_id eq ?.] out:0.t_id {sub-query}> <sub-query "+
			"correlated: select w [0.k eq]>")
	f("select a from t where b = 1 or (c = 2 and d > 3) or e like lower('x')",
		"select t out:0.a {OR} any([0.b eq] or [0.c eq] [0.d range] or [0.e other])")
	f("select a from t where b = 1 or b = 2", "select t [0.b in] out:0.a")
}

func TestBounded(t *testing.T) {
	f := func(where string, want bool) {
		t.Helper()
		s, err := Parse("select a from t where " + where)
		if err != nil || len(s.Predicates) != 1 || s.Predicates[0].Op != shape.Range ||
			s.Predicates[0].Bounded != want {
			t.Errorf("%s: %+v %v", where, s.Predicates, err)
		}
	}
	f("a > 1", false)
	f("a > 1 and a >= 2", false)
	f("a > 1 and a < 5", true)
	f("5 > a and a > 1", true)
	f("5 > a and 7 >= a", false)
	f("a between 1 and 2", true)
}

func TestReadsNamesColumns(t *testing.T) {
	s, err := Parse("select a, sum(b) from t where c = 1 and d + 1 = 2 and (e = 1 or f = 2) and g in (select h from " +
		"u) group by i order by j")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Reads {
		got = append(got, c.Column)
	}
	if strings.Join(got, "") != "abcdefgij" {
		t.Errorf("got %v", got)
	}
}
