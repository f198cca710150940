package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// What the rules share that find an index too many: who reads it, who writes it, what it costs and how it is taken
// away.

const (
	// counted is how many indexes a source tells apart at most. From there on one that is not told may still be used.
	counted = 200
	// maxHinted is how many classes with hints are taken apart, those with the most time first. Of the others every
	// word may be the name of an index.
	maxHinted = 200
	// maxDrops bounds the findings of one rule: nobody drops more indexes at a time.
	maxDrops = 50
)

type indexKey struct {
	schema.Ref
	Index string
}

// use is what is known about the reading of one index.
type use struct {
	reads known.Value[float64] // rows per second found through it in the window
	total known.Value[float64] // rows since the counting began
	by    []class.Class        // classes whose plan has it
}

// none reports whether it is known that nobody read the index since the counting began.
func (u use) none() bool {
	n, ok := u.total.Get()
	return ok && n == 0 && len(u.by) == 0
}

// uses knows the reading of all indexes of a snapshot.
type uses struct {
	v        *advise.View
	source   source.Name // that counts; "" when none does
	complete bool        // an index that is not counted was not read
	reads    map[indexKey]use
	active   map[schema.Ref]bool // tables of which anything was counted
	hinted   map[string]bool     // names that statements and programs give in hints, in lower case
	// seekers are by the column in lower case, those of names without their digits under ""; nil at first.
	seekers map[string][]seeker
}

// seeker is a condition of a class on a table.
type seeker struct {
	class   int // in Classes
	column  string
	table   shape.TableRef
	planned bool
}

func usesOf(v *advise.View) *uses {
	u := &uses{v: v, reads: map[indexKey]use{}, active: map[schema.Ref]bool{}, hinted: map[string]bool{}}
	for _, s := range v.Dialect.IndexReads {
		if u.source == "" && v.Seen(s.Source) {
			u.source = s.Source
			u.count(v.All(s.Metric), s.Table)
		}
	}
	for _, x := range v.All(v.Dialect.TableAccess) {
		u.active[schema.Ref{Schema: x.Labels.Get("schema"), Table: x.Labels.Get("name")}] = true
	}
	for _, p := range v.Plans {
		if c, ok := v.ClassOf(p); ok && p.Error == "" {
			u.plan(c, p.Steps)
		}
	}
	u.hints()
	return u
}

func (u *uses) count(all []metric.Series, table string) {
	for _, x := range all {
		k := indexKey{schema.Ref{Schema: x.Labels.Get("schema"), Table: x.Labels.Get(table)}, x.Labels.Get("index")}
		u.active[k.Ref] = true
		n := u.reads[k]
		if len(x.Points) > 0 {
			n.total = known.Of(n.total.Or(0) + x.Points[len(x.Points)-1].Value)
		}
		if r, ok := x.Rate(); ok {
			n.reads = known.Of(n.reads.Or(0) + r)
		} else if len(x.Points) > 0 {
			n.reads = known.Of(n.reads.Or(0)) // it appeared with its last reading
		}
		u.reads[k] = n
	}
	u.complete = len(u.reads) < counted
}

// plan notes which indexes the plan of a class uses. Servers write several as a,b or, with a filter, a|b.
func (u *uses) plan(c class.Class, steps []explain.Step) {
	touched, err := u.v.Dialect.Touches(sqlOf(c))
	if err != nil && len(touched) == 0 {
		touched, _ = u.v.Dialect.Touches(c.Text())
	}
	// The name of a step may be an alias, so that any table of the statement that has such an index counts.
	named := map[string][]schema.Ref{}
	for _, r := range touched {
		if t, ok := u.v.Resolve(c, r); ok {
			for _, x := range t.Indexes {
				named[x.Name] = append(named[x.Name], t.Ref)
			}
		}
	}
	seen := map[indexKey]bool{}
	for _, s := range steps {
		for key := range strings.FieldsFuncSeq(s.Key, func(r rune) bool { return r == ',' || r == '|' }) {
			for _, t := range named[key] {
				k := indexKey{t, key}
				if n := u.reads[k]; !seen[k] {
					seen[k] = true
					if !slices.ContainsFunc(n.by, func(o class.Class) bool { return o.ID == c.ID }) {
						n.by = append(slices.Clip(n.by), c)
					}
					u.reads[k] = n
				}
			}
		}
	}
}

func sqlOf(c class.Class) string {
	if c.Example != "" {
		return c.Example
	}
	return c.Text()
}

