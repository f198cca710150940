package index

import (
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
)

const (
	// minTouched is how many rows or index entries a call reads before it matters that it wants fewer: some 0.1 ms in
	// memory.
	minTouched = 200
	// entrySec is the least time that a server takes to pass over an index entry. A plan that promises more work than a
	// call has time for is wrong.
	entrySec = 50e-9
	// coverRows is how many rows a call looks up in the table before an index that holds all it reads is worth its
	// size.
	coverRows = 200
)

// keyed is how a class reads by an index that finds more than it wants.
type keyed struct {
	have    schema.Index   // the index that is used, or that would serve in another order
	keys    []schema.Index // all that are used together
	touched float64        // rows or entries read per call
	from    source.Name    // the source that says so
	pages   bool           // touched is of pages: PostgreSQL counts no entries
	wanted  known.Value[float64]
}

// keysOf returns the indexes that a step of a plan uses. MariaDB joins those of a row id filter by "|", both servers
// those that they merge by a comma.
func keysOf(t schema.Table, key string) (out []schema.Index) {
	for _, k := range strings.FieldsFunc(key, func(r rune) bool { return r == ',' || r == '|' }) {
		if x, ok := indexOf(t, strings.TrimSpace(k)); ok {
			out = append(out, x)
		}
	}
	return out
}

func extra(x *scan, text string) bool {
	return slices.ContainsFunc(x.step.Extra, func(e string) bool { return strings.HasPrefix(e, text) })
}

// judgeKeyed decides whether a class that reads by an index wants a better one, and by which rule.
func judgeKeyed(v *advise.View, x *scan, b *block, i int, single bool) bool {
	access, _, _ := strings.Cut(x.step.Access, "|")
	if !slices.Contains([]string{
		"range", "ref", "ref_or_null", "index_merge", "Index Scan", "Index Only Scan", "Bitmap Heap Scan",
	}, access) || x.inner ||
		extra(x, "Using union") || extra(x, "Using sort_union") {
		return false
	}
	k := keyed{keys: keysOf(x.t, x.step.Key)}
	if len(k.keys) == 0 || slices.ContainsFunc(k.keys, func(y schema.Index) bool {
		return y.Type != "" && y.Type != "BTREE"
	}) {
		return false
	}
	k.have = k.keys[0]
	w, ok := b.wish(i, false)
	if w = w.within(v); !ok || w.Cond == 0 {
		return false
	}
	x.rows = x.step.Rows
	if n, ok := x.t.Rows.Get(); ok {
		x.rows = max(x.rows, float64(n))
	}
	if x.rows < minTableRows {
		return false
	}
	k.count(v, x)
	if !single {
		// Rows sent and examined are of all tables: of this one they tell nothing, but it must be a good part of what
		// is read.
		k.wanted = known.None[float64]()
		if n, ok := x.c.PerCall(x.c.Examined).Get(); ok && !x.c.Sampled && k.touched < 0.3*n {
			return false
		}
		if x.c.Sampled || k.pages {
			return false
		}
	}
	x.wish, x.keyed = w, k
	served := false
	for _, have := range x.t.Indexes {
		if !serves(v, x.t, have, w) {
			continue
		}
		switch {
		case have.Hidden:
			x.hidden = have.Name
		case x.bars(have):
			x.barred = have.Name
		default:
			served = true
		}
	}
	if served {
		return single && x.covered(v, b, i)
	}
	switch rest := w.beyond(k.have); {
	case len(k.keys) > 1:
		if w.Equal < 2 {
			return false
		}
		x.rule = twoSingleIndexes
	case w.inside(k.have) && w.Cond > 1:
		x.rule = indexOrder
	case len(rest) == 0:
		// The conditions are served; what is left is the order.
		if !w.Sorted || !x.shape.Limit ||
			!extra(x, "Using filesort") && !extra(x, "Using temporary") && !extra(x, "Sort") {
			return false
		}
		x.rule = filesort
	case len(rest) == w.Cond:
		return false // another range than the one in use: which is narrower is not known
	default:
		x.rule = narrowIndex
		if w.Equal >= 2 && len(k.have.Parts) == 1 && !slices.ContainsFunc(rest, func(c string) bool {
			return !single1(x.t, c)
		}) {
			x.rule = twoSingleIndexes
		}
	}
	if !x.wasteful(v) {
		return false
	}
	if n, ok := x.keyed.wanted.Get(); ok && x.rule != filesort && n >= coverRows {
		x.wish, _ = b.cover(w, i)
	}
	x.sure = x.keyedConfidence()
	return true
}

// beyond returns the columns of conditions that an index does not look up, though it holds some of them.
func (w wish) beyond(x schema.Index) (out []string) {
	used := map[string]bool{}
	for _, p := range x.Parts {
		n := slices.IndexFunc(w.Parts[:w.Cond], func(q schema.IndexPart) bool { return samePart(p, q) })
		if n < 0 {
			break
		}
		used[w.Parts[n].Column] = true
		if n >= w.Equal {
			break // nothing behind a range is looked up
		}
	}
	for _, p := range w.Parts[:w.Cond] {
		if !used[p.Column] {
			out = append(out, p.Column)
		}
	}
	return out
}

