package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Thresholds of table-cache.
const (
	leastOpens     = 10   // tables opened a second because others had to be closed
	leastOpenShare = 0.01 // tables opened for each statement
	openCost       = 50e-6
	// that are advised in one step, or four times those of today: each takes some ten KiB and more
	handlesAtOnce = 16_384
	filesPerTable = 2 // descriptors that an open table may take
)

// tableCache finds a cache of open tables in which tables push each other out. Tables that are opened for the first
// time, as after a start, push nobody out.
func tableCache(v *advise.View) []finding.Finding {
	opened, ok1 := v.Status("Opened_tables").Get()
	limit, ok2 := v.Number("table_open_cache").Get()
	open, ok3 := v.Gauge("Open_tables").Get()
	if !ok1 || !ok2 || !ok3 || open < 0.9*limit {
		return nil
	}
	pushed, from := opened, source.GlobalStatus
	overflows := v.Status("Table_open_cache_overflows")
	if n, ok := overflows.Get(); ok {
		pushed = min(opened, n)
	}
	asked := v.Status("Questions").Or(0)
	if pushed < leastOpens || pushed < leastOpenShare*asked {
		return nil
	}
	share := min(0.9, openTime(v, pushed))
	want, why := wantedTables(v, limit)
	if float64(want) < 1.2*limit {
		return outOfFiles(v, limit, pushed, share, why)
	}
	f := finding.Finding{
		ID: finding.MakeID("table-cache", "table_open_cache"), Rule: "table-cache", Confidence: finding.Certain,
		Severity: finding.Warning,
		Subject:  finding.Subject{Variables: []string{"table_open_cache"}}, Share: share, File: "my.cnf",
		Explains: []string{advise.EffectTableOpens}, Rests: []string{advise.EffectTableOpens},
		Title: fmt.Sprintf("%s tables a second are opened because the cache of %.0f has no room for those in use",
			unit.Count(pushed), limit),
		Cause: "Every session that uses a table holds an open handle of it. More handles are in use than the cache " +
			"keeps, so statements open tables that others had to close a moment before.",
		Evidence: []finding.Evidence{
			fact("tables opened per second", opened, "1/s", fmt.Sprintf("< %d", leastOpens), from,
				"%s tables a second were opened, %s for each statement.",
				unit.Count(opened), unit.Count(opened/max(1, asked))),
			fact("open tables", open, "", fmt.Sprintf("< %.0f", limit), from, "%.0f tables are open, and the cache "+
				"takes %.0f.", open, limit),
		},
		Falsify: "Disproved if Opened_tables per second does not fall with the larger cache.",
		Reference: "MySQL Reference Manual, How MySQL Opens and Closes Tables; MariaDB Knowledge Base, Optimizing " +
			"table_open_cache.",
		Setting: []string{fmt.Sprintf("table_open_cache = %d", want)},
		Suggestion: fmt.Sprintf("Raise table_open_cache to %d: %s. It can be done while the server runs; keep it in "+
			"my.cnf.", want, why),
		Cost:    "Some ten KiB of memory and up to two file descriptors for each open table.",
		Action:  v.SetVariable("table_open_cache", fmt.Sprint(want)),
		Against: []string{"FLUSH TABLES and changes of tables close them as well."},
		Why: []finding.Reason{
			{Ask: "Are tables opened all the time?", Answer: unit.Count(opened) + " a second", Source: from},
			{Ask: "Because the cache is full?", Answer: fmt.Sprintf("%.0f of %.0f are open, %s a second were evicted",
				open, limit, unit.Count(pushed)), Source: from},
			{Ask: "How many are needed?", Answer: why, Source: source.Arithmetic},
		},
		Gain: &finding.Gain{
			What: "time per statement", Lo: 1, Hi: 1 / (1 - share),
			Text: "Opening a table takes some 50 µs to milliseconds, and sessions block each other while doing it.",
		},
	}
	if share < leastOpenShare {
		f.Severity = finding.Notice
	}
	if !overflows.OK() {
		f.Confidence = finding.Likely
	} else {
		f.Evidence = append(f.Evidence, fact("tables evicted per second", pushed, "1/s", "0", from,
			"%s tables a second were closed to make room (Table_open_cache_overflows).", unit.Count(pushed)))
	}
	if n, _ := v.Number("table_open_cache_instances").Get(); n > 1 {
		f.Against = append(f.Against, fmt.Sprintf("The cache is divided into %.0f parts; one may be full while "+
			"others are not.", n))
	}
	return []finding.Finding{f}
}

