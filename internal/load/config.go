package load

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/pace"
	"github.com/dyno-perf/dyno/internal/workload"
)

// PSMode says how statements are sent, with sysbench's words for --db-ps-mode.
type PSMode string

const (
	// Auto prepares every statement once per session. BEGIN and COMMIT are sent as text, which every server takes.
	Auto PSMode = "auto"
	// Disable sends complete texts, as most applications do.
	Disable PSMode = "disable"
)

// Config says what to run and for how long. A run without Time and Events ends with its context.
type Config struct {
	Workload workload.Workload
	Options  map[string]string // of the workload; absent ones have their defaults
	Threads  int               // sessions; 0 means 1
	Time     time.Duration     // 0 for no limit; counted from the end of the warm-up
	Events   uint64            // operations of all sessions together that begin after the warm-up; 0 for no limit
	Seed     uint64            // 0 draws one, which Run.Options then names
	PSMode   PSMode            // "" means Auto
	// Ignore lists server error codes that end an operation but not the run; those that are retried are always
	// tolerated.
	// IgnoreAll tolerates every error of the server.
	Ignore    []string
	IgnoreAll bool
	// Reconnect is how long a session that lost its connection tries for another before the run fails; 0 means 60 s.
	Reconnect time.Duration

	// Rate makes an open loop: operations are due at moments drawn from it, whether a session is free for them or not,
	// and wait for one without limit. The zero Shape is a closed loop, where a session starts the next operation when
	// the last has ended.
	Rate     pace.Shape
	RateKind pace.Kind // "" means pace.Poisson
	// Warmup is how long the load runs before the figures count. Its ticks are marked, and no figure of the Run holds
	// them. An open loop warms up at the rate that its shape begins with.
	Warmup time.Duration
	// Terminals is the number of operators with think times of their own, who share the sessions: a free session takes
	// the terminal that has been ready longest. 0 means one for each session.
	Terminals int
	// Loops is the number of event loops, each a thread of the operating system; 0 chooses by Threads and CPUs.
	Loops int
	// Driver drives every session by a goroutine and the general driver, also where event loops could.
	Driver bool
	// Steady ends the run as soon as its operations per second have become stationary, see stat.Stationary, and have
	// been so for half of the time.
	Steady bool
	// Statements times each kind of statement with the driver too; event loops always do.
	Statements bool
	// Acknowledged, when not nil, is called with every operation whose last answer is in, from several goroutines at
	// the same time. It must not wait for anything.
	Acknowledged func(workload.Op)
	// Ended, when not nil, is called like Acknowledged, with when the operation began, when its last answer was in, and
	// how many statements it took. The moments are of the monotonic clock and in no order: a loop tells of its
	// operations a little after they have ended.
	Ended func(began, ended time.Time, statements uint64)
}

// tick is the rhythm of the figures.
const tick = time.Second

// grace is how long a stopped run waits for operations under way before it closes their connections: short enough that
// all is over within a second of a Ctrl-C.
const grace = 500 * time.Millisecond

// killTime is how long a stopped run then tries to tell the server of the statements that it need not finish.
const killTime = 300 * time.Millisecond

// maxLoops is more event loops than any machine has a use for.
const maxLoops = 256

// maxTerminals bounds the memory that generators take.
const maxTerminals = 10_000_000

// MaxThreads keeps a slip of the finger from opening a million connections; no server takes more.
const MaxThreads = 100_000

// Settle checks the configuration, fills in the defaults and builds the plan.
func (c Config) Settle() (Config, *workload.Plan, error) {
	if c.Workload == nil {
		return c, nil, errors.New("start load: no workload given")
	}
	switch {
	case c.Threads == 0:
		c.Threads = 1
	case c.Threads < 0 || c.Threads > MaxThreads:
		return c, nil, fmt.Errorf("start load: threads=%d: takes 1 to %d", c.Threads, MaxThreads)
	}
	if c.Time < 0 {
		return c, nil, fmt.Errorf("start load: time=%v: takes a time of 0 (no limit) or more", c.Time)
	}
	switch c.PSMode {
	case "":
		c.PSMode = Auto
	case Auto, Disable:
	default:
		return c, nil, fmt.Errorf("start load: db-ps-mode=%s: takes auto or disable", c.PSMode)
	}
	if c.Warmup < 0 {
		return c, nil, fmt.Errorf("start load: warmup-time=%v: takes a time of 0 or more", c.Warmup)
	}
	kind, err := pace.ParseKind(string(c.RateKind))
	if err != nil {
		return c, nil, fmt.Errorf("start load: %w", err)
	}
	c.RateKind = kind
	switch {
	case c.Terminals == 0:
		c.Terminals = c.Threads
	case c.Terminals < c.Threads || c.Terminals > maxTerminals:
		return c, nil, fmt.Errorf("start load: terminals=%d: takes 0 or from the number of threads, %d, to %d",
			c.Terminals, c.Threads, maxTerminals)
	case c.Terminals > c.Threads && !c.Rate.IsZero():
		return c, nil, fmt.Errorf("start load: terminals=%d: with a rate it is the rate that says when an operation "+
			"is due; leave one of them out", c.Terminals)
	}
	if c.Loops < 0 || c.Loops > maxLoops {
		return c, nil, fmt.Errorf("start load: loops=%d: takes 0 (choose) to %d", c.Loops, maxLoops)
	}
	if c.Reconnect <= 0 {
		c.Reconnect = time.Minute
	}
	c.Options = workload.WithThreads(c.Workload, c.Options, c.Threads)
	plan, err := c.Workload.Build(c.Options)
	if err != nil {
		return c, nil, fmt.Errorf("start load %s: %w", c.Workload.Name(), err)
	}
	return c, plan, nil
}

// options returns what the run ran with, by sysbench's names.
func (c Config) options(p *workload.Plan, e Errors) map[string]string {
	m := maps.Clone(p.Options)
	if m == nil {
		m = map[string]string{}
	}
	m["threads"] = strconv.Itoa(c.Threads)
	m["time"] = strconv.FormatFloat(c.Time.Seconds(), 'f', -1, 64)
	m["events"] = strconv.FormatUint(c.Events, 10)
	m["rand-seed"] = strconv.FormatUint(c.Seed, 10)
	m["db-ps-mode"] = string(c.PSMode)
	if c.Warmup > 0 {
		m["warmup-time"] = strconv.FormatFloat(c.Warmup.Seconds(), 'f', -1, 64)
	}
	if !c.Rate.IsZero() {
		m["rate"], m["rate-kind"] = c.Rate.String(), string(c.RateKind)
	}
	if c.Terminals > c.Threads {
		m["terminals"] = strconv.Itoa(c.Terminals)
	}
	codes, ignore := e.Retried()
	codes = slices.Concat(codes, c.Ignore)
	slices.Sort(codes)
	m[ignore] = strings.Join(slices.Compact(codes), ",")
	if c.IgnoreAll {
		m[ignore] = "all"
	}
	return m
}
