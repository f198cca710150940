package screen

import (
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/state"
)

// Plain writes a state as text for what is not a terminal: no colours, no control characters, lines of at most width
// cells (at least 40), everything that the screen's views show but graphs and the engine's own words. It ends with an
// empty line.
func Plain(w io.Writer, s *state.State, width int) error {
	return PlainIn(w, s, width, time.Local)
}

// PlainIn is Plain with times in a location.
func PlainIn(w io.Writer, s *state.State, width int, loc *time.Location) error {
	width = max(width, 40)
	if loc == nil {
		loc = time.Local
	}
	var b strings.Builder
	put := func(ls ...line) {
		for _, l := range ls {
			b.WriteString(l.fit(width).String())
			b.WriteByte('\n')
		}
	}
	rows := func(rs []row) {
		for _, r := range rs {
			put(r.line)
		}
	}
	for _, l := range denied(s, width) {
		put(text(l))
	}
	mark := text(s.At.In(loc).Format("2006-01-02 15:04:05") + "  ")
	put(headline(s, s.Target, append(mark, cost(s)...), width))
	if s.Up {
		put(flow(s, slices.Concat([]figure{qps, latency, serverCPU}, activity), width, math.MaxInt)...)
		put(flow(s, work, width, math.MaxInt)...)
		rows(locks(s, "", width, math.MaxInt))
		rows(classes(s, classOrders[0], "", width, math.MaxInt))
		rows(sessions(s, sessionOrders[0], "", width, math.MaxInt))
	}
	if len(s.Sources) > 0 {
		rows(sources(s, width))
	}
	put(nil)
	_, err := io.WriteString(w, b.String())
	return err
}

// denied says first what the account may not see of a server that answers, and the GRANT that changes it.
func denied(s *state.State, width int) []string {
	why := diagnose.Denied(s.Sources)
	if !s.Up || why == "" {
		return nil
	}
	return wrap(clean(why), width)
}

// JSON writes a state as one line of JSON. Figures that JSON has no words for (not a number, endless) are left out, as
// what was not observed is.
func JSON(w io.Writer, s *state.State) error {
	ok := *s
	ok.Vitals = nil
	for _, v := range s.Vitals {
		if !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) {
			ok.Vitals = append(ok.Vitals, v)
		}
	}
	b, err := state.Encode(&ok)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
