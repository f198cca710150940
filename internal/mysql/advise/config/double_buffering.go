package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// fromCache is the part of InnoDB's reads that must not come from the disk for the kernel's cache to be what serves
// them.
const fromCache = 0.5

// doubleBuffering finds a pool that is too small while the kernel's cache holds the pages that it lacks: the same
// memory would hold each page once if it were the pool's. It needs to see the server's process.
func doubleBuffering(v *advise.View) []finding.Finding {
	method, buffered := bufferedReads(v)
	p, ok := readPool(v)
	if !buffered || !ok || p.misses < leastMisses || p.read <= 0 || !p.full(v) {
		return nil
	}
	disk, ok := v.Rate("dyno_server_io_read_bytes_total").Get()
	if !ok || disk > (1-fromCache)*p.read {
		return nil
	}
	w, told := working(v)
	if told && float64(w.bytes) < 1.1*float64(p.size) {
		return nil
	}
	share, measured := p.waitShare(v)
	cached := 1 - disk/p.read
	f := finding.Finding{
		ID: finding.MakeID("double-buffering", "innodb_flush_method"), Rule: "double-buffering",
		Confidence: finding.Likely, Severity: finding.Notice,
		Subject: finding.Subject{
			Variables: []string{"innodb_flush_method", "innodb_buffer_pool_size"},
			Tables:    w.tables[:min(len(w.tables), 5)],
		},
		Share: share, Explains: []string{advise.EffectPoolMisses}, Restart: true, File: "my.cnf",
		Title: fmt.Sprintf("%s of InnoDB's %s reads a second come from the kernel's cache: pages are in memory "+
			"twice, and the pool of %s holds too few",
			unit.Percent(cached), unit.Count(p.misses), bytes(p.size)),
		Cause: fmt.Sprintf("With innodb_flush_method = %s the kernel keeps a copy of every page that InnoDB reads or "+
			"writes. The pool is full and too small for what "+
			"the statements work on, so pages are evicted and read back from the kernel's cache, one system call "+
			"each, although they are in memory all the time.", method),
		Falsify: "Disproved if Innodb_buffer_pool_reads per second stays as it is with the larger pool, or if " +
			"another cache below the kernel's served the reads.",
		Reference: "MySQL Reference Manual, innodb_flush_method; MariaDB Knowledge Base, InnoDB System Variables, " +
			"innodb_flush_method and innodb_data_file_buffering.",
		Valid: "Linux. MariaDB from 10.6 on and MySQL from 8.4 on ship with O_DIRECT.",
	}
	if share >= leastReadShare {
		f.Severity = finding.Warning
	}
	if measured {
		f.Confidence = finding.Certain
	}
	f.Evidence = append(poolEvidence(v, p, w, told, share, measured),
		fact("share of the reads that the kernel's cache served", cached*100, "%", fmt.Sprintf("< %.0f", fromCache*100),
			source.Process,
			"InnoDB read %s/s, and %s/s came from the disk.", unit.Bytes(p.read), unit.Bytes(disk)))
	if c, ok := v.Last("node_memory_Cached_bytes").Get(); ok {
		f.Evidence = append(f.Evidence, fact("the kernel's cache", c, "B", "", source.Host,
			"The kernel caches %s of files, those of other programs included.", unit.Bytes(c)))
	}
	f.Against = append(poolAgainst(v, p, w, told, measured), "Direct I/O without the larger pool makes it worse: the "+
		"reads would go to the disk.")
	f.Unobserved = blinds(v, source.FileIO)
	want := 2 * p.size
	if told {
		want = max(round(uint64(poolSlack*float64(w.bytes))), p.size+p.size/4)
	}
	f.Why = []finding.Reason{
		{Ask: "Does the kernel buffer the data files?", Answer: "innodb_flush_method is " +
			method, Source: source.Variables},
		{
			Ask: "Where do reads come from?", Answer: fmt.Sprintf("%s from the kernel's cache", unit.Percent(cached)),
			Source: source.Process,
		},
		{
			Ask: "Would the pool hold the pages?", Answer: fmt.Sprintf("with %s it would", bytes(want)),
			Source: source.Catalog,
		},
	}
	got := grow(v, &f, p, want)
	if got == 0 {
		return nil // without room for the pool the cache is the better place
	}
	pool := f.Setting
	f.Action, f.Restart = nil, true // both or nothing
	direct := "innodb_flush_method = O_DIRECT"
	if _, ok := v.Variable("innodb_data_file_buffering"); ok {
		direct = "innodb_data_file_buffering = OFF"
	}
	f.Setting = slices.Concat([]string{direct}, pool)
	f.Suggestion = fmt.Sprintf("Give the pool the memory of the second copy and bypass the kernel's cache, both at "+
		"once: %s. It needs a restart.", strings.Join(f.Setting, ", "))
	f.Cost = fmt.Sprintf("The pool takes %s more, the kernel's cache as much less. After the restart the pool is "+
		"empty and fills from the disk.", bytes(got-min(got, p.size)))
	f.Gain = &finding.Gain{
		What: "time per statement", Lo: 1, Hi: 1 / (1 - min(0.95, share)),
		Text: fmt.Sprintf("Copies from the kernel's cache take %s of the statement time; with the pages in the pool "+
			"they are not made.", unit.Percent(share)),
	}
	return []finding.Finding{f}
}

// bufferedReads reports whether the kernel's cache stands between InnoDB and its data files, and what the setting says.
func bufferedReads(v *advise.View) (string, bool) {
	if x, ok := v.Variable("innodb_data_file_buffering"); ok { // MariaDB from 11.0 on
		return x, v.On("innodb_data_file_buffering")
	}
	method, ok := v.Variable("innodb_flush_method")
	if !ok {
		return "", false
	}
	if method == "" {
		return "fsync", true // MySQL 5.7 and before show their default so
	}
	return method, slices.ContainsFunc([]string{"fsync", "O_DSYNC", "littlesync", "nosync"}, func(m string) bool {
		return equal(m, method)
	})
}
