package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// converting is a column of text that is compared with numbers, and with what.
type converting struct {
	sufferers []sufferer
	at        int
	column    schema.Column
	op        string
	index     schema.Index // of the column; no name when there is none
	unseen    bool         // the value was not seen: that it is a number is concluded from the plan
	// Of a join: the other side.
	other      schema.Column
	otherTable schema.Ref
}

// conversion is what one finding is about: a column, and the table it is joined with.
type conversion struct {
	table  schema.Ref
	column string
	other  schema.Ref
}

func (k *converting) subject() conversion {
	return conversion{k.sufferers[0].tables[k.at].Ref, k.column.Name, k.otherTable}
}

// implicitConversion finds classes that read whole tables because a text is compared with a number: both become
// floating point numbers then. '5', '05' and '5.0' are all equal to 5 and stand apart in the index, so that it cannot
// be used. The other way round, a column of numbers with a text, the text is converted once and the index serves.
func implicitConversion(v *advise.View) (out []finding.Finding) {
	var all []*converting
	rest := 0 // conditions that are not told
	same := map[conversion]*converting{}
	for _, x := range sufferers(v) {
		for _, c := range x.compared {
			k, ok := converts(v, x, c)
			if !ok {
				continue
			}
			switch have := same[k.subject()]; {
			case have != nil:
				have.sufferers = append(have.sufferers, x)
			case len(all) < maxFindings:
				same[k.subject()] = &k
				all = append(all, &k)
			default:
				rest++
			}
		}
	}
	for _, k := range all {
		if k.other.Name == "" {
			out = append(out, k.literal(v))
		} else {
			out = append(out, k.join(v))
		}
	}
	return more(out, rest)
}

func converts(v *advise.View, x sufferer, c shape.Comparison) (k converting, ok bool) {
	if c.Left.Kind != shape.Column || c.Op == "like" {
		return k, false
	}
	at, col, ok := x.owner(c.Left)
	if !ok {
		return k, false
	}
	k = converting{sufferers: []sufferer{x}, at: at, column: col, op: c.Op}
	if c.Right[0].Kind == shape.Column {
		oat, other, ok := x.owner(c.Right[0])
		if !ok || oat == at || c.Op != "=" {
			return k, false
		}
		if stringType(other) && !stringType(col) {
			at, oat, col, other = oat, at, other, col
		}
		if !stringType(col) || !numberType(other) && !timeType(other) || !x.look(v, at).all {
			return k, false
		}
		k.at, k.column, k.other, k.otherTable = at, col, other, x.tables[oat].Ref
	} else {
		number := slices.ContainsFunc(c.Right, func(o shape.Operand) bool { return o.Kind == shape.Number })
		k.unseen = !number && c.Op == "=" && c.Right[0].Kind == shape.Parameter
		if !number && !k.unseen || !stringType(col) || !x.look(v, at).all {
			return k, false
		}
	}
	k.index, _ = x.index(v, k.at, k.column.Name)
	return k, !k.unseen || k.refused()
}

// refused reports whether the server knew an index that would find a thousandth of the rows by one value, looked for so
// few, and read the whole table all the same: it does so when the value is of a kind that it has to convert the column
// for.
func (k *converting) refused() bool {
	x := k.sufferers[0]
	s, ok := x.step(k.at)
	e, u, counted := x.counted()
	if !ok || !x.planned || x.plan.Guess || s.Access != "ALL" || !counted || u > e/1000 || k.index.Name == "" ||
		!slices.Contains(s.PossibleKeys, k.index.Name) {
		return false
	}
	if !strings.EqualFold(k.index.Parts[0].Column, k.column.Name) {
		return false
	}
	rows, ok1 := x.tables[k.at].Rows.Get()
	values, ok2 := k.index.Parts[0].Cardinality.Get()
	return ok1 && ok2 && !x.hinted() && values >= 1000 && rows/values <= max(1, rows/1000)
}

const conversionReference = "MySQL manual, Type Conversion in Expression Evaluation; MariaDB manual, Type Conversion"

