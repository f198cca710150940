package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/snap"
)

// folded is a server most of whose time goes to one class that reads a table of 200 000 orders as a whole.
func folded(sql string, indexes ...string) *snap.Made {
	m := snap.Build().Saturated().Set("sql_mode", "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE").
		Table("orders", 200_000, snap.Col("made", "datetime", 5), snap.Col("day", "date", 3),
			snap.Col("stamp", "timestamp", 4), snap.Col("mail", "varchar", 480),
			snap.Col("state", "int", 4), snap.Col("note", "text", 65535), snap.Col("code", "varchar", 80))
	t := m.Last()
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Charset != "" {
			c.Collation = "utf8mb4_general_ci"
		}
	}
	for _, c := range indexes {
		m.Index("by_"+c, false, 150_000, c)
	}
	return m.Exact(sql, 60, 0.2, 200_000, 30).Plan(snap.All("orders", 199_000)).Exact("SELECT mail FROM orders WHERE "+
		"id = 5", 9000, 0.0001, 1, 1)
}

func TestFunctionOnColumn(t *testing.T) {
	f := func(m *snap.Made, suggestion, sql string) finding.Finding {
		t.Helper()
		got := functionOnColumn(m.View())
		if len(got) != 1 {
			t.Errorf("%s: %d findings", suggestion, len(got))
			return finding.Finding{}
		}
		x := got[0]
		action := ""
		if x.Action != nil {
			action = x.Action.SQL
		}
		if !strings.Contains(x.Suggestion, suggestion) || action != sql {
			t.Errorf("suggests %q\nby %q, want %q\nby %q", x.Suggestion, action, suggestion, sql)
		}
		if x.Title == "" || x.Cause == "" || x.Falsify == "" || x.Cost == "" || len(x.Why) < 3 || len(x.Evidence) < 3 ||
			x.Subject.Tables[0].Table != "orders" {
			t.Errorf("not all is told: %+v", x)
		}
		return x
	}
	got := f(folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01'", "made"),
		"use `made` >= ? AND `made` < ? + INTERVAL 1 DAY. ", "")
	if got.Severity != finding.Critical || got.Confidence != finding.Certain || got.Subject.Columns[0] != "made" ||
		len(got.Against) != 0 || got.Gain == nil || got.Gain.Lo < 10 {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.Suggestion, "index by_made then serves") {
		t.Error(got.Suggestion)
	}
	f(folded("SELECT id FROM orders WHERE YEAR(made) = 2023", "made"), "`made` >= '2023-01-01' AND `made` < "+
		"'2024-01-01'", "")
	f(folded("SELECT id FROM orders WHERE YEAR(day) > 2023", "day"), "`day` >= '2024-01-01'", "")
	f(folded("SELECT id FROM orders WHERE DATE(made) BETWEEN '2024-05-01' AND '2024-05-02'", "made"),
		"`made` >= ? AND `made` < ? + INTERVAL 1 DAY", "")
	f(folded("SELECT id FROM orders WHERE '2024-05-01' >= DATE(made)", "made"), "`made` < ? + INTERVAL 1 DAY", "")
	f(folded("SELECT id FROM orders WHERE DATE(made) = CURDATE() - INTERVAL 1 DAY", "made"),
		"`made` >= DATE_SUB(CURDATE(), INTERVAL 1 DAY) AND", "")
	f(folded("SELECT id FROM orders WHERE DATE(day) = '2024-05-01'", "day"), "use `day` = ?", "")
	f(folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01'"), "Either alone does not help",
		"ALTER TABLE `shop`.`orders` ADD INDEX `idx_made` (`made`)")
	if x := f(folded("SELECT id FROM orders WHERE DATE(stamp) = '2024-05-01'", "stamp"), "`stamp` >= ?",
		""); !strings.Contains(strings.Join(x.Against, " "), "time zone") {
		t.Error("the session's time zone is not thought of")
	}
	if x := f(folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01'", "made").Set("sql_mode", ""),
		"`made` >= ?", ""); !strings.Contains(strings.Join(x.Against, " "), "2024-01-00") {
		t.Error("dates with a zero are not thought of")
	}
	redacted := folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01'", "made")
	redacted.S.Classes[0].Example = ""
	if x := f(redacted, "`made` >= ?", ""); !strings.Contains(strings.Join(x.Against, " "), "plain date") {
		t.Error("the value was not seen, and that is not told")
	}

	// What no range serves.
	const month = "SELECT id FROM orders WHERE MONTH(made) = 5"
	f(folded(month, "made").MySQL("8.0.13"), "exactly as the statement has it: (MONTH(`made`))",
		"ALTER TABLE `shop`.`orders` ADD INDEX `idx_made_month` ((MONTH(`made`)))")
	f(folded(month, "made").MySQL("8.0.12"), "generated column",
		"ALTER TABLE `shop`.`orders` ADD COLUMN `made_month` smallint GENERATED ALWAYS AS (MONTH(`made`)) VIRTUAL, "+
			"ADD INDEX `idx_made_month` (`made_month`)")
	f(folded(month, "made").MySQL("5.6.40"), "can index neither", "")
	f(folded(month, "made"), "Then use `made_month` = ?",
		"ALTER TABLE `shop`.`orders` ADD COLUMN `made_month` smallint GENERATED ALWAYS AS (MONTH(`made`)) VIRTUAL "+
			"INVISIBLE, ADD INDEX `idx_made_month` (`made_month`)")
	x := f(folded("SELECT id FROM orders WHERE LOWER(mail) = 'a@b'", "mail").MySQL("9.7.0"), "(LOWER(`mail`))",
		"ALTER TABLE `shop`.`orders` ADD INDEX `idx_mail_lower` ((LOWER(`mail`)))")
	if !strings.Contains(strings.Join(x.Against, " "), "ignores case") {
		t.Error("the collation is not thought of")
	}
	f(folded("SELECT id FROM orders WHERE LOWER(mail) = 'a@b'", "mail"), "AS (LOWER(`mail`))",
		"ALTER TABLE `shop`.`orders` ADD COLUMN `mail_lower` varchar(120) CHARACTER SET utf8mb4 "+
			"COLLATE utf8mb4_general_ci GENERATED ALWAYS AS (LOWER(`mail`)) VIRTUAL INVISIBLE, ADD INDEX "+
			"`idx_mail_lower` (`mail_lower`)")
	f(folded("SELECT id FROM orders WHERE SUBSTRING(code, 1, 3) = 'abc'").MySQL("9.7.0"), "(SUBSTRING(`code`, 1, 3))",
		"ALTER TABLE `shop`.`orders` ADD INDEX `idx_code_substring` ((SUBSTRING(`code`, 1, 3)))")
	f(folded("SELECT id FROM orders WHERE LOWER(note) = 'x'").MySQL("9.7.0"), "too large for a key", "")
	f(folded("SELECT id FROM orders WHERE MONTH(stamp) = 5").MySQL("9.7.0"), "depends on the session", "")
	// The parts of an expression are unknown without the statement's text.
	unseen := folded("SELECT id FROM orders WHERE SUBSTRING(code, 1, 3) = 'abc'").MySQL("9.7.0")
	unseen.S.Classes[0].Example = ""
	f(unseen, "exact expression is unknown", "")
	// A column that holds the expression already.
	have := folded("SELECT id FROM orders WHERE LOWER(mail) = 'a@b'", "mail_low")
	c := snap.Col("mail_low", "varchar", 480)
	c.Generated = "lower(`mail`)"
	have.Last().Columns = append(have.Last().Columns, c)
	f(have, "use `mail_low` = ?", "")
	// Two classes with one expression are one finding.
	two := folded("SELECT id FROM orders WHERE LOWER(mail) = 'a@b'", "mail").Exact("SELECT note FROM orders o WHERE "+
		"lower(o.mail) = 'a@b'", 40, 0.2, 200_000, 30).Plan(snap.All("o", 199_000))
	if x := f(two.MySQL("8.0.36"), "LOWER",
		"ALTER TABLE `shop`.`orders` ADD INDEX `idx_mail_lower` ((LOWER(`mail`)))"); len(x.Subject.Classes) != 2 ||
		x.Share < 0.9 {
		t.Errorf("%v classes, share %v", x.Subject.Classes, x.Share)
	}
	// Without plan and without counts.
	seen := folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01'", "made")
	seen.S.Plans, seen.S.Classes = nil, nil
	seen.Sampled("SELECT id FROM orders WHERE DATE(made) = '2024-05-01'", 12).Symptom("rnd-next", "server", "scans")
	if x := f(seen, "`made` >= ?", ""); x.Confidence != finding.Possible || len(x.Against) < 2 {
		t.Errorf("%s with %v", x.Confidence, x.Against)
	}
}

