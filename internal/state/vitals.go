package state

import (
	"math"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Figures are those values of one reading that vitals are made of. They hold no part of the samples they were taken
// from.
type Figures struct {
	sums  [parts]float64
	known [parts]bool
	users [parts]bool // of clients alone
	disks map[string]disk
	cpus  map[string]bool // labels of the CPUs
}

type disk struct{ reads, writes, readBytes, writeBytes, busy float64 }

// Take picks from the samples of one reading what vitals are made of. Where the status of clients is known, Dyno's own
// part is left out.
func (n *Names) Take(samples []metric.Sample) Figures {
	if n == nil {
		n = machine
	}
	var f Figures
	clients := map[*entry]bool{} // the server's totals that are not needed
	for i := range samples {
		if x := &samples[i]; x.Name == metric.ClientStatus || x.Name == metric.ClientStatusTotal {
			if in := n.clients[x.Labels.Get("variable")]; in != nil {
				k := in.parts[0]
				f.add(k, x.Value)
				clients[in], f.users[k] = true, true
			}
		}
	}
	for i := range samples {
		x := &samples[i]
		if in := n.find(x); in != nil {
			for _, k := range in.parts {
				switch {
				case clients[in]:
				case k != lag && k != PartLag:
					f.add(k, x.Value)
				case !f.known[k] || x.Value > f.sums[k]: // the worst channel
					f.sums[k], f.known[k] = x.Value, true
				}
			}
			continue
		}
		switch {
		case x.Name == "node_cpu_seconds_total":
			f.cpu(x)
		case strings.HasPrefix(x.Name, "node_disk_"):
			f.disk(x)
		}
	}
	return f
}

func (f *Figures) add(k Part, v float64) {
	f.sums[k] += v
	f.known[k] = true
}

func (f *Figures) get(k Part) (float64, bool) { return f.sums[k], f.known[k] }

// cpu adds a sample of CPU time; one without the label cpu is of all of them.
func (f *Figures) cpu(x *metric.Sample) {
	by := Part(0)
	if id := x.Labels.Get("cpu"); id != "" {
		by = cpuEachAll - cpuAll
		if f.cpus == nil {
			f.cpus = map[string]bool{}
		}
		f.cpus[id] = true
	}
	f.add(cpuAll+by, x.Value)
	switch x.Labels.Get("mode") {
	case "idle":
	case "iowait":
		f.add(cpuIOWait+by, x.Value)
	case "steal":
		f.add(cpuSteal+by, x.Value)
		f.add(cpuBusy+by, x.Value)
	case "system", "irq", "softirq":
		f.add(cpuSystem+by, x.Value)
		f.add(cpuBusy+by, x.Value)
	default:
		f.add(cpuBusy+by, x.Value)
	}
}

func (f *Figures) disk(x *metric.Sample) {
	var set func(*disk)
	switch x.Name {
	case "node_disk_reads_completed_total":
		set = func(d *disk) { d.reads = x.Value }
	case "node_disk_writes_completed_total":
		set = func(d *disk) { d.writes = x.Value }
	case "node_disk_read_bytes_total":
		set = func(d *disk) { d.readBytes = x.Value }
	case "node_disk_written_bytes_total":
		set = func(d *disk) { d.writeBytes = x.Value }
	case "node_disk_io_time_seconds_total":
		set = func(d *disk) { d.busy = x.Value }
	default:
		return
	}
	if f.disks == nil {
		f.disks = map[string]disk{}
	}
	name := x.Labels.Get("device")
	d := f.disks[name]
	set(&d)
	f.disks[name] = d
}

// Between makes the headline figures of a reading from its figures and those of the reading before, which was taken
// seconds earlier. What a figure is made of must be in both for a rate, and a counter must not have fallen; else the
// figure is missing. Rates have six significant digits.
func Between(prev, cur Figures, seconds float64) []Vital {
	var out []Vital
	put := func(name string, v float64, ok bool) {
		if ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, Vital{name, v})
		}
	}
	gauge := func(name string, ks ...Part) bool {
		for _, k := range ks {
			if v, ok := cur.get(k); ok {
				put(name, v, true)
				return true
			}
		}
		return false
	}
	ratio := func(name string, part, whole Part) {
		p, ok1 := cur.get(part)
		w, ok2 := cur.get(whole)
		put(name, digits(p/w), ok1 && ok2 && w > 0)
	}
	b, ok1 := prev.get(PartUptime)
	a, ok2 := cur.get(PartUptime)
	restarted := ok1 && ok2 && a < b
	// growth sums what counters of the server grew by.
	growth := func(ks ...Part) (sum float64, ok bool) {
		for _, k := range ks {
			x, ok1 := prev.get(k)
			y, ok2 := cur.get(k)
			if !ok1 || !ok2 || y < x || seconds <= 0 || prev.users[k] != cur.users[k] {
				return 0, false
			}
			sum += y - x
		}
		return sum, true
	}
	rate := func(name string, ks ...Part) bool {
		v, ok := growth(ks...)
		ok = ok && !(restarted && ks[0] < memAvailable)
		put(name, digits(v/seconds), ok)
		return ok
	}
	rate(QPS, PartStatements)
	if !rate(TPS, PartCommits, PartRollbacks) {
		rate(TPS, PartTransactions)
	}
	if n, ok := growth(PartTimed); ok && n > 0 && !restarted {
		sec, ok := growth(PartTime)
		put(Latency, digits(sec/n), ok)
	}
	gauge(Uptime, PartUptime)
	gauge(Running, PartRunning)
	gauge(Connected, PartConnected)
	rate(SlowQueries, PartSlow)
	cpus, counted := cur.get(cpuCount)
	if !counted {
		cpus, counted = float64(len(cur.cpus)), len(cur.cpus) > 0
	}
	put(HostCPUs, cpus, counted)
	if v, ok := growth(serverCPU); ok && !restarted {
		if v /= seconds; counted { // the process is read at another moment in each second
			v = min(v, cpus)
		}
		put(ServerCPU, digits(v), true)
	}
	by := Part(0)
	if _, ok := cur.get(cpuAll); !ok {
		by = cpuEachAll - cpuAll
	}
	if all, ok := growth(cpuAll + by); ok && all > 0 {
		share := func(name string, k Part) {
			v, ok := growth(k + by)
			put(name, digits(min(1, v/all)), ok)
		}
		share(HostCPUBusy, cpuBusy)
		share(HostCPUSystem, cpuSystem)
		share(HostIOWait, cpuIOWait)
		share(HostSteal, cpuSteal)
	}
	gauge(MemAvailable, memAvailable)
	gauge(ServerRSS, rss)
	disks(prev, cur, seconds, put)
	if !rate(RowsRead, PartRowsRead) {
		rate(RowsRead, PartReads)
	}
	if !rate(RowsWritten, PartRowsInserted, PartRowsUpdated, PartRowsDeleted) {
		rate(RowsWritten, PartWrites, PartUpdates, PartDeletes)
	}
	rate(PoolMisses, PartPoolMisses)
	rate(PoolRequests, PartPoolRequests)
	ratio(PoolDirty, PartPagesDirty, PartPagesTotal)
	ratio(PoolFree, PartPagesFree, PartPagesTotal)
	rate(RedoBytes, PartLogWritten)
	if lsn, ok := cur.get(PartLogEnd); ok && !gauge(Checkpoint, PartCheckpointAge) {
		at, ok := cur.get(PartLogCheckpoint)
		put(Checkpoint, lsn-at, ok && lsn >= at)
	} else if !ok {
		gauge(Checkpoint, PartCheckpointAge, PartCheckpointAgeElse)
	}
	gauge(History, PartHistory, PartHistoryElse)
	rate(RowLockWaits, PartRowLockWaits)
	gauge(RowLockWaiting, PartRowLockWaiting)
	rate(TmpDisk, PartTmpDisk)
	rate(BytesIn, PartReceived)
	rate(BytesOut, PartSent)
	if !rate(Aborted, PartAbortedClients, PartAbortedLogins) && !cur.known[PartAbortedLogins] {
		rate(Aborted, PartAbortedClients)
	}
	gauge(ReplicaLag, lag, PartLag)
	rate(PressureCPU, pressureCPU)
	rate(PressureIO, pressureIO)
	rate(PressureMemory, pressureMemory)
	rate(ScrapeServer, sourceSec)
	if !rate(ScrapeClient, targetCPU) {
		rate(ScrapeClient, clientCPU)
	}
	return out
}

