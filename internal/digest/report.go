package digest

import (
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/sketch"
)

// Version is the format of a Report's JSON. Readers take their own and older ones.
const Version = 1

// Report is what was seen of all statements of logs or of a server's window. It is what `dyno digest --output json`
// prints.
type Report struct {
	Version int    `json:"version"`
	Global  Global `json:"global"`
	Classes []Row  `json:"classes"` // in the order asked for
	// Other sums up the classes that were left out of Classes; its Count is 0 when none were.
	Other   Rest   `json:"other,omitzero"`
	Skipped []Skip `json:"skipped"` // at most MaxSkips; Global.Skipped counts all
	// Dialect writes the statements; nil where it is not known, or the report holds none as they were sent.
	Dialect Dialect `json:"-"`
}

// Dialect is how a family of servers reads and writes statements.
type Dialect interface {
	// Redact returns a statement with ? for every literal and without comments.
	Redact(sql string) string
	// Short leaves rows and members of lists out of a long statement, with a comment in their place. What it returns is
	// as valid as the statement was.
	Short(sql string) string
	// Live returns whole lines that the family's client executes as this statement and nothing else, or why there are
	// none.
	Live(sql string) (text, why string)
	// ShowTable returns statements that describe a table, schema.table or one of the database db.
	ShowTable(table, db string) []string
}

// Skip is a part of a log that could not be read.
type Skip struct {
	File   string `json:"file,omitzero"`
	Offset int64  `json:"offset"` // bytes from the beginning of the (decompressed) log
	Length int64  `json:"length"`
	Reason string `json:"reason"`
}

// MaxSkips bounds Report.Skipped.
const MaxSkips = 1000

// Global holds the figures over all classes.
type Global struct {
	Source string    `json:"source"` // slow_log, general_log, performance_schema or processlist
	Files  []File    `json:"files,omitempty"`
	Target string    `json:"target,omitzero"`     // of a live window, without secrets
	Began  time.Time `json:"began,omitzero"`      // of a live window
	Ended  time.Time `json:"ended,omitzero"`      // of a live window
	First  time.Time `json:"first_seen,omitzero"` // earliest statement
	Last   time.Time `json:"last_seen,omitzero"`
	Count  uint64    `json:"count"` // statements, those that a rate limit stands for included
	// of the logs; differs from Count where a rate limit was in force
	Entries uint64 `json:"entries"`
	Classes int    `json:"unique"`
	// Count over the time between First and Last, or of the window
	QPS          known.Value[float64] `json:"qps,omitzero"`
	Concurrency  known.Value[float64] `json:"concurrency,omitzero"` // sum of query_time over that time
	Attributes   map[string]Figures   `json:"attributes"`           // by attribute.Info.Key
	Flags        map[string]Share     `json:"flags,omitempty"`      // by key: Yes and No
	Skipped      uint64               `json:"skipped"`              // parts that could not be read
	SkippedBytes int64                `json:"skipped_bytes"`
	// statements left out by --filter, --since, --until or --sample
	Filtered uint64   `json:"filtered,omitzero"`
	Own      uint64   `json:"own,omitzero"`    // statements of Dyno itself, left out
	Notes    []string `json:"notes,omitempty"` // what limits these figures, in words
}

// File is a log that was read.
type File struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"` // as stored, read so far
	Entries uint64 `json:"entries"`
}

// Figures sum up one attribute over Count statements that had it. Times are seconds. P95 is within 1 % of the value at
// Rank95 among all values; Median of the middle one, or of the mean of both in the middle. Everything else is exact up
// to rounding.
type Figures struct {
	Info   attribute.Info       `json:"-"` // a report that was read from JSON has none: see Describe
	Count  uint64               `json:"count"`
	Share  known.Value[float64] `json:"share,omitzero"` // of the sum over all classes, 0 to 1; unknown when that is 0
	Sum    float64              `json:"sum"`
	Min    known.Value[float64] `json:"min"` // unknown where the source has sums only, see Global.Notes
	Max    known.Value[float64] `json:"max"`
	Avg    float64              `json:"avg"`
	P95    known.Value[float64] `json:"p95"`    // unknown where the source keeps no distribution
	Stddev known.Value[float64] `json:"stddev"` // of the sample (n-1), as pt-query-digest; 0 for one value
	Median known.Value[float64] `json:"median"`
	// Estimated tells that Sum was estimated from looks at what was running, in part at least, and is not of Count
	// statements: there is no Avg.
	Estimated bool `json:"estimated,omitzero"`
}

// Mean returns Avg where there is one.
func (f Figures) Mean() known.Value[float64] {
	if f.Estimated {
		return known.None[float64]()
	}
	return known.Of(f.Avg)
}

