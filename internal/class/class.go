// Package class holds query classes. A class is all statements with the same fingerprint, with
// their figures over a window. The package does no I/O and computes no fingerprints.
package class

import (
	"cmp"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
)

// Origin names the source that a class was seen in.
type Origin string

const (
	PerformanceSchema Origin = "performance_schema" // events_statements_summary_by_digest, exact counts
	SlowLog           Origin = "slow_log"           // statements above long_query_time only
	Processlist       Origin = "processlist"        // sampled: what was running at the moments of looking
	PgStatStatements  Origin = "pg_stat_statements" // PostgreSQL's extension of that name, exact counts
)

// Class is a fingerprint with what its statements did within one window. Everything that a source does not tell
// is unknown. Counts are of completed statements unless Sampled.
type Class struct {
	ID          string `json:"id"`          // class.ID of Fingerprint: 32 hexadecimal digits, as pt-query-digest 3
	Fingerprint string `json:"fingerprint"` // of the statements, as their family writes it: it holds no literal
	// Parsable is the fingerprint in the spelling that package sqlshape parses, where the server's dialect has another
	// one: PostgreSQL's names in double quotes, casts and RETURNING. Empty: Fingerprint itself.
	Parsable string `json:"parsable,omitzero"`
	// Digest is the server's own id of the class: DIGEST of performance_schema, queryid of pg_stat_statements; empty
	// where another source reported it.
	Digest string `json:"digest,omitzero"`
	// Guessed says that Fingerprint is of the common way to write the statement, for only the server's text of the
	// digest is known.
	Guessed bool   `json:"guessed,omitzero"`
	Schema  string `json:"schema,omitzero"` // default database of the statements
	Origin  Origin `json:"origin"`
	// Sampled marks figures that were estimated from samples of what was running, not from counting.
	// Count is then the number of distinct executions seen, TimeSec the estimate samples × interval.
	Sampled bool `json:"sampled,omitzero"`

	Count    uint64               `json:"count"`    // executions in the window
	TimeSec  float64              `json:"time_sec"` // sum of their wall-clock time, seconds
	MaxSec   known.Value[float64] `json:"max_sec,omitzero"`
	P95Sec   known.Value[float64] `json:"p95_sec,omitzero"`
	LockSec  known.Value[float64] `json:"lock_sec,omitzero"`
	CPUSec   known.Value[float64] `json:"cpu_sec,omitzero"`
	Errors   known.Value[uint64]  `json:"errors,omitzero"`
	RowsSent known.Value[uint64]  `json:"rows_sent,omitzero"`
	Examined known.Value[uint64]  `json:"rows_examined,omitzero"`
	Affected known.Value[uint64]  `json:"rows_affected,omitzero"`
	// executions that scanned their first table: Select_scan
	FullScans known.Value[uint64] `json:"full_scans,omitzero"`
	// executions that joined without an index: Select_full_join
	FullJoins known.Value[uint64] `json:"full_joins,omitzero"`
	NoIndex   known.Value[uint64] `json:"no_index,omitzero"` // executions that used no index at all
	SortRows  known.Value[uint64] `json:"sort_rows,omitzero"`
	TmpTables known.Value[uint64] `json:"tmp_tables,omitzero"`
	TmpDisk   known.Value[uint64] `json:"tmp_disk_tables,omitzero"`
	// pages of tables and indexes that PostgreSQL wanted, in its shared buffers or not, and those that were not there
	Pages     known.Value[uint64] `json:"pages,omitzero"`
	PagesRead known.Value[uint64] `json:"pages_read,omitzero"`

	FirstSeen time.Time `json:"first_seen,omitzero"`
	LastSeen  time.Time `json:"last_seen,omitzero"`
	Hosts     []string  `json:"hosts,omitempty"`
	Users     []string  `json:"users,omitempty"`
	// Example is one statement as it was sent, with its literals; empty when the source keeps none or the user
	// asked for redaction.
	Example string `json:"example,omitzero"`
}

// Source names the snapshot's source that the class came from.
func (c Class) Source() source.Name {
	switch c.Origin {
	case PerformanceSchema, PgStatStatements:
		return source.Digests
	case Processlist:
		return source.Samples
	default:
		return source.Name(c.Origin)
	}
}

// Text is what package sqlshape parses of the class when there is no example.
func (c Class) Text() string { return cmp.Or(c.Parsable, c.Fingerprint) }

// PerCall returns v divided by the executions; unknown when v is or nothing was executed.
func (c Class) PerCall(v known.Value[uint64]) known.Value[float64] {
	n, ok := v.Get()
	if !ok || c.Count == 0 {
		return known.None[float64]()
	}
	return known.Of(float64(n) / float64(c.Count))
}

// MeanSec returns the mean time of an execution in seconds; unknown when nothing was executed or when the class
// was sampled, for long statements are seen more often than short ones.
func (c Class) MeanSec() known.Value[float64] {
	if c.Count == 0 || c.Sampled {
		return known.None[float64]()
	}
	return known.Of(c.TimeSec / float64(c.Count))
}
