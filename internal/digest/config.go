package digest

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/progress"
)

// Group tells by what statements are put together.
type Group uint8

const (
	ByFingerprint Group = iota
	ByItem              // the short form: SELECT orders customers
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

// Others is the fingerprint of the class that statements of further classes count for.
const Others = "(others)"

// Config tells which statements of logs count, and how.
type Config struct {
	GroupBy  Group
	Redact   bool   // keep no literal: samples have ? in place of them
	LeaveOwn bool   // leave out statements with Dyno's tag, which anybody can put before theirs
	Sample   uint64 // count only the first so many entries of every class that come; 0 = all
	// Since and Until bound the time of an entry, microseconds since 1970: from Since on and before Until; 0 = no
	// bound. With a bound an entry of unknown time is left out.
	Since, Until int64
	Filter       Filter // which entries count; nil = all
}

// Filter is an expression that chooses entries of logs. The family of servers that wrote the logs reads its text, and
// knows its own filters by their type.
type Filter interface {
	// Unmet lists the attributes that the filter asks for and no entry has had so far.
	Unmet() []string
}

// Logs says which logs to sum up, and how.
type Logs struct {
	Paths    []string  // files and pipes; - is Stdin
	Stdin    io.Reader // nil = there is none
	Workers  int       // how many read at the same time; 0 = one for each processor, at most 8
	Config   Config
	Progress progress.Sink // bytes as stored
}

// Following says how to sum up a log while it is written.
type Following struct {
	Config Config
	// State is the file that keeps what was counted and up to where, so that a later run goes on there; "" = none. Mark
	// stands in it for what the figures depend on, such as the text of a filter: a state with another mark is refused.
	State, Mark string
	Every       time.Duration // between two reports; 0 = 1 s
}

// MinWindow is the shortest window in which a server is listened to.
const MinWindow = time.Second

// Options tell what a Report shows. The zero Options show all classes by their sum of Query_time.
type Options struct {
	Limit   Limit
	OrderBy Order
	Source  string // Global.Source; "" is slow_log
	Files   []File // by their numbers
	Notes   []string
	Times   bool // Row.Times is wanted
}

// Rank95 returns the rank, from 1 for the least, of the value that P95 of Figures gives among n: the greatest of fewer
// than ten, and the one with 5 % of all, rounded up, above it otherwise, as pt-query-digest has it.
func Rank95(n uint64) uint64 {
	if n < 10 {
		return n
	}
	return n/100*95 + n%100*95/100
}
