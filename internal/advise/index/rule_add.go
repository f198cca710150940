package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
)

// The thresholds of the rules; docs/diagnose.md gives the reasons.
const (
	minShare     = 0.10 // of the statement time, of all classes together that one index serves
	minLoad      = 0.05 // seconds of statement time per second, of the same
	minClass     = 0.01 // of the statement time, of a class that is looked at
	maxClasses   = 200  // that are looked at
	maxScans     = 64   // of one class
	maxAdds      = 50   // findings of one rule: nobody adds more indexes at a time
	minExamined  = 100  // rows examined per call
	minTableRows = 1000
	minRatio     = 10   // rows examined for each that is returned or changed
	maxMatch     = 0.20 // part of the rows that match, above which a scan is right
	surelyFew    = 0.05 // part of the rows below which an unused index on one of the columns is no objection
)

// The rules about indexes to add.
const (
	missingIndex     = "missing-index"
	unindexedJoin    = "unindexed-join"
	indexScan        = "index-scan"
	indexOrder       = "index-order"
	filesort         = "filesort"
	twoSingleIndexes = "two-single-indexes"
	narrowIndex      = "narrow-index"
	coveringIndex    = "covering-index"
	unindexedOr      = "unindexed-or"
	indexHint        = "index-hint"
)

// scan is one class that reads much of a table for which an index is wanted.
type scan struct {
	rule   string
	c      class.Class
	kind   shape.Kind  // of the whole statement
	shape  shape.Shape // of the part of the statement that reads the table, often all of it
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
	hint   string               // the one that keeps the server from all other indexes, see shape.TableRef
	barred string               // name of an index that would serve without the hint
	sure   finding.Confidence
	keyed  keyed // how it reads today, when it does so by an index that finds too much
}

// postgres reports whether the class ran on PostgreSQL.
func (x scan) postgres() bool { return x.c.Origin == class.PgStatStatements }

// bars reports whether a hint of the statement keeps the server from an index.
func (x scan) bars(have schema.Index) bool {
	_, names, _ := strings.Cut(strings.TrimSuffix(x.hint, ")"), "(")
	return x.hint != "" && !slices.ContainsFunc(strings.Split(names, ", "), func(n string) bool {
		return shape.Match(n, have.Name)
	})
}

// sec is the time of the class that an index can give back: waiting for locks is not part of it.
func (x scan) sec() float64 { return ownTime(x.c) }

func ownTime(c class.Class) float64 { return max(0, c.TimeSec-c.LockSec.Or(0)) }

// workload is what the classes of a view want, worked out once for all rules that ask for it.
type workload struct {
	mu     sync.Mutex
	of     *advise.View
	groups []group
}

