package config

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/arith"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// What the rules about memory and the disk read from a snapshot.

const (
	mib = 1 << 20
	gib = 1 << 30
)

const (
	mostClasses = 200  // classes whose statements are parsed for their tables
	leastShare  = 0.01 // of the statement time, below which a class is not parsed
)

// fact makes a piece of evidence.
func fact(what string, value float64, per, expected string, from source.Name, format string,
	a ...any,
) finding.Evidence {
	return finding.Evidence{
		What: what, Value: known.Of(value), Unit: per, Expected: expected, Source: from,
		Text: fmt.Sprintf(format, a...),
	}
}

// size writes bytes as a my.cnf takes them, exactly.
func size(n uint64) string {
	switch {
	case n >= gib && n%gib == 0:
		return strconv.FormatUint(n/gib, 10) + "G"
	case n >= mib && n%mib == 0:
		return strconv.FormatUint(n/mib, 10) + "M"
	case n >= 1024 && n%1024 == 0:
		return strconv.FormatUint(n/1024, 10) + "K"
	}
	return strconv.FormatUint(n, 10)
}

// round goes up to a figure that people would write: a multiple of an eighth of the power of two below it, at least of
// MiB.
func round(n uint64) uint64 {
	step := uint64(mib)
	if l := bits.Len64(n); l > 4 {
		step = max(step, 1<<(l-4))
	}
	return (n + step - 1) / step * step
}

func bytes(n uint64) string { return unit.Bytes(float64(n)) }

// number reads a variable that holds bytes or a count.
func number(v *advise.View, name string) (uint64, bool) {
	x, err := strconv.ParseUint(v.Variables[name], 10, 64)
	return x, err == nil
}

// pool is the buffer pool in the window.
type pool struct {
	size, page         uint64  // bytes
	total, free, dirty float64 // pages, at the end
	misses             float64 // pages a second that were wanted and had to be read: Innodb_buffer_pool_reads
	waitSec            known.Value[float64]
	read               float64 // bytes a second that InnoDB read, from wherever: Innodb_data_read
}

// readPool fails where something of it was not seen.
func readPool(v *advise.View) (p pool, ok bool) {
	var got [6]bool
	p.size, got[0] = number(v, "innodb_buffer_pool_size")
	if p.page, ok = number(v, "innodb_page_size"); !ok || p.page == 0 {
		p.page = 16 << 10 // MySQL 5.5 has no other
	}
	p.total, got[1] = v.Gauge("Innodb_buffer_pool_pages_total").Get()
	p.free, got[2] = v.Last(figures.PoolPages, metric.Label{Name: "state", Value: "free"}).Get()
	p.dirty, got[3] = v.Last(figures.PoolDirtyPages).Get()
	p.misses, got[4] = v.Status("Innodb_buffer_pool_reads").Get()
	p.read, got[5] = v.Status("Innodb_data_read").Get()
	p.waitSec = fileSeconds(v, "wait/io/file/innodb/innodb_data_file", "read")
	return p, !slices.Contains(got[:], false) && p.size > 0 && p.total > 0
}

// full reports whether the pool has no room left but what the server keeps free for the next pages.
func (p pool) full(v *advise.View) bool {
	kept, ok := number(v, "innodb_lru_scan_depth")
	if !ok {
		kept = 1024
	}
	n := v.Number("innodb_buffer_pool_instances").Or(1)
	return p.free <= 0.05*p.total+1.1*float64(kept)*max(1, n)
}

// fileSeconds returns the seconds a second that threads were in calls of a mode on files of a kind, and where
// performance_schema tells.
func fileSeconds(v *advise.View, event, mode string) known.Value[float64] {
	return v.Rate("mysql_perf_schema_file_events_seconds_total", metric.Label{Name: "event_name", Value: event},
		metric.Label{Name: "mode", Value: mode})
}

func fileCalls(v *advise.View, event, mode string) known.Value[float64] {
	return v.Rate("mysql_perf_schema_file_events_total", metric.Label{Name: "event_name", Value: event},
		metric.Label{Name: "mode", Value: mode})
}

// load is the statement time per second: how many statements ran at a time.
func load(v *advise.View) float64 {
	if v.Window <= 0 {
		return 0
	}
	return v.Total / v.Window
}

// waitShare returns the part of the statement time that is waiting for pages to be read, 0 to 1; measured says whether
// the server counted it. Where it did not, a read is taken for guessedRead seconds.
func (p pool) waitShare(v *advise.View) (share float64, measured bool) {
	all := load(v)
	if all <= 0 {
		return 0, false
	}
	if sec, ok := p.waitSec.Get(); ok {
		return min(1, sec/all), true
	}
	return min(1, p.misses*guessedRead/all), false
}

// guessedRead is what a read of a page costs at least where nobody measured it: a fast solid-state disk, seconds.
const guessedRead = 100e-6

// memory returns the bytes that the server may use: of the machine, or of its control group when that is tighter.
func memory(v *advise.View) (n uint64, group, ok bool) {
	n, ok = v.Host.MemBytes.Get()
	if limit, limited := v.Host.MemLimit.Get(); limited && (!ok || limit < n) {
		return limit, true, true
	}
	return n, false, ok
}