// hints collects the names of indexes that somebody insists on: his statements fail when the index is gone.
func (u *uses) hints() {
	looks := func(s string) bool {
		l := strings.ToLower(s)
		return strings.Contains(l, "/*+") || strings.Contains(l, "index") && (strings.Contains(l, "force") ||
			strings.Contains(l, "use ") || strings.Contains(l, "ignore"))
	}
	n := 0
	for _, c := range u.v.Classes {
		s := sqlOf(c)
		if !looks(s) {
			continue
		}
		named := words
		if n++; n <= maxHinted {
			named = u.v.Dialect.Hinted
		}
		for _, name := range named(s) {
			u.hinted[strings.ToLower(name)] = true
		}
	}
	for _, p := range u.v.Programs {
		if looks(p.Body) { // a body is no single statement: every word of it may be the name
			for _, w := range words(p.Body) {
				u.hinted[strings.ToLower(w)] = true
			}
		}
	}
}

// words returns all that may be a name in a piece of SQL.
func words(sql string) []string {
	return strings.FieldsFunc(sql, func(r rune) bool {
		return !(r == '_' || r == '$' || r >= 0x80 || '0' <= r && r <= '9' ||
			'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
}

// of returns what is known about the reading of an index.
func (u *uses) of(t schema.Table, x schema.Index) use {
	n := u.reads[indexKey{t.Ref, x.Name}]
	if h, ok := x.Handled.Get(); ok && !n.total.OK() { // the catalog tells it of every table, the source of the busiest
		n.total = known.Of(float64(h))
		if h == 0 {
			n.reads = known.Of(0.0)
		}
	}
	if u.source != "" && u.complete && !n.total.OK() {
		n.total, n.reads = known.Of(0.0), known.Of(0.0)
	}
	return n
}

// mayNeed returns a class that looks for rows by the first column of the index and whose plan on this table is not
// known: servers count the rows that they find by an index, so that one by which nothing is ever found, as by a check
// before an insert, looks as if nobody used it.
func (u *uses) mayNeed(t schema.Table, x schema.Index) (class.Class, bool) {
	if len(x.Parts) == 0 {
		return class.Class{}, false
	}
	if u.seekers == nil {
		u.seek()
	}
	column, first := x.Parts[0].Column, len(u.v.Classes)
	for _, list := range [][]seeker{u.seekers[strings.ToLower(column)], u.seekers[""]} {
		for _, s := range list { // in the order of the classes
			if s.class >= first {
				break
			}
			if r := s.table; (!s.planned || strings.Contains(r.Name, "?")) && shape.Match(s.column, column) &&
				shape.Match(r.Name, t.Table) &&
				(r.Schema == "" || shape.Match(r.Schema, t.Schema)) {
				first = s.class
			}
		}
	}
	if first == len(u.v.Classes) {
		return class.Class{}, false
	}
	return u.v.Classes[first], true
}

func (u *uses) seek() {
	u.seekers = map[string][]seeker{}
	for i, c := range u.v.Classes {
		sh, err := u.v.General(c)
		if err != nil {
			continue
		}
		p, planned := u.v.Plan(c)
		planned = planned && p.Error == ""
		for _, s := range slices.Concat([]shape.Shape{sh}, sh.Parts) {
			for _, w := range s.Predicates {
				if w.Table < 0 || w.Table >= len(s.Tables) {
					continue
				}
				key := strings.ToLower(w.Column)
				if strings.Contains(key, "?") {
					key = ""
				}
				u.seekers[key] = append(u.seekers[key], seeker{
					class: i, column: w.Column, table: s.Tables[w.Table],
					planned: planned,
				})
			}
		}
	}
}

// lives reports whether anything was read of a table, by any way, since the counting began.
func (u *uses) lives(t schema.Table) bool {
	return u.active[t.Ref] || slices.ContainsFunc(t.Indexes, func(x schema.Index) bool { return x.Handled.Or(0) > 0 })
}

// writes returns the rows per second whose writing changes entries of the index, the classes that do it, and the part
// of the statement time that they hold.
func (u *uses) writes(t schema.Table, x schema.Index) (rows, share float64, by []advise.Writer) {
	for _, w := range u.v.Writers(t.Ref) {
		if w.Rows <= 0 || w.Kind == shape.Update && !slices.ContainsFunc(x.Parts, func(p schema.IndexPart) bool {
			return w.Set.Has(p.Column) || slices.ContainsFunc(words(p.Expr), w.Set.Has)
		}) {
			continue
		}
		rows += w.Rows
		share += u.v.Share(w.Class)
		by = append(by, w)
	}
	return rows, share, by
}

// since tells since when the use of a table's indexes has been counted: for how many seconds at most (0 when that
// is not known), from what moment on, and whether it is known that it was no less. Servers forget the figures
// of a table that is written anew.
func (u *uses) since(t schema.Table) (sec float64, from string, sure bool) {
	if u.v.Dialect.CountsScans { // how long an index has existed is not known
		if n, ok := t.CountedSec.Get(); ok {
			return float64(n), "since the statistics of the database were reset", false
		}
		return 0, "for an unknown time", false
	}
	sec, from = float64(u.v.Target.UptimeSec), "since the server's start"
	age, ok := t.AgeSec.Get()
	if ok && float64(age) < sec {
		sec, from = float64(age), "since the table was rebuilt"
	}
	// Nobody keeps the moment at which user statistics were turned on.
	return sec, from, ok && u.source != source.Userstat
}

// unsure are the words against a finding that leans on what was counted since a moment that is not known.
func (u *uses) unsure() string {
	if u.v.Dialect.CountsScans {
		return "How long the index has existed and was counted is unknown: it may have been built a moment ago, or " +
			"a crash of the server may have reset the statistics."
	}
	if u.source == source.Userstat {
		return "How long userstat has counted is unknown: it may have been enabled or reset a moment ago."
	}
	return "How long the table's counters have run is unknown: the table may have been rebuilt a moment ago."
}

// counting says what counts reads and since when.
func (u *uses) counting(t schema.Table) string {
	sec, from, _ := u.since(t)
	if sec <= 0 {
		return fmt.Sprintf("counted for an unknown time, of which %s were observed now", unit.Seconds(u.v.Window))
	}
	return fmt.Sprintf("counted for at most %s, %s, of which %s were observed now", unit.Seconds(sec), from,
		unit.Seconds(u.v.Window))
}

// useEvidence tells who reads an index.
func (u *uses) useEvidence(t schema.Table, x schema.Index) (ev []finding.Evidence) {
	n := u.of(t, x)
	if total, ok := n.total.Get(); ok {
		if u.v.Dialect.CountsScans {
			return append(ev, finding.Evidence{
				What: "scans of " + x.Name, Value: n.total, Source: source.Catalog,
				Text: fmt.Sprintf("%s was scanned %s times (%s).", x.Name, unit.Count(total), u.counting(t)),
			})
		}
		ev = append(ev, finding.Evidence{
			What: "rows found through " + x.Name, Value: n.reads, Unit: "1/s", Source: cmp.Or(u.source, source.Catalog),
			Text: fmt.Sprintf("Through %s the server finds %s, %s in all (%s).", x.Name,
				unit.Rate(n.reads.Or(0), "rows/s"), unit.Count(total), u.counting(t)),
		})
	}
	switch len(n.by) {
	case 0:
		if len(u.v.Plans) > 0 {
			ev = append(ev, finding.Evidence{
				What: "plans", Source: source.Plan,
				Text: fmt.Sprintf("None of the plans examined (%d) uses %s.", len(u.v.Plans), x.Name),
			})
		}
	default:
		ev = append(ev, finding.Evidence{
			What: "plans", Value: known.Of(float64(len(n.by))), Source: source.Plan,
			Text: fmt.Sprintf("The plan of %s uses %s now.", unit.Plural(len(n.by), "class", "classes"), x.Name),
		})
	}
	return ev
}

// costEvidence tells who writes an index and how large it may be.
func (u *uses) costEvidence(t schema.Table, x schema.Index) (ev []finding.Evidence) {
	rows, share, by := u.writes(t, x)
	if len(by) > 0 {
		least := ""
		if by[0].Class.Sampled { // short writes are seldom met
			least = "At least "
		}
		ev = append(ev, finding.Evidence{
			What: strings.ToLower(least) + "rows written into " + x.Name, Value: known.Of(rows), Unit: "1/s",
			Source: by[0].Class.Source(), Sampled: by[0].Class.Sampled,
			Text: fmt.Sprintf("%s%s change its entries, by %s with %s of the statement time.", least,
				unit.Rate(rows, "rows/s"), unit.Plural(len(by), "class", "classes"), unit.Percent(share)),
		})
	}
	if n, ok := t.Rows.Get(); ok && n > 0 {
		size := float64(n) * float64(keyBytes(t, x)+entryBytes)
		ev = append(ev, finding.Evidence{
			What: "size of " + x.Name, Value: known.Of(size), Unit: "bytes", Source: source.Catalog,
			Text: fmt.Sprintf("It has %s entries, at most %s.", unit.Count(float64(n)), unit.Bytes(size)),
		})
	}
	return ev
}

// keyBytes is the most that an entry's columns and the primary key behind them take.
func keyBytes(t schema.Table, x schema.Index) (n int) {
	parts := x.Parts
	if pk, ok := t.PrimaryKey(); ok && !x.Primary() && t.Engine != "heap" { // which has no clustered rows
		parts = append(slices.Clip(parts), pk.Parts...)
	}
	for _, p := range parts {
		c, _ := t.Column(p.Column)
		size := max(c.Bytes, 1)
		if p.Prefix > 0 {
			size = min(size, p.Prefix*charWidth(c))
		}
		n += size
	}
	return n
}

// users returns a table whose indexes one may drop: a base table that is not the server's own.
func users(v *advise.View, t schema.Table) bool {
	return !t.View && !v.Dialect.System(t.Schema) && t.Table != ""
}

// droppable reports whether an index is a plain one: no primary key, nothing that enforces uniqueness, no full text,
// and in use by the optimizer.
func droppable(x schema.Index) bool {
	return !x.Primary() && !x.Unique && !x.Hidden && (x.Type == "" || x.Type == "BTREE") && len(x.Parts) > 0
}

// begins reports whether an index begins with columns, in the same order and in full, as a foreign key on them needs
// it.
func begins(i schema.Index, cols []string) bool {
	if len(i.Parts) < len(cols) || i.Type != "" && i.Type != "BTREE" {
		return false
	}
	for n, p := range i.Parts[:len(cols)] {
		if p.Prefix > 0 || !strings.EqualFold(cols[n], p.Column) {
			return false
		}
	}
	return true
}

// needed returns the foreign keys of a table that have one index alone, by its name.
func needed(t schema.Table) map[string]string {
	keys := map[string]string{}
	for _, k := range t.Foreign {
		only, n := "", 0
		for _, x := range t.Indexes {
			if begins(x, k.Columns) {
				only = x.Name
				n++
			}
		}
		if n == 1 {
			keys[only] = k.Name
		}
	}
	return keys
}

// referred reports whether a foreign key of another table refers to columns that x begins with.
func referred(v *advise.View) map[schema.Ref][][]string {
	out := map[schema.Ref][][]string{}
	for _, t := range v.Tables {
		for _, k := range t.Foreign {
			out[k.To] = append(out[k.To], k.Refers)
		}
	}
	return out
}

// hide returns the action that hides an index, where the server can.
func hide(v *advise.View, t schema.Table, x schema.Index) (*finding.Action, bool) {
	sql, undo, ok := v.Dialect.HideIndex(v, t.Ref, x.Name)
	if !ok {
		return nil, false
	}
	return &finding.Action{Kind: finding.HideIndex, Table: t.Ref, Index: x, SQL: sql, Undo: undo}, true
}

func drop(v *advise.View, t schema.Table, x schema.Index) *finding.Action {
	return &finding.Action{
		Kind: finding.DropIndex, Table: t.Ref, Index: x, SQL: v.Dialect.DropIndex(t.Ref, x.Name),
		Undo: v.Dialect.AddIndex(t.Ref, x),
	}
}

// withoutIt says what disproves advice to take an index away.
func withoutIt(v *advise.View, x schema.Index) string {
	how := "gone"
	if v.Dialect.HidesIndexes {
		how = "hidden"
	}
	return fmt.Sprintf("Disproved if a statement becomes slower while %s is %s.", x.Name, how)
}

// dropping fills in what findings about an index too many have in common.
func (u *uses) dropping(rule string, t schema.Table, x schema.Index) finding.Finding {
	f := finding.Finding{
		Rule: rule, ID: finding.MakeID(rule, t.Ref.String(), x.Name), Severity: finding.Fact,
		Confidence: finding.Likely,
		Subject:    finding.Subject{Tables: []schema.Ref{t.Ref}, Columns: columnsOf(x)},
		Cost:       "Dropping takes a moment. Re-creating the index reads the whole table and sorts its keys.",
	}
	_, _, by := u.writes(t, x)
	for _, w := range by {
		f.Subject.Classes = append(f.Subject.Classes, w.Class.ID)
	}
	return f
}

// blind tells what could not be seen of the use of indexes.
func (u *uses) blind() (out []string) {
	if u.source == "" && !u.v.Dialect.CountsScans { // there the catalog tells it
		out = append(out, u.v.Blind(source.TableIO))
	}
	if !u.v.Seen(source.Plans) && u.v.Source(source.Plans).State != source.Missing {
		out = append(out, u.v.Blind(source.Plans))
	}
	return out
}

// dropCandidate is a finding to be written when there are not too many before it.
type dropCandidate struct {
	share float64 // of the statement time that its writers hold
	rows  float64 // of the table
	id    string
	tell  func() finding.Finding
}

func (u *uses) candidate(t schema.Table, x schema.Index, tell func() finding.Finding) dropCandidate {
	_, share, _ := u.writes(t, x)
	return dropCandidate{share: share, rows: float64(t.Rows.Or(0)), id: t.String() + "." + x.Name, tell: tell}
}

// worst tells of so many candidates as people can act on: first those whose writers hold the most time, then those of
// the largest tables.
func worst(all []dropCandidate) (out []finding.Finding) {
	slices.SortFunc(all, func(a, b dropCandidate) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.rows, a.rows), cmp.Compare(a.id, b.id))
	})
	for _, c := range all[:min(len(all), maxDrops)] {
		out = append(out, c.tell())
	}
	return out
}