// rule returns the Find of one rule. All rules look at the workload together: classes whose indexes go together get one
// finding, of the rule that found the one with the most time.
func (w *workload) rule(find func(*advise.View, []group) []finding.Finding) func(*advise.View) []finding.Finding {
	return func(v *advise.View) []finding.Finding {
		if v.Window <= 0 || v.Total <= 0 {
			return nil
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.of != v {
			w.of, w.groups = v, groups(wants(v))
		}
		return find(v, w.groups)
	}
}

// only returns the findings of one rule.
func only(v *advise.View, all []group, rule string) (out []finding.Finding) {
	for _, g := range all {
		if g.scans[0].rule != rule || !worth(v, g) {
			continue
		}
		if len(out) == maxAdds {
			last := &out[maxAdds-1]
			last.Unobserved = append(slices.Clip(last.Unobserved),
				fmt.Sprintf("More indexes of this kind exist: %d are listed, for the classes with the most time.",
					maxAdds))
			break
		}
		out = append(out, report(v, g))
	}
	return out
}

// wants returns everything that the classes with the most time want an index for.
func wants(v *advise.View) (all []scan) {
	var top []class.Class
	for _, c := range v.Classes {
		if t := ownTime(c); t > 0 && t >= minClass*v.Total {
			top = append(top, c)
		}
	}
	slices.SortStableFunc(top, func(a, b class.Class) int {
		return cmp.Or(cmp.Compare(ownTime(b), ownTime(a)), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range top[:min(len(top), maxClasses)] {
		all = append(all, scansOf(v, c)...)
	}
	slices.SortStableFunc(all, func(a, b scan) int {
		return cmp.Or(cmp.Compare(b.sec(), a.sec()), cmp.Compare(a.c.ID, b.c.ID),
			cmp.Compare(a.t.String(), b.t.String()))
	})
	return all
}

// writeSec is what an entry more costs a row that is written: from some 5 µs in memory to a page read from a disk, 50
// µs as a rule.
const writeSec = 50e-6

// worth reports whether the classes of a group hold enough time, and whether the index gives back clearly more than it
// costs writes.
func worth(v *advise.View, g group) bool {
	sec := 0.0
	for _, x := range g.scans {
		sec += x.sec()
	}
	if sec < minShare*v.Total || sec < minLoad*v.Window {
		return false
	}
	writes, _, _ := writesTo(v, g.scans[0].t, g.wish)
	return g.scans[0].hidden != "" || 2*writes*writeSec <= sec/v.Window
}

// read returns the rows that the class read in the window. MariaDB does not count those that it reads into a join
// buffer: where they are more the plan's stand in, and estimated says so. PostgreSQL counts none: those of a plan that
// reads the whole table stand in, as far as the pages that were wanted allow.
func (x scan) read() (rows known.Value[float64], estimated bool) {
	n, ok := x.c.Examined.Get()
	if !ok {
		part, ok := x.scanned().Get()
		if x.step.Access != explain.SeqScan || x.c.Sampled || x.inner || x.rows <= 0 || !ok {
			return known.None[float64](), false
		}
		return known.Of(x.rows * part * float64(x.c.Count)), true
	}
	if most := x.step.Rows * float64(x.c.Count); x.inner && x.plan && !x.guess && !x.c.Sampled &&
		x.step.All() && most > float64(n) &&
		slices.ContainsFunc(x.step.Extra, func(e string) bool { return strings.HasPrefix(e, "Using join buffer") }) {
		return known.Of(most), true
	}
	return known.Of(float64(n)), false
}

// pageBytes is the size of PostgreSQL's pages, unless it was built otherwise.
const pageBytes = 8192

// scanned returns which part of the table a call can have read on average, 0 to 1, by the pages that PostgreSQL counted
// for the class: all of them at most. The plan that it tells is the one for any value of the parameters, and the one
// that ran may have been better; a LIMIT ends a scan early.
func (x scan) scanned() known.Value[float64] {
	pages, ok1 := x.c.PerCall(x.c.Pages).Get()
	bytes, ok2 := x.t.DataBytes.Get()
	if !ok1 || !ok2 || bytes == 0 {
		return known.None[float64]()
	}
	return known.Of(min(1, pages*pageBytes/float64(bytes)))
}

// slowRow is the time per row read above which reading rows is not what takes a class its time: even a disk finds one
// in less. It waits for something else then, as for a lock.
const slowRow = 20e-3

// scansOf returns the tables that a class reads much of although an index would serve it.
func scansOf(v *advise.View, c class.Class) (out []scan) {
	sh, err := v.Shape(c)
	if err != nil || sh.Kind == shape.Other || v.Dialect.System(c.Schema) {
		return nil
	}
	p, planned := v.Plan(c)
	if e, ok := c.PerCall(c.Examined).Get(); ok && !c.Sampled {
		for _, s := range p.Steps {
			e = max(e, s.Rows) // not all that is read is counted
		}
		if mean, ok := c.MeanSec().Get(); ok && e >= 1 && mean/e > slowRow {
			return nil
		}
	}
	whole := len(sh.Parts) == 0
	if sh.Kind != shape.Insert {
		out = blockScans(v, c, sh.Kind, sh, p, planned, whole)
	}
	for _, part := range sh.Parts {
		if len(out) >= maxScans {
			break
		}
		for _, x := range blockScans(v, c, sh.Kind, part, p, planned, false) {
			if !slices.ContainsFunc(out, func(y scan) bool { return y.t.Ref == x.t.Ref }) {
				out = append(out, x)
			}
		}
	}
	return out
}

// blockScans looks at one SELECT of a statement, or at the statement itself; whole says that it is all there is.
func blockScans(v *advise.View, c class.Class, kind shape.Kind, sh shape.Shape, p explain.Plan, planned,
	whole bool,
) (out []scan) {
	b := &block{sh: sh, Tables: v.TablesOf(c, sh.Tables)}
	tables := b.List
	at := make([]int, len(sh.Tables))
	first := len(p.Steps)
	for i, r := range sh.Tables {
		if at[i] = stepOf(p, r); at[i] >= 0 {
			first = min(first, at[i])
		}
	}
	single := whole && len(tables) == 1
	innerFound := false
	// The tables that a join looks up come first: reading one of those once per row costs more than reading the first
	// one once.
	for _, inner := range []bool{true, false} {
		for i, t := range tables {
			if t.Table == "" || t.View || v.Dialect.System(t.Schema) {
				continue
			}
			x := scan{
				c: c, kind: kind, shape: sh, t: t, plan: planned, guess: p.Guess, inner: inner, hint: sh.Tables[i].Hint,
			}
			ask := sh.Correlated // asked once for each row of what it stands in
			if planned {
				if at[i] < 0 {
					continue
				}
				x.step = p.Steps[at[i]]
				if ask = ask || at[i] > first; ask != inner {
					continue
				}
			} else if ask = ask || i > 0; inner != ask || !scannedUnseen(v, c, inner && len(tables) > 1) {
				continue
			}
			if !inner && innerFound {
				continue
			}
			found := false
			switch full := !planned || x.step.All() || x.step.Access == "index"; {
			case full:
				found = judge(v, &x, b, i, single)
			default:
				found = judgeKeyed(v, &x, b, i, single)
			}
			if found && x.hint != "" {
				// An index that a hint leaves out helps as little as one that is not there. What the other rules advise
				// needs a server that may choose.
				found = x.barred != "" || slices.Contains([]string{missingIndex, indexScan, unindexedJoin}, x.rule)
				x.rule = indexHint
			}
			if found {
				out = append(out, x)
				innerFound = innerFound || inner
			}
		}
	}
	return out
}

// stepOf finds the plan's access to a table; -1 when it is not there or not to be told from another.
func stepOf(p explain.Plan, r shape.TableRef) int {
	found := -1
	for i, s := range p.Steps {
		if name := cmp.Or(r.Alias, r.Name); shape.Match(name, s.Table) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// scannedUnseen says, where there is no plan, whether the server's counters stand in for one: most executions scanned
// or, when the statements were not counted, scans are what the server does and this class is what it does most.
func scannedUnseen(v *advise.View, c class.Class, inner bool) bool {
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
	_, scans := v.Has(finding.RndNext, "")
	return scans && c.TimeSec >= 0.5*v.Total
}

// judge decides whether an index is wanted, and fills in what speaks for it.
func judge(v *advise.View, x *scan, b *block, i int, single bool) bool {
	perCall, counted := x.c.PerCall(x.c.Examined).Get()
	stats, told := x.t.Rows.Get()
	x.rows = x.step.Rows
	if told && stats > 0 {
		x.rows = float64(stats)
	}
	if single && counted && !x.c.Sampled {
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
	if !x.matching(v, single) {
		return false
	}
	x.rule = missingIndex
	w, ok := b.wish(i, x.inner)
	switch {
	case ok && w.Cond == 0:
		if x.rule = filesort; !x.match.OK() {
			return false
		}
	case ok && x.inner && len(b.List) > 1:
		x.rule = unindexedJoin
	case !ok && !x.inner && b.startsElsewhere(i):
		// The server began with this table, for it has no way to look it up.
		if w, ok = b.wish(i, true); !ok {
			return false
		}
		x.rule, x.inner = unindexedJoin, true
	case !ok:
		return false
	}
	if w = w.within(v); len(w.Parts) == 0 {
		return false
	}
	x.wish = w
	if used, ok := indexOf(x.t, x.step.Key); ok && x.step.Access == "index" && len(used.Parts) > 0 &&
		x.rule == missingIndex && !w.conditions(used.Parts[0].Column) {
		x.rule = indexScan
	}
	few := false
	if m, ok := x.match.Get(); ok && m <= surelyFew {
		few = true
	}
	for _, have := range x.t.Indexes {
		if !serves(v, x.t, have, w) {
			continue
		}
		switch {
		case !have.Hidden && x.bars(have):
			x.barred = have.Name
		case !have.Hidden:
			return false // the server has what it needs and prefers the scan
		default:
			x.hidden = have.Name
		}
	}
	if x.barred != "" { // not by the server's own choice: only what was measured says that it is right
		if m, ok := x.match.Get(); !ok || x.bound || m > surelyFew {
			return false
		}
	} else if have, led := leads(x.t, w); led && !few {
		return false
	} else if led && x.rule == missingIndex && w.inside(have) {
		x.rule, x.keyed = indexOrder, keyed{have: have}
	}
	if useless(x.t, w) && !few {
		return false
	}
	x.sure = x.confidence()
	if m, ok := x.match.Get(); ok && !x.bound && m*perCall >= coverRows {
		x.wish, _ = b.cover(w, i)
	}
	return true
}

// startsElsewhere reports whether a join that begins by reading all of table i could begin with another one, which has
// a condition of its own that an index finds.
func (b *block) startsElsewhere(i int) bool {
	for j, t := range b.List {
		if j == i || t.Table == "" {
			continue
		}
		w, ok := b.wish(j, false)
		if !ok || w.Equal == 0 {
			continue
		}
		if have, ok := leads(t, w); ok && w.conditions(have.Parts[0].Column) {
			return true
		}
	}
	return false
}

// matching measures which part of the rows read is wanted; it is false when a scan is the right way to read them.
func (x *scan) matching(v *advise.View, single bool) bool {
	all, _ := x.read()
	examined, counted := all.Get()
	useful, ok := x.c.RowsSent.Get()
	if x.kind != shape.Select {
		useful, ok = x.c.Affected.Get()
	}
	if x.postgres() && x.step.Access == explain.SeqScan {
		part, told := x.scanned().Get()
		calls := float64(max(x.c.Count, 1))
		switch {
		case told && part*x.rows < minExamined, counted && examined/calls < minExamined:
			return false // another plan than the one that it tells was at work
		case len(x.shape.Tables) < 2:
		case x.shape.Folded, !ok, !told, part < 0.5, float64(useful)/calls > x.rows/minRatio:
			return false // a hash of the whole table is the right way to join much of it
		}
	}
	switch {
	case counted && ok && !x.c.Sampled:
		if examined == 0 || examined < minRatio*float64(max(useful, 1)) {
			return false
		}
		// What an aggregate returns says nothing about what matched, and rows of a join are of both tables.
		if single && !x.shape.Folded {
			x.match = known.Of(float64(useful) / examined)
		}
	case !x.shape.Folded && single && x.kind == shape.Select:
		// All rows that the server sent are an upper bound for those of this class.
		read, ok1 := v.Rate(v.Dialect.Handlers.Of("read_rnd_next")).Get()
		if x.step.Access == "index" {
			read, ok1 = v.Rate(v.Dialect.Handlers.Of("read_next")).Get()
		}
		sent, ok2 := v.Rate(v.Dialect.RowsSent).Get()
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