// single1 reports whether a column has a visible index that begins with it.
func single1(t schema.Table, col string) bool {
	return slices.ContainsFunc(t.Indexes, func(x schema.Index) bool {
		return !x.Hidden && !x.Primary() && len(x.Parts) > 0 && strings.EqualFold(x.Parts[0].Column, col)
	})
}

// count works out what a call reads and what it wants. Rows examined are counted by the server; entries that an index
// condition throws away are not among them, and the plan tells of those.
func (k *keyed) count(v *advise.View, x *scan) {
	examined := 0.0
	if n, ok := x.c.PerCall(x.c.Examined).Get(); ok && !x.c.Sampled {
		examined = n
	}
	k.touched, k.from = x.step.Rows, source.Plan
	if len(k.keys) > 1 { // the plan tells what is left after merging
		sum, told := 0.0, true
		for _, y := range k.keys {
			d := float64(y.Parts[0].Cardinality.Or(0))
			told = told && d > 0
			sum += x.rows / max(d, 1)
		}
		if told && sum > k.touched {
			k.touched, k.from = sum, source.Catalog
		}
	}
	if n, ok := x.c.PerCall(x.c.Pages).Get(); ok && !x.c.Examined.OK() {
		// A page that is wanted holds at least one entry or row that was read.
		k.touched, k.from, k.pages = n, x.c.Source(), true
	}
	mean, timed := x.c.MeanSec().Get()
	// What was counted goes before an estimate that is much the same.
	if !k.pages && (2*examined >= k.touched || x.guess && examined > 0 || timed && k.touched*entrySec > mean) {
		k.touched, k.from = examined, x.c.Source()
	}
	useful := x.c.RowsSent
	if x.kind != shape.Select {
		useful = x.c.Affected
	}
	if n, ok := x.c.PerCall(useful).Get(); ok && !x.c.Sampled && !x.shape.Folded {
		k.wanted = known.Of(n)
	}
}

// wasteful reports whether far more is read than is wanted, by exact counts, by the counters of the whole server, or
// where there are neither by the statistics of the columns that are not looked up today.
func (x *scan) wasteful(v *advise.View) bool {
	if x.keyed.touched < minTouched {
		return false
	}
	if n, ok := x.keyed.wanted.Get(); ok {
		if !(x.keyed.touched >= minRatio*max(1, n)) {
			return false
		}
		x.match = known.Of(n / x.keyed.touched)
		return true
	}
	if x.c.Sampled && x.kind == shape.Select && !x.shape.Folded {
		next, ok1 := v.Rate(v.Dialect.Handlers.Of("read_next")).Get()
		sent, ok2 := v.Status("Rows_sent").Get()
		if ok1 && ok2 {
			all := next
			for _, h := range []string{"read_prev", "icp_attempts", "read_rnd_next"} {
				all += v.Rate(v.Dialect.Handlers.Of(h)).Or(0)
			}
			if all < minRatio*sent || all == 0 || x.sec() < 0.5*v.Total {
				return false
			}
			x.match, x.bound = known.Of(sent/all), true
			return true
		}
	}
	if x.rule == filesort {
		return x.c.Sampled && x.keyed.touched >= minTableRows
	}
	left := 1.0
	for _, c := range x.wish.beyond(x.keyed.have) {
		d := distinct(x.t, c)
		if d == 0 {
			return false
		}
		left /= float64(d)
	}
	return left <= 1.0/minRatio
}

func (x scan) keyedConfidence() finding.Confidence {
	switch {
	case !x.c.Sampled && x.match.OK() && !x.bound && x.keyed.from == x.c.Source() && !x.guess:
		return finding.Certain
	case x.match.OK() && !x.guess:
		return finding.Likely
	default:
		return finding.Possible
	}
}

// covered decides whether a class whose index finds just what it wants should not have to look the rows up as well.
func (x *scan) covered(v *advise.View, b *block, i int) bool {
	examined, ok := x.c.PerCall(x.c.Examined).Get()
	if !ok || x.c.Sampled || examined < coverRows || len(x.keyed.keys) != 1 || x.keyed.have.Primary() ||
		extra(x, "Using index") || extra(x, "Using filesort") {
		return false
	}
	w, ok := b.cover(x.wish, i)
	if !ok {
		return false
	}
	for _, have := range x.t.Indexes {
		if serves(v, x.t, have, w) {
			return false // it is there and the server does without
		}
	}
	// A call that takes its time for something else gains nothing: a row that is looked up costs from 0.5 µs in memory.
	if mean, ok := x.c.MeanSec().Get(); !ok || examined*0.5e-6 < 0.2*mean {
		return false
	}
	x.rule, x.wish = coveringIndex, w
	x.keyed.touched, x.keyed.from = examined, x.c.Source()
	x.sure = finding.Likely
	return true
}
