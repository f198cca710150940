package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// hotRows is how many rows a second must move before anybody cares.
const hotRows = 10

// hot is a table with the columns of its primary key that updates change.
type hot struct {
	t       schema.Table
	columns []string
	updates []use
	sec     float64
	rows    known.Value[float64] // that the updates change, per second
}

// hotColumnInPK finds updates that change columns of a primary key. InnoDB keeps rows in the order of that key and
// every other index points at rows by it, so that such an update takes the row out and puts it in elsewhere, and an
// entry of every index with it.
func hotColumnInPK(v *advise.View) (out []finding.Finding) {
	var hots []*hot
	for _, u := range uses(v, func(_ class.Class, s shape.Shape) bool {
		return s.Kind == shape.Update &&
			len(s.Tables) == 1
	}) {
		pk, ok := u.t.PrimaryKey()
		if !innodb(u.t) || !ok {
			continue
		}
		text := u.c.Example
		if text == "" {
			text = u.c.Fingerprint
		}
		moved, err := sqlshape.Moved(text)
		if err != nil { // an example that was cut
			moved, err = sqlshape.Moved(u.c.Fingerprint)
		}
		if n, counted := u.c.Affected.Get(); err != nil || counted && n == 0 { // it changes nothing
			continue
		}
		var columns []string
		for _, p := range pk.Parts {
			if has(moved, p.Column) {
				columns = append(columns, p.Column)
			}
		}
		if len(columns) == 0 {
			continue
		}
		i := slices.IndexFunc(hots, func(h *hot) bool { return h.t.Ref == u.t.Ref })
		if i < 0 {
			hots, i = append(hots, &hot{t: u.t, rows: known.Of(0.0)}), len(hots)
		}
		h := hots[i]
		h.updates, h.sec = append(h.updates, u), h.sec+u.c.TimeSec
		for _, c := range columns {
			if !has(h.columns, c) {
				h.columns = append(h.columns, c)
			}
		}
		sum, ok1 := h.rows.Get()
		n, ok2 := u.c.Affected.Get()
		if h.rows = known.None[float64](); ok1 && ok2 && exact(u.c) && v.Window > 0 {
			h.rows = known.Of(sum + float64(n)/v.Window)
		}
	}
	for _, h := range hots {
		if n, ok := h.rows.Get(); worth(v, h.sec) && (!ok || n >= hotRows) {
			out = append(out, h.report(v))
		}
	}
	return out
}

// newKey says what the primary key becomes.
type newKey struct {
	changes []schema.Clause
	parts   []string
	why     string
	refused bool // the table counts by a column that cannot be the key: it takes no second one
	added   int  // further indexes that hold a hot column afterwards
	note    string
}

