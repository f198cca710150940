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
	bloatBytes    = 32 << 20 // room in vain below which nobody needs to write a table anew
	largestTable  = 64 << 40 // bytes that a tablespace of InnoDB can have; statistics that tell more are absurd
	bloatShare    = 0.5      // of the room that a table takes
	rowsOff       = 1.4      // how far the server's estimate of rows may be off
	growsBy       = 8 << 20  // InnoDB makes a file larger by 4 MiB at a time, and keeps as much again in reserve
	bloatFindings = 3
	manyChanges   = 200_000 // entries of history: deleted rows still stand in their pages until they are purged
)

// bloat is a table with the room that it takes in vain.
type bloat struct {
	t          schema.Table
	rows       float64
	room       float64 // all that it takes
	need       float64 // what it would need, from above; 0 when its rows have no bound
	perRow     float64 // bytes of a row, at most
	inside     float64 // in vain in the pages of its rows and indexes
	outside    float64 // free in its file
	dataPages  float64
	idealPages float64
}

// fragmentedTable finds tables that take several times the room that their rows can need: half-empty pages after
// deletions and inserts in random order, and free pages within the file.
func fragmentedTable(v *advise.View) (out []finding.Finding) {
	own := !strings.EqualFold(v.Variables["innodb_file_per_table"], "OFF")
	page := v.Number("innodb_page_size").Or(pageBytes)
	var all []bloat
	// Tables of one tablespace are each told to have all of its free room, and none of them gives it back when it is
	// written anew.
	spaces := map[uint64]int{}
	for _, t := range v.Tables {
		if free, ok := t.FreeBytes.Get(); ok && free >= bloatBytes {
			spaces[free]++
		}
	}
	written := rowsWritten(v)
	for _, t := range v.Tables {
		b, ok := bloatOf(t, own && spaces[t.FreeBytes.Or(0)] < 2, page)
		if ok && !turnedOver(t, written[t.Ref]*v.Window) {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b bloat) int {
		return cmp.Or(cmp.Compare(b.inside+b.outside, a.inside+a.outside), cmp.Compare(a.t.String(), b.t.String()))
	})
	for _, b := range all[:min(len(all), bloatFindings)] {
		out = append(out, b.report(v, page, len(all)-bloatFindings))
	}
	return out
}

// rowsWritten returns the rows per second that were written to each table, as far as they were counted.
func rowsWritten(v *advise.View) map[schema.Ref]float64 {
	written := map[schema.Ref]float64{}
	for _, x := range v.All("mysql_perf_schema_table_io_waits_total") {
		if op := x.Labels.Get("operation"); op == "insert" || op == "update" {
			r, _ := x.Rate()
			written[schema.Ref{Schema: x.Labels.Get("schema"), Table: x.Labels.Get("name")}] += r
		}
	}
	return written
}

// turnedOver reports whether as many rows were written within the window as half of the table has: the room that is
// free now is in use again before anybody has the table written anew.
func turnedOver(t schema.Table, written float64) bool {
	rows, ok := t.Rows.Get()
	return ok && 2*written >= float64(rows) && written > 0
}

// bloatOf holds the room that a table takes against the most that its rows can need. Both the rows and their lengths
// are taken from above.
func bloatOf(t schema.Table, own bool, page float64) (b bloat, ok bool) {
	data, ok1 := t.DataBytes.Get()
	rows, ok2 := t.Rows.Get()
	if !innodb(t) || !ok1 || ddl.System(t.Schema) || strings.EqualFold(t.RowFormat, "Compressed") ||
		strings.Contains(strings.ToLower(t.Options), "page_compressed") {
		return b, false
	}
	size := float64(t.IndexBytes.Or(0))
	b.t, b.rows, b.room = t, float64(rows), float64(data)+size
	b.dataPages = float64(data) / page
	if free, ok := t.FreeBytes.Get(); ok && own {
		parts := float64(max(1, t.Partitions))
		b.room += float64(free)
		// it keeps a little of a large file free on purpose
		b.outside = max(0, float64(free)-growsBy*parts-0.02*float64(data))
	}
	if b.room < bloatBytes || b.room > largestTable {
		return b, false
	}
	// No rows at all in so many pages: nobody has counted since they came or went.
	if ok2 && rows > 0 {
		var all []schema.Column
		for _, c := range t.Columns {
			if c.Generated == "" || !strings.Contains(strings.ToUpper(c.Extra), "VIRTUAL") {
				all = append(all, c)
			}
		}
		if _, most := widthOf(all); most > 0 {
			b.perRow = float64(most + rowHeader + (len(all)+7)/8 + 2)
			b.need = rowsOff*b.rows*b.perRow/sortedFill + 2*page
			b.idealPages = b.rows * b.perRow / sortedFill / page
			b.inside = max(0, float64(data)-b.need)
			if more, ok := indexNeed(t); ok && size > 0 {
				more = rowsOff * b.rows * more / randomFill
				b.need += more
				b.inside += max(0, size-more)
			}
		}
	}
	waste := b.inside + b.outside
	return b, waste >= bloatBytes && waste >= bloatShare*b.room
}