func TestFunctionOnColumnSilent(t *testing.T) {
	f := func(name string, m *snap.Made) {
		t.Helper()
		for _, x := range functionOnColumn(m.View()) {
			t.Errorf("%s: %s", name, x.Title)
		}
	}
	const byDay = "SELECT id FROM orders WHERE DATE(made) = '2024-05-01'"
	change := func(m *snap.Made, do func(*class.Class, *explain.Plan, *schema.Table)) *snap.Made {
		do(&m.S.Classes[0], &m.S.Plans[0], m.Last())
		return m
	}
	f("nothing at all", snap.Build())
	f("a function around the value", folded("SELECT id FROM orders WHERE made = DATE('2024-05-01')", "made"))
	f("a range", folded("SELECT id FROM orders WHERE made >= '2024-05-01' AND made < '2024-05-01' + INTERVAL 1 DAY",
		"made"))
	f("a function in the select list alone", folded("SELECT DATE(made) FROM orders WHERE state = 5"))
	f("under OR", folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01' OR state = 5", "made"))
	f("another column should have an index first", folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01' AND "+
		"state = 5", "made"))
	f("the server makes a range of it itself", change(folded(byDay, "made"),
		func(c *class.Class, p *explain.Plan, _ *schema.Table) {
			p.Steps = []explain.Step{{Table: "orders", Access: "range", Key: "by_made", Rows: 30}}
			c.Examined = known.Of(c.Count * 30)
		}))
	f("another condition finds few rows", change(folded("SELECT id FROM orders WHERE DATE(made) = '2024-05-01' AND "+
		"state = 5", "state"), func(c *class.Class, p *explain.Plan, _ *schema.Table) {
		p.Steps = []explain.Step{{Table: "orders", Access: "ref", Key: "by_state", Rows: 90}}
		c.Examined = known.Of(c.Count * 90)
	}))
	f("most rows match", change(folded(byDay, "made"), func(c *class.Class, _ *explain.Plan, _ *schema.Table) {
		c.RowsSent = known.Of(c.Count * 60_000)
	}))
	f("a small table", change(folded(byDay, "made"), func(c *class.Class, p *explain.Plan, t *schema.Table) {
		t.Rows, c.Examined, p.Steps[0].Rows = known.Of(uint64(500)), known.Of(c.Count*500), 500
	}))
	f("little time", folded(byDay, "made").Exact("SELECT mail FROM orders WHERE id = 6", 9000, 0.1, 1, 1))
	f("an idle server", change(folded(byDay, "made"), func(c *class.Class, _ *explain.Plan, _ *schema.Table) {
		c.Count, c.TimeSec = 1, 0.2
	}))
	f("a table that is not known", change(folded(byDay, "made"), func(_ *class.Class, _ *explain.Plan,
		t *schema.Table,
	) {
		t.Table = "other"
	}))
	f("a view", change(folded(byDay, "made"), func(_ *class.Class, _ *explain.Plan, t *schema.Table) { t.View = true }))
	f("no text that can be parsed", change(folded(byDay, "made"),
		func(c *class.Class, _ *explain.Plan, _ *schema.Table) {
			c.Example, c.Fingerprint = "", "select ? from ("
		}))
	blind := folded(byDay, "made").Lose("plans", source.Failed, "denied", "GRANT SELECT")
	blind.S.Plans = nil
	f("no plan, and no scans counted", blind)
	none := folded(byDay, "made")
	none.S.Variables, none.S.Tables = nil, nil
	f("no tables", none)
}

