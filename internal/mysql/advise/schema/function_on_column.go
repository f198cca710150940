package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// hiding is one condition that hides its column from every index, with the classes that ask it.
type hiding struct {
	sufferers []sufferer
	at        int
	column    schema.Column
	compared  shape.Comparison
	index     schema.Index // on the column itself, which the function keeps from use; no name when there is none
}

// functionOnColumn finds classes that read whole tables because they hold a function of a column against a value.
func functionOnColumn(v *advise.View) (out []finding.Finding) {
	type hidden struct {
		table schema.Ref
		expr  string
	}
	var all []*hiding
	rest := 0 // conditions that are not told
	same := map[hidden]*hiding{}
	for _, x := range sufferers(v) {
		for _, c := range x.compared {
			h, ok := hides(v, x, c)
			if !ok {
				continue
			}
			k := hidden{x.tables[h.at].Ref, expression(c.Left.Expr)}
			switch have := same[k]; {
			case have != nil:
				have.sufferers = append(have.sufferers, x)
			case len(all) < maxFindings:
				same[k] = &h
				all = append(all, &h)
			default:
				rest++
			}
		}
	}
	for _, h := range all {
		out = append(out, h.report(v))
	}
	return more(out, rest)
}

// hides reports whether a condition keeps an index from use that is wanted.
func hides(v *advise.View, x sufferer, c shape.Comparison) (h hiding, ok bool) {
	if c.Left.Kind != shape.Wrapped || c.Left.Func == "collate" || c.Op == "like" || c.Outer ||
		slices.ContainsFunc(c.Right, func(o shape.Operand) bool {
			return o.Kind == shape.Null ||
				o.Kind == shape.Wrapped
		}) {
		return h, false
	}
	at, col, ok := x.owner(c.Left)
	// Another condition that an index could serve comes first: that is for the advice on indexes to tell.
	if !ok || !x.look(v, at).all || x.look(v, at).open {
		return h, false
	}
	h = hiding{sufferers: []sufferer{x}, at: at, column: col, compared: c}
	h.index, _ = x.index(v, at, col.Name)
	return h, true
}

// led reports whether a visible index begins with the column.
func led(t schema.Table, col string) bool {
	return slices.ContainsFunc(t.Indexes, func(i schema.Index) bool {
		return !i.Hidden && len(i.Parts) > 0 && strings.EqualFold(i.Parts[0].Column, col)
	})
}

// expression makes two ways of writing an expression one, as far as that is safe.
func expression(s string) string {
	s = introducer.ReplaceAllString(strings.ToLower(s), "'")
	return strings.NewReplacer("`", "", " ", "", "(", "", ")", "").Replace(s)
}

var introducer = lazyregexp.New(`_[a-z0-9]+\\?'`)

func (h *hiding) report(v *advise.View) finding.Finding {
	x := h.sufferers[0]
	t, col := x.tables[h.at], h.column
	expr := cmp.Or(h.compared.Left.Expr, "an expression of "+ddl.Quote(col.Name))
	f := begin(v, "function-on-column", h.sufferers, h.at, col.Name, expression(h.compared.Left.Expr))
	share := unit.Percent(f.Share)
	f.Title = fmt.Sprintf("%s of the statement time reads all of %s, because %s hides the column from every index",
		share, t.Ref, expr)
	f.Cause = fmt.Sprintf("The condition is on %s. An index on %s is sorted by the column's values, not by the "+
		"function's results, so the server "+
		"has to evaluate the function for every row.", expr, ddl.Quote(col.Name))
	f.Falsify = fmt.Sprintf("Disproved if EXPLAIN still reads all of %s after the change, or if rows examined per "+
		"call of the class do not fall.", t.Ref)
	f.Reference = "MySQL manual, Optimizing SELECT Statements: Range Optimization, and Functional Key Parts; MariaDB " +
		"manual: Generated Columns"
	asks := fmt.Sprintf("The statement selects rows by %s, one of %d conditions.", expr,
		max(1, len(x.shape.Predicates)))
	f.Evidence = append([]finding.Evidence{{What: "condition", Source: x.c.Source(), Text: asks}}, f.Evidence...)
	if h.index.Name != "" {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "index", Source: source.Catalog,
			Text: fmt.Sprintf("The index %s (%s) holds the column and cannot be used here.", h.index.Name,
				ddl.PartsSQL(h.index.Parts)),
		})
	}
	f.Why = []finding.Reason{
		{Ask: "Does the class read much for little?", Answer: f.Evidence[1].Text, Source: f.Evidence[1].Source},
		{Ask: "What keeps it from an index?", Answer: asks, Source: x.c.Source()},
	}
	say := func(ask, format string, a ...any) {
		f.Why = append(f.Why, finding.Reason{Ask: ask, Answer: fmt.Sprintf(format, a...), Source: source.Catalog})
	}
	if to, ok := rewrite(col, h.compared); ok {
		say("Is there an equal condition on the bare column?", "Yes: %s. %s", to.sql, to.why)
		h.rewritten(v, &f, to)
		return f
	}
	say("Is there an equal condition on the bare column?", "None that is provably the same for every row: %s does "+
		"not pick one range of the column's values.", expr)
	h.indexed(v, &f)
	say("What serves the expression itself?", "%s", f.Suggestion)
	return f
}