// literal tells of a text held against numbers in the statement.
func (k *converting) literal(v *advise.View) finding.Finding {
	x := k.sufferers[0]
	t, q := x.tables[k.at], ddl.Quote(k.column.Name)
	f := begin(v, "implicit-conversion", k.sufferers, k.at, k.column.Name, k.column.Name)
	f.Title = fmt.Sprintf("%s of the statement time reads all of %s, because the text %s is compared with a number",
		unit.Percent(f.Share), t.Ref, q)
	f.Cause = fmt.Sprintf("%s is %s and the statement compares it with a number without quotes. The server then "+
		"converts the text of every row to a floating point "+
		"number, and one number is equal to many texts ('7', '07', '7.0'), so no index on the column can find them.", q,
		k.column.Type)
	f.Evidence = append([]finding.Evidence{{
		What: "condition", Source: x.c.Source(), Text: fmt.Sprintf("The statement compares %s %s, a column of type "+
			"%s, with a number without quotes.", q, k.op, k.column.Type),
	}}, f.Evidence...)
	f.Suggestion = fmt.Sprintf("Write the value in quotes, or bind it as a string: %s %s.", q,
		map[bool]string{true: "IN ('…', '…')", false: k.op + " '…'"}[k.op == "in"])
	f.Cost = "None on the server: the value has to change in the application."
	f.Against = append(f.Against, fmt.Sprintf("Rows with other spellings of the number ('07', '7.0', ' 7') are found "+
		"today and would no longer be. To check whether there are any: "+
		"SELECT COUNT(*) FROM %s WHERE %s <> CAST(%s + 0 AS CHAR).", ddl.Name(t.Ref), q, q))
	if k.unseen {
		f.Title = fmt.Sprintf("%s of the statement time reads all of %s, because the text %s is compared with a "+
			"value of another type", unit.Percent(f.Share), t.Ref, q)
		f.Cause = fmt.Sprintf("%s is %s. The server knows that %s would find the few matching rows, and does not use "+
			"it: it cannot when the value is a number, or of a "+
			"character set that the column has to be converted to.", q, k.column.Type, k.index.Name)
		f.Evidence[0].Text = fmt.Sprintf("The statement compares %s, a column of type %s, with a value that was not "+
			"observed.", q, k.column.Type)
		f.Against = []string{"The value was not observed: that it is a number is inferred from what the server does."}
		f.Confidence = finding.Possible
	}
	if k.index.Name != "" {
		f.Suggestion += fmt.Sprintf(" The index %s then serves it.", k.index.Name)
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "index", Source: source.Catalog,
			Text: fmt.Sprintf("The index %s (%s) holds the column and cannot be used here.", k.index.Name,
				ddl.PartsSQL(k.index.Parts)),
		})
	} else {
		idx := schema.Index{
			Name: unusedName(t, "idx_"+k.column.Name), Type: "BTREE",
			Parts: []schema.IndexPart{{Column: k.column.Name}},
		}
		f.Action = &finding.Action{Kind: finding.AddIndex, Table: t.Ref, Index: idx, SQL: ddl.AddIndexSQL(t.Ref,
			idx), Undo: ddl.DropIndexSQL(t.Ref, idx.Name)}
		f.Suggestion += fmt.Sprintf(" No index begins with %s yet: add one as well. Either alone does not help.", q)
		f.Cost = indexCost(t, k.column.Bytes) + " The value has to change in the application."
	}
	f.Suggestion += " If the column holds only numbers, a numeric type fixes all statements at once."
	answer := "No, it is a number: the statement has it without quotes."
	if k.unseen {
		answer = "It was not observed. A text would have been looked up by the index."
	}
	k.tell(&f, "Is the value a text as well?", answer)
	f.Falsify = fmt.Sprintf("Disproved if EXPLAIN of the statement with the value in quotes still reads all of %s.",
		t.Ref)
	return f
}

// join tells of a join of a text with numbers or times.
func (k *converting) join(v *advise.View) finding.Finding {
	x := k.sufferers[0]
	t, q := x.tables[k.at], ddl.Quote(k.column.Name)
	other := fmt.Sprintf("%s of %s", ddl.Quote(k.other.Name), k.otherTable)
	f := begin(v, "implicit-conversion", k.sufferers, k.at, k.column.Name, k.column.Name, k.otherTable.String())
	f.Subject.Tables = append(f.Subject.Tables, k.otherTable)
	f.Title = fmt.Sprintf("%s of the statement time reads all of %s, because its text %s is joined with %s",
		unit.Percent(f.Share), t.Ref, q, k.other.Type)
	f.Cause = fmt.Sprintf("%s is %s, %s is %s. To compare them the server converts the text of every row to a "+
		"number, so no index on %s can be used: many texts are equal to "+
		"one number. The index of the other side still can be used.", q, k.column.Type, other, k.other.Type, q)
	f.Evidence = append([]finding.Evidence{{
		What: "join", Source: source.Catalog, Text: fmt.Sprintf("The join compares %s of %s, %s, with %s, %s.", q,
			t.Ref,
			k.column.Type, other, k.other.Type),
	}}, f.Evidence...)
	def := k.other.Type + null(k.column)
	changes := []schema.Clause{{Kind: schema.ModifyColumn, Column: k.column.Name, Definition: def}}
	f.Against = append(f.Against, fmt.Sprintf("Texts that are not a valid %s stop the change in a strict sql_mode, "+
		"and leading zeros are lost. To list them first: SELECT COUNT(*) FROM %s WHERE %s <> CAST(CAST(%s AS %s) AS "+
		"CHAR).",
		k.other.DataType, ddl.Name(t.Ref), q, q, castType(k.other)))
	k.change(v, &f, changes, fmt.Sprintf("Give %s the type of the column it is joined with: %s.", q, k.other.Type))
	if mode, ok := v.Variable("sql_mode"); ok && !strings.Contains(strings.ToUpper(mode), "STRICT_") {
		f.Action = nil
		f.Against = append(f.Against, "The sql_mode of this server is not strict: the change would turn invalid "+
			"texts into 0 and lose them. Set it for the session first (SET SESSION sql_mode = 'STRICT_ALL_TABLES').")
	}
	f.Suggestion += fmt.Sprintf(" Where the table cannot change, the statement can convert the other side to text, "+
		"CAST(%s AS CHAR), in the character set of %s.", ddl.Quote(k.other.Name), q)
	k.tell(&f, "Do both sides of the join have one type?", f.Evidence[0].Text)
	f.Falsify = fmt.Sprintf("Disproved if EXPLAIN still reads all of %s when both columns have one type.", t.Ref)
	return f
}

