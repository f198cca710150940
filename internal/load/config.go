package load

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/internal/workload"
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
	Time     time.Duration     // 0 for no limit
	Events   uint64            // operations of all sessions together; 0 for no limit
	Seed     uint64            // 0 draws one, which Run.Options then names
	PSMode   PSMode            // "" means Auto
	// Ignore lists server error numbers that end an operation but not the run; those of Retried are always tolerated.
	// IgnoreAll tolerates every error of the server.
	Ignore    []uint16
	IgnoreAll bool
	// Reconnect is how long a session that lost its connection tries for another before the run fails; 0 means 60 s.
	Reconnect time.Duration
}

// Retried are the server's errors after which an operation is tried again from its beginning, as its message asks for:
// 1213 deadlock, 1205 lock wait timeout, 1020 record changed since last read (sysbench ignores the same three), and 1412 and
// 1615, a table that was altered under a transaction or a prepared statement.
// https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html
var Retried = [...]uint16{1020, 1205, 1213, 1412, 1615}

// tick is the rhythm of the figures.
const tick = time.Second

// grace is how long a stopped run waits for operations under way before it closes their connections.
const grace = time.Second

// maxThreads keeps a slip of the finger from opening a million connections; no server takes more.
const maxThreads = 100_000

// settle checks the configuration, fills in the defaults and builds the plan.
func (c Config) settle() (Config, *workload.Plan, error) {
	if c.Workload == nil {
		return c, nil, errors.New("start load: no workload given")
	}
	switch {
	case c.Threads == 0:
		c.Threads = 1
	case c.Threads < 0 || c.Threads > maxThreads:
		return c, nil, fmt.Errorf("start load: threads=%d: takes 1 to %d", c.Threads, maxThreads)
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
	if c.Reconnect <= 0 {
		c.Reconnect = time.Minute
	}
	plan, err := c.Workload.Build(c.Options)
	if err != nil {
		return c, nil, fmt.Errorf("start load %s: %w", c.Workload.Name(), err)
	}
	return c, plan, nil
}

// options returns what the run ran with, by sysbench's names.
func (c Config) options(p *workload.Plan) map[string]string {
	m := maps.Clone(p.Options)
	if m == nil {
		m = map[string]string{}
	}
	m["threads"] = strconv.Itoa(c.Threads)
	m["time"] = strconv.FormatFloat(c.Time.Seconds(), 'f', -1, 64)
	m["events"] = strconv.FormatUint(c.Events, 10)
	m["rand-seed"] = strconv.FormatUint(c.Seed, 10)
	m["db-ps-mode"] = string(c.PSMode)
	numbers := slices.Concat(Retried[:], c.Ignore)
	slices.Sort(numbers)
	var texts []string
	for _, n := range slices.Compact(numbers) {
		texts = append(texts, strconv.Itoa(int(n)))
	}
	m["mysql-ignore-errors"] = strings.Join(texts, ",")
	if c.IgnoreAll {
		m["mysql-ignore-errors"] = "all"
	}
	return m
}
