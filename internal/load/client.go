package load

import (
	"fmt"
	"slices"
	"time"
)

// What a client may not exceed if a run is to tell of the server.
const (
	// fullCPU is the share of the CPUs that this process may use above which it was the limit.
	fullCPU = 0.9
	// nearlyFullCPU is worth a warning.
	nearlyFullCPU = 0.8
	// fullLoop is the share of a CPU that one event loop may use: it cannot use more than one.
	fullLoop = 0.9
	// ownWait is the share of the statements' time in which their answers lay there and waited for the client.
	ownWait = 0.25
	// lateStart is by how much an operation may begin after it was due when a session was free for it; lateStarts is
	// the share of operations that may be later.
	lateStart  = 5 * time.Millisecond
	lateStarts = 0.01
	// stoodStill is the share of a run in which the client may stand still: the machine did not run, or not this
	// process.
	stoodStill = 0.05
)

// ownFigures tell how well the client kept up.
type ownFigures struct {
	waited time.Duration // that answers waited for the client, in sum
	served time.Duration // that statements took with it, in sum
	late   uint64        // operations that began more than lateStart after they were due although a session was free
	begun  uint64        // operations that had a moment at which they were due
}

func (a *ownFigures) add(b ownFigures) {
	a.waited, a.served, a.late, a.begun = a.waited+b.waited, a.served+b.served, a.late+b.late, a.begun+b.begun
}

// client is how the client itself fared in the time that counts.
type client struct {
	ownFigures
	used        time.Duration // CPU time of the process
	elapsed     time.Duration
	cpus        int // that it may use
	loopsBefore []time.Duration
	loops       []time.Duration // CPU time of each event loop
	still       time.Duration   // in which it did not run although it had something to do
}

// judge says why the figures of a run are the client's and not the server's, "" when nothing speaks against them, and
// what is worth a warning. A run shorter than half a tick is not judged.
func (c client) judge() (invalid, warning string) {
	if c.elapsed < tick/2 || c.cpus < 1 {
		return "", ""
	}
	seconds := c.elapsed.Seconds()
	share := c.used.Seconds() / seconds / float64(c.cpus)
	busiest := c.busiest()
	switch {
	case share >= fullCPU:
		return fmt.Sprintf("the client used %.0f %% of the %d CPUs it may use: it was the limit, not the server; use "+
			"fewer threads or another machine for the client",
			100*share, c.cpus), ""
	case busiest >= fullLoop:
		return fmt.Sprintf("an event loop of the client used %.0f %% of its CPU: it was the limit, not the server; "+
			"use more loops", 100*busiest), ""
	case c.served > 0 && c.waited.Seconds()/c.served.Seconds() >= ownWait:
		return fmt.Sprintf("%.0f %% of the statements' time their answers waited for the client: use more loops, or "+
			"give the client its own CPU",
			100*c.waited.Seconds()/c.served.Seconds()), ""
	case c.begun > 0 && float64(c.late)/float64(c.begun) >= lateStarts:
		return fmt.Sprintf("%.1f %% of the operations started more than %v late although a session was free: the "+
			"client did not get CPU time",
			100*float64(c.late)/float64(c.begun), lateStart), ""
	case c.still.Seconds()/seconds >= stoodStill:
		return fmt.Sprintf("the client stalled for %v in total: its answers waited, and count as the server's",
			c.still.Round(time.Millisecond)), ""
	case share >= nearlyFullCPU:
		return "", fmt.Sprintf("the client used %.0f %% of the %d CPUs it may use: it may have been the limit, not "+
			"the server; use fewer threads or another machine for the client",
			100*share, c.cpus)
	}
	return "", ""
}

// busiest is the share of a CPU that the busiest loop used.
func (c client) busiest() float64 {
	if len(c.loops) == 0 || c.elapsed <= 0 {
		return 0
	}
	return slices.Max(c.loops).Seconds() / c.elapsed.Seconds()
}

// since returns how much each element of now is above that of before.
func since(now, before []time.Duration) []time.Duration {
	out := slices.Clone(now)
	for i := range min(len(out), len(before)) {
		out[i] -= before[i]
	}
	return out
}
