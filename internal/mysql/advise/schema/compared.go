package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// What the rules about comparisons share: which classes read too much, and how that is told. docs/diagnose.md gives the
// reasons of the thresholds.
const (
	minShare     = 0.05 // of the statement time: a rewrite costs no writes, so that less than for an index is enough
	minLoad      = 0.05 // seconds of statement time per second
	minExamined  = 100  // rows examined per call: a page or two is read as fast as an index
	minTableRows = 1000
	minRatio     = 10   // rows examined for each that is returned or changed
	maxMatch     = 0.20 // part of the rows that match, above which a scan is right
	maxFindings  = 50   // of one rule: a statement may hold hundreds of conditions
)

// sufferer is a class that takes a good part of the time, with what it compares.
type sufferer struct {
	c        class.Class
	shape    shape.Shape
	compared []shape.Comparison
	tables   []schema.Table // as shape.Tables; those without a name are not known
	owners   *advise.Tables
	plan     explain.Plan
	planned  bool
	hinted   func() bool    // whether the statement names indexes
	seen     map[int]looked // what was asked of each table
}

// looked is what a class does with one of its tables.
type looked struct {
	all, open bool        // see readsAll and openTo
	equal     shape.Names // columns that are compared for equality
}

// sufferers returns the classes with enough time that compare something, those with the most time first.
func sufferers(v *advise.View) (out []sufferer) {
	if v.Window <= 0 || v.Total <= 0 {
		return nil
	}
	for _, c := range v.Classes {
		if c.TimeSec < minShare*v.Total || c.TimeSec < minLoad*v.Window {
			continue
		}
		x := sufferer{
			c: c, seen: map[int]looked{},
			hinted: sync.OnceValue(func() bool { return len(sqlshape.Hinted(c.Fingerprint)) > 0 }),
		}
		var err error
		if x.shape, x.compared, err = v.Compared(c); err != nil || len(x.compared) == 0 {
			continue
		}
		x.owners = v.TablesOf(c, x.shape.Tables)
		x.tables = x.owners.List
		x.plan, x.planned = v.Plan(c)
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b sufferer) int {
		switch {
		case a.c.TimeSec > b.c.TimeSec:
			return -1
		case a.c.TimeSec < b.c.TimeSec:
			return 1
		}
		return strings.Compare(a.c.ID, b.c.ID)
	})
	return out
}

// owner returns the table and column that an operand names; at is the table's place.
func (x *sufferer) owner(o shape.Operand) (at int, c schema.Column, ok bool) {
	at, c, ok = x.owners.Owner(o.Table, o.Column)
	return at, c, ok && x.tables[at].Table != "" && !x.tables[at].View
}

// look returns what the class does with a table, worked out once for all its conditions.
func (x *sufferer) look(v *advise.View, at int) looked {
	l, done := x.seen[at]
	if done {
		return l
	}
	var equal []string
	for _, p := range x.shape.Predicates {
		if p.Op == shape.Eq && !p.Join && (p.Table == at || p.Table == shape.Unresolved) {
			equal = append(equal, p.Column)
		}
	}
	l = looked{all: x.readsAll(v, at), open: x.openTo(at), equal: shape.NamesOf(equal)}
	x.seen[at] = l
	return l
}

// openTo reports whether a table has a condition that an index could serve and none does.
func (x *sufferer) openTo(at int) bool {
	for _, p := range x.shape.Predicates {
		if p.Join || p.Table != at && (p.Table != shape.Unresolved || len(x.tables) > 1) ||
			p.Op != shape.Eq && p.Op != shape.In {
			continue
		}
		if c, ok := x.owners.Column(at, p.Column); ok && !led(x.tables[at], c.Name) {
			return true
		}
	}
	return false
}

// step returns the plan's access to a table; false when it is not there or not to be told from another.
func (x *sufferer) step(at int) (explain.Step, bool) {
	found, n := explain.Step{}, 0
	r := x.shape.Tables[at]
	name := r.Alias
	if name == "" {
		name = r.Name
	}
	for _, s := range x.plan.Steps {
		if shape.Match(name, s.Table) {
			found, n = s, n+1
		}
	}
	return found, n == 1
}

// useful returns the rows that a class returned or, when it writes, changed.
func (x *sufferer) useful() known.Value[uint64] {
	if x.shape.Kind != shape.Select {
		return x.c.Affected
	}
	return x.c.RowsSent
}

// counted returns the rows examined and the useful ones per call, when both were counted.
func (x *sufferer) counted() (examined, useful float64, ok bool) {
	e, ok1 := x.c.PerCall(x.c.Examined).Get()
	u, ok2 := x.c.PerCall(x.useful()).Get()
	return e, u, ok1 && ok2 && !x.c.Sampled
}

