package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/internal/class"
	"dyno/internal/explain"
	"dyno/internal/finding"
	"dyno/internal/known"
	"dyno/internal/schema"
	"dyno/internal/sqlshape"
	"dyno/internal/unit"
)

// The thresholds of the rule; docs/diagnose.md gives the reasons.
const (
	minShare     = 0.10 // of the statement time
	minLoad      = 0.05 // seconds of statement time per second
	minExamined  = 100  // rows examined per call
	minTableRows = 1000
	minRatio     = 10   // rows examined for each that is returned or changed
	maxMatch     = 0.20 // part of the rows that match, above which a scan is right
	surelyFew    = 0.05 // part of the rows below which an unused index on one of the columns is no objection
)

// scan is one class that reads a whole table for which an index is wanted.
type scan struct {
	c      class.Class
	shape  sqlshape.Shape
	t      schema.Table
	wish   wish
	step   explain.Step // zero when there is no plan
	plan   bool
	guess  bool
	inner  bool
	rows   float64              // of the table, as far as known
	match  known.Value[float64] // part of the rows read that the statement wants, 0 to 1
	bound  bool                 // match is an upper bound for the whole server, not the class's own
	hidden string               // name of a hidden index that would serve
	sure   finding.Confidence
}

// missing finds classes with a good share of the statement time that read whole tables to find few rows.
func missing(v *View) []finding.Finding {
	if v.Window <= 0 || v.Total <= 0 {
		return nil
	}
	var all []scan
	for _, c := range v.Classes {
		if c.TimeSec < minShare*v.Total || c.TimeSec < minLoad*v.Window {
			continue
		}
		all = append(all, scansOf(v, c)...)
	}
	slices.SortStableFunc(all, func(a, b scan) int {
		return cmp.Or(cmp.Compare(b.c.TimeSec, a.c.TimeSec), cmp.Compare(a.c.ID, b.c.ID), cmp.Compare(a.t.String(), b.t.String()))
	})
	var out []finding.Finding
	for _, g := range groups(all) {
		out = append(out, report(v, g))
	}
	return out
}

// scansOf returns the tables that a class reads as a whole although an index would serve it.
func scansOf(v *View, c class.Class) (out []scan) {
	sh, err := v.Shape(c)
	if err != nil || sh.Kind != sqlshape.Select && sh.Kind != sqlshape.Update && sh.Kind != sqlshape.Delete {
		return nil
	}
	tables := make([]schema.Table, len(sh.Tables))
	for i, r := range sh.Tables {
		tables[i], _ = v.Resolve(c, r)
	}
	p, planned := v.plans[c.ID]
	innerFound := false
	// The tables that a join looks up come first: reading one of those once per row costs more than reading the first one once.
	for _, inner := range []bool{true, false} {
		for i, t := range tables {
			if t.Table == "" || t.View || inner && len(tables) < 2 {
				continue
			}
			x := scan{c: c, shape: sh, t: t, plan: planned, guess: p.Guess, inner: inner}
			if planned {
				at := stepOf(p, sh.Tables[i])
				if at < 0 || (at > 0) != inner {
					continue
				}
				x.step = p.Steps[at]
				if x.step.Access != "ALL" && x.step.Access != "index" {
					continue
				}
			} else if inner != (i > 0) || !scannedUnseen(v, c, inner) {
				continue
			}
			if !inner && innerFound {
				continue
			}
			if judge(v, &x, tables, i) {
				out = append(out, x)
				innerFound = innerFound || inner
			}
		}
	}
	return out
}