// disks sums over the disks that are in both readings.
func disks(prev, cur Figures, seconds float64, put func(string, float64, bool)) {
	var sum disk
	n := 0
	stacked := func(name string) bool { return strings.HasPrefix(name, "dm-") || strings.HasPrefix(name, "md") }
	whole := false // there is one that stands on no other: what is stacked upon them would be counted twice
	for name := range cur.disks {
		whole = whole || !stacked(name)
	}
	for name, y := range cur.disks {
		if whole && stacked(name) {
			continue
		}
		x, ok := prev.disks[name]
		if !ok || y.reads < x.reads || y.writes < x.writes || y.readBytes < x.readBytes ||
			y.writeBytes < x.writeBytes || y.busy < x.busy {
			continue
		}
		n++
		sum.reads += y.reads - x.reads
		sum.writes += y.writes - x.writes
		sum.readBytes += y.readBytes - x.readBytes
		sum.writeBytes += y.writeBytes - x.writeBytes
		sum.busy = max(sum.busy, y.busy-x.busy)
	}
	ok := n > 0 && seconds > 0
	put(DiskReads, digits(sum.reads/seconds), ok)
	put(DiskWrites, digits(sum.writes/seconds), ok)
	put(DiskReadBytes, digits(sum.readBytes/seconds), ok)
	put(DiskWriteBytes, digits(sum.writeBytes/seconds), ok)
	put(DiskBusy, digits(min(1, sum.busy/seconds)), ok)
}

// digits rounds to six significant digits: more is noise, and noise is what a kept state would mostly be made of.
func digits(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	p := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(p, 0) || p == 0 {
		return v
	}
	return math.Round(v*p) / p
}
