package logdigest

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// leastClasses is how many classes an Aggregator keeps that finds no Room.
const leastClasses = 20

// MaxClasses is how many classes are kept when Config.MaxClasses is 0. Statements of further ones count for one class
// of their own, digest.Others, which a note tells.
const MaxClasses = 250_000

// Config tells what an Aggregator counts and keeps. Aggregators are merged only when theirs are equal.
type Config struct {
	GroupBy digest.Group
	Redact  bool // keep no literal: samples have ? in place of them
	// MaxSample is the longest sample kept, in bytes; 0 is 16 KiB. With many classes they are shorter: 4 KiB from 1000
	// classes on, 1 KiB from 10 000 and 512 bytes from 50 000.
	MaxSample  int
	MaxClasses int
	// Room, if set, is how many classes more are kept by all Aggregators that share it, beside leastClasses of each.
	// They are not used at the same time.
	Room     *int
	LeaveOwn bool   // leave out statements with Dyno's tag, which anybody can put before theirs
	Sample   uint64 // count only the first so many entries of every class that come; 0 = all
	// Since and Until bound Entry.At, microseconds since 1970: from Since on and before Until; 0 = no bound. With a
	// bound an entry of unknown time is left out.
	Since, Until int64
	// Filter tells which entries count; nil = all. It is called before anything else is known of the entry.
	Filter func(*slowlog.Parser, *slowlog.Entry) bool
}

// Of returns what a choice of statements is for an Aggregator.
func Of(c digest.Config) Config {
	x := Config{
		GroupBy: c.GroupBy, Redact: c.Redact, LeaveOwn: c.LeaveOwn, Sample: c.Sample, Since: c.Since, Until: c.Until,
	}
	switch f := c.Filter.(type) {
	case nil:
	case *Filter:
		x.Filter = f.Match
	default:
		panic(fmt.Sprintf("BUG: a filter of %T", f))
	}
	return x
}

// Chosen reports whether Since, Until and Filter let an entry count. The parser is that which read it, nil for a
// general log's.
func (c *Config) Chosen(p *slowlog.Parser, e *slowlog.Entry) bool {
	return !(c.Since != 0 && (e.At < c.Since || e.At == 0) || c.Until != 0 && (e.At >= c.Until || e.At == 0) ||
		c.Filter != nil && !c.Filter(p, e))
}
