package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/progress"
)

// tickPrinter prints a run's ticks as sysbench's interval lines, or as JSON.
type tickPrinter struct {
	e           *env
	every       time.Duration
	pct         int
	sum         loadresult.Tick // since the last line
	passed      time.Duration   // of the time that counts
	began       bool
	checkpoints []time.Duration // still to come
	since       loadresult.Tick // the last checkpoint
	checked     bool            // there was one
	warm        progress.Progress
	sink        progress.Sink
}

func newTickPrinter(e *env, o *loadFlags) *tickPrinter {
	return &tickPrinter{
		e: e, every: time.Duration(o.interval), pct: int(o.percentile), checkpoints: o.checkpoints.list,
		sink: e.progress(),
		warm: progress.Progress{Step: "warming up", Unit: "s", Total: time.Duration(o.warmup).Seconds()},
	}
}

// slack is by how much a tick may be short of the interval that it completes: ticks are aligned to the start of the
// run.
const slack = 50 * time.Millisecond

func (p *tickPrinter) tick(t loadresult.Tick) {
	if !p.began && !p.e.json() && !p.e.quiet {
		fmt.Fprintf(p.e.Out, "Threads started!\n\n")
	}
	p.began = true
	p.warming(t)
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	if t.Warm { // shown where it can be told apart
		if p.e.json() && p.every > 0 {
			p.writeJSON(t, 0)
		}
		return
	}
	p.sum.Add(t)
	p.passed += t.Length
	if p.every > 0 && p.sum.Length+slack >= p.every {
		p.flush()
	}
	if p.checkpoints == nil {
		return
	}
	p.since.Add(t)
	if len(p.checkpoints) > 0 && p.passed+slack >= p.checkpoints[0] {
		for len(p.checkpoints) > 0 && p.passed+slack >= p.checkpoints[0] {
			p.checkpoints = p.checkpoints[1:]
		}
		if !p.e.json() {
			fmt.Fprintf(p.e.Out, "[ %.0fs ] Checkpoint report:\n", p.passed.Seconds())
			sysbenchBlock(p.e.Out, p.since, p.passed, nil, p.pct)
			fmt.Fprintln(p.e.Out)
		}
		p.since, p.checked = loadresult.Tick{}, true
	}
}

// rest is what the last block of a run of that total is of: as sysbench does, of what came after the last checkpoint,
// but of all where nothing did.
func (p *tickPrinter) rest(total loadresult.Tick) loadresult.Tick {
	if p.checked && p.since.Length > 0 {
		return p.since
	}
	return total
}

// warming shows how far the warm-up has got.
func (p *tickPrinter) warming(t loadresult.Tick) {
	if p.warm.Total == 0 || p.warm.End {
		return
	}
	if p.warm.Started.IsZero() {
		p.warm.Started = t.At
	}
	p.warm.At = t.At.Add(t.Length)
	p.warm.Done += t.Length.Seconds()
	p.warm.End = !t.Warm
	p.sink.Report(p.warm)
}

// end prints what there is since the last line: as JSON all of it, for ticks add up to the run; as text what is worth a
// line.
func (p *tickPrinter) end() {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	if p.every > 0 && p.sum.Length > 0 && (p.e.json() || 2*p.sum.Length >= p.every) {
		p.flush()
	}
}

// flush prints a line; the caller holds the lock.
func (p *tickPrinter) flush() {
	t := p.sum
	p.sum = loadresult.Tick{}
	switch {
	case p.e.json():
		p.writeJSON(t, p.passed)
	case !p.e.quiet:
		intervalLine(p.e.Out, t, p.passed, p.pct)
	}
}

func (p *tickPrinter) writeJSON(t loadresult.Tick, passed time.Duration) {
	_ = p.e.writeJSON(struct {
		Message string  `json:"message"`
		Time    float64 `json:"time"` // seconds since the start, of the time that counts
		figures
		loadresult.Tick
	}{"tick", passed.Seconds(), figuresOf(&t, nil), t})
}

// intervalLine prints a stretch of a run as sysbench does.
func intervalLine(w io.Writer, t loadresult.Tick, passed time.Duration, pct int) {
	r, wr, o := kinds(t)
	s := t.Length.Seconds()
	fmt.Fprintf(w, "[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%d%%): %4.2f err/s: "+
		"%4.2f reconn/s: %4.2f\n",
		passed.Seconds(), t.Threads, t.TPS(), t.QPS(), float64(r)/s, float64(wr)/s, float64(o)/s, pct,
		ms(felt(t).Quantile(float64(pct)/100)), float64(t.ErrorCount())/s, float64(t.Reconnects)/s)
	if t.Open != nil {
		fmt.Fprintf(w, "[ %.0fs ] queue length: %d, concurrency: %d\n", passed.Seconds(), t.Open.Queue, t.Open.Busy)
	}
}

func kinds(t loadresult.Tick) (r, w, o uint64) {
	for _, x := range t.Ops {
		r, w, o = r+x.Reads, w+x.Writes, o+x.Others
	}
	return r, w, o
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// loadHeader prints what is to be run, in sysbench's words.
func loadHeader(e *env, o *loadFlags, threads int) {
	if e.json() || e.quiet {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "dyno %s\n\nRunning the test with following options:\nNumber of threads: %d\n",
		e.app.Version, threads)
	if o.rate != "0" {
		unit := ""
		if strings.Trim(o.rate, "0123456789") == "" {
			unit = "/sec"
		}
		fmt.Fprintf(&b, "Target transaction rate: %s%s\n", o.rate, unit)
	}
	if o.interval > 0 {
		fmt.Fprintf(&b, "Report intermediate results every %s second(s)\n", o.interval.String())
	}
	if len(o.checkpoints.list) > 0 {
		fmt.Fprintf(&b, "Report checkpoint(s) at %s seconds\n", strings.ReplaceAll(o.checkpoints.given, ",", ", "))
	}
	if o.seed > 0 {
		fmt.Fprintf(&b, "Initializing random number generator from seed (%d).\n", o.seed)
	} else {
		fmt.Fprintf(&b, "Initializing random number generator from a random seed\n")
	}
	if o.warmup > 0 {
		fmt.Fprintf(&b, "\nWarming up for %s seconds...\n", o.warmup.String())
	}
	fmt.Fprintf(&b, "\nInitializing worker threads...\n")
	fmt.Fprintln(e.Out, b.String())
}
