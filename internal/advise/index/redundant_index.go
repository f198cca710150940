package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// redundantIndex finds indexes whose parts are the first ones of another index, and which enforce nothing that the
// other does not.
func redundantIndex(u *uses) []finding.Finding {
	var all []dropCandidate
	for _, t := range u.v.Tables {
		if !users(u.v, t) {
			continue
		}
		for n, x := range t.Indexes {
			by, ok := better(t, n)
			if !ok {
				continue
			}
			if u.wantsEnd(t, x, by) || x.Unique && u.v.Dialect.Constraints {
				continue
			}
			all = append(all, u.candidate(t, x, func() finding.Finding { return u.redundant(t, x, by) }))
		}
	}
	return worst(all)
}

// better returns the index that makes the n-th one unnecessary: of two equal ones the primary key, then the unique one,
// then the first by name stays, of several longer ones the longest is named.
func better(t schema.Table, n int) (best schema.Index, found bool) {
	x := t.Indexes[n]
	if x.Primary() || x.Hidden {
		return best, false
	}
	for m, o := range t.Indexes {
		if m == n || !schema.Serves(o, x) {
			continue
		}
		if schema.Serves(x, o) && !o.Primary() && (x.Unique && !o.Unique || x.Unique == o.Unique && x.Name < o.Name) {
			continue // it is x that stays
		}
		if !found || len(o.Parts) > len(best.Parts) || o.Primary() {
			best, found = o, true
		}
	}
	return best, found
}

// wantsEnd reports whether a class uses what the shorter index has behind its parts and the longer one does not: an
// InnoDB index goes on with the primary key, so that rows of one key come in its order.
func (u *uses) wantsEnd(t schema.Table, x, by schema.Index) bool {
	pk, ok := t.PrimaryKey()
	if !ok || len(by.Parts) == len(x.Parts) || !by.Primary() &&
		strings.EqualFold(by.Parts[len(x.Parts)].Column, pk.Parts[0].Column) {
		return false
	}
	in := func(col string) bool {
		return slices.ContainsFunc(pk.Parts, func(p schema.IndexPart) bool { return shape.Match(col, p.Column) })
	}
	for _, c := range u.of(t, x).by {
		sh, err := u.v.Shape(c)
		if err != nil {
			return true
		}
		for _, o := range slices.Concat(sh.OrderBy, sh.GroupBy) {
			if in(o.Column) {
				return true
			}
		}
		for _, p := range sh.Predicates {
			if !p.Join && p.Op != shape.OtherOp && in(p.Column) {
				return true
			}
		}
	}
	return false
}