// rewritten advises an equal condition.
func (h *hiding) rewritten(v *advise.View, f *finding.Finding, to rewritten) {
	x := h.sufferers[0]
	t := x.tables[h.at]
	f.Suggestion = fmt.Sprintf("Instead of %s %s use %s. %s", h.compared.Left.Expr, spoken(h.compared), to.sql, to.why)
	f.Cost = "None on the server: the statement has to change in the application."
	f.Against = append(f.Against, to.but...)
	if strings.EqualFold(h.column.DataType, "timestamp") {
		f.Against = append(f.Against, "The column is a TIMESTAMP: where the session's time zone repeats the hour at "+
			"midnight when clocks go back, the two conditions differ for that hour.")
	}
	if mode, ok := v.Variable("sql_mode"); ok && !strings.Contains(strings.ToUpper(mode), "NO_ZERO_IN_DATE") {
		f.Against = append(f.Against, "This server takes dates with a day or month of zero ('2024-01-00'); the two "+
			"conditions can differ only for rows that hold such dates.")
	}
	if h.index.Name != "" {
		f.Suggestion += fmt.Sprintf(" The index %s then serves it.", h.index.Name)
		return
	}
	idx := schema.Index{
		Name: unusedName(t, "idx_"+h.column.Name), Type: "BTREE",
		Parts: []schema.IndexPart{{Column: h.column.Name}},
	}
	f.Action = &finding.Action{
		Kind: finding.AddIndex, Table: t.Ref, Index: idx, SQL: ddl.AddIndexSQL(t.Ref, idx),
		Undo: ddl.DropIndexSQL(t.Ref, idx.Name),
	}
	f.Suggestion += fmt.Sprintf(" No index begins with %s yet: add one as well. Either alone does not help.",
		ddl.Quote(h.column.Name))
	f.Cost = indexCost(t, h.column.Bytes) + " The statement has to change in the application."
}

