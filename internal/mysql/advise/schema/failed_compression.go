package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// of the compressions; the server itself takes more than 5 % for too many
	// (innodb_compression_failure_threshold_pct)
	failedShare  = 0.10
	failedPerSec = 2   // compressions that fail: fewer cost nothing, each takes about a millisecond
	failedMost   = 0.5 // from here on pages of twice the size would fail often too
	maxSizes     = 16  // of pages; servers have five
)

// failedCompression finds sizes of compressed pages into which the data do not fit: the server compresses, fails,
// splits the page and compresses both halves.
func failedCompression(v *advise.View) (out []finding.Finding) {
	const ops = "mysql_info_schema_innodb_cmp_compress_ops"
	page := v.Number("innodb_page_size").Or(pageBytes)
	all := v.All(ops + "_total")
	for _, x := range all[:min(len(all), maxSizes)] {
		size, err := strconv.Atoi(x.Labels.Get("page_size"))
		n, ok1 := x.Rate()
		good, ok2 := v.Rate(ops+"_ok_total", metric.Label{Name: "page_size", Value: x.Labels.Get("page_size")}).Get()
		if err != nil || size == 0 || !ok1 || !ok2 || n-good < failedPerSec || n-good < failedShare*n {
			continue
		}
		if f, ok := failures(v, size, page, n, n-good); ok {
			out = append(out, f)
		}
	}
	return out
}

// blockSize returns the size of a table's compressed pages, 0 when they are not compressed. Without KEY_BLOCK_SIZE it
// is half a page.
func blockSize(t schema.Table, page float64) int {
	if !strings.EqualFold(t.RowFormat, "Compressed") {
		return 0
	}
	for _, o := range strings.Fields(strings.ToLower(t.Options)) {
		if n, ok := strings.CutPrefix(o, "key_block_size="); ok {
			if n, err := strconv.Atoi(n); err == nil && n > 0 {
				return n << 10
			}
		}
	}
	return int(page) / 2
}