// indexNeed returns the most bytes that the entries of one row take in the other indexes; not ok when nothing bounds
// them.
func indexNeed(t schema.Table) (bytes float64, ok bool) {
	pk, _ := t.PrimaryKey()
	_, key := widths(t, names(pk))
	if len(pk.Parts) == 0 || key == 0 {
		return 0, false
	}
	for _, x := range t.Indexes {
		if x.Primary() {
			continue
		}
		_, most := widths(t, names(x))
		if most == 0 || x.Type != "BTREE" {
			return 0, false
		}
		bytes += float64(most + key + entryHeader)
	}
	return bytes, true
}

func (b bloat) report(v *advise.View, page float64, more int) finding.Finding {
	ref, waste := b.t.Ref, b.inside+b.outside
	ideal := max(page, b.room-waste)
	f := finding.Finding{
		Rule: "fragmented-table", ID: finding.MakeID("fragmented-table", ref.String()), Severity: finding.Notice,
		Confidence: finding.Likely,
		Subject:    finding.Subject{Tables: []schema.Ref{ref}}, Explains: []string{advise.TableSize(ref.String())},
		Title: fmt.Sprintf("%s takes %s for rows that need at most %s", ref, unit.Bytes(b.room), unit.Bytes(ideal)),
	}
	switch {
	case b.inside >= b.outside:
		f.Cause = "Its pages are mostly empty: rows were inserted in random order or deleted, and InnoDB gives back " +
			"a page only when a whole one becomes free. Reading the table brings the empty part into memory as well."
	default:
		f.Cause = "Most of its file is free: rows were deleted, and InnoDB keeps the pages for new ones. They take " +
			"space on disk and in physical backups, not in memory."
	}
	if b.inside > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "pages of the rows", Value: known.Of(b.dataPages), Unit: "pages",
			Expected: fmt.Sprintf("≤ %s for %s rows of at most %s bytes", unit.Count(max(1, b.idealPages)),
				unit.Count(b.rows), unit.Count(b.perRow)),
			Source: source.Tables, Text: fmt.Sprintf("%s pages hold %s rows of at most %s bytes, which fill %s; that "+
				"makes %.1f times as many.", unit.Count(b.dataPages), unit.Count(b.rows), unit.Count(b.perRow),
				unit.Count(max(1, b.idealPages)), b.dataPages/max(1, b.idealPages)),
		})
	}
	if b.outside > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "free in the file", Value: known.Of(float64(b.t.FreeBytes.Or(0))), Unit: "B", Expected: "≤ " +
				unit.Bytes(growsBy), Source: source.Tables,
			Text: fmt.Sprintf("%s of the file are empty.", unit.Bytes(float64(b.t.FreeBytes.Or(0)))),
		})
	}
	if h, ok := v.Last("dyno_innodb_history_length").Get(); ok && h >= manyChanges {
		f.Confidence = finding.Possible
		f.Against = append(f.Against, fmt.Sprintf("%s changes wait to be purged: deleted rows may still be in these "+
			"pages. Check again when that is done.", unit.Count(h)))
	}
	if pk, ok := b.t.PrimaryKey(); ok && b.inside > 0 && !counts(b.t, pk) {
		f.Against = append(f.Against, fmt.Sprintf("Rows do not arrive in the order of (%s). Pages of such a table "+
			"are two thirds full at best, and it grows back to that.", listed(names(pk))))
	}
	f.Unobserved = append(f.Unobserved, "The number of rows is the server's estimate; the figures allow for 40 %. "+
		"How full each page is can only be seen by reading it.")
	if more > 0 {
		f.Unobserved = append(f.Unobserved, fmt.Sprintf("%s with the same, but less wasted space, are not listed.",
			unit.Plural(more, "table", "tables")))
	}
	change := []schema.Clause{{Kind: schema.Rebuild}}
	f.Action = &finding.Action{
		Kind: finding.AlterTable, Table: ref, Changes: change,
		SQL: ddl.ChangeSQL(ref, change),
	}
	f.Suggestion = fmt.Sprintf("Rebuild %s online; reads and writes continue. Where rows are inserted and deleted at "+
		"this rate, deleting by partition prevents it.", ref)
	f.Cost = fmt.Sprintf("Some %s are read, some %s written, which are needed on disk in addition to the old file "+
		"until it ends.", unit.Bytes(b.room), unit.Bytes(ideal))
	f.Gain = &finding.Gain{
		What: "size of the table", Lo: b.room / ideal, Hi: b.room / ideal * rowsOff,
		Text: fmt.Sprintf("%s of %s, by a row's greatest length and 40 %% more rows than estimated",
			unit.Bytes(waste), unit.Bytes(b.room)),
	}
	f.Falsify = "Disproved if ANALYZE TABLE shows many more rows, or if a rebuilt copy is about as large."
	f.Reference = "Reference manual, \"Defragmenting a Table\""
	for _, e := range f.Evidence {
		f.Why = append(f.Why, asking("How much space does it take, and how much does it need?", e.Source, "%s", e.Text))
	}
	f.Why = append(f.Why, asking("Could it be the estimate?", source.Tables,
		"With 40 %% more rows, each as long as its "+
			"columns allow, it would need %s.", unit.Bytes(ideal)))
	return f
}

// counts reports whether rows arrive in the order of the key.
func counts(t schema.Table, pk schema.Index) bool {
	if len(pk.Parts) == 0 {
		return false
	}
	c, ok := t.Column(pk.Parts[0].Column)
	return ok && c.Extra == "auto_increment"
}
