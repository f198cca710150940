package screen

import (
	"math"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

var (
	qps     = figure{"statements", state.QPS, perSecond, nil}
	latency = figure{"mean time", state.Latency, unit.Seconds, nil}

	serverCPU = figure{"server CPU", state.ServerCPU, cores, nil}

	price = []figure{
		{
			"time in server", state.ScrapeServer, func(v float64) string { return unit.Seconds(v) + "/s" },
			above(0.05, 0.25),
		},
		{"CPU here", state.ScrapeClient, func(v float64) string { return unit.Seconds(v) + "/s" }, above(0.05, 0.25)},
	}
)

// graph is one of the headline's, of the first of its figures that is known. A figure may be the sum of several vitals.
type graph struct {
	label string
	names []string
	write func(float64) string
}

// graphs lists for each place in the headline what may stand there, the best first.
var graphs = [4][]graph{
	{{"statements", []string{state.QPS}, perSecond}, {"commits", []string{state.TPS}, perSecond}},
	{{"mean time", []string{state.Latency}, unit.Seconds}, {"running", []string{state.Running}, unit.Count}},
	{
		{"CPU", []string{state.ServerCPU}, cores},
		{"host CPU", []string{state.HostCPUBusy}, unit.Percent},
		{"rows read", []string{state.RowsRead}, perSecond},
	},
	{{"disk", []string{state.DiskReadBytes, state.DiskWriteBytes}, bytesRate}, {
		"redo",
		[]string{state.RedoBytes},
		bytesRate,
	}, {"pool misses", []string{state.PoolMisses}, perSecond}},
}

// of returns the graph's value; unknown when any of its vitals is.
func (g graph) of(vs []state.Vital) known.Value[float64] {
	sum := 0.0
	for _, n := range g.names {
		i := 0
		for i < len(vs) && vs[i].Name != n {
			i++
		}
		if i == len(vs) {
			return known.None[float64]()
		}
		sum += vs[i].Value
	}
	return known.Of(sum)
}

// choose returns the first graph that is known at any of the moments, else the first.
func choose(gs []graph, past []moment) graph {
	for _, g := range gs {
		for _, m := range past {
			if g.of(m.vitals).OK() {
				return g
			}
		}
	}
	return gs[0]
}

// moment is what graphs are drawn of.
type moment struct {
	at     time.Time
	vitals []state.Vital
}

// span of the headline's graphs.
const graphSpan = 2 * time.Minute

// spark draws a graph of n cells over the time up to end: the mean of what each cell covers, a blank where nothing was
// observed, a mark where an event began. Heights are from zero to the highest.
func spark(g graph, past []moment, events []event.Event, end time.Time, n int) line {
	if n <= 0 {
		return nil
	}
	sum, num := make([]float64, n), make([]int, n)
	from := end.Add(-graphSpan)
	cell := func(at time.Time) int { // -1: outside
		if !at.After(from) || at.After(end) {
			return -1
		}
		return int(float64(n) * float64(at.Sub(from)-1) / float64(graphSpan))
	}
	for _, m := range past {
		v, ok := g.of(m.vitals).Get()
		i := cell(m.at)
		if !ok || i < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		sum[i] += v
		num[i]++
	}
	top := 0.0
	last := -1 // cells narrower than the time between two readings continue the one before
	held := int(math.Ceil(float64(n) * 2.5 / graphSpan.Seconds()))
	for i := range sum {
		if num[i] > 0 {
			sum[i] /= float64(num[i])
			last = i
		} else if last >= 0 && i-last < held {
			sum[i], num[i] = sum[last], 1
		}
		top = max(top, sum[i])
	}
	mark := make([]bool, n)
	for _, e := range events {
		if i := cell(e.At); i >= 0 {
			mark[i] = true
		}
	}
	all := []rune("▁▂▃▄▅▆▇█")
	var l line
	var b strings.Builder
	for i := range sum {
		switch {
		case mark[i]:
			l = l.add(accent, b.String()).add(warn, "╎")
			b.Reset()
		case num[i] == 0:
			b.WriteByte(' ')
		case top <= 0:
			b.WriteRune(all[0])
		default:
			b.WriteRune(all[min(len(all)-1, int(max(0, sum[i])/top*float64(len(all)-1)+0.5))])
		}
	}
	return l.add(accent, b.String())
}

// graphColumns is how many graphs stand beside each other.
func graphColumns(width int) int {
	if width >= 150 {
		return 4
	}
	return 2
}

// sparks returns the headline's graphs in lines of width cells.
func sparks(s *state.State, t *trail, width int) []line {
	columns := graphColumns(width)
	cell := (width - 3*(columns-1)) / columns
	var out []line
	var l line
	for i, gs := range graphs {
		g := choose(gs, append(t.moments[:len(t.moments):len(t.moments)], moment{s.At, s.Vitals}))
		if label, ok := ofPostgres[g.names[0]]; ok && isPostgres(s) {
			g.label = label
		}
		value := span{none, dim}
		if v, ok := g.of(s.Vitals).Get(); ok {
			value = span{g.write(v), strong}
		}
		x := line{{pad(g.label, 11), dim}, {padLeft(value.text, 11) + " ", value.role}}
		x = append(x, spark(g, t.moments, t.events, s.At, cell-x.cells())...)
		if i%columns > 0 {
			l = l.add(plain, "   ")
		}
		l = append(l, x.fill(cell)...)
		if i%columns == columns-1 {
			out, l = append(out, l), nil
		}
	}
	return out
}

// headline returns the first line: who, how long up, what moment is shown and what looking costs.
func headline(s *state.State, target string, mark line, width int) line {
	l := line{}
	if s == nil {
		return ends(l.add(strong, clean(target)).add(dim, "  waiting for the first data"), mark, width)
	}
	if s.Target != "" {
		target = s.Target
	}
	l = l.add(strong, clean(target))
	if s.Server != "" {
		l = l.add(dim, "  "+clean(s.Server))
	}
	switch up, ok := s.Get(state.Uptime).Get(); {
	case s.LoginRefused:
		l = l.add(warn, "  LOGIN REFUSED").add(warn, " "+squeeze(s.Reason))
	case s.Slow:
		l = l.add(warn, "  NO ANSWER YET")
	case !s.Up:
		l = l.add(bad, "  DOWN")
		if s.Reason != "" {
			l = l.add(bad, " "+squeeze(s.Reason))
		}
	case ok:
		l = l.add(good, "  up ").add(dim, unit.Seconds(up))
	default:
		l = l.add(good, "  up")
	}
	return ends(l, mark, width)
}

// cost returns what Dyno itself takes.
func cost(s *state.State) line {
	v, ok := s.Get(state.ScrapeServer).Get()
	if !ok {
		return as(dim, "Dyno "+none)
	}
	return line{{"Dyno ", dim}, {unit.Seconds(v) + "/s", price[0].alarm(v)}}
}
