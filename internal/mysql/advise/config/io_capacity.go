package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Thresholds of io-capacity.
const (
	atCapacityFrom = 0.5  // of innodb_io_capacity, the flushing from which it is held back by that
	atCapacityTo   = 1.3  // of innodb_io_capacity_max; above, something else decides how much is written
	leastDirtied   = 50   // pages a second by which the changed ones grow
	idleDisk       = 0.6  // part of the time that the disk is busy, up to which it has room for more
	fullSoon       = 3600 // seconds until the log is full
	saneCapacity   = 2000 // requests a second that any solid-state disk manages
	adaptiveFrom   = 0.1  // of the log, from which InnoDB flushes for the log's sake: innodb_adaptive_flushing_lwm
	overTarget     = 1.5  // times innodb_max_dirty_pages_pct, which the server tries to stay below
)

// ioCapacity finds background writing that is held back by innodb_io_capacity: it writes just as many pages as that
// says, changed pages pile up over the server's own target all the same, the log fills, and the disk has nothing to do.
func ioCapacity(v *advise.View) []finding.Finding {
	capacity, ok1 := v.Number("innodb_io_capacity").Get()
	flushed, ok2 := v.Rate(figures.PoolPageChanges, metric.Label{Name: "operation", Value: "flushed"}).Get()
	dirty, ok3 := v.Find(figures.PoolDirtyPages)
	p, ok4 := readPool(v)
	r, ok5 := readRedo(v)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || capacity <= 0 || len(dirty.Points) < 2 {
		return nil
	}
	most := max(capacity, v.Number("innodb_io_capacity_max").Or(capacity))
	if flushed < atCapacityFrom*capacity || flushed > atCapacityTo*most {
		return nil
	}
	grown, sec, ok := growth(dirty)
	if !ok {
		return nil
	}
	full := max(0, r.limit-r.age) / max(1, r.rate)
	target := v.Number("innodb_max_dirty_pages_pct").Or(90) / 100
	over := p.dirty / p.total
	rising := grown/sec >= leastDirtied && grown/sec >= 0.3*flushed && full <= fullSoon &&
		(over > target || r.age >= adaptiveFrom*r.limit)
	// The backlog ends to grow when every page in use is in it: it is then far over what the server itself wants.
	if !rising && (over < overTarget*target || grown/sec < -0.3*flushed) {
		return nil
	}
	busy := busyDisk(v)
	if b, ok := busy.Get(); ok && b > idleDisk {
		return nil
	}
	share, classes := writes(v)
	want := saneCapacity
	for float64(want) < 2*(flushed+max(0, grown/sec)) {
		want *= 2
	}
	f := finding.Finding{
		ID: finding.MakeID("io-capacity", "innodb_io_capacity"), Rule: "io-capacity", Confidence: finding.Certain,
		Severity: finding.Warning,
		Subject: finding.Subject{
			Variables: []string{"innodb_io_capacity", "innodb_io_capacity_max"},
			Classes:   classes,
		},
		Share: share / 2, Explains: []string{advise.EffectCheckpoint}, Rests: []string{advise.EffectCheckpoint},
		File: "my.cnf",
		Title: fmt.Sprintf("changed pages pile up by %s a second while innodb_io_capacity = %.0f holds background "+
			"writing at %s: the log is full in %s",
			unit.Count(grown/sec), capacity, unit.Count(flushed), unit.Seconds(full)),
		Cause: "The server writes changed pages in the background as fast as innodb_io_capacity allows, and the disk " +
			"could do more. What is not written now " +
			"has to be written at once when the log is full, and then every session that changes data waits.",
		Evidence: []finding.Evidence{
			fact("pages written in the background per second", flushed, "1/s", "", source.GlobalStatus,
				"%s pages a second are written in the background; innodb_io_capacity is %.0f and its maximum %.0f.",
				unit.Count(flushed), capacity, most),
			fact("growth of the changed pages", grown/sec, "1/s", "≤ 0", source.GlobalStatus,
				"Changed pages grew from %s to %s in %s.",
				unit.Count(dirty.Points[0].Value), unit.Count(p.dirty), unit.Seconds(sec)),
			fact("dirty share of the pool", 100*over, "%", fmt.Sprintf("≤ %.0f", 100*target), source.GlobalStatus,
				"%s of the pool's pages are changed; innodb_max_dirty_pages_pct asks for at most %s.",
				unit.Percent(over), unit.Percent(target)),
			fact("checkpoint age", r.age, "B", "", r.source, "The checkpoint age is %s, the log allows %s, and %s/s "+
				"are added.",
				unit.Bytes(r.age), unit.Bytes(r.limit), unit.Bytes(r.rate)),
		},
		Falsify: "Disproved if with the higher figure no more pages are written, or if reads become slower because " +
			"of them.",
		Reference: "MySQL Reference Manual, Configuring InnoDB I/O Capacity; MariaDB Knowledge Base, InnoDB Page " +
			"Flushing.",
		Setting: []string{
			fmt.Sprintf("innodb_io_capacity = %d", want),
			fmt.Sprintf("innodb_io_capacity_max = %d", 2*want),
		},
		Suggestion: fmt.Sprintf("Set what the disk can do: innodb_io_capacity = %d, innodb_io_capacity_max = %d. "+
			"Both are dynamic; keep them in my.cnf.",
			want, 2*want),
		Cost:  "Pages are written sooner, so some of them more often; on a disk shared with reads watch their times.",
		Valid: "MySQL from 8.4 on ships with 10000, older ones and MariaDB with 200.",
		Why: []finding.Reason{
			{Ask: "Does writing keep up with changing?", Answer: fmt.Sprintf("%s written a second, and the changed "+
				"ones grow by %s", unit.Count(flushed), unit.Count(grown/sec)), Source: source.GlobalStatus},
			{Ask: "What limits it?", Answer: fmt.Sprintf("innodb_io_capacity = %.0f: that is what is written",
				capacity), Source: source.Variables},
			{Ask: "When does it hurt?", Answer: fmt.Sprintf("(%s − %s) ÷ %s/s = %s", unit.Bytes(r.limit),
				unit.Bytes(r.age), unit.Bytes(r.rate), unit.Seconds(full)), Source: source.Arithmetic},
		},
		Against: []string{"Some backlog is right: a page that is changed ten times before it is written is written " +
			"once."},
	}
	if !rising {
		f.Title = fmt.Sprintf("%s of the pool are changed pages and the server wants at most %s, but "+
			"innodb_io_capacity = %.0f holds background writing at %s a second",
			unit.Percent(over), unit.Percent(target), capacity, unit.Count(flushed))
		f.Why[2] = finding.Reason{
			Ask:    "Is there a backlog?",
			Answer: fmt.Sprintf("%s of the pool, and at most %s is wanted", unit.Percent(over), unit.Percent(target)),
			Source: source.GlobalStatus,
		}
	}
	if m := v.Number("innodb_io_capacity_max").Or(0); m >= float64(2*want) {
		f.Setting = f.Setting[:1]
	}
	f.Action = v.SetVariable("innodb_io_capacity", fmt.Sprint(want))
	if float64(want) > most && !v.MariaDB() { // MySQL takes no capacity above its maximum; MariaDB raises that as well
		f.Action = v.SetVariable("innodb_io_capacity_max", fmt.Sprint(2*want))
		f.Suggestion += fmt.Sprintf(" The maximum comes first, and then: SET GLOBAL innodb_io_capacity = %d.", want)
	}
	if b, ok := busy.Get(); ok {
		f.Evidence = append(f.Evidence, fact("time that the disk is busy", 100*b, "%", "", source.Host,
			"The disk is busy %s of the time.", unit.Percent(b)))
	} else {
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved, "How busy the disk is was not observed: the value for innodb_io_capacity "+
			"has to be one that it sustains.")
	}
	return []finding.Finding{f}
}

// growth returns how much a gauge grew between its first and last point, and the seconds between them.
func growth(s metric.Series) (by, sec float64, ok bool) {
	a, b := s.Points[0], s.Points[len(s.Points)-1]
	sec = float64(b.At-a.At) / 1000
	return b.Value - a.Value, sec, sec > 0
}

// busyDisk returns the part of the time in which the disk of the data directory had something to do, 0 to 1.
func busyDisk(v *advise.View) known.Value[float64] {
	if v.Host.DatadirDev == "" {
		return known.None[float64]()
	}
	return v.Rate("node_disk_io_time_seconds_total", metric.Label{Name: "device", Value: v.Host.DatadirDev})
}