// outOfFiles tells of a cache that cannot grow before the server may open more files.
func outOfFiles(v *advise.View, limit, pushed, share float64, why string) []finding.Finding {
	files := int(v.Number("max_connections").Or(151)+20) + filesPerTable*int(2*limit)
	return []finding.Finding{{
		ID: finding.MakeID("table-cache", "table_open_cache"), Rule: "table-cache", Confidence: finding.Likely,
		Severity: finding.Notice, Share: share,
		Subject:  finding.Subject{Variables: []string{"table_open_cache", "open_files_limit"}},
		Explains: []string{advise.EffectTableOpens}, Rests: []string{advise.EffectTableOpens},
		Title: fmt.Sprintf("%s tables a second are opened because the cache of %.0f has no room, and "+
			"open_files_limit does not let it grow", unit.Count(pushed), limit),
		Cause: "More tables are in use than the cache keeps, and each handle may take file descriptors, of which the " +
			"server may not have more.",
		Evidence: []finding.Evidence{fact("tables evicted per second", pushed, "1/s", fmt.Sprintf("< %d", leastOpens),
			source.GlobalStatus,
			"%s tables a second were opened because others had to be closed.", unit.Count(pushed))},
		Setting: []string{fmt.Sprintf("open_files_limit = %d", files), fmt.Sprintf("table_open_cache = %.0f", 2*limit)},
		File:    "my.cnf", Restart: true,
		Suggestion: fmt.Sprintf("Let the server open more files first (open_files_limit = %d, and LimitNOFILE of its "+
			"service), then make the cache %.0f. It needs a restart.", files, 2*limit),
		Cost:    "Some ten KiB of memory and up to two file descriptors for each open table.",
		Falsify: "Disproved if Opened_tables per second does not fall with the larger cache.",
		Against: []string{
			"FLUSH TABLES and changes of tables close them as well.",
			"Tables of InnoDB share their files: far fewer descriptors may be in use.",
		},
		Reference: "MySQL Reference Manual, How MySQL Opens and Closes Tables; MariaDB Knowledge Base, Optimizing " +
			"table_open_cache.",
		Why: []finding.Reason{
			{
				Ask: "Is the cache full?", Answer: unit.Count(pushed) + " tables a second were evicted",
				Source: source.GlobalStatus,
			},
			{Ask: "May it grow?", Answer: why, Source: source.Arithmetic},
		},
	}}
}

// openTime estimates which part of the statement time opening tables takes.
func openTime(v *advise.View, opens float64) float64 {
	all := load(v)
	if all <= 0 {
		return 0
	}
	return opens * openCost * 2 / all
}

// wantedTables returns how many handles to keep, and why: every table that was seen for each session that ran at a
// time, twice the present cache at least, as far as file descriptors reach.
func wantedTables(v *advise.View, now float64) (int, string) {
	tables := float64(len(v.Tables))
	if left, ok := v.TablesLeft.Get(); ok {
		tables += float64(left)
	}
	sessions := max(1, v.Gauge("Threads_running").Or(1))
	if m, ok := peak(v, "mysql_global_status_threads_running").Get(); ok {
		sessions = max(sessions, m)
	}
	usual := 4000.0
	if v.MariaDB() {
		usual = 2000
	}
	want := max(usual, 2*now, min(tables*sessions, max(handlesAtOnce, 4*now)))
	why := fmt.Sprintf("%.0f tables × %.0f sessions at a time are %.0f handles, and the usual size is %.0f", tables,
		sessions, tables*sessions, usual)
	if files, ok := v.Number("open_files_limit").Get(); ok && files > 0 {
		most := (files - v.Number("max_connections").Or(151) - 20) / filesPerTable
		if want > most {
			want = max(now, most)
			why += fmt.Sprintf("; open_files_limit = %.0f leaves descriptors for %.0f", files, most)
		}
	}
	return int(want), why
}

// peak returns the largest value of a gauge in the window.
func peak(v *advise.View, name string) known.Value[float64] {
	s, ok := v.Find(name)
	if !ok || len(s.Points) == 0 {
		return known.None[float64]()
	}
	most := s.Points[0].Value
	for _, p := range s.Points {
		most = max(most, p.Value)
	}
	return known.Of(most)
}
