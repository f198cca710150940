package state

import "github.com/dyno-perf/dyno/internal/metric"

// Part is what vitals are made of: the values of those samples of a reading that a family of servers counts as it,
// summed. What counts something is a counter, and the others are gauges.
type Part uint8

// The parts that samples of a server are mapped to, see NewNames.
const (
	PartStatements        Part = iota // statements that were executed, counted
	PartCommits                       // transactions that ended so
	PartRollbacks                     //
	PartTransactions                  // both, where they are counted as one
	PartTimed                         // statements whose time is counted
	PartTime                          // their time, seconds
	PartRunning                       // sessions that execute a statement
	PartConnected                     // sessions
	PartSlow                          // statements that the server calls slow
	PartRowsRead                      // rows, as the engine counts them
	PartRowsInserted                  //
	PartRowsUpdated                   //
	PartRowsDeleted                   //
	PartReads                         // rows, by calls of the engine, where that does not count them
	PartWrites                        //
	PartUpdates                       //
	PartDeletes                       //
	PartPoolMisses                    // pages that were not in the buffer pool
	PartPoolRequests                  // pages that were wanted of it
	PartPagesDirty                    // pages in it
	PartPagesFree                     //
	PartPagesTotal                    //
	PartLogWritten                    // bytes written to the redo log
	PartCheckpointAge                 // bytes of the redo log since the last checkpoint
	PartCheckpointAgeElse             // where the one before is missing
	PartLogEnd                        // positions in the redo log, bytes, that tell the age where both are missing
	PartLogCheckpoint                 //
	PartHistory                       // changes whose old row versions are kept
	PartHistoryElse                   // where the one before is missing
	PartRowLockWaits                  // waits for rows
	PartRowLockWaiting                // sessions that wait for one
	PartTmpDisk                       // temporary tables or files on disk
	PartReceived                      // bytes from clients
	PartSent                          // bytes to them
	PartAbortedClients                // sessions that ended without a farewell
	PartAbortedLogins                 // logins that failed
	PartLag                           // seconds behind the source, the worst of all samples, where Dyno has none
	PartUptime                        // seconds

	// Those of the machine and of Dyno's own, of servers of all families.
	serverCPU
	lag
	memAvailable
	rss
	cpuAll // seconds of all CPUs in all modes
	cpuBusy
	cpuSystem
	cpuIOWait
	cpuSteal
	cpuEachAll // the same where the samples are by CPU
	cpuEachBusy
	cpuEachSystem
	cpuEachIOWait
	cpuEachSteal
	pressureCPU
	pressureIO
	pressureMemory
	sourceSec
	targetCPU
	clientCPU
	cpuCount
	parts // how many there are
)

// everywhere are the samples of the machine and of Dyno's own.
var everywhere = map[string]Part{
	"dyno_server_cpu_seconds_total":              serverCPU,
	"dyno_replica_lag_seconds":                   lag,
	"node_memory_MemAvailable_bytes":             memAvailable,
	"dyno_server_resident_bytes":                 rss,
	"node_pressure_cpu_waiting_seconds_total":    pressureCPU,
	"node_pressure_io_waiting_seconds_total":     pressureIO,
	"node_pressure_memory_waiting_seconds_total": pressureMemory,
	"dyno_scrape_server_seconds_total":           sourceSec,
	"dyno_classes_server_seconds_total":          sourceSec,
	"dyno_target_cpu_seconds_total":              targetCPU,
	"dyno_scrape_client_cpu_seconds_total":       clientCPU,
	"dyno_host_cpus":                             cpuCount,
}

// Names says which samples of a family's servers are which parts of vitals; nil is those of a server whose family is
// not known yet. It does not change.
type Names struct {
	of      map[string]*entry // by the name of the sample
	clients map[string]*entry // by the label "variable" of metric.ClientStatus and metric.ClientStatusTotal
}

// machine knows no server.
var machine = NewNames(nil, nil)

// entry is what the samples of one name are.
type entry struct {
	parts []Part
	by    map[string]*entry // by the value of their only label; nil where the name says it all
}

// NewNames makes the names of a family: of says which parts a sample is, and clients which one the status of clients
// stands in for, by its variable.
func NewNames(of map[metric.Ref][]Part, clients map[string]metric.Ref) *Names {
	n := &Names{map[string]*entry{}, map[string]*entry{}}
	for name, k := range everywhere {
		n.of[name] = &entry{parts: []Part{k}}
	}
	made := map[metric.Ref]*entry{}
	for ref, parts := range of {
		x := &entry{parts: parts}
		made[ref] = x
		if ref.By == (metric.Label{}) {
			n.of[ref.Name] = x
			continue
		}
		if n.of[ref.Name] == nil {
			n.of[ref.Name] = &entry{by: map[string]*entry{}}
		}
		n.of[ref.Name].by[ref.By.Value] = x
	}
	for variable, ref := range clients {
		n.clients[variable] = made[ref]
	}
	return n
}

// find returns what a sample is; nil for one that no vital is made of.
func (n *Names) find(x *metric.Sample) *entry {
	in := n.of[x.Name]
	if in == nil || in.by == nil {
		return in
	}
	if len(x.Labels) != 1 {
		return nil
	}
	return in.by[x.Labels[0].Value]
}
