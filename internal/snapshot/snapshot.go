// Package snapshot holds the one value that judgement works on: everything Dyno observed about a target over a window.
//
// The same JSON is what `dyno diagnose --save` writes and `--from` reads, what a bug report carries and what tests use as
// fixtures. A Snapshot is never changed after it was captured. It holds no password; query examples are in it unless
// they were redacted.
package snapshot

import (
	"time"

	"dyno/internal/class"
	"dyno/internal/event"
	"dyno/internal/explain"
	"dyno/internal/known"
	"dyno/internal/metric"
	"dyno/internal/schema"
)

// Format is the version of the JSON form that this program writes. It reads this one and refuses others.
const Format = 1

// Snapshot is what is known about one target over one window.
type Snapshot struct {
	Format  int       `json:"dyno_snapshot"`
	From    time.Time `json:"from"` // the window
	To      time.Time `json:"to"`
	Target  Target    `json:"target"`
	Sources []Source  `json:"sources"` // every source Dyno knows, also those that gave nothing

	Variables map[string]string `json:"variables,omitempty"` // effective global variables
	Series    []metric.Series   `json:"series,omitempty"`    // ordered by name and labels
	Classes   []class.Class     `json:"classes,omitempty"`   // deltas over the window, most time first
	Plans     []explain.Plan    `json:"plans,omitempty"`     // of the top classes
	Tables    []schema.Table    `json:"tables,omitempty"`    // those that the top classes touch
	Host      Host              `json:"host"`
	Events    []event.Event     `json:"events,omitempty"`
}

// Target says which server it was.
type Target struct {
	Name      string `json:"name"`
	Server    string `json:"server"`  // the server's own identity, see journal.Entry
	Flavor    string `json:"flavor"`  // "mariadb", "mysql", "percona"
	Version   string `json:"version"` // "10.11.19"
	Comment   string `json:"comment,omitzero"`
	Local     bool   `json:"local"` // its process could be seen on this machine
	UptimeSec int64  `json:"uptime_sec"`
	ReadOnly  bool   `json:"read_only,omitzero"`
	Replica   bool   `json:"replica,omitzero"`
}

// SourceState says what a source gave.
type SourceState string

const (
	OK      SourceState = "ok"
	Missing SourceState = "missing" // the server has no such thing, or it is switched off
	Denied  SourceState = "denied"  // a grant is missing
	Failed  SourceState = "failed"  // it answered with an error
	Slow    SourceState = "slow"    // it did not answer in time
)

// Source is one place that figures come from, and whether they came.
type Source struct {
	Name   string      `json:"name"` // "global_status", "innodb_metrics", "digests", "processlist", "host", "process", …
	State  SourceState `json:"state"`
	Reason string      `json:"reason,omitzero"`  // of any state but ok; with ok a remark: overflow, cut texts, a restart
	Fix    string      `json:"fix,omitzero"`     // the GRANT or setting that would mend it
	Took   float64     `json:"took_ms,omitzero"` // mean wall-clock time of one reading, milliseconds
	Reads  int         `json:"reads"`            // successful readings within the window
}

// Host is the machine that the server runs on; everything is unknown for a remote server.
type Host struct {
	CPUs       known.Value[float64] `json:"cpus,omitzero"` // usable by the server's process: affinity and cgroup quota counted in
	MemBytes   known.Value[uint64]  `json:"mem_bytes,omitzero"`
	Kernel     string               `json:"kernel,omitzero"`
	ServerPID  int                  `json:"server_pid,omitzero"`
	DatadirDev string               `json:"datadir_device,omitzero"`
}

// Find returns the first series with the name whose labels include all of want.
func (s *Snapshot) Find(name string, want ...metric.Label) (metric.Series, bool) {
next:
	for _, x := range s.Series {
		if x.Name != name {
			continue
		}
		for _, w := range want {
			if x.Labels.Get(w.Name) != w.Value {
				continue next
			}
		}
		return x, true
	}
	return metric.Series{}, false
}

// Rate returns the growth per second of a counter over the window; unknown when it was not observed at least twice.
func (s *Snapshot) Rate(name string, want ...metric.Label) known.Value[float64] {
	x, ok := s.Find(name, want...)
	if !ok {
		return known.None[float64]()
	}
	r, ok := x.Rate()
	if !ok {
		return known.None[float64]()
	}
	return known.Of(r)
}

// Source returns the named source; one that nobody listed is missing.
func (s *Snapshot) Source(name string) Source {
	for _, x := range s.Sources {
		if x.Name == name {
			return x
		}
	}
	return Source{Name: name, State: Missing, Reason: "not in the snapshot"}
}

// Table returns the named table.
func (s *Snapshot) Table(ref schema.Ref) (schema.Table, bool) {
	for _, t := range s.Tables {
		if t.Ref == ref {
			return t, true
		}
	}
	return schema.Table{}, false
}

// Plan returns the plan of a class.
func (s *Snapshot) Plan(classID string) (explain.Plan, bool) {
	for _, p := range s.Plans {
		if p.Class == classID {
			return p, true
		}
	}
	return explain.Plan{}, false
}

// Class returns the class with the id.
func (s *Snapshot) Class(id string) (class.Class, bool) {
	for _, c := range s.Classes {
		if c.ID == id {
			return c, true
		}
	}
	return class.Class{}, false
}

// Seconds returns the length of the window.
func (s *Snapshot) Seconds() float64 { return s.To.Sub(s.From).Seconds() }

// TotalTime returns the statement time of all classes in the window, seconds.
func (s *Snapshot) TotalTime() (sec float64) {
	for _, c := range s.Classes {
		sec += c.TimeSec
	}
	return sec
}
