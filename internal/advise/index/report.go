package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/unit"
)

// report writes the finding.
func report(v *advise.View, g group) finding.Finding {
	x, w := g.scans[0], g.wish
	ref := x.t.Ref
	share := 0.0
	f := finding.Finding{
		Rule: x.rule, Confidence: x.sure,
		Subject: finding.Subject{Tables: []schema.Ref{ref}, Columns: w.Columns},
	}
	key := append([]string{ref.String()}, w.Columns...)
	if x.hint != "" { // several may keep the server from the same columns
		key = append(key, x.hint)
	}
	f.ID = finding.MakeID(f.Rule, key...)
	for _, y := range g.scans {
		share += y.sec() / v.Total
		f.Subject.Classes = append(f.Subject.Classes, y.c.ID)
	}
	f.Share = min(1, share)
	f.Severity = v.Severity(f.Share)
	if x.rule == coveringIndex {
		f.Severity = finding.Notice // the rows are the right ones, they only cost more than they need
	}
	f.Title = title(v, g, f.Share)
	f.Cause = cause(x)
	f.Evidence = evidence(v, g)
	f.Symptoms = symptoms(v, g)
	f.Unobserved = v.Unobserved()
	f.Against = against(v, g)
	f.Gain = gain(v, x)
	f.Cost = cost(v, x.t, w)
	if how := v.Dialect.Building; how != "" && x.hidden == "" {
		f.Cost += " " + how
	}
	f.Falsify = falsify(v, x)
	f.Explains = explains(v, g, f.Share)
	f.Reference = v.Dialect.Manual[advise.MultiColumnIndexes]
	cols := strings.Join(w.Columns, ", ")
	if x.hint != "" {
		withoutHint(v, x, w, &f)
	} else if x.hidden != "" {
		_, show, _ := v.Dialect.HideIndex(v, ref, x.hidden)
		f.Suggestion = fmt.Sprintf("The index %s on (%s) exists and is maintained, but hidden from the optimizer. "+
			"Make it visible again: %s.", x.hidden, cols, show)
		f.Cost = "Nothing is built: the index is maintained already."
	} else {
		idx := schema.Index{Name: name(v, x.t, w.Columns), Type: "BTREE", Parts: w.Parts}
		f.Action = &finding.Action{
			Kind: finding.AddIndex, Table: ref, Index: idx, SQL: v.Dialect.AddIndex(ref, idx),
			Undo: v.Dialect.DropIndex(ref, idx.Name),
		}
		f.Suggestion = fmt.Sprintf("Add an index on %s (%s).", ref, v.Dialect.Parts(w.Parts))
		for _, n := range w.Notes {
			f.Suggestion += " " + n
		}
		f.Suggestion += instead(v, g)
	}
	f.Why = why(v, g, f)
	return f
}

func title(v *advise.View, g group, share float64) string {
	x := g.scans[0]
	who := "one class"
	verb := "reads"
	if n := len(g.scans); n > 1 {
		who, verb = fmt.Sprintf("%d classes", n), "read"
	}
	head := fmt.Sprintf("%s of the statement time is %s that %s", unit.Percent(share), who, verb)
	var read, sent float64
	counted := true
	for _, y := range g.scans {
		all, _ := y.read()
		e, ok1 := all.Get()
		s, ok2 := useful(y).Get()
		counted = counted && ok1 && ok2 && !y.c.Sampled
		read, sent = read+e, sent+float64(s)
	}
	does := "return"
	if x.kind != shape.Select {
		does = "change"
	}
	if x.keyed.touched > 0 {
		if n, ok := x.keyed.wanted.Get(); ok && x.rule != coveringIndex {
			return fmt.Sprintf("%s %s for each call to %s %s", head, entries(x), does, unit.Count(n))
		}
		return fmt.Sprintf("%s %s for each call", head, entries(x))
	}
	if counted && x.rule == indexScan {
		return fmt.Sprintf("%s %s index entries a second to %s %s", head, unit.Count(read/v.Window), does,
			unit.Count(sent/v.Window))
	}
	if counted {
		return fmt.Sprintf("%s %s rows a second to %s %s", head, unit.Count(read/v.Window), does,
			unit.Count(sent/v.Window))
	}
	if x.rule == indexScan {
		return fmt.Sprintf("%s all of the index %s", head, x.step.Key)
	}
	if r, ok := v.Rate(v.Dialect.Handlers.Of("read_rnd_next")).Get(); ok {
		head = fmt.Sprintf("%s all of %s: scans read %s rows a second", head, x.t.Ref, unit.Count(r))
		if s, ok := v.Rate(v.Dialect.RowsSent).Get(); ok {
			head += fmt.Sprintf(", the server sends %s", unit.Count(s))
		}
		return head
	}
	return head + " all of " + x.t.String()
}

