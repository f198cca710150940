package scrape

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/nodeexporter"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

const (
	// exportedEvery is the time between two pages: each takes the watched machine some milliseconds of CPU.
	exportedEvery = 5 * time.Second
	// exportedBudget is the part of that time which a page may take to come.
	exportedBudget = 0.2
	// whoseEvery is how long the answer to whose machine it is holds as long as that was not started again, and
	// whoseRetry how long another answer than yes does. Asking the server is a login.
	whoseEvery = time.Hour
	whoseRetry = time.Minute
	// factsTime bounds reading what a snapshot holds of the machine.
	factsTime = 5 * time.Second
)

// exported reads the machine of a server from a node_exporter, in place of what hostSource and hostDetail read. A nil
// one is none.
type exported struct {
	from    *nodeexporter.Exporter
	claim   func(context.Context) (host.Claim, error)
	datadir string
	used    bool     // the machine was not seen in another way
	err     error    // of the newest reading
	boot    int64    // when the machine was started that was compared with the server's, Unix seconds
	node    string   // its name
	doubt   string   // why it is not known to be the server's
	other   *Problem // it is not
	asked   time.Time
	cpu     cpuSum
}

// cpuSum adds up the times of CPUs, some of which may be switched off and on: their times leave the page and come back,
// which must not look like a start from 0 or a second of a thousand CPUs.
type cpuSum struct {
	boot int64 // of the machine, Unix seconds
	last map[string]*[8]float64
	sum  [8]float64
}

// next returns the seconds by mode of a page.
func (c *cpuSum) next(page *nodeexporter.Page) [8]float64 {
	if boot := page.Boot.Unix(); c.last == nil || max(boot-c.boot, c.boot-boot) > bootSlack {
		c.boot, c.sum = boot, page.CPU()
	} else {
		for id, now := range page.CPUs {
			if was := c.last[id]; was != nil {
				for i := range now {
					c.sum[i] += max(0, now[i]-was[i]) // the kernel takes a little back at times, see fallsBack
				}
			}
		}
	}
	c.last = page.CPUs
	return c.sum
}

// bootSlack is how far the time at which a machine was started may seem to move while its clock is set, seconds.
const bootSlack = 15

func newExported(w Where, datadir string) *exported {
	if w.NodeExporter == "" {
		return nil
	}
	return &exported{from: nodeexporter.New(w.NodeExporter), claim: w.Claim, datadir: datadir}
}

func (x *exported) budget() float64 {
	if x == nil {
		return 0
	}
	return exportedBudget
}

// inUse returns what is read in place of the machine's files, nil where these are read.
func (p *place) inUse() *exported {
	if p.exported == nil || p.seen || !p.exported.used {
		return nil
	}
	return p.exported
}

// instead returns what is read in place of the machine's files, which were not to be had for a reason; nil for nothing.
// Files that were read once are never replaced: the two would be mixed in one series.
func (p *place) instead(why error) *exported {
	var slow *Problem
	if p.exported == nil || p.seen || why == nil || errors.As(why, &slow) && slow.State == source.Slow {
		return nil
	}
	p.exported.used = true
	return p.exported
}

// Begin sends the request for the page, where that is the way.
func (s *hostSource) Begin() {
	if x := s.place.inUse(); x != nil {
		x.from.Begin()
	}
}

// Every returns the cadence of the page, where that is the way.
func (s *hostSource) Every() time.Duration {
	if s.place.inUse() != nil {
		return exportedEvery
	}
	return 0
}

// Close ends the connection for pages.
func (s *hostSource) Close(context.Context) error {
	if x := s.place.exported; x != nil {
		x.from.Close()
	}
	return nil
}

func (x *exported) remark() string {
	text := "from node_exporter at " + x.from.At()
	if x.doubt != "" {
		text += "; that it is the server's machine cannot be verified: " + x.doubt
	}
	return text
}

// scrape reads one page and emits its figures.
func (x *exported) scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	x.err = x.read(ctx, at, emit)
	return x.err
}

