package config

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Thresholds of small-buffer-pool.
const (
	leastMisses    = 50   // a second; less is explained by what is read once
	leastReadShare = 0.05 // of the statement time
	poolSlack      = 1.15 // pool for each byte of tables: page headers, undo, the dictionary, room for new pages
	mostOfMemory   = 0.75 // of the memory that a pool may take; the rest is for sessions, the kernel and other programs
)

// smallBufferPool finds a pool that is full and smaller than what the statements work on, with sessions that wait for
// pages. It counts waits for reads and never a hit ratio: 99 % of a million requests a second are 10 000 reads.
func smallBufferPool(v *advise.View) []finding.Finding {
	p, ok := readPool(v)
	if !ok || p.misses < leastMisses || !p.full(v) {
		return nil
	}
	w, told := working(v)
	if told && float64(w.bytes) < 1.1*float64(p.size) {
		return nil // it fits: what is read is read for the first time
	}
	share, measured := p.waitShare(v)
	if share < leastReadShare {
		return nil
	}
	f := finding.Finding{
		ID: finding.MakeID("small-buffer-pool", "innodb_buffer_pool_size"), Rule: "small-buffer-pool",
		Confidence: finding.Likely,
		Subject: finding.Subject{
			Variables: []string{"innodb_buffer_pool_size"},
			Tables:    w.tables[:min(len(w.tables), 5)],
		},
		Share:    share,
		Severity: severity(share),
		Explains: []string{advise.EffectPoolMisses, advise.EffectDiskReads},
		Rests:    []string{advise.EffectPoolMisses},
		Falsify:  "Disproved if Innodb_buffer_pool_reads per second does not fall once the larger pool has filled.",
		Reference: "MySQL Reference Manual, Configuring InnoDB Buffer Pool Size; MariaDB Knowledge Base, InnoDB " +
			"Buffer Pool. " +
			"Rates of misses, because a ratio hides them.",
	}
	if measured && told && !w.all {
		f.Confidence = finding.Certain
	}
	f.Title = fmt.Sprintf("%s of the statement time is waiting for pages that a buffer pool of %s does not hold: %s "+
		"reads a second", unit.Percent(share), bytes(p.size), unit.Count(p.misses))
	f.Cause = "The pool is full, and what the statements work on is larger: to read one page another one is evicted, " +
		"which is read again later."
	f.Evidence = poolEvidence(v, p, w, told, share, measured)
	f.Against = poolAgainst(v, p, w, told, measured)
	f.Unobserved = blinds(v, source.FileIO, source.Host)
	f.Why = []finding.Reason{
		{
			Ask: "Are pages read on demand?", Answer: fmt.Sprintf("%s a second", unit.Count(p.misses)),
			Source: source.GlobalStatus,
		},
		{Ask: "Is the pool full?", Answer: fmt.Sprintf("%s of %s pages are free, including those that the server "+
			"always keeps free", unit.Count(p.free), unit.Count(p.total)), Source: source.GlobalStatus},
		{
			Ask: "Do sessions wait for it?", Answer: fmt.Sprintf("%s of the statement time", unit.Percent(share)),
			Source: source.FileIO,
		},
	}
	want := 4 * p.size // nobody knows how large what is in use is: one step
	why := "four times as much, because the size of the tables in use is unknown"
	if told {
		want = max(round(uint64(poolSlack*float64(w.bytes))), p.size+p.size/4)
		why = fmt.Sprintf("%s of tables × %.2f for page headers, undo and new rows", bytes(w.bytes), poolSlack)
	}
	f.Why = append(f.Why, finding.Reason{Ask: "How large should it be?", Answer: fmt.Sprintf("%s: %s", bytes(want),
		why), Source: source.Catalog})
	got := grow(v, &f, p, want)
	if got == 0 {
		return []finding.Finding{f}
	}
	covers := 1.0
	if told {
		covers = min(1, float64(got-p.size)/max(1, float64(w.bytes)-float64(p.size)))
	}
	f.Share = share * covers
	f.Gain = &finding.Gain{
		What: "time per statement", Lo: 1 / (1 - 0.5*share*covers), Hi: 1 / (1 - min(0.98, share*covers)),
		Text: fmt.Sprintf("Reads are %s of the time, and %s of what is missing would fit: that saves between half "+
			"and all of that time.", unit.Percent(share), unit.Percent(covers)),
	}
	return []finding.Finding{f}
}

