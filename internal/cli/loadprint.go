package cli

import (
	"fmt"
	"time"

	"dyno/internal/run"
)

// tickPrinter prints a run's ticks as sysbench's interval lines, or as JSON.
type tickPrinter struct {
	e      *env
	every  time.Duration
	pct    int
	sum    run.Tick
	passed time.Duration
}

func newTickPrinter(e *env, o loadFlags) *tickPrinter {
	return &tickPrinter{e: e, every: time.Duration(o.interval * float64(time.Second)), pct: o.percentile}
}

func (p *tickPrinter) tick(t run.Tick) {
	p.sum.Add(t)
	p.passed += t.Length
	if p.every > 0 && p.sum.Length+50*time.Millisecond >= p.every {
		p.flush()
	}
}

func (p *tickPrinter) flush() {
	t := p.sum
	p.sum = run.Tick{}
	if t.Length < 100*time.Millisecond || p.every <= 0 || p.e.quiet {
		return
	}
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	if p.e.json() {
		_ = p.e.writeJSON(struct {
			Message string `json:"message"`
			run.Tick
		}{"tick", t})
		return
	}
	var r, w, o uint64
	for _, x := range t.Ops {
		r, w, o = r+x.Reads, w+x.Writes, o+x.Others
	}
	s := t.Length.Seconds()
	fmt.Fprintf(p.e.Out, "[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%d%%): %4.2f err/s: %4.2f reconn/s: %4.2f\n",
		p.passed.Seconds(), t.Threads, t.TPS(), t.QPS(), float64(r)/s, float64(w)/s, float64(o)/s, p.pct,
		ms(t.Latency().Quantile(float64(p.pct)/100)), float64(t.ErrorCount())/s, float64(t.Reconnects)/s)
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// summary prints a run in the layout of sysbench's closing block, which scripts parse, and what sysbench lacks after it.
func summary(e *env, r run.Run, _ []run.Tick, pct int) {
	var rd, wr, ot uint64
	for _, x := range r.Total.Ops {
		rd, wr, ot = rd+x.Reads, wr+x.Writes, ot+x.Others
	}
	s := r.Elapsed.Seconds()
	per := func(n uint64) float64 {
		if s <= 0 {
			return 0
		}
		return float64(n) / s
	}
	h := r.Total.Latency()
	n := r.Total.Operations()
	w := e.Out
	fmt.Fprintf(w, "\nSQL statistics:\n    queries performed:\n")
	fmt.Fprintf(w, "        read:                            %d\n        write:                           %d\n", rd, wr)
	fmt.Fprintf(w, "        other:                           %d\n        total:                           %d\n", ot, rd+wr+ot)
	fmt.Fprintf(w, "    transactions:                        %-6d (%.2f per sec.)\n", n, per(n))
	fmt.Fprintf(w, "    queries:                             %-6d (%.2f per sec.)\n", rd+wr+ot, per(rd+wr+ot))
	fmt.Fprintf(w, "    ignored errors:                      %-6d (%.2f per sec.)\n", r.Total.ErrorCount(), per(r.Total.ErrorCount()))
	fmt.Fprintf(w, "    reconnects:                          %-6d (%.2f per sec.)\n", r.Total.Reconnects, per(r.Total.Reconnects))
	fmt.Fprintf(w, "\nGeneral statistics:\n    total time:                          %.4fs\n    total number of events:              %d\n", s, n)
	fmt.Fprintf(w, "\nLatency (ms):\n         min:                         %12.2f\n         avg:                         %12.2f\n", ms(h.Min()), ms(h.Mean()))
	fmt.Fprintf(w, "         max:                         %12.2f\n        %3dth percentile:             %12.2f\n", ms(h.Max()), pct, ms(h.Quantile(float64(pct)/100)))
	fmt.Fprintf(w, "         sum:                         %12.2f\n", ms(h.Sum()))
	fmt.Fprintf(w, "\nPer kind of operation (ms):\n    %-24s %10s %10s %10s %10s %10s %10s\n", "", "count", "p50", "p95", "p99", "p99.9", "max")
	for _, x := range r.Total.Ops {
		l := x.Latency
		fmt.Fprintf(w, "    %-24s %10d %10.2f %10.2f %10.2f %10.2f %10.2f\n", x.Name, l.Count(), ms(l.Quantile(0.5)), ms(l.Quantile(0.95)), ms(l.Quantile(0.99)), ms(l.Quantile(0.999)), ms(l.Max()))
	}
	for _, x := range r.Warnings {
		fmt.Fprintf(w, "\nNote: %s\n", x)
	}
	if r.State == run.Stopped {
		fmt.Fprintf(w, "\nStopped early: the figures hold for the time it ran.\n")
	}
	if r.ID != "" {
		e.remark("Kept as %s: `dyno report %[1]s` shows it again.", r.ID)
	}
}