// choose looks for another key that is unique: one that the table has anyhow, a number that counts up, or a new one.
func (h *hot) choose(v *advise.View) (k newKey) {
	pk, _ := h.t.PrimaryKey()
	old := names(pk)
	cold := func(columns []string) bool {
		return !slices.ContainsFunc(columns, func(c string) bool { return has(h.columns, c) })
	}
	var drop *schema.Index
	best := 0
	for _, x := range h.t.Indexes {
		whole := !slices.ContainsFunc(x.Parts, func(p schema.IndexPart) bool {
			c, ok := h.t.Column(p.Column)
			// a virtual column is no primary key
			return p.Prefix > 0 || p.Expr != "" || !ok || c.Nullable || c.Generated != ""
		})
		if x.Primary() || !x.Unique || !whole || x.Hidden || !cold(names(x)) {
			continue
		}
		if _, most := widths(h.t, names(x)); drop == nil || most < best {
			drop, best = &x, most
		}
	}
	switch {
	case drop != nil:
		k.parts = names(*drop)
		k.why = fmt.Sprintf("%s is already unique, by the index %s, which the new primary key replaces",
			listed(k.parts), drop.Name)
		k.changes = []schema.Clause{
			{Kind: schema.PrimaryKey, Index: schema.Index{
				Name: "PRIMARY", Unique: true, Type: "BTREE",
				Parts: bare(drop.Parts),
			}},
			{Kind: schema.DropKey, Index: *drop},
		}
	default:
		for _, c := range h.t.Columns {
			if c.Extra == "auto_increment" && cold([]string{c.Name}) {
				k.parts = []string{c.Name}
				k.why = fmt.Sprintf("%s is AUTO_INCREMENT; should it hold a value twice nevertheless, the change is "+
					"refused", c.Name)
				k.changes = []schema.Clause{{Kind: schema.PrimaryKey, Index: schema.Index{
					Name: "PRIMARY", Unique: true,
					Type: "BTREE", Parts: []schema.IndexPart{{Column: c.Name}},
				}}}
			}
		}
	}
	if len(k.parts) == 0 {
		k.refused = slices.ContainsFunc(h.t.Columns, func(c schema.Column) bool {
			return strings.Contains(c.Extra, "auto_increment")
		})
		c := freeColumn(h.t, "id", "row_id")
		k.parts = []string{c}
		k.why = "no other columns are known to be unique, so rows get a new number"
		k.note = fmt.Sprintf(" An INSERT without a list of columns fails once the column %s exists, and SELECT * "+
			"returns it.", c)
		k.changes = []schema.Clause{
			{Kind: schema.AddColumn, Column: c, Definition: "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT"},
			{Kind: schema.PrimaryKey, Index: schema.Index{
				Name: "PRIMARY", Unique: true, Type: "BTREE",
				Parts: []schema.IndexPart{{Column: c}},
			}},
		}
	}
	// What was unique stays so. Where the new key is a part of the old one that goes without saying.
	implied := !slices.ContainsFunc(k.parts, func(c string) bool { return !has(old, c) })
	first := pk.Parts[0].Column
	reads := reads(v, h.t, first) || foreign(v, h.t, first) // a foreign key needs an index as well
	led := slices.ContainsFunc(h.t.Indexes, func(x schema.Index) bool {
		return !x.Primary() && !x.Hidden && (drop == nil || x.Name != drop.Name) && len(x.Parts) > 0 &&
			has([]string{x.Parts[0].Column}, first)
	})
	switch {
	case !implied:
		k.changes = append(k.changes, schema.Clause{Kind: schema.AddKey, Index: schema.Index{
			Name:   freeIndex(h.t, old),
			Unique: true, Type: "BTREE", Parts: bare(pk.Parts),
		}})
		k.added++
	case reads && !led && !has(k.parts[:1], first):
		var parts []schema.IndexPart // the primary key follows by itself
		for _, p := range pk.Parts {
			if has(k.parts, p.Column) {
				break
			}
			parts = append(parts, schema.IndexPart{Column: p.Column})
		}
		if len(parts) > 0 {
			x := schema.Index{Type: "BTREE", Parts: parts}
			x.Name = freeIndex(h.t, names(x))
			k.changes = append(k.changes, schema.Clause{Kind: schema.AddKey, Index: x})
			k.added++
			k.note = fmt.Sprintf(" Statements that search %s or sort by it can use the index %s.", first, x.Name) +
				k.note
		}
	}
	return k
}

// reads reports whether any class of statements, however rare, looks for a column of a table or sorts by it. Only those
// are parsed whose text holds its name.
func reads(v *advise.View, t schema.Table, column string) bool {
	name, left := strings.ToLower(column), topClasses
	for _, c := range v.Classes {
		if !strings.Contains(strings.ToLower(c.Fingerprint), name) {
			continue
		}
		if left--; left < 0 {
			return true // too many to look at: somebody will
		}
		sh, err := v.Shape(c)
		if err != nil || !asks(sh, column) {
			continue
		}
		for _, r := range sh.Tables {
			if x, ok := v.Resolve(c, r); ok && x.Ref == t.Ref {
				return true
			}
		}
	}
	return false
}

// asks reports whether a statement looks for a column or sorts by it.
func asks(s shape.Shape, column string) bool {
	for _, p := range s.Predicates {
		if has([]string{p.Column}, column) && p.Op != shape.OtherOp {
			return true
		}
	}
	for _, c := range append(slices.Clip(s.OrderBy), s.GroupBy...) {
		if has([]string{c.Column}, column) {
			return true
		}
	}
	return false
}

