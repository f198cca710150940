package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
)

// felt returns the latencies that sysbench would tell: with a rate those from when an operation was due.
func felt(t loadresult.Tick) *hist.Histogram {
	if h := t.Response(); h != nil {
		return h
	}
	return t.Latency()
}

// sysbenchBlock prints figures in the layout of sysbench's closing block, which scripts parse: those of t, with the
// time that the whole run took until then. fair is nil when it is not known.
func sysbenchBlock(w io.Writer, t loadresult.Tick, total time.Duration, fair *loadresult.Fairness, pct int) {
	r, wr, o := kinds(t)
	per := func(n uint64) float64 {
		if t.Length <= 0 {
			return 0
		}
		return float64(n) / t.Length.Seconds()
	}
	n, q := t.Operations(), r+wr+o
	fmt.Fprintf(w, "SQL statistics:\n    queries performed:\n")
	fmt.Fprintf(w, "        read:                            %d\n        write:                           %d\n", r, wr)
	fmt.Fprintf(w, "        other:                           %d\n        total:                           %d\n", o, q)
	fmt.Fprintf(w, "    transactions:                        %-6d (%.2f per sec.)\n", n, per(n))
	fmt.Fprintf(w, "    queries:                             %-6d (%.2f per sec.)\n", q, per(q))
	fmt.Fprintf(w, "    ignored errors:                      %-6d (%.2f per sec.)\n",
		t.ErrorCount(), per(t.ErrorCount()))
	fmt.Fprintf(w, "    reconnects:                          %-6d (%.2f per sec.)\n", t.Reconnects, per(t.Reconnects))
	fmt.Fprintf(w, "\nGeneral statistics:\n    total time:                          %.4fs\n    total number of "+
		"events:              %d\n", total.Seconds(), n)
	h := felt(t)
	line := func(name string, d time.Duration) { fmt.Fprintf(w, "         %-24s%20.2f\n", name, ms(d)) }
	fmt.Fprintf(w, "\nLatency (ms):\n")
	line("min:", h.Min())
	line("avg:", h.Mean())
	line("max:", h.Max())
	if pct > 0 {
		fmt.Fprintf(w, "        %3dth percentile:        %20.2f\n", pct, ms(h.Quantile(float64(pct)/100)))
	} else {
		fmt.Fprintf(w, "         percentile stats:               disabled\n")
	}
	line("sum:", h.Sum())
	if fair != nil {
		fmt.Fprintf(w, "\nThreads fairness:\n    events (avg/stddev):           %.4f/%3.2f\n",
			fair.Events, fair.EventsSD)
		fmt.Fprintf(w, "    execution time (avg/stddev):   %.4f/%3.2f\n", fair.Seconds, fair.SecondsSD)
	}
}
