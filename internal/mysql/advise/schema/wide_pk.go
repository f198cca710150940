package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// bytes of a primary key, as estimated from the indexes, that count as long: two UUIDs in binary
	wideKey      = 32
	wideIndexes  = 3        // other indexes that repeat it: fewer do not pay for the index that takes its place
	wideRepeated = 16 << 20 // bytes repeated in vain: less is nothing on any server
	wideShare    = 0.25     // of the table with its indexes
	numberKey    = 8        // bytes of the key that is held against it: BIGINT
	wideFindings = 3        // of the worst tables; the rest is counted
	worstFill    = 0.5      // of a page, below which InnoDB merges it with its neighbour
)

// wide is a table whose primary key is repeated in its other indexes.
type wide struct {
	t        schema.Table
	pk       schema.Index
	columns  []string
	bytes    float64 // of the primary key in an entry, estimated from below
	indexes  int     // that repeat all of it
	rows     float64
	repeated float64 // bytes beyond those of a number
}

// widePK finds long primary keys below several other indexes, each of whose entries ends with the primary key.
func widePK(v *advise.View) (out []finding.Finding) {
	var all []wide
	for _, t := range v.Tables {
		if w, ok := wideOf(t); ok {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b wide) int {
		return cmp.Or(cmp.Compare(b.repeated, a.repeated), cmp.Compare(a.t.String(), b.t.String()))
	})
	var us []use
	if len(all) > 0 {
		us = uses(v, every)
	}
	for _, w := range all[:min(len(all), wideFindings)] {
		out = append(out, w.report(v, us, len(all)-wideFindings))
	}
	return out
}

// wideOf weighs a table by the size that the server's statistics give its indexes.
func wideOf(t schema.Table) (w wide, ok bool) {
	rows, ok1 := t.Rows.Get()
	size, ok2 := t.IndexBytes.Get()
	data, ok3 := t.DataBytes.Get()
	if !innodb(t) || !ok1 || !ok2 || !ok3 || rows == 0 || size < wideRepeated || ddl.System(t.Schema) ||
		strings.EqualFold(t.RowFormat, "Compressed") {
		return w, false
	}
	w.t, w.rows = t, float64(rows)
	if w.pk, ok = t.PrimaryKey(); !ok {
		return w, false
	}
	if w.columns = names(w.pk); len(w.columns) == 0 {
		return w, false
	}
	least, most := widths(t, w.columns)
	if most > 0 && most < wideKey {
		return w, false
	}
	// bytes of the indexes' own columns, at most; entries of indexes that hold parts of the key themselves
	own, other := 0.0, 0.0
	for _, x := range t.Indexes {
		if x.Primary() {
			continue
		}
		if x.Type != "BTREE" {
			return w, false // how large it is is not known
		}
		var columns []string
		for _, c := range names(x) {
			if !has(w.columns, c) {
				columns = append(columns, c)
			}
		}
		_, hi := widths(t, columns)
		if hi == 0 && len(columns) > 0 {
			return w, false
		}
		if len(columns) < len(x.Parts) {
			other++
		} else {
			w.indexes++
		}
		own += float64(hi + entryHeader)
	}
	if w.indexes < wideIndexes {
		return w, false
	}
	// Bytes of all entries of one row, from below: pages are at least half full, else the server would merge them.
	entries := float64(size) / w.rows * worstFill
	if least != most {
		w.bytes = (entries - own) / (float64(w.indexes) + other)
		w.bytes = max(w.bytes, float64(least))
		if most > 0 {
			w.bytes = min(w.bytes, float64(most))
		}
	} else {
		w.bytes = float64(least)
	}
	w.repeated = w.rows * float64(w.indexes) * (w.bytes - numberKey)
	return w, w.bytes >= wideKey && w.repeated >= wideRepeated && w.repeated >= wideShare*float64(data+size)
}

