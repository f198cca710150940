package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/unit"
)

// figures are the numbers that a script wants of a tick or a run without decoding histograms. Latencies are in
// milliseconds by percentile.
type figures struct {
	TPS      float64            `json:"tps"`
	QPS      float64            `json:"qps"`
	Reads    uint64             `json:"reads"`
	Writes   uint64             `json:"writes"`
	Others   uint64             `json:"other"`
	Errors   uint64             `json:"error_count"`
	Service  map[string]float64 `json:"service_ms,omitempty"`
	Response map[string]float64 `json:"response_ms,omitempty"`
	// Corrected is there for a closed loop: service times with those added of operations that would have been due at
	// the mean rate.
	Corrected     map[string]float64 `json:"corrected_ms,omitempty"`
	CorrectedRate float64            `json:"corrected_rate,omitempty"` // operations per second
}

// allPercentiles are those that figures have unless others are asked for.
var allPercentiles = []float64{50, 75, 90, 95, 99, 99.9, 99.99}

// figuresOf returns the figures of t, which r, when it is not nil, is the run of.
func figuresOf(t *loadresult.Tick, r *loadresult.Run) figures {
	rd, wr, ot := kinds(*t)
	f := figures{
		TPS: t.TPS(), QPS: t.QPS(), Reads: rd, Writes: wr, Others: ot, Errors: t.ErrorCount(),
		Service: percentiles(t.Latency()),
	}
	if h := t.Response(); h != nil {
		f.Response = percentiles(h)
	}
	if r != nil {
		if h, rate, ok := report.Corrected(r); ok {
			f.Corrected, f.CorrectedRate = percentiles(h), rate
		}
	}
	return f
}

func percentiles(h *hist.Histogram) map[string]float64 {
	if h.Count() == 0 {
		return nil
	}
	m := map[string]float64{"min": ms(h.Min()), "mean": ms(h.Mean()), "max": ms(h.Max())}
	for _, p := range allPercentiles {
		m[percentName(p)] = ms(h.Quantile(p / 100))
	}
	return m
}

func percentName(p float64) string { return "p" + strconv.FormatFloat(p, 'f', -1, 64) }

// ownBlock prints what sysbench's summary leaves out, with the percentiles of list or, when it is nil, those of
// allPercentiles. On a terminal that is too narrow for the table rates, means and some of the percentiles are left out;
// texts are folded.
func ownBlock(w io.Writer, r *loadresult.Run, list []float64, width int) {
	latencies := report.RunLatencies(r)
	nameWidth := 25
	for _, l := range latencies {
		nameWidth = max(nameWidth, 4+utf8.RuneCountInString(l.Of))
	}
	const column = 9
	narrow := false
	if list == nil {
		if list = allPercentiles; nameWidth+(4+len(list))*column > width {
			list, narrow = []float64{50, 95, 99, 99.9}, true
			nameWidth = min(nameWidth, max(25, width-1-(2+len(list))*column))
		}
	}
	row := func(name, count, rate string, h *hist.Histogram) {
		if utf8.RuneCountInString(name) > nameWidth {
			name = string([]rune(name)[:nameWidth-1]) + "…"
		}
		fmt.Fprintf(w, "%-*s %8s", nameWidth, name, count)
		if !narrow {
			fmt.Fprintf(w, " %8s %8s", rate, orName(h, "mean", func() time.Duration { return h.Mean() }))
		}
		for _, p := range list {
			fmt.Fprintf(w, " %8s", orName(h, percentName(p), func() time.Duration { return h.Quantile(p / 100) }))
		}
		fmt.Fprintf(w, " %8s\n", orName(h, "max", func() time.Duration { return h.Max() }))
	}
	if len(latencies) > 0 {
		fmt.Fprintln(w)
		row("Latency in ms", "count", "per s", nil)
	}
	last, statements := "", false
	for _, l := range latencies {
		if l.Statement && !statements {
			statements = true
			fmt.Fprintf(w, "  statements\n")
		}
		name := "    " + l.Which
		switch {
		case l.Statement:
			name = "    " + l.Of
		case l.Of != last:
			fmt.Fprintf(w, "  %s\n", l.Of)
			last = l.Of
		}
		if l.Which == "corrected" {
			_, rate, _ := report.Corrected(r)
			name += " for " + unit.Count(rate) + "/s"
		}
		n, rate := l.Latency.Count(), ""
		if s := r.Total.Length.Seconds(); s > 0 && l.Which != "corrected" {
			rate = unit.Count(float64(n) / s)
		}
		row(name, strconv.FormatUint(n, 10), rate, l.Latency)
	}
	fmt.Fprintln(w)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-12s %s\n", name+":", wrap(text, width-13, strings.Repeat(" ", 13)))
		}
	}
	for _, o := range r.Total.Ops {
		if o.Name == "new_order" && r.Total.Length > 0 { // the figure by which loads like TPC-C are known
			line("New orders", fmt.Sprintf("%.0f per minute", float64(o.Latency.Count())/r.Total.Length.Minutes()))
		}
	}
	line("Arrivals", report.RunArrivals(r))
	line("Errors", report.RunErrors(&r.Total))
	if n := r.Total.Latency().Over(); n > 0 {
		line("Out of range", fmt.Sprintf("%d operations took longer than %s", n, unit.Duration(hist.Highest)))
	}
	line("Client", report.RunClient(r))
	line("Seed", r.Options["rand-seed"])
	for _, x := range r.Warnings {
		line("Note", sentence(x))
	}
	if r.Invalid != "" {
		line("INVALID", sentence(r.Invalid))
	}
	if r.State == loadresult.Stopped {
		line("Stopped", "early; the figures cover the time it ran.")
	}
}

// orName writes a latency, or the name of the column where there is no histogram.
func orName(h *hist.Histogram, name string, f func() time.Duration) string {
	if h == nil {
		return name
	}
	switch v := ms(f()); {
	case v < 1000:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 100_000:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s == "" || s[len(s)-1] == '.' {
		return s
	}
	return s + "."
}