// readsAll reports whether the class reads much of a table to find little: by its plan, or by the server's counters
// where there is none.
func (x *sufferer) readsAll(v *advise.View, at int) bool {
	t := x.tables[at]
	examined, useful, counted := x.counted()
	if counted {
		if examined < minExamined || examined < minRatio*useful {
			return false
		}
		if single := len(x.tables) == 1; single && !x.shape.Folded && useful > maxMatch*examined {
			return false
		}
	}
	rows, told := t.Rows.Get()
	if x.planned {
		s, ok := x.step(at)
		if !ok {
			return false
		}
		if told && float64(max(rows, uint64(s.Rows))) < minTableRows && (!counted || examined < minTableRows) {
			return false
		}
		if s.Access == "ALL" || s.Access == "index" {
			return true
		}
		// Another index leads to many rows of which this condition picks few.
		return counted && len(x.tables) == 1 && !x.shape.Folded && (s.Access == "ref" || s.Access == "range") &&
			examined >= minTableRows && examined >= 10*minRatio*useful
	}
	if told && rows < minTableRows && (!counted || examined < minTableRows) {
		return false
	}
	for _, n := range []known.Value[uint64]{x.c.FullScans, x.c.NoIndex, x.c.FullJoins} {
		if n, ok := n.Get(); ok && n > 0 && 2*n >= x.c.Count {
			return true
		}
	}
	if x.c.FullScans.OK() || x.c.NoIndex.OK() {
		return false // the server counted, and it did not scan
	}
	_, scans := v.Has(finding.RndNext, "")
	return scans && x.c.TimeSec >= 0.5*v.Total
}

// index returns the visible index with which a condition on the column could be looked up: it begins with the column,
// or with columns that the statement compares for equality and then the column.
func (x *sufferer) index(v *advise.View, at int, col string) (schema.Index, bool) {
	equal := x.look(v, at).equal
	for _, i := range x.tables[at].Indexes {
		if i.Hidden || i.Type != "" && i.Type != "BTREE" {
			continue
		}
		for _, p := range i.Parts {
			if strings.EqualFold(p.Column, col) {
				return i, true
			}
			if !equal.Has(p.Column) {
				break
			}
		}
	}
	return schema.Index{}, false
}

func (x *sufferer) confidence() finding.Confidence {
	switch {
	case x.c.Sampled || !x.c.Examined.OK():
		if x.planned && !x.plan.Guess {
			return finding.Likely
		}
		return finding.Possible
	case x.planned && !x.plan.Guess:
		return finding.Certain
	}
	return finding.Likely
}

// evidence tells the class's rows, its share of the time and its plan.
func (x *sufferer) evidence(v *advise.View, at int) (ev []finding.Evidence) {
	does := "returned"
	if x.shape.Kind != shape.Select {
		does = "changed"
	}
	if e, u, ok := x.counted(); ok {
		ev = append(ev, finding.Evidence{
			What: "rows examined per row " + does, Value: known.Of(e / max(u, 1)), Unit: "rows",
			Expected: fmt.Sprintf("≤ %d", minRatio), Source: x.c.Source(),
			Text: fmt.Sprintf("Each call examined %s rows and %s %s, over %s calls.", unit.Count(e), does,
				unit.Count(u), unit.Count(float64(x.c.Count))),
		})
	}
	about := ""
	if x.c.Sampled {
		about = "about "
	}
	ev = append(ev, finding.Evidence{
		What: "share of statement time", Value: known.Of(100 * v.Share(x.c)), Unit: "%",
		Source: x.c.Source(), Sampled: x.c.Sampled,
		Text: fmt.Sprintf("The class took %s%s of %s statement time, %s.", about, unit.Seconds(x.c.TimeSec),
			unit.Seconds(v.Total), unit.Percent(v.Share(x.c))),
	})
	if s, ok := x.step(at); ok && x.planned {
		text := fmt.Sprintf("Plan: table %s, type %s, about %s rows", s.Table, s.Access, unit.Count(s.Rows))
		if s.Key != "" {
			text += ", key " + s.Key
		}
		if len(s.PossibleKeys) > 0 && s.Key == "" {
			text += "; it knew of " + strings.Join(s.PossibleKeys, ", ") + " and could not use it for a lookup"
		}
		ev = append(ev, finding.Evidence{
			What: "plan", Value: known.Of(s.Rows), Unit: "rows", Source: source.Plan,
			Sampled: x.plan.Guess, Text: text + ".",
		})
	}
	return ev
}

// against tells what speaks against any of these findings.
func (x *sufferer) against() (out []string) {
	if x.c.Sampled {
		out = append(out, "The class was sampled, not counted: its share is an estimate.")
	}
	if !x.planned {
		out = append(out, "There is no plan of the statement: that it reads the whole table is inferred from counters.")
	} else if x.plan.Guess {
		out = append(out, "The plan was made with typical values because the statement's own were unknown.")
	}
	if x.shape.Folded {
		out = append(out, "The statement aggregates, so the number of matching rows is unknown: when most match, an "+
			"index does not help.")
	}
	return out
}

