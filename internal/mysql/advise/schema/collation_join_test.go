package schema

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/snap"
)

// letterCode joins letters by a code of the collations given, each with its character set in front.
func letterCode(letters, members string, steps ...explain.Step) *snap.Made {
	if len(steps) == 0 {
		steps = []explain.Step{{Table: "m", Access: "ref", Key: "by_team", Rows: 20}, snap.All("l", 99_000)}
	}
	m := lettered("SELECT l.sent FROM members m JOIN letters l ON l.member = m.code WHERE m.born = '2000-01-01'",
		steps...)
	set := func(c *schema.Column, collation string) {
		c.Charset, _, _ = strings.Cut(collation, "_")
		c.Collation = collation
		width := map[string]int{"latin1": 1, "ascii": 1, "utf8mb3": 3, "utf8mb4": 4}[c.Charset]
		c.Bytes = 20 * width
		c.Type = "varchar(20)"
	}
	set(&m.S.Tables[0].Columns[2], members)
	set(&m.S.Tables[1].Columns[1], letters)
	return m
}

func TestCollationJoin(t *testing.T) {
	f := func(m *snap.Made, sql string) finding.Finding {
		t.Helper()
		got := collationJoin(m.View())
		if len(got) != 1 {
			t.Errorf("%s: %d findings", sql, len(got))
			return finding.Finding{}
		}
		x := got[0]
		action := ""
		if x.Action != nil {
			action = x.Action.SQL
		}
		if action != sql || x.Subject.Tables[0].Table != "letters" || x.Subject.Columns[0] != "member" ||
			len(x.Subject.Tables) != 2 {
			t.Errorf("%v by %q, want %q", x.Subject, action, sql)
		}
		if x.Title == "" || x.Cause == "" || x.Falsify == "" || x.Cost == "" || len(x.Why) < 3 ||
			len(x.Evidence) < 3 || len(x.Against) == 0 {
			t.Errorf("not all is told: %+v", x)
		}
		return x
	}
	const to = "ALTER TABLE `shop`.`letters` MODIFY COLUMN `member` varchar(20) CHARACTER SET utf8mb4 COLLATE " +
		"utf8mb4_general_ci NOT NULL"
	x := f(letterCode("latin1_swedish_ci", "utf8mb4_general_ci"), to)
	if x.Severity != finding.Critical || !strings.Contains(x.Title, "from latin1 to utf8mb4") ||
		!strings.Contains(x.Suggestion, "by_member then serves") {
		t.Errorf("got %+v", x)
	}
	f(letterCode("utf8mb3_general_ci", "utf8mb4_general_ci"), to)
	f(letterCode("ascii_general_ci", "latin1_swedish_ci"), "ALTER TABLE `shop`.`letters` MODIFY COLUMN `member` "+
		"varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL")
	x = f(letterCode("utf8mb4_general_ci", "utf8mb4_bin"), "ALTER TABLE `shop`.`letters` MODIFY COLUMN `member` "+
		"varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL")
	if !strings.Contains(strings.Join(x.Against, " "), "case or accents") ||
		!strings.Contains(x.Title, "from utf8mb4_general_ci to utf8mb4_bin") {
		t.Errorf("%s, against it: %v", x.Title, x.Against)
	}
	wide := letterCode("latin1_swedish_ci", "utf8mb4_general_ci")
	wide.Last().Columns[1].Type, wide.Last().Columns[1].Bytes = "varchar(1000)", 1000
	x = f(wide, strings.Replace(to, "varchar(20)", "varchar(1000)", 1))
	if !strings.Contains(strings.Join(x.Against, " "), "4000 bytes") {
		t.Errorf("keys too long are not thought of: %v", x.Against)
	}
}

func TestCollationJoinSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		for _, x := range collationJoin(m.View()) {
			t.Errorf("%s: %s", name, x.Title)
		}
	}
	f("the same", letterCode("utf8mb4_general_ci", "utf8mb4_general_ci"))
	f("the other side is converted, and that one is looked up by its table's other index",
		letterCode("utf8mb4_general_ci", "latin1_swedish_ci",
			explain.Step{Table: "m", Access: "ref", Key: "by_team", Rows: 20}, snap.All("l", 99_000)))
	served := letterCode("latin1_swedish_ci", "utf8mb4_general_ci", explain.Step{
		Table: "l", Access: "const",
		Key: "PRIMARY", Rows: 1,
	}, explain.Step{Table: "m", Access: "ref", Key: "by_code", Rows: 1})
	served.S.Classes[0].Examined = known.Of(2 * served.S.Classes[0].Count)
	f("looked up on the side that is not converted", served)
	f("narrowed by the server: it uses the index", letterCode("utf8mb3_general_ci", "utf8mb4_general_ci",
		explain.Step{Table: "m", Access: "ref", Key: "by_team", Rows: 20}, explain.Step{
			Table: "l", Access: "ref",
			Key: "by_member", Rows: 10,
		}))
	f("two that the server refuses to compare", letterCode("utf8mb4_general_ci", "utf8mb4_unicode_ci"))
	chosen := letterCode("utf8mb4_general_ci", "utf8mb4_unicode_ci")
	chosen.S.Classes[0].Example = strings.Replace(chosen.S.Classes[0].Example, "m.code",
		"m.code COLLATE utf8mb4_bin", 1)
	f("the statement says how to compare", chosen)
	value := letterCode("latin1_swedish_ci", "utf8mb4_general_ci")
	value.S.Classes[0].Example = "SELECT id FROM letters WHERE member = 'x'"
	f("a plain value", value)
	small := letterCode("latin1_swedish_ci", "utf8mb4_general_ci", snap.All("m", 20), snap.All("l", 200))
	small.Last().Rows, small.S.Classes[0].Examined = known.Of(uint64(200)), known.Of(220*small.S.Classes[0].Count)
	f("a small table", small)
	f("little time", letterCode("latin1_swedish_ci", "utf8mb4_general_ci").Exact("SELECT id FROM members WHERE id = 6",
		9000, 0.1, 1, 1))
	f("nothing at all", snap.Build())
}

func TestConverted(t *testing.T) {
	f := func(a, b, want string) {
		t.Helper()
		col := func(collation string) schema.Column {
			cs, _, _ := strings.Cut(collation, "_")
			return schema.Column{Charset: cs, Collation: collation}
		}
		for range 2 {
			side, ok := converted(col(a), col(b))
			got := ""
			if ok {
				got = []string{a, b}[side]
			}
			if got != want {
				t.Errorf("%s = %s: %q is converted, want %q", a, b, got, want)
			}
			a, b = b, a
		}
	}
	f("latin1_swedish_ci", "utf8mb4_bin", "latin1_swedish_ci")
	f("utf8mb3_bin", "utf8mb4_general_ci", "utf8mb3_bin")
	f("utf8_general_ci", "utf8mb3_general_ci", "")
	f("utf8_general_ci", "utf8mb3_bin", "utf8_general_ci")
	f("utf8mb4_bin", "utf8mb4_0900_ai_ci", "utf8mb4_0900_ai_ci")
	f("utf8mb4_general_ci", "utf8mb4_0900_ai_ci", "")
	f("latin1_swedish_ci", "latin2_general_ci", "")
	f("utf8mb4_general_ci", "utf32_general_ci", "")
	f("ascii_bin", "latin1_bin", "ascii_bin")
	f("binary", "utf8mb4_bin", "")
}
