package schema

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/snap"
)

// lettered is a server most of whose time goes to one class over letters, 100 000 of them, and members.
func lettered(sql string, steps ...explain.Step) *snap.Made {
	m := snap.Build().Saturated().
		Table("members", 10_000, snap.Col("number", "int", 4), snap.Col("code", "varchar", 96),
			snap.Col("born", "date", 3)).Index("by_code", false, 10_000, "code").
		Table("letters", 100_000, snap.Col("member", "varchar", 80), snap.Col("sent", "datetime", 5)).Index("by_member",
		false, 10_000, "member")
	m.S.Tables[0].Columns[1].Type = "int unsigned"
	for i := range m.S.Tables {
		for j := range m.S.Tables[i].Columns {
			if c := &m.S.Tables[i].Columns[j]; c.Charset != "" {
				c.Collation = c.Charset + "_general_ci"
			}
		}
	}
	return m.Exact(sql, 60, 0.2, 100_000, 10).Plan(steps...)
}

func TestImplicitConversion(t *testing.T) {
	f := func(m *snap.Made, column, suggestion, sql string) finding.Finding {
		t.Helper()
		got := implicitConversion(m.View())
		if len(got) != 1 {
			t.Errorf("%s: %d findings", suggestion, len(got))
			return finding.Finding{}
		}
		x := got[0]
		action := ""
		if x.Action != nil {
			action = x.Action.SQL
		}
		if x.Subject.Columns[0] != column || x.Subject.Tables[0].Table != "letters" ||
			!strings.Contains(x.Suggestion, suggestion) || action != sql {
			t.Errorf("%v %v: suggests %q\nby %q, want %q\nby %q", x.Subject.Tables, x.Subject.Columns, x.Suggestion,
				action, suggestion, sql)
		}
		if x.Title == "" || x.Cause == "" || x.Falsify == "" || x.Cost == "" || len(x.Why) < 3 ||
			len(x.Evidence) < 3 || len(x.Against) == 0 {
			t.Errorf("not all is told: %+v", x)
		}
		return x
	}
	scan := snap.All("letters", 99_000, "by_member")
	if x := f(lettered("SELECT id FROM letters WHERE member = 4711", scan), "member",
		"`member` = '…'. The index by_member then", ""); x.Severity != finding.Critical ||
		x.Confidence != finding.Certain || x.Gain == nil {
		t.Errorf("got %+v", x)
	}
	f(lettered("SELECT id FROM letters WHERE -1.5 < member", scan), "member", "`member` > '…'", "")
	f(lettered("SELECT id FROM letters WHERE member IN ('1', 2)", scan), "member", "IN ('…', '…')", "")
	f(lettered("SELECT id FROM letters WHERE member BETWEEN 1 AND 5", scan), "member", "quotes", "")
	f(lettered("UPDATE letters SET sent = NOW() WHERE member = 4711", scan), "member", "quotes", "")
	bare := lettered("SELECT id FROM letters WHERE member = 4711", snap.All("letters", 99_000))
	bare.Last().Indexes = bare.Last().Indexes[:1]
	f(bare, "member", "Either alone does not help", "ALTER TABLE `shop`.`letters` ADD INDEX `idx_member` (`member`)")

	// The value was redacted, but the server refuses an index by which it would find few rows.
	redacted := lettered("SELECT id FROM letters WHERE member = 4711", scan)
	redacted.S.Classes[0].Example = ""
	if x := f(redacted, "member", "quotes", ""); x.Confidence != finding.Possible ||
		!strings.Contains(x.Against[0], "not observed") {
		t.Errorf("%s, %v", x.Confidence, x.Against)
	}

	const join = "SELECT l.sent FROM members m JOIN letters l ON l.member = m.number WHERE m.id = 5"
	one := explain.Step{Table: "m", Access: "const", Key: "PRIMARY", Rows: 1}
	const modify = "ALTER TABLE `shop`.`letters` MODIFY COLUMN `member` int unsigned NOT NULL"
	x := f(lettered(join, one, snap.All("l", 99_000, "by_member")), "member", "int unsigned. The index by_member then",
		modify)
	if x.Action.Undo != "ALTER TABLE `shop`.`letters` MODIFY COLUMN `member` varchar(20) CHARACTER SET utf8mb4 "+
		"COLLATE utf8mb4_general_ci NOT NULL" || len(x.Subject.Tables) != 2 {
		t.Errorf("the way back is %q", x.Action.Undo)
	}
	// The other way of writing it, and the plan that begins with the letters.
	f(lettered("SELECT l.sent FROM members m, letters l WHERE m.number = l.member AND m.id = 5",
		snap.All("l", 99_000, "by_member"), explain.Step{Table: "m", Access: "eq_ref", Key: "PRIMARY", Rows: 1}),
		"member", "int unsigned", modify)
	f(lettered(strings.Replace(join, "m.number", "m.born", 1), one, snap.All("l", 99_000)), "member", "date",
		"ALTER TABLE `shop`.`letters` MODIFY COLUMN `member` date NOT NULL")
	bare = lettered(join, one, snap.All("l", 99_000))
	bare.Last().Indexes = bare.Last().Indexes[:1]
	f(bare, "member", "also needs an index", modify+", ADD INDEX `idx_member` (`member`)")
	tied := lettered(join, one, snap.All("l", 99_000))
	tied.Last().Foreign = []schema.ForeignKey{{Name: "fk", Columns: []string{"member"}, To: schema.Ref{
		Schema: "shop",
		Table:  "x",
	}, Refers: []string{"y"}}}
	f(tied, "member", "foreign key holds the column", "")
	null := lettered(join, one, snap.All("l", 99_000))
	null.Last().Columns[1].Nullable = true
	f(null, "member", "int unsigned", "ALTER TABLE `shop`.`letters` MODIFY COLUMN `member` int unsigned NULL")
}

func TestImplicitConversionSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		for _, x := range implicitConversion(m.View()) {
			t.Errorf("%s: %s", name, x.Title)
		}
	}
	scan := snap.All("letters", 99_000, "by_member")
	change := func(m *snap.Made, do func(*class.Class, *explain.Plan, *schema.Table)) *snap.Made {
		do(&m.S.Classes[0], &m.S.Plans[0], m.Last())
		return m
	}
	f("a text with a text", lettered("SELECT id FROM letters WHERE member = '4711'", scan))
	f("a number with a text: that is converted once", lettered("SELECT id FROM members WHERE number = '4711'",
		snap.All("members", 10_000)))
	unseen := func(do func(*class.Class, *explain.Plan, *schema.Table)) *snap.Made {
		return change(lettered("SELECT id FROM letters WHERE member = ?", scan), do)
	}
	f("a value that was not seen, and a plan with another",
		unseen(func(_ *class.Class, p *explain.Plan, _ *schema.Table) { p.Guess = true }))
	f("a value that was not seen, and no index", unseen(func(_ *class.Class, p *explain.Plan, _ *schema.Table) {
		p.Steps[0].PossibleKeys = nil
	}))
	f("a value that was not seen, of which there are many rows",
		unseen(func(c *class.Class, _ *explain.Plan, _ *schema.Table) { c.RowsSent = known.Of(500 * c.Count) }))
	f("a value that was not seen, and an index of few values",
		unseen(func(_ *class.Class, _ *explain.Plan, t *schema.Table) {
			t.Indexes[1].Parts[0].Cardinality = known.Of(uint64(50))
		}))
	f("a value that was not seen, and a hint",
		change(lettered("SELECT id FROM letters IGNORE INDEX (by_member) WHERE member = ?", scan),
			func(*class.Class, *explain.Plan, *schema.Table) {}))
	f("the index is used all the same", change(lettered("SELECT id FROM letters WHERE member = 4711 AND id = 7", scan),
		func(c *class.Class, p *explain.Plan, _ *schema.Table) {
			p.Steps = []explain.Step{{Table: "letters", Access: "const", Key: "PRIMARY", Rows: 1}}
			c.Examined = known.Of(c.Count)
		}))
	f("LIKE", lettered("SELECT id FROM letters WHERE member LIKE 4711", scan))
	one := explain.Step{Table: "m", Access: "const", Key: "PRIMARY", Rows: 1}
	f("two texts", lettered("SELECT l.sent FROM members m JOIN letters l ON l.member = m.code WHERE m.id = 5", one,
		snap.All("l", 99_000)))
	f("two numbers", lettered("SELECT l.sent FROM members m JOIN letters l ON l.id = m.number WHERE m.id = 5", one,
		snap.All("l", 99_000)))
	const join = "SELECT l.sent FROM members m JOIN letters l ON l.member = m.number WHERE l.id = 5"
	f("looked up on the side of the number",
		change(lettered(join, explain.Step{Table: "l", Access: "const", Key: "PRIMARY", Rows: 1},
			explain.Step{Table: "m", Access: "ref", Key: "k", Rows: 1}),
			func(c *class.Class, _ *explain.Plan, _ *schema.Table) { c.Examined = known.Of(2 * c.Count) }))
	f("a small table", change(lettered("SELECT id FROM letters WHERE member = 4711", snap.All("letters", 300)),
		func(c *class.Class, _ *explain.Plan, t *schema.Table) {
			t.Rows, c.Examined = known.Of(uint64(300)), known.Of(300*c.Count)
		}))
	f("little time", lettered("SELECT id FROM letters WHERE member = 4711", scan).
		Exact("SELECT id FROM members WHERE id = 6", 9000, 0.1, 1, 1))
	f("both columns of one table", lettered("SELECT id FROM letters WHERE member = id", scan))
	gone := lettered("SELECT id FROM letters WHERE member = 4711", scan)
	gone.S.Tables = gone.S.Tables[:1]
	f("a table that is not known", gone)
	f("nothing at all", snap.Build())
}