// indexed advises an index on the expression, in the form that the server has.
func (h *hiding) indexed(v *advise.View, f *finding.Finding) {
	x := h.sufferers[0]
	t, col, left := x.tables[h.at], h.column, h.compared.Left
	if d := strings.ToLower(left.Func); (d == "lower" || d == "lcase" || d == "upper" || d == "ucase") &&
		strings.HasSuffix(strings.ToLower(col.Collation), "_ci") {
		f.Against = append(f.Against, fmt.Sprintf("The collation of %s, %s, ignores case: if that is all that is "+
			"needed, the bare column with a plain index finds the same. "+
			"They are not the same for every letter of every language, so this is for you to decide.",
			ddl.Quote(col.Name), col.Collation))
	}
	if g, ok := generated(t, left.Expr); ok {
		f.Suggestion = fmt.Sprintf("The column %s holds this expression and has an index: use %s %s.",
			ddl.Quote(g.Name), ddl.Quote(g.Name), spoken(h.compared))
		f.Cost = "None on the server: the statement has to change in the application."
		return
	}
	typ := resultType(col, left)
	words := func(why string) {
		f.Suggestion = fmt.Sprintf("Keep what the condition needs in a separate indexed column, or compare the bare "+
			"column. %s", why)
		f.Cost = "Depends on the form."
	}
	switch {
	case left.Expr == "" || strings.Contains(left.Expr, "?"):
		words("The exact expression is unknown: the server keeps no example of the statement.")
		return
	case typ == "":
		words(fmt.Sprintf("An index on %s itself is not offered: its result is too large for a key, depends on the "+
			"session, or its type is unknown.", left.Expr))
		return
	}
	base := "idx_" + col.Name + "_" + left.Func
	f.Cost = indexCost(t, max(col.Bytes, 1)) + " Every change of the column evaluates the expression once more. " +
		"Writes to the table wait while it is built."
	switch {
	case !v.MariaDB() && v.AtLeast(8, 0, 13):
		idx := schema.Index{Name: unusedName(t, base), Type: "BTREE", Parts: []schema.IndexPart{{Expr: left.Expr}}}
		// The server makes a hidden column for it, which it cannot do while others write: that is no plain index.
		changes := []schema.Clause{{Kind: schema.AddKey, Index: idx}}
		f.Action = &finding.Action{
			Kind: finding.AlterTable, Table: t.Ref, Changes: changes,
			SQL: ddl.ChangeSQL(t.Ref, changes), Undo: ddl.DropIndexSQL(t.Ref, idx.Name),
		}
		f.Suggestion = fmt.Sprintf("Add an index on the expression, written exactly as the statement has it: %s. The "+
			"statement stays as it is.", ddl.PartsSQL(idx.Parts))
		f.Valid = "MySQL from 8.0.13"
	case v.MariaDB() && v.AtLeast(10, 2) || !v.MariaDB() && v.AtLeast(5, 7, 6):
		name := spare(col.Name+"_"+left.Func, func(s string) bool { _, taken := t.Column(s); return taken })
		def := typ + " GENERATED ALWAYS AS (" + left.Expr + ") VIRTUAL"
		if v.MariaDB() && v.AtLeast(10, 3) {
			def += " INVISIBLE" // SELECT * and INSERT without columns do not see it
		}
		idx := schema.Index{Name: unusedName(t, "idx_"+name), Type: "BTREE", Parts: []schema.IndexPart{{Column: name}}}
		changes := []schema.Clause{
			{Kind: schema.AddColumn, Column: name, Definition: def},
			{Kind: schema.AddKey, Index: idx},
		}
		f.Action = &finding.Action{
			Kind: finding.AlterTable, Table: t.Ref, Changes: changes, SQL: ddl.ChangeSQL(t.Ref, changes),
			Undo: ddl.ChangeSQL(t.Ref, []schema.Clause{
				{Kind: schema.DropKey, Index: idx},
				{Kind: schema.DropColumn, Column: name},
			}),
		}
		f.Suggestion = fmt.Sprintf("Add a generated column %s AS (%s) with an index.", ddl.Quote(name), left.Expr)
		f.Valid = "MySQL from 5.7.6"
		if v.MariaDB() {
			f.Valid = "MariaDB from 10.2"
			if !v.AtLeast(11, 8) {
				f.Suggestion += fmt.Sprintf(" Then use %s %s: this server does not recognize that the column holds "+
					"the expression.", ddl.Quote(name), spoken(h.compared))
			}
		}
	default:
		words("This version of the server can index neither an expression nor a generated column.")
	}
}

// generated returns the indexed column that holds the expression already.
func generated(t schema.Table, expr string) (schema.Column, bool) {
	expr = expression(expr)
	for _, c := range t.Columns {
		if c.Generated != "" && expression(c.Generated) == expr && led(t, c.Name) {
			return c, true
		}
	}
	return schema.Column{}, false
}

// spoken returns what follows the left side, without its values.
func spoken(c shape.Comparison) string {
	switch c.Op {
	case "between":
		return "BETWEEN ? AND ?"
	case "in":
		return "IN (…)"
	}
	return c.Op + " ?"
}

// indexCost says what an index on so many bytes takes at most: entries have the primary key behind them and 8 bytes
// around them.
func indexCost(t schema.Table, bytes int) string {
	pk := 6
	if x, ok := t.PrimaryKey(); ok {
		pk = 0
		for _, p := range x.Parts {
			if c, ok := t.Column(p.Column); ok {
				pk += max(c.Bytes, 1)
			}
		}
	}
	rows, ok := t.Rows.Get()
	if !ok {
		return "Space for one more entry per row."
	}
	return fmt.Sprintf("Space: at most %s = %s rows × (key %d B + primary key %d B + 8 B per entry). Each row that "+
		"is written writes one more entry.",
		unit.Bytes(float64(rows)*float64(bytes+pk+8)), unit.Count(float64(rows)), bytes, pk)
}