func TestRewriteIsTheSameForEveryRow(t *testing.T) {
	f := func(typ, condition, want string) {
		t.Helper()
		_, list, err := sqlshape.Compared("SELECT 1 FROM t WHERE " + condition)
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %v %v", condition, list, err)
			return
		}
		got, ok := rewrite(schema.Column{Name: "c", DataType: typ}, list[0])
		if got.sql != want || ok != (want != "") {
			t.Errorf("%s: %q", condition, got.sql)
		}
	}
	f("datetime", "MONTH(c) = 5", "")
	f("datetime", "DATE(c) = '2024-05-01 10:00:00'", "") // true for no row, and the range would be
	f("datetime", "DATE(c) = '2024-02-31'", "")
	f("datetime", "DATE(c) = '24-5-1'", "")
	f("datetime", "DATE(c) = 20240501", "")
	f("datetime", "DATE(c) = NOW()", "")
	f("datetime", "DATE(c) = CURRENT_DATE()", "`c` >= CURRENT_DATE() AND `c` < CURRENT_DATE() + INTERVAL 1 DAY")
	f("datetime", "DATE(c + INTERVAL 1 HOUR) = '2024-05-01'", "")
	f("varchar", "DATE(c) = '2024-05-01'", "")
	f("datetime", "DATE(c) IN ('2024-05-01', '2024-05-02')", "")
	f("date", "DATE(c) IN ('2024-05-01', '2024-05-02')", "`c` IN (…)")
	f("datetime", "YEAR(c) = '2024'", "")
	f("datetime", "YEAR(c) = 24", "")
	f("datetime", "YEAR(c) = 9999", "")
	f("datetime", "YEAR(c) <= 2024", "`c` < '2025-01-01'")
	f("datetime", "YEAR(c) BETWEEN 2020 AND 2023", "`c` >= '2020-01-01' AND `c` < '2024-01-01'")
	f("datetime", "YEAR(c) = ?", "`c` >= MAKEDATE(?, 1) AND `c` < MAKEDATE(? + 1, 1)")
	f("datetime", "LOWER(c) = 'a'", "")
}

// TestLongExpressions: a finding repeats the expression of a statement in each of its texts, and lists no more of them
// than anybody reads.
func TestLongExpressions(t *testing.T) {
	got := functionOnColumn(folded("SELECT id FROM orders WHERE LOWER(CONCAT(mail, '"+strings.Repeat("x",
		5000)+"')) = 'a'", "mail").View())
	if len(got) != 1 || !strings.Contains(got[0].Title, "an expression of `mail` hides") || got[0].Action != nil ||
		len(got[0].Cause) > 1000 {
		t.Errorf("%d findings: %.2000v", len(got), got)
	}
	var all []string
	for i := range 2 * maxFindings {
		all = append(all, fmt.Sprintf("LOWER(CONCAT(mail, %d)) = 'a'", i))
	}
	got = functionOnColumn(folded("SELECT id FROM orders WHERE "+strings.Join(all, " AND "), "mail").View())
	if n := len(got); n != maxFindings || !slices.ContainsFunc(got[n-1].Unobserved,
		func(s string) bool { return strings.HasPrefix(s, "50 more conditions of the same kind") }) {
		t.Errorf("%d findings", n)
	}
}
