package index

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// The thresholds of the rule; docs/diagnose.md gives the reasons.
const (
	// different values: each stands for an eighth of the rows on average, and from a fifth on a scan is quicker
	fewValues   = 8
	largeTable  = 10_000 // rows: below, nothing about an index matters
	rareValue   = 0.9    // part of the rows of the most frequent value, above which the index may well find the others
	sampledRows = 50     // rows looked at from which a sample says more than the statistics
	oftenRows   = 10     // entries changed per second
	oftenShare  = 0.02   // of the statement time by the classes that change them
	day         = 86_400 // seconds of counting from which most jobs have run once
)

// lowCardinalityIndex finds indexes on a column of a few values, by which no few rows can be found, that are written
// often.
func lowCardinalityIndex(u *uses) (out []finding.Finding) {
	v := u.v
	var refers map[schema.Ref][][]string
	for _, t := range v.Tables {
		rows, ok := t.Rows.Get()
		if !ok || rows < largeTable || !users(v, t) {
			continue
		}
		keyed := needed(t)
		for n, x := range t.Indexes {
			if len(out) == maxDrops {
				return out
			}
			if !droppable(x) || len(x.Parts) != 1 || x.Parts[0].Column == "" {
				continue
			}
			values, how, ok := fewDistinct(t, x)
			if !ok {
				continue
			}
			if refers == nil {
				refers = referred(v)
			}
			if _, redundant := better(t, n); redundant {
				continue
			}
			if keyed[x.Name] != "" || len(refers[t.Ref]) > 0 && refersTo(refers[t.Ref], x) {
				continue
			}
			if f, ok := u.lowCardinality(t, x, values, how, float64(rows)); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

// fewDistinct returns how many values a single-column index holds when they are few and none is rare, and how that is
// known.
func fewDistinct(t schema.Table, x schema.Index) (values float64, how string, ok bool) {
	c, found := t.Column(x.Parts[0].Column)
	if s := c.Sample; found && s != nil && s.Rows >= sampledRows {
		if s.Distinct > fewValues || s.Top > rareValue || s.Nulls > rareValue {
			return 0, "", false
		}
		return float64(s.Distinct), fmt.Sprintf("among %d rows from all over the table, the most frequent in %s",
			s.Rows, unit.Percent(max(s.Top, s.Nulls))), true
	}
	n, known := x.Parts[0].Cardinality.Get()
	if !known || n == 0 || n > fewValues {
		return 0, "", false
	}
	return float64(n), "by the server's statistics", true
}

func refersTo(all [][]string, x schema.Index) bool {
	for _, cols := range all {
		if len(cols) > 0 && strings.EqualFold(cols[0], x.Parts[0].Column) {
			return true
		}
	}
	return false
}

func (u *uses) lowCardinality(t schema.Table, x schema.Index, values float64, how string,
	rows float64,
) (finding.Finding, bool) {
	v := u.v
	changed, share, by := u.writes(t, x)
	if changed < oftenRows || share < oftenShare || u.hinted[strings.ToLower(x.Name)] {
		return finding.Finding{}, false
	}
	n := u.of(t, x)
	for _, c := range n.by {
		if !wastes(v, c, x, rows) {
			return finding.Finding{}, false
		}
	}
	if n.reads.Or(0) > 0 && len(n.by) == 0 {
		return finding.Finding{}, false // somebody reads it whose plan is not known
	}
	f := u.dropping("low-cardinality-index", t, x)
	col := x.Parts[0].Column
	q := v.Dialect.Quote(col)
	different := unit.Plural(int(values), "different value", "different values")
	f.Title = fmt.Sprintf("%s into the index %s of %s, which is not selective: its column has %s", written(changed),
		x.Name, t.Ref, different)
	f.Cause = fmt.Sprintf("%s has %s, so each value matches about %s of the %s rows: reading the whole table is "+
		"faster than looking up so many. "+
		"But every change of the column deletes one entry of the index and writes another.", q, different,
		unit.Percent(1/values), unit.Count(rows))
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "different values", Value: known.Of(values), Expected: fmt.Sprintf("> %d", fewValues),
		Source: source.Catalog,
		Text:   fmt.Sprintf("%s has %s %s.", q, different, how),
	})
	f.Evidence = append(f.Evidence, u.useEvidence(t, x)...)
	f.Evidence = append(f.Evidence, u.costEvidence(t, x)...)
	// An update of the column writes the row, deletes an entry and makes one: of three changes two are the index's. An
	// insert writes one entry for each index. How much of a statement's time that is depends on what else it does: a
	// fifth to a half.
	for _, w := range by {
		part := 0.3
		if w.Kind != shape.Update {
			part = 0.5 / float64(1+len(t.Indexes))
		}
		f.Share += part * v.Share(w.Class)
		if w.Kind == shape.Update {
			f.Gain = &finding.Gain{
				What: "time per changed row", Lo: 1.1, Hi: 3,
				Text: "Changing the column of a row writes the row, deletes an entry of the index and makes another: " +
					"three changes now, one then. The rest of the statement's work stays.",
			}
		}
		f.Explains = append(f.Explains, advise.ClassTime(w.Class.ID))
	}
	f.Explains = append(f.Explains, advise.EffectDiskWrites)
	f.Severity = finding.Notice
	if f.Share >= 0.05 {
		f.Severity = finding.Warning
	}
	counted, from, sure := u.since(t)
	switch {
	case !n.total.OK():
		f.Confidence = finding.Possible
		f.Against = append(f.Against, "The server does not count reads per index: a statement that was not observed "+
			"may use it.")
	case n.none():
		if counted >= day && sure {
			f.Confidence = finding.Certain
		}
	case len(n.by) > 0:
		f.Against = append(f.Against, fmt.Sprintf("%s read by it, but most of the table each time: without it they "+
			"read the table in order.", unit.Plural(len(n.by), "class", "classes")))
	default:
		f.Against = append(f.Against, fmt.Sprintf("It was read before this window, %s rows since the counters began: "+
			"a nightly job may use it.", unit.Count(n.total.Or(0))))
	}
	switch {
	case !n.total.OK():
	case counted < day && (counted > 0 || !v.Dialect.CountsScans):
		f.Against = append(f.Against, fmt.Sprintf("It was counted for %s only, %s: what runs once a day may have "+
			"been missed.", unit.Seconds(counted), from))
	case !sure:
		f.Against = append(f.Against, u.unsure())
	}
	f.Action = drop(v, t, x)
	f.Suggestion = fmt.Sprintf("Drop it: %s.", f.Action.SQL)
	a, ok := hide(v, t, x)
	switch total := n.total.Or(0); {
	case !n.total.OK(): // who reads it is not known: nothing that cannot be undone at once
		f.Action = nil
		f.Suggestion = fmt.Sprintf("Find out what reads it before you drop it (%s): %s.",
			v.Dialect.DropIndex(t.Ref, x.Name), v.Dialect.CountReads)
		if ok {
			f.Action = a
			f.Suggestion = fmt.Sprintf("Hide it first, which can be undone at once: %s. It is still written. If "+
				"nothing became slower after some days, drop it: %s.", a.SQL, v.Dialect.DropIndex(t.Ref, x.Name))
		}
	case ok && total > 0 && len(n.by) == 0: // somebody has read it: see that he does without first
		f.Action = a
		f.Suggestion = fmt.Sprintf("Hide it first, which can be undone at once: %s. It is still written. If nothing "+
			"became slower after some days, drop it: %s.", a.SQL, v.Dialect.DropIndex(t.Ref, x.Name))
	case ok:
		f.Suggestion = fmt.Sprintf("Drop it: %s. If you are not sure that it is unused, hide it first (%s): it is "+
			"still written, but that can be undone at once.", f.Action.SQL, a.SQL)
	}
	f.Suggestion += fmt.Sprintf(" A search for few rows by %s and another column needs one index on both, the other "+
		"column first.", q)
	f.Falsify = withoutIt(v, x)
	f.Unobserved = u.blind()
	f.Reference = v.Dialect.Manual[advise.FewValues]
	f.Why = []finding.Reason{
		{Ask: "Is it selective?", Answer: f.Evidence[0].Text, Source: source.Catalog},
		{Ask: "Does anything use it?", Answer: f.Evidence[1].Text, Source: f.Evidence[1].Source},
		{Ask: "What does it cost?", Answer: fmt.Sprintf("%s, by classes with %s of the statement time.",
			written(changed), unit.Percent(share)), Source: by[0].Class.Source()},
	}
	return f, true
}

func written(rows float64) string { return unit.Rate(rows, "rows/s") + " are written" }

// wastes reports whether a class reads a good part of the table through the index, with a look into the table for each
// entry.
func wastes(v *advise.View, c class.Class, x schema.Index, rows float64) bool {
	p, ok := v.Plan(c)
	if !ok {
		return false
	}
	read := 0.0
	for _, s := range p.Steps {
		if s.Key != x.Name {
			continue
		}
		for _, e := range s.Extra {
			if strings.EqualFold(e, "Using index") {
				return false // it needs nothing but the index
			}
		}
		read = s.Rows
	}
	if n, ok := c.PerCall(c.Examined).Get(); ok && !c.Sampled {
		read = n
	}
	return read >= maxMatch/2*rows
}
