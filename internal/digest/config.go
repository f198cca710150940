package digest

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// Group tells by what statements are put together.
type Group uint8

const (
	ByFingerprint Group = iota
	ByItem              // mytext.Item: SELECT orders customers
	ByTables            // a statement counts for each of its tables
	ByDatabase
	ByUser
	ByHost
)

var groups = map[string]Group{
	"fingerprint": ByFingerprint, "checksum": ByFingerprint, "id": ByFingerprint,
	"item": ByItem, "distill": ByItem,
	"tables": ByTables, "table": ByTables,
	"db": ByDatabase, "database": ByDatabase, "schema": ByDatabase,
	"user": ByUser,
	"host": ByHost,
}

// ParseGroup reads the value of --group-by.
func ParseGroup(s string) (Group, error) {
	g, ok := groups[strings.ToLower(s)]
	if !ok {
		return 0, fmt.Errorf("group by %q: use fingerprint, item, tables, db, user or host", s)
	}
	return g, nil
}

func (g Group) String() string {
	return [...]string{"fingerprint", "item", "tables", "db", "user", "host"}[g]
}

// MaxClasses is how many classes are kept when Config.MaxClasses is 0. Statements of further ones count for one class
// of their own, which a note tells.
const MaxClasses = 250_000

// Others is the fingerprint of the class that statements of further classes count for.
const Others = othersName

// leastClasses is how many classes an Aggregator keeps that finds no Room.
const leastClasses = 20

// Config tells what an Aggregator counts and keeps. Aggregators are merged only when theirs are equal.
type Config struct {
	GroupBy Group
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

// Chosen reports whether Since, Until and Filter let an entry count. The parser is that which read it, nil for a
// general log's.
func (c *Config) Chosen(p *slowlog.Parser, e *slowlog.Entry) bool {
	return !(c.Since != 0 && (e.At < c.Since || e.At == 0) || c.Until != 0 && (e.At >= c.Until || e.At == 0) ||
		c.Filter != nil && !c.Filter(p, e))
}