func (w wide) report(v *advise.View, us []use, more int) finding.Finding {
	ref := w.t.Ref
	data, size := float64(w.t.DataBytes.Or(0)), float64(w.t.IndexBytes.Or(0))
	f := finding.Finding{
		Rule: "wide-pk", ID: finding.MakeID("wide-pk", ref.String()), Severity: finding.Notice,
		Confidence: finding.Likely,
		Subject:    finding.Subject{Tables: []schema.Ref{ref}, Columns: w.columns},
		Title: fmt.Sprintf("the primary key of %s takes %s bytes and is repeated in %s: some %s for what a number "+
			"needs %s", ref, unit.Count(w.bytes),
			unit.Plural(w.indexes, "other index", "other indexes"),
			unit.Bytes(w.repeated+w.rows*float64(w.indexes)*numberKey),
			unit.Bytes(w.rows*float64(w.indexes)*numberKey)),
		Cause: fmt.Sprintf("Every entry of another index ends with the row's primary key, here (%s). It is kept in "+
			"memory, written and backed up once for each of the %s.",
			listed(w.columns), unit.Plural(w.indexes, "index", "indexes")),
		Explains: []string{advise.TableSize(ref.String())},
	}
	f.Evidence = []finding.Evidence{
		{
			What: "bytes of the primary key in an entry", Value: known.Of(w.bytes), Unit: "B",
			Expected: fmt.Sprintf("< %d", wideKey), Source: source.Tables,
			Text: fmt.Sprintf("%s of indexes over %s rows in %s leave about %s bytes of each entry to the primary "+
				"key, as a lower bound.", unit.Bytes(size), unit.Count(w.rows),
				unit.Plural(len(w.t.Indexes)-1, "index", "indexes"), unit.Count(w.bytes)),
		},
		{
			What: "bytes repeated", Value: known.Of(w.repeated), Unit: "B", Expected: "< " + unit.Percent(wideShare) +
				" of the table", Source: source.Tables,
			Text: fmt.Sprintf("%s rows × %d indexes × (%s − %d) bytes = %s, of %s that the table takes.",
				unit.Count(w.rows), w.indexes, unit.Count(w.bytes), numberKey,
				unit.Bytes(w.repeated), unit.Bytes(data+size)),
		},
	}
	key, most := 0.0, 0.0
	for _, u := range us {
		if u.t.Ref == ref && asks(u.shape, w.columns[0]) {
			key += u.c.TimeSec
		}
		if u.t.Ref == ref {
			most += u.c.TimeSec
		}
	}
	if key > 0 && v.Total > 0 {
		f.Against = append(f.Against, fmt.Sprintf("%s of the statement time finds rows of this table by the long "+
			"key. With a number as primary key such statements do two lookups: in the unique index, then in the table.",
			unit.Percent(key/v.Total)))
	}
	if most == 0 {
		f.Against = append(f.Against, "No class of statements of the window used this table for long.")
	}
	f.Unobserved = append(f.Unobserved, "Rows and sizes are the server's estimates, often 40 % off.")
	refer := 0
	for _, t := range v.Tables {
		for _, x := range t.Foreign {
			if x.To == ref {
				refer++
			}
		}
	}
	if refer > 0 {
		f.Against = append(f.Against, fmt.Sprintf("%s of other tables refer to this one. They hold the long key too "+
			"and will use the unique index that replaces it.", unit.Plural(refer, "foreign key", "foreign keys")))
	}
	changes, column, why := w.changes()
	back := w.rows * (w.bytes + numberKey + entryHeader) // the old key as an index of its own
	net := w.repeated - back
	f.Suggestion = fmt.Sprintf("Give %s a number as primary key (%s), and keep (%s) as a unique key. %s", ref, column,
		listed(w.columns), why)
	if c, ok := w.t.Column(w.columns[0]); ok && len(w.columns) == 1 && (characters(c.Type) == 36 ||
		characters(c.Type) == 32) {
		f.Suggestion += " If the key is a UUID, BINARY(16) instead of the text is the smaller step: less than half " +
			"the bytes, and no second index."
	}
	f.Cost = fmt.Sprintf("The unique index takes back %s of the %s, which leaves about %s. The table is rebuilt, and "+
		"needs its space a second time meanwhile; rows are then stored in insertion order, no longer in the order of "+
		"the old key.",
		unit.Bytes(back), unit.Bytes(w.repeated), unit.Bytes(max(0, net)))
	before := data + size
	f.Gain = &finding.Gain{
		What: "size of the table with its indexes", Lo: before / max(1, before-0.6*max(0, net)),
		Hi: before / max(1, before-min(0.9*before, 1.2*max(0, net))),
		Text: fmt.Sprintf("about %s of %s less to keep in memory, write and back up",
			unit.Bytes(max(0, net)), unit.Bytes(before)),
	}
	f.Falsify = "Disproved if the indexes of a copy with the new key are not smaller by about that much."
	if w.t.Partitions > 0 {
		f.Against = append(f.Against, "The table is partitioned: every unique key must include the partitioning "+
			"columns.")
	} else {
		undo := []schema.Clause{{Kind: schema.PrimaryKey, Index: schema.Index{
			Name: "PRIMARY", Unique: true,
			Type: "BTREE", Parts: bare(w.pk.Parts),
		}}}
		for _, c := range changes {
			switch c.Kind {
			case schema.AddKey:
				undo = append(undo, schema.Clause{Kind: schema.DropKey, Index: c.Index})
			case schema.AddColumn:
				undo = append(undo, schema.Clause{Kind: schema.DropColumn, Column: c.Column})
			// this rule makes none but the key
			case schema.ModifyColumn, schema.DropColumn, schema.DropKey, schema.PrimaryKey, schema.TableOption,
				schema.Rebuild:
			}
		}
		f.Action = &finding.Action{
			Kind: finding.AlterTable, Table: ref, Changes: changes,
			SQL: ddl.ChangeSQL(ref, changes), Undo: ddl.ChangeSQL(ref, undo),
		}
	}
	if more > 0 {
		f.Unobserved = append(f.Unobserved, fmt.Sprintf("%s with the same, but less repeated, are not listed.",
			unit.Plural(more, "table", "tables")))
	}
	f.Reference = "Reference manual, \"Clustered and Secondary Indexes\": keep the primary key short"
	f.Why = []finding.Reason{
		asking("How long is the primary key?", source.Tables, "%s", f.Evidence[0].Text),
		asking("How often is it repeated?", source.Tables, "%s", f.Evidence[1].Text),
		asking("What would another key cost?", source.Tables, "%s", f.Cost),
	}
	return f
}