// resultType returns the SQL type of an expression around a column, for those functions whose result depends on the row
// alone; empty for others, for results that an index cannot hold, and for what the time zone of the session decides.
func resultType(c schema.Column, o shape.Operand) string {
	const largest = 3072 // bytes of an InnoDB key
	d := strings.ToLower(c.DataType)
	text := d == "char" || d == "varchar"
	moment := d == "date" || d == "datetime" // what TIMESTAMP shows depends on the session
	if strings.Contains(c.Extra, "auto_increment") {
		return ""
	}
	switch o.Func {
	case "lower", "lcase", "upper", "ucase", "trim", "ltrim", "rtrim", "reverse", "left", "right",
		"substring", "substr", "mid":
		if !text || c.Bytes <= 0 || c.Bytes+16 > largest || c.Charset == "" {
			return ""
		}
		_, size, _ := strings.Cut(c.Type, "(")
		size, _, _ = strings.Cut(size, ")")
		if _, err := strconv.Atoi(size); err != nil {
			return ""
		}
		return fmt.Sprintf("varchar(%s) CHARACTER SET %s COLLATE %s", size, c.Charset, c.Collation)
	case "char_length", "character_length", "length", "octet_length", "crc32":
		if text {
			return "bigint unsigned"
		}
	case "year", "month", "quarter", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear",
		"hour", "minute", "second":
		if moment {
			return "smallint"
		}
	case "to_days":
		if moment {
			return "int"
		}
	case "date", "last_day":
		if moment {
			return "date"
		}
	}
	return ""
}

// rewritten is an equal condition on the bare column.
type rewritten struct {
	sql string
	why string
	but []string // under which conditions it is equal
}

var (
	literalDay = lazyregexp.New(`^\d{4}-\d{2}-\d{2}$`)
	today      = lazyregexp.New(`^(DATE_(SUB|ADD)\()?CUR(RENT_)?DATE\(\)(, INTERVAL \d+ (DAY|MONTH|YEAR)\))?$`)
)

// rewrite returns a condition on the bare column that is true for exactly the same rows, where that can be proved:
// DATE(c) and YEAR(c) grow with c, so that each of their values is one range of c. It is no use to try the same with
// MONTH(c) or LOWER(c).
func rewrite(col schema.Column, c shape.Comparison) (rewritten, bool) {
	if !c.Left.Plain || !timeType(col) {
		return rewritten{}, false
	}
	q := ddl.Quote(col.Name)
	var from, next []string // for each value: where its range begins, and where the next one does
	var to rewritten
	day := strings.EqualFold(col.DataType, "date")
	for _, r := range c.Right {
		switch c.Left.Func {
		case "date":
			_, err := time.Parse(time.DateOnly, r.Value)
			switch {
			case r.Kind == shape.Text && literalDay.MatchString(r.Value) && err == nil:
				from, next = append(from, "?"), append(next, "? + INTERVAL 1 DAY")
			case r.Kind == shape.Parameter:
				from, next = append(from, "?"), append(next, "? + INTERVAL 1 DAY")
				to.but = []string{"The values were not observed: the two conditions are equal when ? is a plain " +
					"date, without a time of day."}
			case r.Kind == shape.Anything && today.MatchString(r.Expr):
				from, next = append(from, r.Expr), append(next, r.Expr+" + INTERVAL 1 DAY")
			default:
				return to, false
			}
		case "year":
			n, err := strconv.Atoi(r.Value)
			switch {
			case r.Kind == shape.Number && err == nil && n >= 1000 && n < 9999:
				from, next = append(from, fmt.Sprintf("'%d-01-01'", n)), append(next, fmt.Sprintf("'%d-01-01'", n+1))
			case r.Kind == shape.Parameter:
				from, next = append(from, "MAKEDATE(?, 1)"), append(next, "MAKEDATE(? + 1, 1)")
				to.but = []string{"The values were not observed: the two conditions are equal when ? is a year of " +
					"four digits."}
			default:
				return to, false
			}
		default:
			return to, false
		}
	}
	what := "moments of the day"
	if c.Left.Func == "year" {
		what = "days of the year"
	}
	to.why = "That matches exactly the same rows: the " + what + " are one range, from the first to just before the " +
		"next one."
	if day && c.Left.Func == "date" {
		if c.Op == "in" {
			to.sql = q + " IN (…)"
		} else {
			to.sql = q + " " + spoken(c)
		}
		to.why = "The column is a DATE already, so the function changes nothing."
		return to, true
	}
	switch c.Op {
	case "=", "<=>":
		to.sql = fmt.Sprintf("%s >= %s AND %s < %s", q, from[0], q, next[0])
	case ">=":
		to.sql = q + " >= " + from[0]
	case "<":
		to.sql = q + " < " + from[0]
	case "<=":
		to.sql = q + " < " + next[0]
	case ">":
		to.sql = q + " >= " + next[0]
	case "between":
		to.sql = fmt.Sprintf("%s >= %s AND %s < %s", q, from[0], q, next[1])
	default:
		return to, false
	}
	return to, true
}
