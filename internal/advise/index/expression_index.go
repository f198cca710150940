package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// expressionIndex is the rule about conditions on a function of a column, on servers that index an expression as it
// stands. The MySQL family has function-on-column, which knows its generated columns.
const expressionIndex = "expression-index"

// ExpressionRules are for families whose servers index an expression as it stands.
func ExpressionRules() []advise.Rule {
	return []advise.Rule{{
		Name: expressionIndex, Doc: "A class reads whole tables because its condition is on a function of a column, " +
			"and the server could index the function.",
		Find: expressionIndexes,
	}}
}

// immutable are functions of one argument whose result never depends on the session, so that PostgreSQL indexes them:
// of texts, and of numbers.
var immutable = []string{"lower", "upper", "md5", "length", "char_length", "btrim", "reverse", "abs"}

// expressionIndexes finds classes that read whole tables because their condition is on a function of a column.
func expressionIndexes(v *advise.View) (out []finding.Finding) {
	if v.Window <= 0 || v.Total <= 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range v.Classes {
		if len(out) == maxAdds {
			break
		}
		if ownTime(c) < minShare*v.Total || ownTime(c) < minLoad*v.Window {
			continue
		}
		if f, ok := expressionOf(v, c); ok && !seen[f.ID] {
			seen[f.ID] = true
			out = append(out, f)
		}
	}
	return out
}

// expressionOf looks at one class: it reads all of its only table, and its conditions hide every column.
func expressionOf(v *advise.View, c class.Class) (f finding.Finding, ok bool) {
	sh, list, err := v.Compared(c)
	p, planned := v.Plan(c)
	if err != nil || !planned || len(sh.Tables) != 1 || len(sh.Parts) > 0 {
		return f, false
	}
	t, ok := v.Resolve(c, sh.Tables[0])
	at := stepOf(p, sh.Tables[0])
	if !ok || t.View || v.Dialect.System(t.Schema) || at < 0 || !p.Steps[at].All() {
		return f, false
	}
	b := &block{sh: sh, Tables: v.TablesOf(c, sh.Tables)}
	if _, served := b.wish(0, false); served {
		return f, false // an index on a bare column is the better way
	}
	x := scan{rule: expressionIndex, c: c, kind: sh.Kind, shape: sh, t: t, plan: true, step: p.Steps[at]}
	x.rows = max(x.step.Rows, float64(t.Rows.Or(0)))
	if x.rows < minTableRows || !x.matching(v, true) {
		return f, false
	}
	i := slices.IndexFunc(list, func(o shape.Comparison) bool {
		return o.Left.Kind == shape.Wrapped && o.Op != "like" && !o.Outer && o.Left.Func != "arithmetic" &&
			!slices.ContainsFunc(o.Right, func(r shape.Operand) bool { return r.Kind == shape.Wrapped })
	})
	if i < 0 {
		return f, false
	}
	col, ok := b.owned(0, list[i].Left.Table, list[i].Left.Column)
	if !ok {
		return f, false
	}
	return reportExpression(v, x, col, list[i].Left.Func), true
}

func reportExpression(v *advise.View, x scan, col schema.Column, function string) finding.Finding {
	d := v.Dialect
	expr := function + "(" + d.Quote(col.Name) + ")"
	share := min(1, x.sec()/v.Total)
	f := finding.Finding{
		Rule: expressionIndex, ID: finding.MakeID(expressionIndex, x.t.String(), expr),
		Severity: v.Severity(share), Confidence: finding.Likely, Share: share,
		Subject: finding.Subject{
			Tables: []schema.Ref{x.t.Ref}, Columns: []string{col.Name}, Classes: []string{x.c.ID},
		},
		Title: fmt.Sprintf("%s of the statement time reads all of %s, because the function %s hides %s from every "+
			"index", unit.Percent(share), x.t.Ref, function, col.Name),
		Cause: fmt.Sprintf("An index on %s is sorted by the column's values, not by the results of %s, so the server "+
			"computes the function for every row.", col.Name, function),
		Evidence: evidence(v, group{scans: []scan{x}}), Symptoms: symptoms(v, group{scans: []scan{x}}),
		Explains: explains(v, group{scans: []scan{x}}, share), Unobserved: v.Unobserved(),
		Falsify: fmt.Sprintf("Disproved if EXPLAIN does not choose the index on %s, or if the time per call of the "+
			"class does not fall.", x.t.Ref),
		Reference: "PostgreSQL documentation, Indexes on Expressions",
	}
	f.Why = []finding.Reason{
		{Ask: "How does the server find the rows?", Answer: planEvidence(x).Text, Source: source.Plan},
		{Ask: "What is the condition on?", Answer: "On " + expr + ", not on the column.", Source: source.Statement},
	}
	if !slices.Contains(immutable, function) {
		f.Suggestion = fmt.Sprintf("Compare the bare column %s with a range of values, or index the expression "+
			"exactly as the statement has it. The server indexes functions that it calls immutable only.", col.Name)
		f.Cost = "Depends on the form."
		return f
	}
	idx := schema.Index{
		Name: name(v, x.t, []string{col.Name, function}), Type: "BTREE",
		Parts: []schema.IndexPart{{Expr: expr}},
	}
	f.Action = &finding.Action{
		Kind: finding.AddIndex, Table: x.t.Ref, Index: idx, SQL: d.AddIndex(x.t.Ref, idx),
		Undo: d.DropIndex(x.t.Ref, idx.Name),
	}
	f.Suggestion = fmt.Sprintf("Add an index on the expression: %s. The statement stays as it is. ANALYZE the table "+
		"then: statistics of the expression come with the index.", expr)
	f.Cost = strings.TrimSpace("Space for one more entry per row; each insert, and each change of the column, " +
		"computes the function once more. " + d.Building)
	return f
}