// useful returns the rows that a class returned or, when it writes, changed.
func useful(x scan) known.Value[uint64] {
	if x.kind != shape.Select {
		return x.c.Affected
	}
	return x.c.RowsSent
}

func cause(x scan) string {
	cols := strings.Join(x.wish.Columns[:x.wish.Cond], ", ")
	have := x.keyed.have.Name + " (" + strings.Join(columnsOf(x.keyed.have), ", ") + ")"
	if x.hidden == "" {
		switch x.rule {
		case indexScan:
			return fmt.Sprintf("To find the entries that match %s the server reads the whole index %s from begin to "+
				"end: its first column is another one, so no entry can be looked up.", cols, x.step.Key)
		case indexOrder:
			return fmt.Sprintf("The index %s holds all columns of the conditions, but in this order only %s is "+
				"looked up: after a range, or after a column without a condition, an index cannot narrow the search, "+
				"and the rest is checked entry by entry. With the equality first both are looked up.",
				have, cmp.Or(strings.Join(lookedUp(x), ", "), "none of them"))
		case filesort:
			if x.wish.Cond == 0 {
				return fmt.Sprintf("To return the first rows in the order of %s the server reads all of %s and sorts "+
					"it, because no index has that order.", strings.Join(x.wish.Columns, ", "), x.t.Ref)
			}
			return fmt.Sprintf("The index %s finds the rows that match %s, but not in the requested order of %s: all "+
				"of them are read and sorted before the first can be returned.",
				have, cols, strings.Join(x.wish.Columns[x.wish.Cond:len(x.wish.Columns)-x.wish.Covers], ", "))
		case twoSingleIndexes:
			if len(x.keyed.keys) > 1 {
				var names []string
				for _, k := range x.keyed.keys {
					names = append(names, k.Name)
				}
				return fmt.Sprintf("Each of the indexes %s finds many entries for its own column, and the server "+
					"reads them all to keep those that are in all of them. One index on %s finds just these.",
					strings.Join(names, " and "), cols)
			}
			return fmt.Sprintf("%s have an index each. The server uses one of them, %s, and discards most of the "+
				"rows that it finds. One index on both finds just the right ones.", cols, have)
		case narrowIndex:
			return fmt.Sprintf("The index %s finds the rows by %s alone; the condition on %s is checked on each of "+
				"them, and most are discarded.", have,
				strings.Join(lookedUp(x), ", "), strings.Join(x.wish.beyond(x.keyed.have), ", "))
		case coveringIndex:
			return fmt.Sprintf("The index %s finds just the rows that are needed, but holds only part of what is "+
				"read: every row is looked up once more in the table for %s.", have,
				strings.Join(x.wish.Columns[len(x.wish.Columns)-x.wish.Covers:], ", "))
		}
	}
	if x.inner {
		return fmt.Sprintf("For the rows of the tables before it the server reads all of %s again, because no index "+
			"serves the join condition on %s.", x.t.Ref, cols)
	}
	if x.hidden != "" {
		return fmt.Sprintf("To find the rows that match %s the server reads all of %s: the index that would serve, "+
			"%s, is hidden from the optimizer.", cols, x.t.Ref, x.hidden)
	}
	return fmt.Sprintf("To find the rows that match %s the server reads all of %s, because no index serves that "+
		"condition.", cols, x.t.Ref)
}