// room returns how many bytes more the server could take without bringing the machine into need: what is available less
// a tenth of the memory. Unknown for a server elsewhere.
func room(v *advise.View) known.Value[uint64] {
	all, group, ok := memory(v)
	if !ok {
		return known.None[uint64]()
	}
	free, ok := v.Last("node_memory_MemAvailable_bytes").Get()
	if !ok {
		return known.None[uint64]()
	}
	if group {
		rss, ok := v.Host.Process["vmrss"]
		if !ok {
			return known.None[uint64]()
		}
		free = min(free, float64(all)-float64(rss))
	}
	return known.Of(uint64(max(0, free-float64(all)/10)))
}

// inUse is what the statements of the window work on.
type inUse struct {
	bytes  uint64
	tables []schema.Ref // largest first
	all    bool         // it is all tables of the users, because which of them are in use is not known
}

// working adds up the tables, with their indexes, that the classes with the most time touch.
func working(v *advise.View) (w inUse, ok bool) {
	found := map[schema.Ref]schema.Table{}
	classes := slices.Clone(v.Classes)
	slices.SortStableFunc(classes, func(a, b class.Class) int { return cmp.Compare(b.TimeSec, a.TimeSec) })
	// statement time of classes whose tables and sizes are known, and of those that have none
	var told, tableless float64
	for i, c := range classes {
		if i == mostClasses || c.TimeSec < leastShare*v.Total {
			break
		}
		sh, err := v.Shape(c)
		if err != nil {
			continue
		}
		sized := len(sh.Tables) > 0
		for _, r := range sh.Tables {
			t, ok := v.Resolve(c, r)
			if ok && !t.View && !ddl.System(t.Schema) {
				found[t.Ref] = t
			}
			sized = sized && ok && t.DataBytes.OK()
		}
		if sized {
			told += c.TimeSec
		} else if len(sh.Tables) == 0 {
			tableless += c.TimeSec
		}
	}
	if len(found) == 0 || told < mostOfTime*(v.Total-tableless) { // what many small classes work on may be far more
		w.all = true
		for _, t := range v.Tables {
			if !t.View && !ddl.System(t.Schema) {
				found[t.Ref] = t
			}
		}
	}
	sizes := map[schema.Ref]uint64{}
	for ref, t := range found {
		if d, known := t.DataBytes.Get(); known {
			sizes[ref] = d + t.IndexBytes.Or(0)
			w.bytes += sizes[ref]
			w.tables = append(w.tables, ref)
		}
	}
	slices.SortFunc(w.tables, func(a, b schema.Ref) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a.String(), b.String()))
	})
	return w, w.bytes > 0
}

// mostOfTime is the part of the statement time whose tables must be known, for these to be called the tables in use.
const mostOfTime = 0.5

// timeOf returns the part of the statement time in statements of the kinds, and the ids of their classes, most time
// first.
func timeOf(v *advise.View, kinds ...shape.Kind) (share float64, ids []string) {
	if v.Total <= 0 {
		return 0, nil
	}
	classes := slices.Clone(v.Classes)
	slices.SortStableFunc(classes, func(a, b class.Class) int { return cmp.Compare(b.TimeSec, a.TimeSec) })
	for i, c := range classes {
		if i == mostClasses || c.TimeSec < leastShare*v.Total {
			break
		}
		if sh, err := v.Shape(c); err == nil && slices.Contains(kinds, sh.Kind) {
			share += c.TimeSec / v.Total
			ids = append(ids, c.ID)
		}
	}
	return min(1, share), ids
}

// writes returns what timeOf does for everything that changes rows, commits counted in.
func writes(v *advise.View) (share float64, ids []string) {
	share, ids = timeOf(v, shape.Insert, shape.Update, shape.Delete)
	for _, c := range v.Classes {
		if v.Total > 0 && strings.EqualFold(c.Fingerprint, "commit") {
			share += c.TimeSec / v.Total
		}
	}
	return min(1, share), ids
}

// severity follows the part of the statement time.
func severity(share float64) finding.Severity {
	switch {
	case share >= 0.5:
		return finding.Critical
	case share >= 0.05:
		return finding.Warning
	}
	return finding.Notice
}

// poolOf describes the pool to the arithmetic.
func poolOf(v *advise.View) (ask arith.Ask, now arith.Pool) {
	n, _ := number(v, "innodb_buffer_pool_size")
	i, _ := number(v, "innodb_buffer_pool_instances")
	c, _ := number(v, "innodb_buffer_pool_chunk_size")
	m, _ := number(v, "innodb_buffer_pool_size_max")
	ask = arith.Ask{Size: n, Instances: int(min(i, 64)), Chunk: c, Max: m, CPUs: int(v.Host.CPUs.Or(0))}
	return ask, arith.Pool{Size: n, Instances: max(1, int(min(i, 64))), Chunk: c, Max: m}
}

// becomes returns what a server with the pool's instances and chunks makes of a size asked for: while it runs, else at
// its next start.
func becomes(v *advise.View, want uint64) (p arith.Pool, live bool, err error) {
	ask, now := poolOf(v)
	flavor := v.Target.Flavor.Lower()
	if p, err = arith.Resize(flavor, v.Target.Version, now, want); err == nil && p.Size >= want {
		return p, true, nil
	}
	ask.Size, ask.Max = want, 0
	p, err = arith.BufferPool(flavor, v.Target.Version, ask)
	return p, false, err
}

func list[T fmt.Stringer](items []T, most int) string {
	var s []string
	for i, x := range items {
		if i == most {
			s = append(s, fmt.Sprintf("%d more", len(items)-most))
			break
		}
		s = append(s, x.String())
	}
	return strings.Join(s, ", ")
}
