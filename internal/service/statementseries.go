package service

import (
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
)

// timed counts the statements whose time is known exactly, since the program began to watch. Of what is sampled only a
// lower bound of executions is known, so it takes no part: a mean of both would be wrong.
type timed struct {
	count   float64
	seconds float64
	some    bool
}

// add returns what the series of a target's statements are after a window of query classes; nothing when it holds no
// exact figures.
func (x *timed) add(w ClassWindow) []metric.Sample {
	exact := false
	for _, c := range w.Classes {
		if !c.Sampled {
			exact = true
			x.count += float64(c.Count)
			x.seconds += c.TimeSec
		}
	}
	if x.some = x.some || exact; !x.some {
		return nil
	}
	at := w.To.Round(time.Second).UnixMilli()
	return []metric.Sample{
		{Name: "dyno_statements_total", Kind: metric.Counter, At: at, Value: x.count},
		{Name: "dyno_statements_seconds_total", Kind: metric.Counter, At: at, Value: x.seconds},
	}
}
