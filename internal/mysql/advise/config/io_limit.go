package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Thresholds of io-limit.
const (
	slowRead      = 4e-3 // seconds a read of a page; solid-state disks take 0.1 to 1 ms, a spinning one about 8 ms
	queued        = 2    // reads waiting at a time, on average: with fewer nobody stands in line
	ioReadShare   = 0.3  // of the statement time
	aboveDevice   = 4    // times the disk's own time, from which something above the disk makes them wait
	deviceFull    = 0.9  // of the time that the disk is busy
	readsOfServer = 0.5  // of the disk's reads that are the server's own, for a full disk to be its doing
	steadyRate    = 0.1  // of the median rate of reads, up to which a second is near it
	steadyPart    = 0.6  // of the seconds that must be near it for a ceiling
)

// ioLimit finds reads that stand in line for a disk which gives no more: many at a time, each many times as long as a
// disk takes, at a rate that stands still. It tells a limit above the disk (a control group, a cloud's volume) from a
// disk that is busy itself.
func ioLimit(v *advise.View) []finding.Finding {
	const event = "wait/io/file/innodb/innodb_data_file"
	sec, ok1 := fileSeconds(v, event, "read").Get()
	calls, ok2 := fileCalls(v, event, "read").Get()
	all := load(v)
	if !ok1 || !ok2 || calls < leastMisses/2 || all <= 0 {
		return nil
	}
	each, share := sec/calls, min(1, sec/all)
	if each < slowRead || sec < queued || share < ioReadShare {
		return nil
	}
	// On a machine without a free CPU a thread whose page has come waits for its turn as well: that is no fault of the
	// disk.
	turn := 0.0
	queue, ok1 := v.Rate("dyno_server_run_queue_seconds_total").Get()
	switches, ok2 := v.Rate("dyno_server_context_switches_total").Get()
	if ok1 && ok2 && switches > 0 {
		turn = queue / switches
	}
	device, busy := deviceRead(v), busyDisk(v)
	d, seen := device.Get()
	b, _ := busy.Get()
	above := seen && each-turn > aboveDevice*d && steady(v)
	full := b >= deviceFull && ofServer(v) >= readsOfServer
	if v.Host.DatadirDev != "" && !above && !full {
		return nil
	}
	_, ids := timeOf(v, shape.Select)
	f := finding.Finding{
		ID: finding.MakeID("io-limit", "disk"), Rule: "io-limit", Confidence: finding.Certain,
		Severity: severity(share),
		Subject:  finding.Subject{Classes: ids[:min(len(ids), 5)]},
		Share:    share,
		Explains: []string{advise.EffectDiskReads},
		Title: fmt.Sprintf("the disk gives about %s reads a second and %.2g are queued: each takes %s, %s of the "+
			"statement time", unit.Count(calls), sec,
			unit.Seconds(each), unit.Percent(share)),
		Evidence: []finding.Evidence{
			fact("time of one read", each*1000, "ms", fmt.Sprintf("< %.0f", slowRead*1000), source.FileIO,
				"A read of a data file took %s, at %s reads a second.", unit.Seconds(each), unit.Count(calls)),
			fact("reads in flight", sec, "", fmt.Sprintf("< %d", queued), source.FileIO,
				"%.2g reads were in flight on average: %s × %s.", sec, unit.Count(calls), unit.Seconds(each)),
		},
		Falsify: "Disproved if the time of a read stays the same when fewer are requested.",
		Reference: "Little's law: requests in flight = rate × time of each. Linux, " +
			"Documentation/admin-guide/cgroup-v2, io.max; cloud volumes state their own limits.",
		Cost: "A faster volume costs money; a larger pool costs memory.",
		Why: []finding.Reason{
			{
				Ask: "Do statements wait for reads?", Answer: unit.Percent(share) + " of their time",
				Source: source.FileIO,
			},
			{Ask: "Is it the disk or are there too many?", Answer: fmt.Sprintf("%.2g at a time, each %s", sec,
				unit.Seconds(each)), Source: source.FileIO},
		},
	}
	switch {
	case above:
		f.Cause = fmt.Sprintf("The disk itself answers in %s. A layer above it lets no more requests through: a "+
			"limit of the control group or of the volume.", unit.Seconds(d))
		f.Evidence = append(f.Evidence, fact("time of one read at the disk", d*1000, "ms", "", source.Host,
			"The disk itself took %s for a read.", unit.Seconds(d)))
	case full:
		f.Cause = "The disk is busy all the time, and most of what it reads is for this server."
	default:
		f.Cause = "The storage takes many times as long as a disk needs."
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved, "The disk was not observed: whether it is busy itself, or throttled, is "+
			"unknown.")
	}
	if x, ok := busy.Get(); ok {
		f.Evidence = append(f.Evidence, fact("time that the disk is busy", 100*x, "%", "", source.Host,
			"The disk is busy %s of the time.", unit.Percent(x)))
	}
	f.Evidence = append(f.Evidence, asks(v)...)
	f.Suggestion = "Raise the limit of the disk (blkio or io.max of the control group, the volume's class), or read " +
		"less from it: a buffer pool that holds what is read, " +
		"indexes that read fewer pages."
	f.Against = append(f.Against, "Requests of other programs on the same disk make reads wait as well.")
	if p, ok := readPool(v); ok {
		if w, told := working(v); told && w.bytes > p.size {
			f.Against = append(f.Against, fmt.Sprintf("The pool holds %s and the tables in use %s: with memory for "+
				"them the reads would not be needed.", bytes(p.size), bytes(w.bytes)))
		}
	}
	f.Gain = &finding.Gain{
		What: "time per statement", Lo: 1, Hi: 1 / (1 - min(0.95, share)),
		Text: fmt.Sprintf("Without the disk queue up to %s of the statement time is saved.", unit.Percent(share)),
	}
	return []finding.Finding{f}
}