func symptoms(v *advise.View, g group) (ids []string) {
	for _, s := range v.Symptoms {
		about := s.Kind == finding.CPUSaturated || s.Kind == finding.RndNext && g.scans[0].keyed.touched == 0 ||
			s.Kind == finding.ReadNext && (g.scans[0].keyed.touched > 0 || g.scans[0].rule == indexScan)
		for _, x := range g.scans {
			about = about || s.Subject == x.c.ID
		}
		if about {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// entries says what a call reads: "12k rows", or entries of an index where those that it throws away are not rows yet.
func entries(x scan) string {
	what := "rows by an index"
	if x.keyed.pages {
		return unit.Count(tidy(x.keyed.touched)) + " pages by an index"
	}
	if x.keyed.from != x.c.Source() {
		what = "index entries"
	}
	return unit.Count(tidy(x.keyed.touched)) + " " + what
}

func columnsOf(x schema.Index) (out []string) {
	for _, p := range x.Parts {
		out = append(out, cmp.Or(p.Column, p.Expr))
	}
	return out
}

// lookedUp returns the columns of conditions that the present index looks up.
func lookedUp(x scan) (out []string) {
	rest := x.wish.beyond(x.keyed.have)
	for _, p := range x.keyed.have.Parts {
		if x.wish.conditions(p.Column) && !slices.ContainsFunc(rest, func(c string) bool {
			return strings.EqualFold(c, p.Column)
		}) {
			out = append(out, p.Column)
		}
	}
	return out
}

func falsify(v *advise.View, x scan) string {
	switch x.rule {
	case missingIndex, unindexedJoin, indexOrder, filesort:
		if v.Dialect.CountsPages {
			return fmt.Sprintf("Disproved if EXPLAIN does not choose the index on %s, or if the time and the pages "+
				"per call of the class do not fall.", x.t.Ref)
		}
	}
	switch x.rule {
	case indexOrder, narrowIndex, twoSingleIndexes:
		return "Disproved if the time per call of the class does not fall with the index in place, or if EXPLAIN " +
			"does not choose it."
	case filesort:
		return "Disproved if EXPLAIN still says \"Using filesort\" with the index in place, or if rows examined per " +
			"call do not fall to about the rows returned."
	case coveringIndex:
		return "Disproved if EXPLAIN does not say \"Using index\" with the index in place, or if the time per call " +
			"does not fall."
	case indexScan:
		return fmt.Sprintf("Disproved if EXPLAIN still reads the whole index %s with the new one in place, or if "+
			"rows examined per call of the class do not fall.", x.step.Key)
	}
	return fmt.Sprintf("Disproved if EXPLAIN still reads all of %s with the index in place, or if rows examined per "+
		"call of the class do not fall.", x.t.Ref)
}

// explains lists the effects that go away with the cause: what its classes take, and what the whole server shows when
// they are most of it.
func explains(v *advise.View, g group, share float64) (out []string) {
	for _, x := range g.scans {
		if id := advise.ClassTime(x.c.ID); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	if share >= 0.5 {
		out = append(out, advise.EffectCPU, advise.EffectDiskReads, advise.EffectPoolMisses, advise.EffectRunning)
		if x := g.scans[0]; x.kind != shape.Select || x.shape.Locking {
			out = append(out, advise.EffectRowLocks) // what is read is locked
		}
	}
	return out
}

// instead says what becomes of the index that is used today: whether the new one serves all that it does, and who else
// is seen to use it.
func instead(v *advise.View, g group) string {
	x := g.scans[0]
	have := x.keyed.have
	if have.Name == "" || have.Primary() {
		return ""
	}
	others := 0
	for _, p := range v.Plans {
		if slices.ContainsFunc(g.scans, func(y scan) bool {
			return y.c.ID == p.Class &&
				(p.Schema == "" || y.c.Schema == p.Schema)
		}) {
			continue
		}
		if c, ok := v.ClassOf(p); ok && slices.ContainsFunc(p.Steps, func(s explain.Step) bool {
			return strings.EqualFold(s.Key, have.Name)
		}) {
			if sh, err := v.Shape(c); err == nil && slices.ContainsFunc(sh.Tables, func(r shape.TableRef) bool {
				t, ok := v.Resolve(c, r)
				return ok && t.Ref == x.t.Ref
			}) {
				others++
			}
		}
	}
	switch whole := schema.Serves(schema.Index{Parts: g.wish.Parts}, have); {
	case have.Unique:
		return fmt.Sprintf(" Keep %s: it is unique, and that is a rule for the data.", have.Name)
	case whole && !v.Dialect.HidesIndexes:
		return fmt.Sprintf(" It serves all that %s (%s) serves: that one can then be dropped.", have.Name,
			strings.Join(columnsOf(have), ", "))
	case whole:
		return fmt.Sprintf(" It serves all that %s (%s) serves: that one can then be hidden, and dropped when "+
			"nothing needs it.", have.Name, strings.Join(columnsOf(have), ", "))
	case others > 0:
		return fmt.Sprintf(" Keep %s: %s observed to use it.", have.Name,
			unit.Plural(others, "other class is", "other classes are"))
	case (x.rule == indexOrder || x.rule == twoSingleIndexes) && !v.Dialect.HidesIndexes:
		return fmt.Sprintf(" No other class was observed to use %s in this window: drop it when nothing needs it.",
			have.Name)
	case x.rule == indexOrder || x.rule == twoSingleIndexes:
		return fmt.Sprintf(" No other class was observed to use %s in this window: hide it after a while, and drop "+
			"it when nothing needs it.", have.Name)
	}
	return ""
}
