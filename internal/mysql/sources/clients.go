package sources

import (
	"maps"
	"slices"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// clients makes the totals of everybody but Dyno of the server's. The zero value is ready.
type clients struct {
	own    target.Spent
	known  bool
	server string
	uptime float64
	waited int                // readings that some figures were left out of
	totals map[string]float64 // of one reading, by status variable in lower case
	from   map[string]*client
	labels map[string]metric.Labels
}

// client is one counter without Dyno's part: what it was at a moment, and how much the server's and Dyno's part grew
// since.
type client struct{ total, own, value float64 }

// threads are the sessions that there are: Dyno's own are not the server's load.
const (
	threadsConnected = "threads_connected"
	threadsRunning   = "threads_running"
)

// maxWaited bounds how many readings are left out at first because not all of Dyno's part is known.
// What is not known then is taken off what clients do next.
const maxWaited = 2

func (c *clients) begin() {
	c.own, c.known = target.Spent{}, false
	if c.totals == nil {
		c.totals, c.from, c.labels = map[string]float64{}, map[string]*client{}, map[string]metric.Labels{}
	}
	clear(c.totals)
}

// note takes a status variable of the server, its name in lower case.
func (c *clients) note(name string, v float64) {
	if _, counted := c.own.Counted[name]; counted || name == threadsConnected ||
		name == threadsRunning || name == "uptime" {
		c.totals[name] = v
	}
}

// emit tells what is left of the figures that were noted. A counter never falls but with the server's: what Dyno
// perhaps did and does not know yet waits.
func (c *clients) emit(at int64, emit func(metric.Sample)) {
	if !c.known {
		return
	}
	if c.own.Server != c.server || c.totals["uptime"] < c.uptime {
		clear(c.from)
		c.waited = 0
	}
	c.server, c.uptime = c.own.Server, c.totals["uptime"]
	waits := false
	for _, name := range slices.Sorted(maps.Keys(c.own.Counted)) {
		total, ok := c.totals[name]
		if !ok {
			continue
		}
		own := c.own.Counted[name]
		x := c.from[name]
		if x == nil {
			if c.own.Unsure[name] > 0 && c.waited < maxWaited {
				waits = true
				continue
			}
			x = &client{total: total, own: own, value: total}
			c.from[name] = x
		}
		if total < x.total {
			// MariaDB loses what a session counted that it ends itself, and FLUSH STATUS begins anew: neither is what
			// clients did
			x.total, x.own = total, own
		}
		if left := (total - x.total) - (own - x.own) - c.own.Unsure[name]; left > 0 {
			// From here on, so that what is unsure is taken off once.
			x.value += left
			x.total, x.own = total, own+c.own.Unsure[name]
		}
		emit(metric.Sample{
			Name: metric.ClientStatusTotal, Labels: c.label(name), Kind: metric.Counter,
			At: at, Value: x.value,
		})
	}
	if waits {
		c.waited++
	}
	for name, own := range map[string]int{threadsConnected: c.own.Sessions, threadsRunning: c.own.Running} {
		if n, ok := c.totals[name]; ok {
			emit(metric.Sample{Name: metric.ClientStatus, Labels: c.label(name), At: at, Value: max(0, n-float64(own))})
		}
	}
}

func (c *clients) label(name string) metric.Labels {
	l, ok := c.labels[name]
	if !ok {
		l = metric.L("variable", name)
		c.labels[name] = l
	}
	return l
}