// gain compares the rows read before with those that the result needs: a row looked up through an index costs 5 (in
// memory, neighbours) to 30 times (another page each) a row that a scan passes over, finding the place as much as some
// 10, and 50 to 500 µs of a call have nothing to do with rows.
func (x *sufferer) gain() *finding.Gain {
	e, u, ok := x.counted()
	if !ok || x.shape.Folded {
		return nil
	}
	wanted := u * float64(len(x.shape.Tables))
	lo, hi := e/(10+30*wanted), e/(10+5*wanted)
	if mean, ok := x.c.MeanSec().Get(); ok && mean > 0 {
		lo = min(lo, mean/(mean/lo+500e-6))
		hi = min(hi, mean/(mean/hi+50e-6))
	}
	lo, hi = tidy(lo), tidy(hi)
	if hi < 1.5 {
		return nil
	}
	return &finding.Gain{
		What: "time per call of the class", Lo: lo, Hi: hi,
		Text: fmt.Sprintf("%s to %s times less time per call of the class: now %s rows are read per call, then about "+
			"%s.", unit.Count(lo), unit.Count(hi),
			unit.Count(e), unit.Count(max(1, math.Round(wanted)))),
	}
}

// tidy keeps two significant digits: the model has no more.
func tidy(f float64) float64 {
	if f < 1 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(f))-1)
	return math.Round(f/p) * p
}

// begin fills in what the findings about comparisons have in common. All of xs suffer from the same; the first has the
// most time. A class may be there twice.
func begin(v *advise.View, rule string, xs []sufferer, at int, column string, subject ...string) finding.Finding {
	x := xs[0]
	t := x.tables[at]
	f := finding.Finding{
		Rule: rule, ID: finding.MakeID(rule, append([]string{t.Ref.String()}, subject...)...),
		Confidence: x.confidence(),
		Subject:    finding.Subject{Tables: []schema.Ref{t.Ref}, Columns: []string{column}},
		Unobserved: v.Unobserved(), Gain: x.gain(), Against: x.against(),
		Explains: []string{advise.EffectCPU, advise.EffectRunning, advise.EffectDiskReads, advise.EffectPoolMisses},
	}
	for _, y := range xs {
		if slices.Contains(f.Subject.Classes, y.c.ID) {
			continue
		}
		f.Subject.Classes = append(f.Subject.Classes, y.c.ID)
		f.Explains = append(f.Explains, advise.ClassTime(y.c.ID))
		f.Share = min(1, f.Share+v.Share(y.c))
		f.Evidence = append(f.Evidence, y.evidence(v, at)...)
		if y.shape.Kind != shape.Select || y.shape.Locking {
			f.Explains = append(f.Explains, advise.EffectRowLocks) // what it scans it locks
		}
	}
	for _, s := range v.Symptoms {
		if s.Kind == finding.CPUSaturated || s.Kind == finding.RndNext || slices.Contains(f.Subject.Classes,
			s.Subject) {
			f.Symptoms = append(f.Symptoms, s.ID)
		}
	}
	f.Severity = v.Severity(f.Share)
	return f
}

// more notes with the last of some findings how many others of the rule are not among them.
func more(all []finding.Finding, left int) []finding.Finding {
	if left > 0 {
		f := &all[len(all)-1]
		f.Unobserved = append(slices.Clip(f.Unobserved),
			fmt.Sprintf("%s of the same kind: at most %d are listed, those of the classes with the most time.",
				unit.Plural(left, "more condition", "more conditions"), maxFindings))
	}
	return all
}

// stringType reports a column that holds text with a character set.
func stringType(c schema.Column) bool {
	switch d := strings.ToLower(c.DataType); d {
	case "char", "varchar":
		return true
	default:
		return strings.HasSuffix(d, "text")
	}
}

func numberType(c schema.Column) bool {
	switch strings.ToLower(c.DataType) {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint", "decimal", "numeric", "float",
		"double", "real", "bit", "year":
		return true
	}
	return false
}

func timeType(c schema.Column) bool {
	switch strings.ToLower(c.DataType) {
	case "date", "datetime", "timestamp":
		return true
	}
	return false
}

// spare returns a name for an index that the table does not have yet, of at most 64 characters.
func spare(base string, taken func(string) bool) string {
	if r := []rune(base); len(r) > 60 {
		base = string(r[:60])
	}
	name := base
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

func unusedName(t schema.Table, base string) string {
	return spare(base, func(s string) bool {
		return slices.ContainsFunc(t.Indexes, func(i schema.Index) bool { return strings.EqualFold(i.Name, s) })
	})
}

// foreign reports whether a foreign key of this table, or one of another table that refers to it, holds the column:
// such a column cannot change its type alone.
func foreign(v *advise.View, t schema.Table, col string) bool {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, col) })
	}
	for _, k := range t.Foreign {
		if in(k.Columns) {
			return true
		}
	}
	for _, o := range v.Tables {
		for _, k := range o.Foreign {
			if k.To == t.Ref && in(k.Refers) {
				return true
			}
		}
	}
	return false
}
