// Package run holds what a load leaves behind: a Run is one execution of a workload on a target, a Tick one second of it.
package run

import (
	"time"

	"dyno/internal/hist"
)

// Tick is one second of a run. Ticks follow each other without a gap: Seq counts from 0, and the time a tick really
// covered is Length, for a busy machine wakes late.
type Tick struct {
	Seq    int           `json:"seq"`
	At     time.Time     `json:"at"` // its beginning
	Length time.Duration `json:"length_ns"`
	// Threads is the number of sessions at the end of the tick.
	Threads    int               `json:"threads"`
	Ops        []Op              `json:"ops"`
	Errors     map[string]uint64 `json:"errors,omitempty"` // by the server's error number, "lost" for a dead connection
	Reconnects uint64            `json:"reconnects,omitempty"`
	ClientCPU  time.Duration     `json:"client_cpu_ns"` // of the whole process that generates the load
}

// Op is what one kind of operation did within a tick or a run.
type Op struct {
	Name    string          `json:"name"`
	Reads   uint64          `json:"reads"`   // statements that read
	Writes  uint64          `json:"writes"`  // statements that write
	Others  uint64          `json:"others"`  // BEGIN, COMMIT and the like
	Latency *hist.Histogram `json:"latency"` // its Count is the number of completed operations
}

// Queries returns the number of statements sent and answered.
func (o Op) Queries() uint64 { return o.Reads + o.Writes + o.Others }

// State says how a run ended.
type State string

const (
	Running State = "running"
	Done    State = "done"    // reached its time or number of events
	Stopped State = "stopped" // by the user, its figures hold for the time it ran
	Failed  State = "failed"  // an error ended it, see Error
)

// Run is one execution of a workload on a target.
type Run struct {
	ID       string            `json:"id"`
	Target   string            `json:"target"`
	Workload string            `json:"workload"`
	Options  map[string]string `json:"options,omitempty"` // as sysbench names them
	Started  time.Time         `json:"started"`
	Elapsed  time.Duration     `json:"elapsed_ns"`
	State    State             `json:"state"`
	Error    string            `json:"error,omitempty"`
	Total    Tick              `json:"total"` // all ticks merged
	Warnings []string          `json:"warnings,omitempty"`
}

// Add merges u into t as if both had been one tick: counts and histograms are summed, At is the earlier one, Threads
// the later one's.
func (t *Tick) Add(u Tick) {
	if t.At.IsZero() || u.At.Before(t.At) {
		t.At = u.At
	}
	t.Length += u.Length
	t.Threads = u.Threads
	t.Reconnects += u.Reconnects
	t.ClientCPU += u.ClientCPU
	for k, n := range u.Errors {
		if t.Errors == nil {
			t.Errors = map[string]uint64{}
		}
		t.Errors[k] += n
	}
next:
	for _, o := range u.Ops {
		for i := range t.Ops {
			if p := &t.Ops[i]; p.Name == o.Name {
				p.Reads, p.Writes, p.Others = p.Reads+o.Reads, p.Writes+o.Writes, p.Others+o.Others
				p.Latency.Merge(o.Latency)
				continue next
			}
		}
		o.Latency = o.Latency.Clone()
		t.Ops = append(t.Ops, o)
	}
}

// Merged returns a fresh tick that sums all of ts.
func Merged(ts []Tick) Tick {
	var sum Tick
	for _, t := range ts {
		sum.Add(t)
	}
	return sum
}

// Latency returns the latencies of all kinds of operation together.
func (t Tick) Latency() *hist.Histogram {
	h := hist.New()
	for _, o := range t.Ops {
		h.Merge(o.Latency)
	}
	return h
}

// Operations returns the number of completed operations.
func (t Tick) Operations() (n uint64) {
	for _, o := range t.Ops {
		n += o.Latency.Count()
	}
	return n
}

// Queries returns the number of statements sent and answered.
func (t Tick) Queries() (n uint64) {
	for _, o := range t.Ops {
		n += o.Queries()
	}
	return n
}

// ErrorCount returns the number of failed statements.
func (t Tick) ErrorCount() (n uint64) {
	for _, k := range t.Errors {
		n += k
	}
	return n
}

// TPS returns completed operations per second, 0 for an empty tick.
func (t Tick) TPS() float64 { return perSecond(t.Operations(), t.Length) }

// QPS returns statements per second, 0 for an empty tick.
func (t Tick) QPS() float64 { return perSecond(t.Queries(), t.Length) }

func perSecond(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
