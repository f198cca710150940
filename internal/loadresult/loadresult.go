// Package loadresult holds the result of a load: a Run is one execution of a workload on a target,
// a Tick is one second of it.
package loadresult

import (
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
)

// Tick is one second of a run. Ticks follow each other without a gap: Seq counts from 0, and the time a tick really
// covered is Length, for a busy machine wakes late.
type Tick struct {
	Seq    int           `json:"seq"`
	At     time.Time     `json:"at"` // its beginning
	Length time.Duration `json:"length_ns"`
	// Warm marks a tick of the warm-up. It is not part of a run's Total.
	Warm bool `json:"warm,omitempty"`
	// Threads is the number of sessions at the end of the tick.
	Threads    int         `json:"threads"`
	Ops        []Op        `json:"ops"`
	Statements []Statement `json:"statements,omitempty"` // by kind of statement, when they were timed
	// by the server's error number, "lost" for a dead connection
	Errors     map[string]uint64 `json:"errors,omitempty"`
	Reconnects uint64            `json:"reconnects,omitempty"`
	ClientCPU  time.Duration     `json:"client_cpu_ns"` // of the whole process that generates the load
	// Open is about arrivals, for a load that has a rate of its own; nil where every session starts an operation as
	// soon as the one before has ended.
	Open *Open `json:"open,omitempty"`
	// Delay is the longest time within the tick that the client took to attend to an answer, a due arrival or this tick
	// itself: what a busy client adds to latencies. 0 when it was not measured.
	Delay time.Duration `json:"delay_ns,omitempty"`
}

// Open counts arrivals: operations that were due, whether a session was free for them or not.
type Open struct {
	Due     uint64 `json:"due"`     // in the tick
	Queue   uint64 `json:"queue"`   // due, but not begun at the end of the tick
	Busy    int    `json:"busy"`    // sessions with an operation under way at the end of the tick
	Dropped uint64 `json:"dropped"` // due, and never begun, because the run ended; 0 in every tick but the last
}

// Statement is what one kind of statement did within a tick or a run. An answer with an error counts too.
type Statement struct {
	Name    string          `json:"name"`
	Latency *hist.Histogram `json:"latency"` // from the moment it was sent to the last byte of its answer
}

// Op is what one kind of operation did within a tick or a run.
type Op struct {
	Name   string `json:"name"`
	Reads  uint64 `json:"reads"`  // statements that read
	Writes uint64 `json:"writes"` // statements that write
	Others uint64 `json:"others"` // BEGIN, COMMIT and the like
	// Latency is the service time, from the sending of the first statement to the last answer, of attempts that failed
	// too. Its Count is the number of completed operations.
	Latency *hist.Histogram `json:"latency"`
	// Response counts from when the operation was due: with the time that it waited for a session. nil when no load has
	// a rate.
	Response *hist.Histogram `json:"response,omitempty"`
	// Failed counts operations given up because of an error that was to be ignored; they are not in Latency.
	Failed uint64 `json:"failed,omitempty"`
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
	// Invalid says why the figures do not tell of the server, "" when nothing speaks against them: the client could not
	// keep up.
	Invalid string `json:"invalid,omitempty"`
	// Fairness is how evenly the work was distributed among the sessions; nil when it is unknown.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Loop is the share of a CPU that the busiest of the client's event loops used, from 0; 0 when there were none.
	Loop float64 `json:"busiest_loop,omitempty"`
	// Path says what drove the sessions: "loops" or "driver".
	Path string `json:"path,omitempty"`
}

// Fairness has the mean and the standard deviation of what the sessions of a run did: completed operations, and the
// seconds in them.
type Fairness struct {
	Events    float64 `json:"events"`
	EventsSD  float64 `json:"events_sd"`
	Seconds   float64 `json:"seconds"`
	SecondsSD float64 `json:"seconds_sd"`
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
	t.Delay = max(t.Delay, u.Delay)
	if u.Open != nil {
		o := *u.Open
		if t.Open != nil {
			o.Due, o.Dropped = o.Due+t.Open.Due, o.Dropped+t.Open.Dropped
		}
		t.Open = &o // the queue and the busy sessions are the later tick's
	}
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
				p.Failed += o.Failed
				if o.Response != nil {
					if p.Response == nil {
						p.Response = hist.New()
					}
					p.Response.Merge(o.Response)
				}
				continue next
			}
		}
		o.Latency = o.Latency.Clone()
		if o.Response != nil {
			o.Response = o.Response.Clone()
		}
		t.Ops = append(t.Ops, o)
	}
	for _, x := range u.Statements {
		if i := slices.IndexFunc(t.Statements, func(y Statement) bool { return y.Name == x.Name }); i >= 0 {
			t.Statements[i].Latency.Merge(x.Latency)
		} else {
			t.Statements = append(t.Statements, Statement{x.Name, x.Latency.Clone()})
		}
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

// Response returns the response times of all kinds of operation together, nil when no load has a rate.
func (t Tick) Response() *hist.Histogram {
	var h *hist.Histogram
	for _, o := range t.Ops {
		if o.Response != nil {
			if h == nil {
				h = hist.New()
			}
			h.Merge(o.Response)
		}
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