func (u *uses) redundant(t schema.Table, x, by schema.Index) finding.Finding {
	v := u.v
	f := u.dropping("redundant-index", t, x)
	rows, share, writers := u.writes(t, x)
	is := fmt.Sprintf("left prefix of %s (%s)", by.Name, u.v.Dialect.Parts(by.Parts))
	if len(by.Parts) == len(x.Parts) {
		is = fmt.Sprintf("same columns as %s (%s)", by.Name, u.v.Dialect.Parts(by.Parts))
	}
	if by.Primary() && len(by.Parts) == len(x.Parts) {
		is = "same columns as the primary key"
	}
	f.Title = fmt.Sprintf("Index %s of %s is redundant: %s", x.Name, t.Ref, is)
	f.Cause = fmt.Sprintf("Whatever %s (%s) can find, sort or keep unique, %s can as well. Both are written for "+
		"every row and both take space in the buffer pool.",
		x.Name, u.v.Dialect.Parts(x.Parts), by.Name)
	f.Confidence = finding.Certain
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "definition", Source: source.Catalog, Text: fmt.Sprintf("%s is (%s), %s is (%s).", x.Name,
			u.v.Dialect.Parts(x.Parts), by.Name, u.v.Dialect.Parts(by.Parts)),
	})
	f.Evidence = append(f.Evidence, u.useEvidence(t, x)...)
	if n := u.of(t, x); len(n.by) > 0 || n.reads.Or(0) > 0 {
		f.Against = append(f.Against, fmt.Sprintf("It is used: the optimizer prefers the shorter of two. What uses "+
			"it can use %s, whose entries are up to %d bytes long instead of %d.", by.Name, keyBytes(t, by)+entryBytes,
			keyBytes(t, x)+entryBytes))
	}
	f.Evidence = append(f.Evidence, u.costEvidence(t, x)...)
	if by.Primary() {
		f.Against = append(f.Against, "A scan of a secondary index reads fewer bytes than one of the table: COUNT(*) "+
			"over the whole table may become slower.")
	}
	if rows > 0 {
		f.Severity = finding.Notice
		// A row that is written is written into the table and into every index; half of a statement's time has nothing
		// to do with that.
		f.Share = 0.5 * share / float64(1+len(t.Indexes))
		entries := float64(len(t.Indexes))
		f.Gain = &finding.Gain{
			What: "writes per row", Lo: 1, Hi: entries / max(entries-1, 1),
			Text: fmt.Sprintf("A row is written into %d indexes now, the table itself among them, and into %d then.",
				len(t.Indexes), len(t.Indexes)-1),
		}
	}
	dropSQL := v.Dialect.DropIndex(t.Ref, x.Name)
	if u.hinted[strings.ToLower(x.Name)] {
		f.Against = append(f.Against, fmt.Sprintf("A statement or a stored program names %s in a hint: it fails when "+
			"the index is gone. Remove the hint first.", x.Name))
		f.Suggestion = fmt.Sprintf("Remove the hint that names %s, then drop the index: %s.", x.Name, dropSQL)
	} else if a, ok := hide(v, t, x); ok {
		f.Action = a
		f.Suggestion = fmt.Sprintf("Hide it, which can be undone at once: %s. If nothing became slower after some "+
			"days, drop it: %s. Only that saves the writes.", a.SQL, dropSQL)
	} else {
		f.Action = drop(v, t, x)
		f.Suggestion = fmt.Sprintf("Drop it: %s. To undo: %s.", dropSQL, f.Action.Undo)
	}
	if f.Action != nil {
		f.Action.Instead = by.Name
	}
	if k, ok := keyedBy(t, x); ok {
		f.Against = append(f.Against, fmt.Sprintf("The foreign key %s needs an index; %s serves it as well.", k,
			by.Name))
	}
	f.Falsify = withoutIt(v, x)
	f.Unobserved = u.blind()
	f.Reference = v.Dialect.Manual[advise.RedundantIndexes]
	f.Why = []finding.Reason{
		{Ask: "Is there an index that begins with the same columns?", Answer: fmt.Sprintf("Yes, %s (%s).", by.Name,
			u.v.Dialect.Parts(by.Parts)), Source: source.Catalog},
		{Ask: "Does it enforce anything?", Answer: map[bool]string{
			true:  "It is unique, and so is the other.",
			false: "No, it is not unique.",
		}[x.Unique], Source: source.Catalog},
		{Ask: "Does anything need its order, or name it?", Answer: map[bool]string{
			true:  "A hint names it.",
			false: "No observed class or program does.",
		}[u.hinted[strings.ToLower(x.Name)]], Source: source.Digests},
	}
	if len(writers) > 0 {
		f.Why = append(f.Why, finding.Reason{Ask: "What does it cost?", Answer: unit.Rate(rows, "rows/s") +
			" are written into it.", Source: writers[0].Class.Source()})
	}
	return f
}

// keyedBy returns the foreign key that x begins with the columns of.
func keyedBy(t schema.Table, x schema.Index) (string, bool) {
	for _, k := range t.Foreign {
		if begins(x, k.Columns) {
			return k.Name, true
		}
	}
	return "", false
}