// stepOf finds the plan's access to a table; -1 when it is not there or not to be told from another.
func stepOf(p explain.Plan, r sqlshape.TableRef) int {
	found := -1
	for i, s := range p.Steps {
		if name := cmp.Or(r.Alias, r.Name); sqlshape.Match(name, s.Table) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// scannedUnseen says, where there is no plan, whether the server's counters stand in for one: most executions scanned or, when
// the statements were not counted, scans are what the server does and this class is what it does most.
func scannedUnseen(v *View, c class.Class, inner bool) bool {
	if inner {
		n, ok := c.FullJoins.Get()
		return ok && 2*n >= c.Count && n > 0
	}
	for _, n := range []known.Value[uint64]{c.FullScans, c.NoIndex} {
		if n, ok := n.Get(); ok && n > 0 && 2*n >= c.Count {
			return true
		}
	}
	if c.FullScans.OK() || c.NoIndex.OK() {
		return false // the server counted, and it did not scan
	}
	_, scans := v.Has("rnd-next", "")
	return scans && c.TimeSec >= 0.5*v.Total
}

// judge decides whether an index is wanted, and fills in what speaks for it.
func judge(v *View, x *scan, tables []schema.Table, i int) bool {
	perCall, counted := x.c.PerCall(x.c.Examined).Get()
	stats, told := x.t.Rows.Get()
	x.rows = x.step.Rows
	if told && stats > 0 {
		x.rows = float64(stats)
	}
	if single := len(tables) == 1; single && counted && !x.c.Sampled {
		// Statistics can be absurd; what was read is not.
		if x.rows < perCall {
			x.rows = perCall
		}
		if perCall < minExamined {
			return false
		}
	}
	if x.rows < minTableRows && !(x.inner && counted && perCall >= minTableRows*10) {
		return false
	}
	if !x.matching(v, len(tables) == 1) {
		return false
	}
	w, ok := wishFor(x.shape, tables, i, x.inner)
	if !ok {
		return false
	}
	x.wish = w
	few := false
	if m, ok := x.match.Get(); ok && m <= surelyFew {
		few = true
	}
	for _, have := range x.t.Indexes {
		if !serves(x.t, have, w) {
			continue
		}
		if !have.Hidden {
			return false // the server has what it needs and prefers the scan
		}
		x.hidden = have.Name
	}
	if _, led := leads(x.t, w); led && !few {
		return false
	}
	if useless(x.t, w) && !few {
		return false
	}
	x.sure = x.confidence()
	return true
}

// matching measures which part of the rows read is wanted; it is false when a scan is the right way to read them.
func (x *scan) matching(v *View, single bool) bool {
	examined, counted := x.c.Examined.Get()
	useful, ok := x.c.RowsSent.Get()
	if x.shape.Kind != sqlshape.Select {
		useful, ok = x.c.Affected.Get()
	}
	switch {
	case counted && ok && !x.c.Sampled:
		if examined == 0 || float64(examined) < minRatio*float64(max(useful, 1)) {
			return false
		}
		// What an aggregate returns says nothing about what matched, and rows of a join are of both tables.
		if single && !x.shape.Folded {
			x.match = known.Of(float64(useful) / float64(examined))
		}
	case !x.shape.Folded && single && x.shape.Kind == sqlshape.Select:
		// All rows that the server sent are an upper bound for those of this class.
		read, ok1 := v.Rate("mysql_global_status_handler_read_rnd_next").Get()
		sent, ok2 := v.Rate("mysql_global_status_rows_sent").Get()
		if ok1 && ok2 && read > 0 {
			if read < minRatio*sent {
				return false
			}
			x.match, x.bound = known.Of(sent/read), true
		}
	}
	if m, ok := x.match.Get(); ok && m > maxMatch {
		return false
	}
	return true
}

// useless reports whether statistics say that even all the equality columns together leave too many rows.
func useless(t schema.Table, w wish) bool {
	left := 1.0
	for n, p := range w.Parts {
		if n >= w.Equal {
			return false // a range may be as narrow as it likes
		}
		d := distinct(t, p.Column)
		if d == 0 {
			return false
		}
		left /= float64(d)
	}
	return left > maxMatch
}

func (x scan) confidence() finding.Confidence {
	exact := !x.c.Sampled && x.c.Examined.OK()
	params := !x.guess || len(x.step.PossibleKeys) == 0 // without a key to choose, parameters do not change the plan
	switch {
	case exact && x.plan && params && x.match.OK():
		return finding.Certain
	case x.plan || exact && (x.c.FullScans.OK() || x.c.NoIndex.OK() || x.c.FullJoins.OK()):
		return finding.Likely
	default:
		return finding.Possible
	}
}

// group is one index with all classes that want it, the one with the most time first.
type group struct {
	wish  wish
	scans []scan
}

// groups joins wishes for the same index, and those that the front of a longer one serves. The order of all is kept.
func groups(all []scan) (gs []group) {
next:
	for _, x := range all {
		for i := range gs {
			g := &gs[i]
			if g.scans[0].t.Ref != x.t.Ref {
				continue
			}
			// The order of equality columns is free: the shorter wish may come to stand in front of the longer one.
			if w, ok := join(g.wish, x.wish); ok {
				g.wish = w
				if !slices.ContainsFunc(g.scans, func(y scan) bool { return y.c.ID == x.c.ID }) {
					g.scans = append(g.scans, x)
				}
				continue next
			}
		}
		gs = append(gs, group{wish: x.wish, scans: []scan{x}})
	}
	return gs
}

// join returns one wish that serves both, if one does.
func join(a, b wish) (wish, bool) {
	if len(b.Parts) > len(a.Parts) {
		a, b = b, a
	}
	in := func(p schema.IndexPart) bool {
		return slices.ContainsFunc(b.Parts, func(q schema.IndexPart) bool { return q.Column == p.Column && q.Prefix == p.Prefix })
	}
	switch {
	case slices.Equal(a.Parts[:len(b.Parts)], b.Parts):
		return a, true
	case b.Equal == len(b.Parts) && b.Equal <= a.Equal: // all of b are equalities: they may stand in front
		n := 0
		for _, p := range a.Parts[:a.Equal] {
			if in(p) {
				n++
			}
		}
		if n != len(b.Parts) {
			return wish{}, false
		}
		parts := slices.Clone(a.Parts)
		slices.SortStableFunc(parts[:a.Equal], func(p, q schema.IndexPart) int {
			return map[bool]int{true: 0, false: 1}[in(p)] - map[bool]int{true: 0, false: 1}[in(q)]
		})
		if !slices.Equal(parts, a.Parts) {
			a.Notes = append(slices.Clip(a.Notes), "The columns that another class looks up by themselves stand first, so that one index serves both.")
		}
		a.Parts, a.Columns = parts, nil
		for _, p := range parts {
			a.Columns = append(a.Columns, p.Column)
		}
		return a, true
	}
	return wish{}, false
}

// report writes the finding.
func report(v *View, g group) finding.Finding {
	x, w := g.scans[0], g.wish
	ref := x.t.Ref
	share := 0.0
	f := finding.Finding{Rule: "missing-index", Confidence: x.sure, Subject: finding.Subject{Tables: []schema.Ref{ref}, Columns: w.Columns}}
	f.ID = finding.MakeID(f.Rule, append([]string{ref.String()}, w.Columns...)...)
	for _, y := range g.scans {
		share += y.c.TimeSec / v.Total
		f.Subject.Classes = append(f.Subject.Classes, y.c.ID)
	}
	f.Share = min(1, share)
	f.Severity = severity(v, f.Share)
	f.Title = title(v, g, f.Share)
	f.Cause = cause(x)
	f.Evidence = evidence(v, g)
	f.Symptoms = symptoms(v, g)
	f.Unobserved = unobserved(v)
	f.Against = against(v, g)
	f.Gain = gain(v, x)
	f.Cost = cost(v, x.t, w)
	f.Falsify = fmt.Sprintf("It is wrong if EXPLAIN still reads all of %s with the index in place, or if rows examined per call of the class do not fall.", ref)
	cols := strings.Join(w.Columns, ", ")
	if x.hidden != "" {
		how := "ALTER INDEX " + schema.Quote(x.hidden) + " VISIBLE"
		if strings.EqualFold(v.Target.Flavor, "mariadb") {
			how = "ALTER INDEX " + schema.Quote(x.hidden) + " NOT IGNORED"
		}
		f.Suggestion = fmt.Sprintf("The index %s on (%s) is there and kept up to date, but hidden from the optimizer. Make it visible again: ALTER TABLE %s %s.", x.hidden, cols, ref.SQL(), how)
		f.Cost = "Nothing is built: the index is maintained already."
	} else {
		idx := schema.Index{Name: name(x.t, w.Columns), Type: "BTREE", Parts: w.Parts}
		f.Action = &finding.Action{Kind: finding.AddIndex, Table: ref, Index: idx, SQL: schema.AddIndexSQL(ref, idx), Undo: schema.DropIndexSQL(ref, idx.Name)}
		f.Suggestion = fmt.Sprintf("Add an index on %s (%s).", ref, schema.PartsSQL(w.Parts))
		for _, n := range w.Notes {
			f.Suggestion += " " + n
		}
	}
	f.Why = why(v, g, f)
	return f
}

// severity is critical when the cause holds at least half of the statement time of a server that has little left.
func severity(v *View, share float64) finding.Severity {
	_, full := v.Has("cpu-saturated", "")
	if cpus, ok := v.Host.CPUs.Get(); ok && v.Total/v.Window >= cpus/2 {
		full = true
	}
	if share >= 0.5 && full {
		return finding.Critical
	}
	return finding.Warning
}

func title(v *View, g group, share float64) string {
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
		e, ok1 := y.c.Examined.Get()
		s, ok2 := useful(y).Get()
		counted = counted && ok1 && ok2 && !y.c.Sampled
		read, sent = read+float64(e), sent+float64(s)
	}
	does := "return"
	if x.shape.Kind != sqlshape.Select {
		does = "change"
	}
	if counted {
		return fmt.Sprintf("%s %s rows a second to %s %s", head, unit.Count(read/v.Window), does, unit.Count(sent/v.Window))
	}
	if r, ok := v.Rate("mysql_global_status_handler_read_rnd_next").Get(); ok {
		head = fmt.Sprintf("%s all of %s: scans read %s rows a second", head, x.t.Ref, unit.Count(r))
		if s, ok := v.Rate("mysql_global_status_rows_sent").Get(); ok {
			head += fmt.Sprintf(", the server sends %s", unit.Count(s))
		}
		return head
	}
	return head + " all of " + x.t.String()
}

// useful returns the rows that a class returned or, when it writes, changed.
func useful(x scan) known.Value[uint64] {
	if x.shape.Kind != sqlshape.Select {
		return x.c.Affected
	}
	return x.c.RowsSent
}

func cause(x scan) string {
	cols := strings.Join(x.wish.Columns[:x.wish.Cond], ", ")
	if x.inner {
		return fmt.Sprintf("For the rows of the tables before it the server reads all of %s again, because no index serves the join condition on %s.", x.t.Ref, cols)
	}
	if x.hidden != "" {
		return fmt.Sprintf("To find the rows that match %s the server reads all of %s: the index that would serve, %s, is hidden from the optimizer.", cols, x.t.Ref, x.hidden)
	}
	return fmt.Sprintf("To find the rows that match %s the server reads all of %s, because no index serves that condition.", cols, x.t.Ref)
}

func symptoms(v *View, g group) (ids []string) {
	for _, s := range v.Symptoms {
		about := s.Kind == "cpu-saturated" || s.Kind == "rnd-next"
		for _, x := range g.scans {
			about = about || s.Subject == x.c.ID
		}
		if about {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// unobserved repeats what could not be seen, with what would mend it.
func unobserved(v *View) (out []string) {
	for _, s := range v.Symptoms {
		if s.Kind == "not-observable" {
			for _, e := range s.Evidence {
				out = append(out, e.Text)
			}
		}
	}
	return out
}
