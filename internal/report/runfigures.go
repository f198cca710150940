package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/unit"
)

// AllOperations is what RunLatencies calls the operations of all kinds together.
const AllOperations = "all operations"

// RunLatency is one distribution of latencies of a run.
type RunLatency struct {
	Of string // a kind of operation, AllOperations, or a kind of statement
	// Which tells what was measured: "service" from the first statement to the last answer, "response" from when the
	// operation was due, "corrected" for an estimate of that where nothing was ever due.
	Which     string
	Statement bool // Of is a kind of statement
	Latency   *hist.Histogram
}

// RunLatencies lists what a run tells of latencies: for each kind of operation the service time and, where operations
// were due at moments of their own, the response time beside it. In a closed loop the corrected distribution of all
// operations stands in its place, see Corrected. Kinds that never ended are left out.
func RunLatencies(r *loadresult.Run) []RunLatency {
	var out []RunLatency
	add := func(of string, service, response *hist.Histogram) {
		out = append(out, RunLatency{Of: of, Which: "service", Latency: service})
		if response != nil && response.Count() > 0 {
			out = append(out, RunLatency{Of: of, Which: "response", Latency: response})
		}
	}
	kinds := 0
	for _, o := range r.Total.Ops {
		if o.Latency.Count() > 0 {
			kinds++
			add(o.Name, o.Latency, o.Response)
		}
	}
	of := AllOperations
	switch {
	case kinds > 1:
		add(of, r.Total.Latency(), r.Total.Response())
	case kinds == 1:
		of = out[0].Of
	}
	if h, _, ok := Corrected(r); ok {
		out = append(out, RunLatency{Of: of, Which: "corrected", Latency: h})
	}
	for _, s := range r.Total.Statements {
		if s.Latency.Count() > 0 {
			out = append(out, RunLatency{Of: s.Name, Which: "service", Statement: true, Latency: s.Latency})
		}
	}
	return out
}

// Corrected returns the latencies of all operations of a closed loop with those added that its sessions would have
// started had they come at the run's mean rate whatever the server did, see hist.Histogram.Corrected; and that rate, in
// operations per second. It reports false for an open loop, which has measured response times, and where nothing ended.
func Corrected(r *loadresult.Run) (h *hist.Histogram, rate float64, ok bool) {
	n := r.Total.Operations()
	sessions, err := strconv.Atoi(r.Options["threads"])
	if err != nil || sessions < 1 {
		sessions = r.Total.Threads
	}
	if r.Total.Open != nil || r.Total.Response() != nil || n == 0 || sessions < 1 || r.Total.Length <= 0 {
		return nil, 0, false
	}
	every := time.Duration(float64(r.Total.Length) * float64(sessions) / float64(n))
	return r.Total.Latency().Corrected(every), r.Total.TPS(), true
}

// errorWords says what the errors are that loads meet most.
var errorWords = map[string]string{
	"1020": "record changed", "1062": "duplicate key", "1205": "lock wait timeout", "1213": "deadlock",
	"1290": "read only", "1317": "interrupted",
	"1412": "table altered", "1615": "table altered", "1836": "read only", "3024": "statement timeout",
	"lost": "connection lost",
}

// RunErrors tells the errors of a run by code, most frequent first: "12 × 1213 (deadlock), 1 × lost (connection lost)";
// "none" when there was none.
func RunErrors(t *loadresult.Tick) string {
	keys := slices.SortedFunc(maps.Keys(t.Errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Errors[b], t.Errors[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, k := range keys {
		s := fmt.Sprintf("%d × %s", t.Errors[k], k)
		if w := errorWords[k]; w != "" {
			s += " (" + w + ")"
		}
		parts = append(parts, s)
	}
	var failed uint64
	for _, o := range t.Ops {
		failed += o.Failed
	}
	if failed > 0 {
		parts = append(parts, count(failed, "operation", "operations")+" given up")
	}
	if t.Reconnects > 0 {
		parts = append(parts, count(t.Reconnects, "reconnect", "reconnects"))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// RunArrivals tells what became of the operations that were due: "" where none ever was.
func RunArrivals(r *loadresult.Run) string {
	o := r.Total.Open
	if o == nil {
		return ""
	}
	s := fmt.Sprintf("%d due", o.Due)
	if r.Total.Length > 0 {
		s += " (" + unit.Count(float64(o.Due)/r.Total.Length.Seconds()) + "/s)"
	}
	if o.Dropped > 0 {
		return s + fmt.Sprintf(", %d of them not started before the run ended", o.Dropped)
	}
	return s + ", all started"
}

// RunClient tells what the load generator itself took: CPU, in sum and for a query, and the longest time it left
// something waiting.
func RunClient(r *loadresult.Run) string {
	var parts []string
	t := &r.Total
	if t.ClientCPU > 0 && t.Length > 0 {
		s := unit.Count(t.ClientCPU.Seconds()/t.Length.Seconds()) + " CPUs"
		if n := t.Queries(); n > 0 {
			s += ", " + unit.Seconds(t.ClientCPU.Seconds()/float64(n)) + " of CPU a query"
		}
		parts = append(parts, s)
	}
	if t.Delay > 0 {
		parts = append(parts, "longest delay "+unit.Duration(t.Delay))
	}
	path := cmp.Or(map[string]string{"loops": "event loops", "driver": "general driver"}[r.Path], r.Path)
	return joined(", ", append(parts, path)...)
}

// runTable lists the figures of a run.
func runTable(r *loadresult.Run) facts {
	t := r.Total
	fs := facts{{"workload", r.Workload}, {"state", spaced(string(r.State), r.Error)}}
	fs.add("invalid", r.Invalid)
	fs.add("ran for", unit.Duration(r.Elapsed))
	fs.add("sessions", strconv.Itoa(t.Threads))
	fs.add("operations", fmt.Sprintf("%d (%s/s)", t.Operations(), unit.Count(t.TPS())))
	fs.add("queries", fmt.Sprintf("%d (%s/s)", t.Queries(), unit.Count(t.QPS())))
	fs.add("arrivals", RunArrivals(r))
	for _, l := range RunLatencies(r) {
		name, value := l.Of+", "+l.Which, quantiles(l.Latency)
		switch {
		case l.Statement:
			name = "statement " + l.Of
		case l.Which == "corrected":
			_, rate, _ := Corrected(r)
			value = "for " + unit.Count(rate) + "/s: " + value
		}
		fs.add(name, value)
	}
	if n := t.Latency().Over(); n > 0 {
		fs.add("latencies beyond the histogram", strconv.FormatUint(n, 10))
	}
	fs.add("errors", RunErrors(&t))
	fs.add("load generator", RunClient(r))
	for _, k := range slices.Sorted(maps.Keys(r.Options)) {
		fs = append(fs, Fact{"--" + k, r.Options[k]})
	}
	return fs
}

// quantiles tells a distribution in one line.
func quantiles(h *hist.Histogram) string {
	d := unit.Duration
	return fmt.Sprintf("min %s, median %s, mean %s, 95 %% %s, 99 %% %s, 99.9 %% %s, max %s",
		d(h.Min()), d(h.Quantile(0.5)), d(h.Mean()), d(h.Quantile(0.95)), d(h.Quantile(0.99)),
		d(h.Quantile(0.999)), d(h.Max()))
}