// changes makes a number the primary key: one that the table has, or a new one.
func (w wide) changes() (changes []schema.Clause, column, why string) {
	for _, c := range w.t.Columns {
		// Also one within the key: a table takes no second column that counts.
		if strings.Contains(c.Extra, "auto_increment") {
			column, why = c.Name, fmt.Sprintf("The column %s already numbers the rows; should it hold a value twice "+
				"nevertheless, the change is refused.", c.Name)
		}
	}
	unique := schema.Clause{Kind: schema.AddKey, Index: schema.Index{
		Name: freeIndex(w.t, w.columns), Unique: true,
		Type: "BTREE", Parts: bare(w.pk.Parts),
	}}
	if column == "" {
		column = freeColumn(w.t, "id", "row_id")
		why = fmt.Sprintf("The column %s is new: an INSERT without a list of columns fails once it exists, and "+
			"SELECT * returns it.", column)
		changes = append(changes, schema.Clause{
			Kind: schema.AddColumn, Column: column,
			Definition: "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT",
		})
	}
	primary := schema.Clause{Kind: schema.PrimaryKey, Index: schema.Index{
		Name: "PRIMARY", Unique: true, Type: "BTREE",
		Parts: []schema.IndexPart{{Column: column}},
	}}
	return append(changes, primary, unique), column, why
}
