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
)

// unindexedOrs finds classes that read a whole table for the rows that meet one of several conditions. The server can
// merge what an index each finds for them, but only when every one of them has an index.
func unindexedOrs(v *advise.View) (out []finding.Finding) {
	if v.Window <= 0 || v.Total <= 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range v.Classes {
		if ownTime(c) < minShare*v.Total || ownTime(c) < minLoad*v.Window {
			continue
		}
		x, wishes, ok := orScan(v, c)
		if !ok {
			continue
		}
		f := reportOr(v, x, wishes)
		if !seen[f.ID] {
			seen[f.ID] = true
			out = append(out, f)
		}
	}
	return out
}

// orScan returns the table that a class reads for an OR, and the indexes that lack.
func orScan(v *advise.View, c class.Class) (scan, []wish, bool) {
	sh, err := v.Shape(c)
	if err != nil || len(sh.Any) == 0 || len(sh.Tables) != 1 || len(sh.Parts) > 0 || sh.Kind == shape.Insert {
		return scan{}, nil, false
	}
	t, ok := v.Resolve(c, sh.Tables[0])
	if !ok || t.View || v.Dialect.System(t.Schema) {
		return scan{}, nil, false
	}
	whole := &block{sh: sh, Tables: &advise.Tables{List: []schema.Table{t}}}
	if _, ok := whole.wish(0, false); ok {
		return scan{}, nil, false // a condition that every row must meet is the better way
	}
	p, planned := v.Plan(c)
	x := scan{rule: unindexedOr, c: c, kind: sh.Kind, shape: sh, t: t, plan: planned, guess: p.Guess}
	if planned {
		at := stepOf(p, sh.Tables[0])
		if at < 0 || !p.Steps[at].All() {
			return scan{}, nil, false
		}
		x.step = p.Steps[at]
	} else if !scannedUnseen(v, c, false) {
		return scan{}, nil, false
	}
	x.rows = max(x.step.Rows, float64(t.Rows.Or(0)))
	if n, ok := c.PerCall(c.Examined).Get(); ok && !c.Sampled {
		x.rows = max(x.rows, n)
	}
	// Without few rows in the end several indexes are no better than the table.
	if x.rows < minTableRows || !x.matching(v, true) {
		return scan{}, nil, false
	}
	if m, ok := x.match.Get(); !ok || m > surelyFew {
		return scan{}, nil, false
	}
	var lack []wish
	for _, branch := range sh.Any[0] {
		b := &block{sh: sh, Tables: whole.Tables}
		b.sh.Predicates, b.sh.OrderBy, b.sh.GroupBy, b.sh.Limit = branch, nil, nil, false
		w, ok := b.wish(0, false)
		if !ok || w.Cond == 0 {
			return scan{}, nil, false // this one reads the table whatever the others have
		}
		if slices.ContainsFunc(t.Indexes, func(have schema.Index) bool {
			return !have.Hidden && serves(v, t, have, w)
		}) {
			continue
		}
		if !slices.ContainsFunc(lack, func(y wish) bool { _, same := join(y, w); return same }) {
			lack = append(lack, w)
		}
	}
	if len(lack) == 0 {
		return scan{}, nil, false
	}
	x.wish, x.sure = lack[0], x.confidence()
	return x, lack, true
}

// reportOr writes the finding, with all indexes that lack in one change: by itself none of them helps.
func reportOr(v *advise.View, x scan, wishes []wish) finding.Finding {
	f := report(v, group{wish: x.wish, scans: []scan{x}})
	var cols []string
	var changes []schema.Clause
	var undo []schema.Clause
	t := x.t
	for _, w := range wishes {
		idx := schema.Index{Name: name(v, t, w.Columns), Type: "BTREE", Parts: w.Parts}
		t.Indexes = append(slices.Clip(t.Indexes), idx)
		changes = append(changes, schema.Clause{Kind: schema.AddKey, Index: idx})
		undo = append(undo, schema.Clause{Kind: schema.DropKey, Index: idx})
		cols = append(cols, "("+strings.Join(w.Columns, ", ")+")")
	}
	f.Subject.Columns = nil
	for _, w := range wishes {
		f.Subject.Columns = append(f.Subject.Columns, w.Columns...)
	}
	f.ID = finding.MakeID(f.Rule, append([]string{x.t.String()}, cols...)...)
	f.Cause = fmt.Sprintf("A row matches when it meets one of several conditions. The server can look up each of "+
		"them and merge the results, but only when every one has an index; %s has none, so it reads all of %s.",
		strings.Join(cols, " and "), x.t.Ref)
	f.Falsify = fmt.Sprintf("Disproved if EXPLAIN does not say %s.", v.Dialect.UnionPlan)
	if len(wishes) > 1 {
		f.Action = nil
		f.Suggestion = fmt.Sprintf("Add an index on each of %s of %s: one alone changes nothing.",
			strings.Join(cols, " and "), x.t.Ref)
		if sql, ok := v.Dialect.Change(x.t.Ref, changes); ok {
			back, _ := v.Dialect.Change(x.t.Ref, undo)
			f.Action = &finding.Action{
				Kind: finding.AlterTable, Table: x.t.Ref, Changes: changes, SQL: sql, Undo: back,
			}
		} else { // one statement each is no single action
			for _, c := range changes {
				f.Suggestion += " " + v.Dialect.AddIndex(x.t.Ref, c.Index) + "."
			}
		}
		f.Cost = "Each of the indexes costs this. " + f.Cost
	}
	f.Suggestion += " Where the server still reads the whole table, write the statement as a UNION of one SELECT for " +
		"each condition."
	return f
}