// grow says how the pool gets to the size, as far as there is memory, and returns what it becomes; 0 when there is no
// room worth the name.
func grow(v *advise.View, f *finding.Finding, p pool, want uint64) uint64 {
	all, group, known := memory(v)
	whose := "the machine's"
	if group {
		whose = "the control group's"
	}
	if known {
		most := uint64(mostOfMemory * float64(all))
		if free, ok := room(v).Get(); ok {
			most = min(most, p.size+free)
		}
		f.Why = append(f.Why, finding.Reason{
			Ask: "Is there memory for it?", Source: source.Host,
			Answer: fmt.Sprintf("%s of %s %s may be the pool, less where less is available: at most %s",
				unit.Percent(mostOfMemory), whose, bytes(all), bytes(most)),
		})
		if most < p.size+p.size/4 {
			f.Suggestion = fmt.Sprintf("Give the server more memory, or read less: of %s %s no more than %s can be "+
				"the pool.", whose, bytes(all), bytes(most))
			f.Cost = "Memory; nothing that is set on this server."
			return 0
		}
		want = min(want, most/mib*mib)
	} else {
		f.Against = append(f.Against, fmt.Sprintf("How much memory the server has is unknown: %s must be free.",
			bytes(want)))
	}
	to, live, err := becomes(v, want)
	if err != nil {
		to.Size = want
	}
	for _, r := range to.Rules {
		f.Why = append(f.Why, finding.Reason{
			Ask: "What does the server make of it?", Answer: r,
			Source: source.Arithmetic,
		})
	}
	f.Setting, f.File = []string{"innodb_buffer_pool_size = " + size(want)}, "my.cnf"
	how := "It needs a restart"
	f.Restart = !live
	if live {
		f.Action = v.SetVariable("innodb_buffer_pool_size", fmt.Sprint(to.Size))
		how = "It can be done while the server runs"
	}
	f.Suggestion = fmt.Sprintf("Make the buffer pool %s. %s; keep it in my.cnf.", bytes(to.Size), how)
	if to.Size != want {
		f.Suggestion += fmt.Sprintf(" (Asked for %s, this server sets %s.)", bytes(want), bytes(to.Size))
	}
	f.Cost = fmt.Sprintf("%s of memory more. The pool fills as pages are read; until then reads continue.",
		bytes(to.Size-p.size))
	if n, ok := v.Variable("innodb_buffer_pool_instances"); ok && !v.MariaDB() {
		f.Valid = fmt.Sprintf("MySQL and Percona Server round to chunk × instances (%s here).", n)
	} else {
		f.Valid = "MariaDB from 10.5 on has one instance and no rounding to chunks that matters."
	}
	return to.Size
}

func poolEvidence(v *advise.View, p pool, w inUse, told bool, share float64, measured bool) (ev []finding.Evidence) {
	ev = append(ev, fact("pages read on demand per second", p.misses, "1/s", fmt.Sprintf("< %d", leastMisses),
		source.GlobalStatus,
		"%s pages a second were requested and not in the pool (Innodb_buffer_pool_reads).", unit.Count(p.misses)))
	if sec, ok := p.waitSec.Get(); measured && ok {
		text := fmt.Sprintf("Threads were in reads of data files for %s each second, %s of the statement time",
			unit.Seconds(sec), unit.Percent(share))
		if n, ok := fileCalls(v, "wait/io/file/innodb/innodb_data_file", "read").Get(); ok && n > 0 {
			text += fmt.Sprintf(": %s a read", unit.Seconds(sec/n))
		}
		ev = append(ev, fact("time in reads of data files", sec, "s/s", "", source.FileIO, "%s.", text))
	} else {
		ev = append(ev, fact("time in reads of data files, estimated", p.misses*guessedRead, "s/s", "",
			source.GlobalStatus,
			"The reads were not timed; at %s each they are %s of the statement time.",
			unit.Seconds(guessedRead), unit.Percent(share)))
	}
	if r, ok := v.Rate("dyno_server_io_read_bytes_total").Get(); ok {
		ev = append(ev, fact("bytes read from the disk", r, "B/s", "", source.Process,
			"InnoDB read %s/s; %s/s of that came from the disk.", unit.Bytes(p.read), unit.Bytes(r)))
	}
	if told {
		what := "The tables of the classes with the most time"
		if w.all {
			what = "All tables of the users"
		}
		ev = append(ev, fact("size of the tables in use", float64(w.bytes), "B", fmt.Sprintf("≤ %d", p.size),
			source.Catalog,
			"%s hold %s with their indexes (%s); the pool holds %s.", what, bytes(w.bytes),
			list(w.tables, 3), bytes(p.size)))
	}
	return append(ev, fact("free pages", p.free, "pages", "", source.GlobalStatus,
		"%s of %s pages of the pool are free.",
		unit.Count(p.free), unit.Count(p.total)))
}

func poolAgainst(v *advise.View, p pool, w inUse, told, measured bool) (out []string) {
	if !told {
		out = append(out, "The size of the tables in use is unknown, and so is how much would be enough.")
	} else if w.all {
		out = append(out, "Which tables the statements use is unknown; the sizes of all were added up.")
	} else {
		out = append(out, "Not every row of these tables need be in use: a smaller pool may do.")
	}
	if !measured {
		out = append(out, "How long the reads take was not measured.")
	}
	if ahead, ok := v.Status("Innodb_buffer_pool_read_ahead").Get(); ok && ahead > p.misses {
		out = append(out, fmt.Sprintf("%s pages a second came by read-ahead, which scans cause: an index may save "+
			"more than memory.", unit.Count(ahead)))
	}
	if scanned, ok := v.Rate(figures.Handlers.Of("read_rnd_next")).Get(); ok && scanned > 100*p.misses {
		out = append(out, fmt.Sprintf("%s rows a second were read by scans: an index may save more than memory.",
			unit.Count(scanned)))
	}
	return out
}

func equal(a, b string) bool { return strings.EqualFold(a, b) }
