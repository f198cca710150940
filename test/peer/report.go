// Package peer runs the programs that people digest logs with, pt-query-digest and mysqldumpslow, and holds Dyno's
// answer against theirs.
package peer

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Report is what `dyno digest --output json` promises. It is written down here once more, apart from the code that
// makes it.
type Report struct {
	Version int
	Global  Global
	Classes []Class
	Other   struct {
		Classes int
		Count   uint64
	}
	Skipped []Skip
}

// Global holds the figures over all classes.
type Global struct {
	Source                 string
	Count, Entries         uint64
	Unique                 int
	Attributes             map[string]Figures
	Flags                  map[string]Share
	First                  time.Time `json:"first_seen"`
	Last                   time.Time `json:"last_seen"`
	Skipped, Filtered, Own uint64
	SkippedBytes           int64 `json:"skipped_bytes"`
	Notes                  []string
}

// Class is one class.
type Class struct {
	ID, Fingerprint, Item   string
	Count                   uint64
	Share                   float64
	Attributes              map[string]Figures
	Flags                   map[string]Share
	Histogram               [8]uint64
	First                   time.Time `json:"first_seen"`
	Last                    time.Time `json:"last_seen"`
	Hosts, Users, Databases []Tally
	ErrorCodes              []Tally `json:"error_codes"`
	Killed, Running         uint64
	Tables                  []string
	Worst, Typical          *Sample
	Plan                    []string
}

// Figures sum up an attribute. A pointer is nil where the source knows no answer.
type Figures struct {
	Count               uint64
	Sum, Min, Max, Avg  float64
	P95, Stddev, Median *float64
}

// Share counts a flag.
type Share struct{ Yes, No uint64 }

// Skip is a part of a log that was not read.
type Skip struct {
	File           string
	Offset, Length int64
	Reason         string
}

// Tally counts statements by a word.
type Tally struct {
	Name  string
	Count uint64
}

// Sample is a statement.
type Sample struct {
	SQL  string
	Cut  bool
	Time time.Time
}

// Decode reads a report, which is one object and nothing else.
func Decode(text string) (r Report, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("read Dyno's JSON: %w", err)
	}
	if d.More() {
		return r, fmt.Errorf("read Dyno's JSON: it is more than one object")
	}
	return r, nil
}
