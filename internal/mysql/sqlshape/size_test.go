package sqlshape

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/effort"
)

// repeated is n of one text, in which # is a number.
func repeated(n int, text, between string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(text, "#", fmt.Sprint(i))
	}
	return strings.Join(all, between)
}

// TestLongStatements: whoever may run statements chooses how much one says.
func TestLongStatements(t *testing.T) {
	for _, x := range []struct{ name, head, text, between string }{
		{"conditions", "select * from t where ", "c#=#", " and "},
		{"conditions without a table", "select * from t,u where ", "c#=#", " and "},
		{"branches", "select * from t where ", "a#=1 and b#=2", " or "},
		{"functions", "select * from t where ", "f#(a)=1", " and "},
		{"columns", "select ", "c#", ","},
		{"columns in one expression", "select 1+", "c#", "+"},
		{"tables", "select * from ", "t#", ","},
		{"conditions on many tables", "select * from " + repeated(300, "t#", ",") + " where ", "t#.c#=1", " and "},
		{"hints", "select * from t ", "force index(i#)", " "},
		{"signs of a fingerprint", "select ", "not ?", " "},
		{"joins", "select * from a ", "join b", " "},
		{"SELECTs", "", "select a from t where a=#", " union "},
	} {
		for name, f := range map[string]func(string){
			"Parse": func(s string) { _, _ = Parse(s) }, "Compared": func(s string) { _, _, _ = Compared(s) },
			"Hinted":  func(s string) { Hinted(s) },
			"Touches": func(s string) { _, _ = Touches(s) }, "Moved": func(s string) { _, _ = Moved(s) },
			"Fill": func(s string) { _, _ = Fill(s, func(string, string) string { return "1" }) },
		} {
			n := MaxBytes / 10 / (len(x.text) + len(x.between) + 4)
			effort.Linear(t, name+" of "+x.name, n, func(n int) func() {
				s := x.head + repeated(n, x.text, x.between)
				return func() { f(s) }
			})
		}
	}
}

// TestNamesInManyLevels: a name that no table has is looked for in every table of every SELECT around it.
func TestNamesInManyLevels(t *testing.T) {
	names := repeated(6000, "z#.c", "+")
	effort.Linear(t, "names that nobody has", 6, func(n int) func() {
		from := "select 1 from " + repeated(n, "t#", ",") + " where exists("
		s := strings.Repeat(from, n) + "select 1 from u where 1=" + names + strings.Repeat(")", n)
		if len(s) > MaxBytes {
			t.Fatalf("%d bytes", len(s))
		}
		return func() { _, _ = Parse(s) }
	})
}

// TestTooLarge: what is said of a statement is all that it says, or nothing.
func TestTooLarge(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat("select a from t where a in (", n) + "1" + strings.Repeat(")", n)
	}
	for _, x := range []struct {
		name string
		sql  string
		want bool
	}{
		{"500 conditions", "select * from t where " + repeated(500, "c#=1", " and "), false},
		{"501 conditions", "select * from t where " + repeated(501, "c#=1", " and "), true},
		{"5000 times one condition", "select * from t where " + repeated(5000, "a<>#", " and "), false},
		{"501 branches", "select * from t where " + repeated(501, "a=# and b=#", " or "), false},
		{"501 conditions in branches", "select * from t where " + repeated(501, "a=# and c#=1", " or "), true},
		{"2000 columns", "select " + repeated(2000, "c#", ",") + " from t", false},
		{"2001 columns", "select " + repeated(2001, "c#", ",") + " from t", true},
		{"2001 columns of a part", "select 1 from (select " + repeated(2001, "c#", ",") + " from t) x", true},
		{"64 tables", "select 1 from " + repeated(64, "t#", ","), false},
		{"65 tables", "select 1 from " + repeated(65, "t#", ","), true},
		{"65 tables of a part", "select 1 from (select 1 from " + repeated(65, "t#", ",") + ") x", true},
		{"200 SELECTs", repeated(200, "select # from t", " union "), false},
		{"201 SELECTs", repeated(201, "select # from t", " union "), true},
		{"63 levels", deep(63), false},
		{"66 levels", deep(66), true},
	} {
		sh, err := Parse(x.sql)
		if errors.Is(err, ErrTooLarge) != x.want || !x.want && err != nil || x.want && len(sh.Tables) > 0 {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	if _, _, err := Compared("select * from t where " + repeated(501, "date(a)=#", " and ")); !errors.Is(err,
		ErrTooLarge) {
		t.Errorf("501 comparisons: %v", err)
	}
	for _, sql := range []string{"select " + strings.Repeat("1,", MaxBytes/2) + "1", "select 1 from a" +
		strings.Repeat(" join b", maxJoins+1)} {
		if _, err := Parse(sql); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.30s…: %v", sql, err)
		}
	}
}