// castType returns what CAST takes for values of a column's type.
func castType(c schema.Column) string {
	switch d := strings.ToLower(c.DataType); {
	case timeType(c) && d == "date":
		return "DATE"
	case timeType(c):
		return "DATETIME"
	case d == "decimal" || d == "numeric" || d == "float" || d == "double" || d == "real":
		return "DECIMAL(65,30)"
	case strings.Contains(strings.ToLower(c.Type), "unsigned"):
		return "UNSIGNED"
	}
	return "SIGNED"
}

func null(c schema.Column) string {
	if c.Nullable {
		return " NULL"
	}
	return " NOT NULL"
}

// change fills in the change of a column's definition, with an index when it has none, or says why there is none to
// make.
func (k *converting) change(v *advise.View, f *finding.Finding, changes []schema.Clause, words string) {
	t := k.sufferers[0].tables[k.at]
	f.Suggestion = words
	if k.index.Name != "" {
		f.Suggestion += fmt.Sprintf(" The index %s then serves the join.", k.index.Name)
	} else {
		idx := schema.Index{
			Name: unusedName(t, "idx_"+k.column.Name), Type: "BTREE",
			Parts: []schema.IndexPart{{Column: k.column.Name}},
		}
		changes = append(changes, schema.Clause{Kind: schema.AddKey, Index: idx})
		f.Suggestion += " It also needs an index."
	}
	f.Cost = "The table is rebuilt, and writes to it wait meanwhile"
	if n, ok := t.DataBytes.Get(); ok {
		f.Cost += fmt.Sprintf(" (%s)", unit.Bytes(float64(n)+float64(t.IndexBytes.Or(0))))
	}
	f.Cost += ". A DEFAULT and a COMMENT of the column have to be repeated in the statement."
	switch {
	case foreign(v, t, k.column.Name):
		f.Suggestion += " A foreign key holds the column: drop it first and re-create it on both sides."
		return
	case k.column.Generated != "":
		f.Suggestion += " The column is generated: its expression has to return the other type."
		return
	}
	f.Action = &finding.Action{
		Kind: finding.AlterTable, Table: t.Ref, Changes: changes,
		SQL: ddl.ChangeSQL(t.Ref, changes),
	}
	back := []schema.Clause{{Kind: schema.ModifyColumn, Column: k.column.Name, Definition: definition(k.column)}}
	for _, c := range changes[1:] {
		back = append(back, schema.Clause{Kind: schema.DropKey, Index: c.Index})
	}
	f.Action.Undo = ddl.ChangeSQL(t.Ref, back)
}

// definition returns what stands behind a column's name, as far as the catalog tells.
func definition(c schema.Column) string {
	d := c.Type
	if c.Charset != "" {
		d += " CHARACTER SET " + c.Charset + " COLLATE " + c.Collation
	}
	return d + null(c)
}

func (k *converting) tell(f *finding.Finding, ask, answer string) {
	x := k.sufferers[0]
	f.Reference = conversionReference
	f.Why = append(f.Why, finding.Reason{
		Ask: "Does the class read much for little?", Answer: f.Evidence[1].Text,
		Source: f.Evidence[1].Source,
	},
		finding.Reason{Ask: ask, Answer: answer, Source: x.c.Source()})
	index := "None."
	if k.index.Name != "" {
		index = fmt.Sprintf("%s (%s), and the server does not use it.", k.index.Name, ddl.PartsSQL(k.index.Parts))
	}
	f.Why = append(f.Why, finding.Reason{Ask: "Which index would serve?", Answer: index, Source: source.Catalog},
		finding.Reason{Ask: "What helps?", Answer: f.Suggestion, Source: source.Catalog})
}