// Share counts the statements that had a flag set, and those that had it unset.
type Share struct {
	Info attribute.Info `json:"-"`
	Yes  uint64         `json:"yes"`
	No   uint64         `json:"no"`
}

// Row is one row of the report: all statements of one fingerprint, or of one other value when grouped by that.
type Row struct {
	Rank int `json:"rank"` // from 1, in the order of the report
	// 32 hexadecimal digits; of the group's value when grouped by another attribute
	ID          string  `json:"id"`
	Fingerprint string  `json:"fingerprint"`
	Item        string  `json:"item"` // short form: SELECT orders customers
	Count       uint64  `json:"count"`
	Share       float64 `json:"share"` // of all query_time, 0 to 1
	// over the class's own first to last statement, as pt-query-digest
	QPS            known.Value[float64] `json:"qps,omitzero"`
	Concurrency    known.Value[float64] `json:"concurrency,omitzero"`
	VarianceToMean known.Value[float64] `json:"variance_to_mean,omitzero"` // of query_time, seconds
	Attributes     map[string]Figures   `json:"attributes"`
	Flags          map[string]Share     `json:"flags,omitempty"`
	// Sampled marks a class whose figures are estimates from looks at what was running: Count is the number of
	// executions that were seen, the sum of query_time the looks that saw one times the time between looks.
	Sampled bool `json:"sampled,omitzero"`
	// Histogram counts statements by query_time in powers of ten: below 10 µs, 100 µs, 1 ms, 10 ms, 100 ms, 1 s, 10 s,
	// and above. All are 0 where the source keeps no distribution.
	Histogram [8]uint64 `json:"histogram"`
	// Times counts the statements by query_time, nanoseconds; nil unless Options.Times asked for it, or where the
	// distribution is not kept.
	Times      *sketch.Bins `json:"-"`
	FirstSeen  time.Time    `json:"first_seen,omitzero"`
	LastSeen   time.Time    `json:"last_seen,omitzero"`
	PerMinute  Minutes      `json:"per_minute,omitzero"`
	Hosts      []Tally      `json:"hosts,omitempty"` // by count, the most first
	Users      []Tally      `json:"users,omitempty"`
	Databases  []Tally      `json:"databases,omitempty"`
	ErrorCodes []Tally      `json:"error_codes,omitempty"` // by server error number
	Killed     uint64       `json:"killed,omitzero"`
	Running    uint64       `json:"running,omitzero"`   // live: still running when the window ended; not in Count
	Tables     []string     `json:"tables,omitempty"`   // schema.table or table, as the statements write them
	Worst      *Sample      `json:"worst,omitempty"`    // the slowest
	Typical    *Sample      `json:"typical,omitempty"`  // near the median
	Truncated  bool         `json:"truncated,omitzero"` // the source cut its text: fingerprint and id are of what is left
	Plan       []string     `json:"plan,omitempty"`     // of the worst sample: of the log, or of --explain-plans
}

// Sample is one statement as it was sent, or with its literals withheld.
type Sample struct {
	SQL      string    `json:"sql"`
	Cut      bool      `json:"cut,omitzero"` // SQL is only its beginning
	Time     time.Time `json:"time,omitzero"`
	QuerySec float64   `json:"query_time"`
	DB       string    `json:"db,omitzero"`
	User     string    `json:"user,omitzero"`
	Host     string    `json:"host,omitzero"`
	Thread   uint64    `json:"thread,omitzero"`
	File     string    `json:"file,omitzero"`
	Offset   int64     `json:"offset"` // in File
}

// Tally counts statements by a word.
type Tally struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Minutes counts statements minute by minute, or in longer steps when there are many.
type Minutes struct {
	Start   time.Time `json:"start"`
	StepSec float64   `json:"step_sec"`
	Counts  []uint64  `json:"counts"`
	// QuerySec is the sum of query_time in each step, as long as Counts; without it a comparison cannot tell noise
	// between minutes.
	QuerySec []float64 `json:"query_time,omitempty"`
}

// Rest sums up classes that are not shown.
type Rest struct {
	Classes  int     `json:"classes"`
	Count    uint64  `json:"count"`
	QuerySec float64 `json:"query_time"`
	Share    float64 `json:"share"`
}

// Describe says what the attributes of a report are that was read from JSON, by the known ones.
func (r *Report) Describe(known []attribute.Info) {
	figures, flags := []map[string]Figures{r.Global.Attributes}, []map[string]Share{r.Global.Flags}
	for _, c := range r.Classes {
		figures, flags = append(figures, c.Attributes), append(flags, c.Flags)
	}
	for i := range figures {
		for key, f := range figures[i] {
			f.Info = attribute.Of(key, known)
			figures[i][key] = f
		}
		for key, s := range flags[i] {
			s.Info = attribute.Of(key, known)
			flags[i][key] = s
		}
	}
}