func (x *exported) read(ctx context.Context, at int64, emit func(metric.Sample)) error {
	page, err := x.from.Take(ctx)
	if err != nil {
		return unread(x.from, err)
	}
	if err := x.whose(ctx, page); err != nil {
		return err
	}
	put := func(name string, kind metric.Kind, ls metric.Labels, v float64) {
		emit(metric.Sample{Name: name, Labels: ls, Kind: kind, At: at, Value: v})
	}
	for i, v := range x.cpu.next(page) {
		put("node_cpu_seconds_total", metric.Counter, modes[i], v)
	}
	put("dyno_host_cpus", metric.Gauge, nil, float64(len(page.CPUs)))
	for _, s := range page.Samples {
		put(s.Name, s.Kind, s.Labels, s.Value)
	}
	if x.doubt != "" { // the path may be one of a container
		return nil
	}
	if size, avail, ok := page.Room(x.datadir); ok {
		ls := metric.L("mountpoint", x.datadir)
		put("node_filesystem_size_bytes", metric.Gauge, ls, size)
		put("node_filesystem_avail_bytes", metric.Gauge, ls, avail)
	}
	return nil
}

// whose compares the machine of a page with the server's. The server is asked at first, when another machine answers or
// that one was started again, and now and then.
func (x *exported) whose(ctx context.Context, page *nodeexporter.Page) error {
	boot, holds := page.Boot.Unix(), whoseEvery
	if x.other != nil {
		holds = whoseRetry
	}
	same := !x.asked.IsZero() && page.Nodename == x.node && max(boot-x.boot, x.boot-boot) <= bootSlack
	if !same || time.Since(x.asked) >= holds {
		c, err := x.claim(ctx)
		switch {
		case err == nil:
			x.other = nil
			var other error
			if x.doubt, other = x.from.Check(page, whoIs(c)); other != nil {
				x.other = &Problem{
					State: source.Missing, Err: other,
					Reason: "the figures of node_exporter at " + x.from.At() + " are not used: " + ReasonOf(other),
					Fix:    "name the node_exporter of the server's own machine in node-exporter=",
				}
			}
			x.boot, x.node, x.asked = boot, page.Nodename, time.Now()
		case !same: // else the server is down, and its machine is the one that it was
			return &Problem{
				State: source.Failed, Err: err,
				Reason: fmt.Sprintf("whether node_exporter at %s is on the server's machine is not known: %s",
					x.from.At(), ReasonOf(err)),
			}
		}
	}
	if x.other != nil {
		return x.other
	}
	return nil
}

func whoIs(c host.Claim) nodeexporter.Server {
	return nodeexporter.Server{Uptime: c.Uptime, Hostname: c.Hostname, Address: c.Address}
}

// unread is why there is no page.
func unread(from *nodeexporter.Exporter, err error) error {
	p := &Problem{
		State: source.Failed, Err: err, Reason: "node_exporter at " + from.At() + " is not read: " + ReasonOf(err),
		Fix: "start node_exporter there, or correct node-exporter= in the target's URL",
	}
	if errors.Is(err, context.DeadlineExceeded) {
		p.State, p.Fix = source.Slow, ""
		p.Reason = "node_exporter at " + from.At() + " has not answered in time"
	}
	return p
}

// HostFacts returns what a snapshot holds of a server's machine, from its node_exporter: for a server whose machine is
// seen in no other way. claim asks the server for what it is known by; datadir is where it keeps its data. What is of
// another machine is an error.
func HostFacts(
	ctx context.Context, exporter string, claim func(context.Context) (host.Claim, error), datadir string,
) (h snapshot.Host, err error) {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	x := newExported(Where{NodeExporter: exporter, Claim: claim}, datadir)
	defer x.from.Close()
	page, err := x.from.Take(ctx)
	if err != nil {
		return h, unread(x.from, err)
	}
	if err := x.whose(ctx, page); err != nil {
		return h, err
	}
	if x.doubt != "" {
		datadir = ""
	}
	return page.Host(datadir), nil
}