// deviceRead returns how long the disk of the data directory itself took for a read, seconds.
func deviceRead(v *advise.View) known.Value[float64] {
	dev := metric.Label{Name: "device", Value: v.Host.DatadirDev}
	sec, ok1 := v.Rate("node_disk_read_time_seconds_total", dev).Get()
	n, ok2 := v.Rate("node_disk_reads_completed_total", dev).Get()
	if !ok1 || !ok2 || n < 1 {
		return known.None[float64]()
	}
	return known.Of(sec / n)
}

// ofServer returns which part of the bytes read from the disk were the server's; 0 when that was not seen.
func ofServer(v *advise.View) float64 {
	own, ok1 := v.Rate("dyno_server_io_read_bytes_total").Get()
	all, ok2 := v.Rate("node_disk_read_bytes_total", metric.Label{Name: "device", Value: v.Host.DatadirDev}).Get()
	if !ok1 || !ok2 || all <= 0 {
		return 0
	}
	return own / all
}

// steady reports whether InnoDB's reads stood at a ceiling: most readings are near the median. A rate that nothing
// holds, or that others on the machine disturb, varies more; one late reading makes two that are off.
func steady(v *advise.View) bool {
	s, ok := v.Find("mysql_global_status_innodb_data_reads")
	if !ok {
		return false
	}
	var rates []float64
	for _, p := range s.Rates().Points {
		rates = append(rates, p.Value)
	}
	if len(rates) < 3 {
		return false
	}
	slices.Sort(rates)
	median := rates[len(rates)/2]
	near := 0
	for _, r := range rates {
		if math.Abs(r-median) <= steadyRate*median {
			near++
		}
	}
	return median > 0 && float64(near) >= steadyPart*float64(len(rates))
}

// asks says what the disk is asked for.
func asks(v *advise.View) (ev []finding.Evidence) {
	for _, x := range []struct{ status, what string }{
		{"Innodb_data_reads", "reads of data files"},
		{"Innodb_data_writes", "writes of data files and the log"},
		{"Innodb_data_fsyncs", "flushes"},
	} {
		if n, ok := v.Status(x.status).Get(); ok {
			ev = append(ev, fact(x.what+" per second", n, "1/s", "", source.GlobalStatus,
				"InnoDB requested %s %s a second.", unit.Count(n), x.what))
		}
	}
	return ev
}