func failures(v *advise.View, size int, page, all, failed float64) (f finding.Finding, ok bool) {
	type candidate struct {
		t     schema.Table
		write float64 // statement time of the classes that write it
		uses  []use
	}
	var cs []candidate
	told := false // the sizes of the pages of any table
	for _, t := range v.Tables {
		if n := blockSize(t, page); n == size {
			cs = append(cs, candidate{t: t})
		}
		told = told || strings.Contains(strings.ToLower(t.Options), "key_block_size=")
	}
	if len(cs) == 0 && !told { // the options were not to be had: any compressed table may be the one
		for _, t := range v.Tables {
			if blockSize(t, page) > 0 {
				cs = append(cs, candidate{t: t})
			}
		}
	}
	if len(cs) == 0 {
		return f, false
	}
	at := make(map[schema.Ref]int, len(cs))
	for i, c := range cs {
		at[c.t.Ref] = i
	}
	for _, u := range uses(v, changing) {
		if i, ok := at[u.t.Ref]; ok {
			cs[i].write += u.c.TimeSec
			cs[i].uses = append(cs[i].uses, u)
		}
	}
	slices.SortStableFunc(cs, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.write, a.write), cmp.Compare(a.t.String(), b.t.String()))
	})
	first := cs[0]
	written := slices.DeleteFunc(slices.Clone(cs), func(c candidate) bool { return c.write == 0 })
	part := failed / all
	share := 0.0
	if v.Total > 0 {
		share = first.write / v.Total
	}
	ref := first.t.Ref
	lo, hi := 1+part/4, 1+6*part // a failed attempt is followed by a split and two more; what else a write does stays
	f = finding.Finding{
		Rule: "failed-compression", ID: finding.MakeID("failed-compression", ref.String()), Severity: finding.Warning,
		Confidence: finding.Certain, Share: givesBack(share, lo, hi),
		Subject: finding.Subject{Tables: []schema.Ref{ref}},
		Title: fmt.Sprintf("%s of the compressions into pages of %d KiB fail, %s a second: rows of %s do not "+
			"compress that far", unit.Percent(part), size>>10,
			unit.Count(failed), ref),
		Cause: fmt.Sprintf("A page of %s that does not fit into %d KiB after compression is split, and both halves "+
			"are compressed again. The pages of %s have to shrink to %s of their size, and its data do not compress "+
			"that far.",
			unit.Bytes(page), size>>10, ref, unit.Percent(float64(size)/page)),
		Explains: []string{advise.EffectCPU, advise.TableSize(ref.String())},
		Falsify:  "Disproved if compressions keep failing once this table is no longer compressed.",
	}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "compressions that fail", Value: known.Of(100 * part), Unit: "%", Expected: "< " +
			unit.Percent(failedShare), Source: source.Compression,
		Text: fmt.Sprintf("%s compressions a second into %d KiB, of which %s fail.", unit.Count(all),
			size>>10, unit.Count(failed)),
	})
	label := metric.Label{Name: "page_size", Value: strconv.Itoa(size)}
	if sec, ok := v.Rate("mysql_info_schema_innodb_cmp_compress_time_seconds_total", label).Get(); ok && sec > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "time of compressing", Value: known.Of(sec), Unit: "s/s", Source: source.Compression,
			Text: fmt.Sprintf("Compressing takes %s of a CPU; the server counts it in whole seconds.",
				unit.Percent(sec)),
		})
	}
	for _, u := range first.uses {
		f.Subject.Classes = append(f.Subject.Classes, u.c.ID)
		f.Explains = append(f.Explains, advise.ClassTime(u.c.ID))
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "share of the statement time", Value: known.Of(100 * u.c.TimeSec / v.Total), Unit: "%",
			Source: u.c.Source(), Sampled: u.c.Sampled,
			Text: fmt.Sprintf("%s of the statement time writes to it: %s", unit.Percent(u.c.TimeSec/v.Total),
				clip(u.c.Fingerprint)),
		})
	}
	switch {
	case len(cs) == 1:
	case len(written) == 1:
		f.Confidence = finding.Likely
		f.Against = append(f.Against, fmt.Sprintf("Whether %s with pages of that size are written is unknown: the "+
			"failures could be theirs.", unit.Plural(len(cs)-1, "other table", "other tables")))
	default:
		f.Confidence = finding.Possible
		for _, c := range cs[1:min(len(cs), 5)] {
			f.Subject.Tables = append(f.Subject.Tables, c.t.Ref)
		}
		f.Against = append(f.Against, fmt.Sprintf("%d tables have pages of that size, and the server counts them "+
			"together.", len(cs)))
		f.Unobserved = append(f.Unobserved, "Which index the failures belong to: SET GLOBAL "+
			"innodb_cmp_per_index_enabled=ON counts them in information_schema.INNODB_CMP_PER_INDEX, at the price of "+
			"a lock.")
	}
	if len(first.uses) == 0 {
		f.Confidence = finding.Possible
		f.Unobserved = append(f.Unobserved, "No class of statements was observed to write it.")
	}
	changes := []schema.Clause{
		{Kind: schema.TableOption, Option: "ROW_FORMAT", Value: "DYNAMIC"},
		{Kind: schema.TableOption, Option: "KEY_BLOCK_SIZE", Value: "0"},
	}
	undo := []schema.Clause{
		{Kind: schema.TableOption, Option: "ROW_FORMAT", Value: "COMPRESSED"},
		{Kind: schema.TableOption, Option: "KEY_BLOCK_SIZE", Value: strconv.Itoa(size >> 10)},
	}
	f.Suggestion = fmt.Sprintf("Store %s without compression (ROW_FORMAT=DYNAMIC).", ref)
	if next := 2 * size; part < failedMost && float64(next) <= page/2 {
		f.Suggestion += fmt.Sprintf(" If its size on the disk matters more than its writes, KEY_BLOCK_SIZE=%d is the "+
			"next larger page; measure whether failures stay below %s.", next>>10, unit.Percent(failedShare))
	}
	f.Action = &finding.Action{
		Kind: finding.AlterTable, Table: ref, Changes: changes,
		SQL: ddl.ChangeSQL(ref, changes), Undo: ddl.ChangeSQL(ref, undo),
	}
	f.Cost = "The table is rebuilt and is larger afterwards"
	if d, ok := first.t.DataBytes.Get(); ok {
		f.Cost += fmt.Sprintf(": %s now, up to %s", unit.Bytes(float64(d)), unit.Bytes(float64(d)*page/float64(size)))
	}
	f.Cost += " on disk; in memory it needs less, because compressed pages are kept there in addition to the " +
		"uncompressed ones."
	f.Gain = &finding.Gain{
		What: "time per write", Lo: lo, Hi: hi,
		Text: fmt.Sprintf("%s to %s: %s of the attempts end in a split and two more", unit.Ratio(lo),
			unit.Ratio(hi), unit.Percent(part)),
	}
	f.Reference = "Reference manual, \"InnoDB Table Compression\": monitoring at runtime"
	f.Why = []finding.Reason{
		asking("Do compressions fail?", source.Compression, "%s", f.Evidence[0].Text),
		asking("Whose pages have that size?", source.Tables, "%s; %s written in the window.", unit.Plural(len(cs),
			"table",
			"tables"), unit.Plural(len(written), "of them was", "of them were")),
		asking("Who writes to it?", source.Digests, "Classes with %s of the statement time.", unit.Percent(share)),
	}
	return f, true
}