// bare returns the parts without their statistics.
func bare(parts []schema.IndexPart) []schema.IndexPart {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Cardinality = known.None[uint64]()
	}
	return out
}

func (h *hot) report(v *advise.View) finding.Finding {
	pk, _ := h.t.PrimaryKey()
	ref, share := h.t.Ref, min(1, h.sec/v.Total)
	others, touched := 0, 0 // indexes beside the primary key; those that hold a changed column by themselves
	set := map[string]bool{}
	for _, u := range h.updates {
		for _, c := range u.shape.Set {
			set[c] = true
		}
	}
	for _, x := range h.t.Indexes {
		if x.Primary() {
			continue
		}
		others++
		if slices.ContainsFunc(x.Parts, func(p schema.IndexPart) bool { return set[p.Column] }) {
			touched++
		}
	}
	k := h.choose(v)
	// A moved row costs a deletion and an insertion in the table and in each index, and purge takes out what was
	// deleted. One that stays is changed in its place, with a deletion and an insertion in the indexes that hold a
	// changed column only.
	before := 3.0 * float64(1+others)
	after := 1.0 + 3*float64(touched+k.added)
	hi := max(1.3, before/after)
	lo := 1 + (hi-1)/8 // reading the row, the statement around it and the commit stay as they are
	f := finding.Finding{
		Rule: "hot-column-in-pk", ID: finding.MakeID("hot-column-in-pk", ref.String()), Severity: v.Severity(share),
		Confidence: finding.Certain,
		Subject:    finding.Subject{Tables: []schema.Ref{ref}, Columns: h.columns}, Share: givesBack(share, lo, hi),
	}
	for _, u := range h.updates {
		f.Subject.Classes = append(f.Subject.Classes, u.c.ID)
		f.Explains = append(f.Explains, advise.ClassTime(u.c.ID))
	}
	f.Explains = append(f.Explains, advise.EffectCPU, advise.EffectHistory)
	cols := listed(h.columns)
	did := "updates"
	if n, ok := h.rows.Get(); ok {
		did = fmt.Sprintf("updates that move %s rows a second", unit.Count(n))
	}
	f.Title = fmt.Sprintf("%s of the statement time goes to %s of %s: they change %s, a part of the primary key",
		unit.Percent(share), did, ref, cols)
	f.Cause = fmt.Sprintf("InnoDB keeps the rows of %s in the order of the primary key (%s), and its %s point at "+
		"rows by that key. An update of %s therefore "+
		"takes the row out of one page and puts it into another, and does so with its entry in every index.", ref,
		listed(names(pk)), unit.Plural(others, "other index", "other indexes"), cols)
	for _, u := range h.updates[:min(3, len(h.updates))] {
		e := finding.Evidence{
			What: "rows changed per second", Unit: "1/s", Source: u.c.Source(), Sampled: u.c.Sampled,
			Text: fmt.Sprintf("%s took %s in %s: %s",
				unit.Plural(int(u.c.Count), "execution", "executions"), unit.Seconds(u.c.TimeSec),
				unit.Seconds(v.Window),
				clip(u.c.Fingerprint)),
		}
		if n, ok := u.c.Affected.Get(); ok {
			e.Value = known.Of(float64(n) / v.Window)
		}
		f.Evidence = append(f.Evidence, e)
	}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "entries written per changed row", Value: known.Of(before), Unit: "entries",
		Expected: fmt.Sprintf("%.0f with another primary key", after), Source: source.Tables,
		Text: fmt.Sprintf("Each change deletes, inserts and later purges %s: of the table and of %s.",
			unit.Plural(1+others, "entry", "entries"), unit.Plural(others, "index", "indexes")),
	})
	if !h.rows.OK() {
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved,
			"How many rows these updates change is not counted. "+v.Blind(source.Digests))
	}
	lock := 0.0
	for _, u := range h.updates {
		lock += u.c.LockSec.Or(0)
	}
	if lock >= 0.2*h.sec {
		f.Against = append(f.Against, fmt.Sprintf("%s of that time is waiting for locks, which another key alone "+
			"does not shorten.", unit.Percent(lock/h.sec)))
	}
	if has(h.columns, pk.Parts[0].Column) && reads(v, h.t, pk.Parts[0].Column) {
		f.Against = append(f.Against, fmt.Sprintf("Statements read %s by %s. They read whole rows in that order "+
			"today, and will look up each one from an index.", ref, pk.Parts[0].Column))
	}
	f.Falsify = "Disproved if an update of another column of the same rows takes as long."
	f.Suggestion = fmt.Sprintf("Make (%s) the primary key of %s: %s.%s Try it on a copy first: the table is rebuilt.",
		listed(k.parts), ref, k.why, k.note)
	f.Cost = "The table and all its indexes are rebuilt"
	if d, ok := h.t.DataBytes.Get(); ok {
		f.Cost += fmt.Sprintf(", some %s", unit.Bytes(float64(d+h.t.IndexBytes.Or(0))))
	}
	if k.changes[0].Kind == schema.AddColumn {
		f.Cost += "; meanwhile it can be read, but not written, because an AUTO_INCREMENT column is added"
	} else {
		f.Cost += "; meanwhile it can be read and written (InnoDB, ALGORITHM=INPLACE)"
	}
	f.Cost += ", and needs that space a second time. Ranges of the old key are no longer adjacent."
	f.Gain = &finding.Gain{
		What: "time per update", Lo: lo, Hi: hi,
		Text: fmt.Sprintf("%s to %s: %.0f entries are written per row instead of %.0f, in addition to what finding "+
			"the row and the commit take",
			unit.Ratio(lo), unit.Ratio(hi), after, before),
	}
	switch {
	case k.refused:
		f.Confidence = finding.Likely
		f.Against = append(f.Against, "The table already has an AUTO_INCREMENT column, which these updates change, "+
			"and cannot have a second one: choose another key by hand.")
	case h.t.Partitions > 0:
		f.Confidence = finding.Likely
		f.Against = append(f.Against, "The table is partitioned: every unique key must include the partitioning "+
			"columns, so the new key may need them too.")
	default:
		sql := ddl.ChangeSQL(ref, k.changes)
		f.Action = &finding.Action{Kind: finding.AlterTable, Table: ref, Changes: k.changes, SQL: sql, Undo: h.undo(k)}
	}
	f.Reference = "Reference manual, \"Clustered and Secondary Indexes\""
	f.Why = []finding.Reason{
		asking("What takes the time?", h.updates[0].c.Source(), "%s of %s statement time: %s", unit.Percent(share),
			unit.Seconds(v.Total), clip(h.updates[0].c.Fingerprint)),
		asking("What does it change?", source.Statement, "%s, which the primary key (%s) holds", cols,
			listed(names(pk))),
		asking("Are the values really new?", source.Statement, "The statement does not set them to themselves, nor to "+
			"what its condition asks for."),
		asking("What does that touch?", source.Tables, "The row and %s: all of them hold the primary key.",
			unit.Plural(others, "other index", "other indexes")),
		asking("What else identifies a row?", source.Tables, "%s", k.why),
	}
	return f
}

// undo returns the statement that brings the old keys back.
func (h *hot) undo(k newKey) string {
	pk, _ := h.t.PrimaryKey()
	back := []schema.Clause{{Kind: schema.PrimaryKey, Index: schema.Index{
		Name: "PRIMARY", Unique: true, Type: "BTREE",
		Parts: bare(pk.Parts),
	}}}
	for _, c := range k.changes {
		switch c.Kind {
		case schema.DropKey:
			x := c.Index
			x.Parts = bare(x.Parts)
			back = append(back, schema.Clause{Kind: schema.AddKey, Index: x})
		case schema.AddKey:
			back = append(back, schema.Clause{Kind: schema.DropKey, Index: c.Index})
		case schema.AddColumn:
			back = append(back, schema.Clause{Kind: schema.DropColumn, Column: c.Column})
		// this rule makes none but the key
		case schema.ModifyColumn, schema.DropColumn, schema.PrimaryKey, schema.TableOption, schema.Rebuild:
		}
	}
	return ddl.ChangeSQL(h.t.Ref, back)
}
