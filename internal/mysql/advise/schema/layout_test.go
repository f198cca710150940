package schema

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/snap"
)

// TestLayoutOfManyTables asks the rules on a server of thousands of classes and tables, with and without the names of
// tables.
func TestLayoutOfManyTables(t *testing.T) {
	f := func(redacted bool) {
		t.Helper()
		s := snap.Large(3)
		if redacted {
			for i := range s.Classes {
				s.Classes[i].Example = ""
			}
		}
		v := snap.View(s, nil)
		begin := time.Now()
		for _, r := range layoutRules() {
			for _, x := range r.Find(v) {
				t.Logf("%s: %s", r.Name, x.Title)
			}
		}
		took := time.Since(begin)
		t.Logf("%d classes, %d tables, redacted %v: %v", len(s.Classes), len(s.Tables), redacted, took)
		if took > 5*time.Second { // 1 s is what all rules together may take on a quiet machine
			t.Errorf("%v", took)
		}
	}
	f(false)
	f(true)
}

func TestFreeNames(t *testing.T) {
	m := snap.Build().Table("t", 1, snap.Col("a", "int", 4)).Index("a", false, 0, "a").Index("a_2", false, 0, "a")
	if got := freeIndex(*m.Last(), []string{"a"}); got != "a_3" {
		t.Error(got)
	}
	if got := freeIndex(*m.Last(), []string{strings.Repeat("ü", 70)}); len([]rune(got)) > longestName {
		t.Errorf("%d characters", len([]rune(got)))
	}
	if got := freeColumn(*m.Last(), "id", "row_id"); got != "row_id" {
		t.Error(got)
	}
}

func TestWidth(t *testing.T) {
	f := func(typ, data string, bytes, least, most int) {
		t.Helper()
		lo, hi := widths(schema.Table{Columns: []schema.Column{{Name: "c", Type: typ, DataType: data, Bytes: bytes}}},
			[]string{"c"})
		if lo != least || hi != most {
			t.Errorf("%s: %d to %d, want %d to %d", typ, lo, hi, least, most)
		}
	}
	f("int(11)", "int", 4, 4, 4)
	f("int", "int", 0, 4, 4) // the server does not say
	f("varchar(40)", "varchar", 160, 1, 162)
	f("char(36)", "char", 144, 36, 146)
	f("char(36)", "char", 36, 36, 36)
	f("text", "text", 65535, 1, 0)
	f("point", "point", 0, 0, 0)
	if _, most := widths(schema.Table{}, []string{"gone"}); most != 0 {
		t.Error("a column that is not there has a width")
	}
}
