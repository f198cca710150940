// Package snapshot holds the one value that a diagnosis works on: everything that Dyno observed
// about a target over a window. A Snapshot never changes after its capture.
//
// The same JSON is the output of `dyno diagnose --save`, the input of `--from`, part of a bug
// report, and the fixture of tests. It contains no password. It contains query examples unless they
// were redacted.
package snapshot

import (
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// Format is the version of the JSON form that this program writes. It reads this one and refuses others.
const Format = 2

// Snapshot is what is known about one target over one window.
type Snapshot struct {
	Format  int             `json:"dyno_snapshot"`
	From    time.Time       `json:"from"` // the window
	To      time.Time       `json:"to"`
	Target  Target          `json:"target"`
	Sources []source.Source `json:"sources"` // every source Dyno knows, also those that gave nothing

	Variables map[string]string `json:"variables,omitempty"` // effective global variables
	Series    []metric.Series   `json:"series,omitempty"`    // ordered by name and labels
	Classes   []class.Class     `json:"classes,omitempty"`   // deltas over the window, most time first
	Rest      Rest              `json:"rest,omitzero"`       // of the classes that found no room
	Plans     []explain.Plan    `json:"plans,omitempty"`     // of the top classes
	// Tables are those that the top classes touch first, then the largest of the users' own, at most MaxTables.
	// TablesLeft counts what that left out; unknown when nobody counted.
	Tables     []schema.Table   `json:"tables,omitempty"`
	TablesLeft known.Value[int] `json:"tables_left,omitzero"`
	// Programs are stored routines, triggers and events that ran in the window, most time first.
	Programs []Program `json:"programs,omitempty"`
	// Moments are what the server was doing at some moments of the window, in order of time: at most MaxMoments, the
	// last one always. Statements in them are cut; with redaction they hold no literal.
	Moments  []state.State `json:"moments,omitempty"`
	Accounts []Account     `json:"accounts,omitempty"` // empty without source "accounts" being ok
	Host     Host          `json:"host"`
	Events   []event.Event `json:"events,omitempty"`
	// Past is set when the window was over before it was judged: the snapshot is made of what was stored.
	Past *Past `json:"past,omitempty"`
}

// Past says how a snapshot of a window that was over differs from one of an observed window.
type Past struct {
	From   time.Time `json:"asked_from"` // the window that was requested; that of the snapshot may be wider
	To     time.Time `json:"asked_to"`
	Judged time.Time `json:"judged"`
	// Facts is when settings, tables, accounts and the machine were read; zero: nothing is stored of them.
	Facts time.Time `json:"facts,omitzero"`
}

// Limits of a snapshot.
const (
	MaxTables  = 10_000
	MaxMoments = 12
)

// Rest is what is known of classes that are left out, those with the least time.
type Rest struct {
	Classes int     `json:"classes"`
	TimeSec float64 `json:"time_sec"`
}

// Program is a stored routine, trigger or event with what it did within the window.
type Program struct {
	Kind   string `json:"kind"` // "trigger", "function", "procedure", "event"
	Schema string `json:"schema"`
	Name   string `json:"name"`
	// Table is the one that a trigger stands on.
	Table string `json:"table,omitzero"`
	// its definition; empty when it may not be seen or was redacted
	Body          string               `json:"body,omitzero"`
	Count         uint64               `json:"count"`    // executions
	TimeSec       float64              `json:"time_sec"` // wall-clock time of the executions, seconds
	Statements    known.Value[uint64]  `json:"statements,omitzero"`
	StatementsSec known.Value[float64] `json:"statements_sec,omitzero"` // of TimeSec, in statements within it
}

// Account is a user of the server as its grant tables have it. It holds no password and no hash of one.
type Account struct {
	User       string `json:"user"`
	Host       string `json:"host"`
	Plugin     string `json:"plugin,omitzero"`
	NoPassword bool   `json:"no_password,omitzero"` // anybody may log in as it
	Locked     bool   `json:"locked,omitzero"`
	TLS        bool   `json:"tls,omitzero"`   // it must use TLS
	Super      bool   `json:"super,omitzero"` // it may do everything: SUPER or all privileges
}

// Target says which server it was.
type Target struct {
	Name      string      `json:"name"`
	Server    string      `json:"server"` // the server's own identity, see journal.Entry
	Flavor    dbms.Flavor `json:"flavor"`
	Version   string      `json:"version"` // "10.11.19"
	Comment   string      `json:"comment,omitzero"`
	Local     bool        `json:"local"`      // its process could be seen on this machine
	UptimeSec int64       `json:"uptime_sec"` // 0: it is not known
	ReadOnly  bool        `json:"read_only,omitzero"`
	Replica   bool        `json:"replica,omitzero"`
}

// Host is the machine that the server runs on; everything is unknown for a remote server.
type Host struct {
	// usable by the server's process: affinity and cgroup quota counted in
	CPUs     known.Value[float64] `json:"cpus,omitzero"`
	MemBytes known.Value[uint64]  `json:"mem_bytes,omitzero"`
	// of the server's cgroup; unknown when there is none
	MemLimit   known.Value[uint64] `json:"mem_limit_bytes,omitzero"`
	Kernel     string              `json:"kernel,omitzero"`
	ServerPID  int                 `json:"server_pid,omitzero"`
	DatadirDev string              `json:"datadir_device,omitzero"`
	DatadirFS  string              `json:"datadir_filesystem,omitzero"` // "ext4"
	DatadirOpt string              `json:"datadir_mount_options,omitzero"`
	// DatadirFree and DatadirSize are of the file system of the data directory, bytes; DatadirShared says that Dyno's
	// home is on it, too.
	DatadirFree   known.Value[uint64] `json:"datadir_free_bytes,omitzero"`
	DatadirSize   known.Value[uint64] `json:"datadir_size_bytes,omitzero"`
	DatadirShared bool                `json:"datadir_shared_with_dyno,omitzero"`
	// Settings are the kernel's, under their sysctl name ("vm.swappiness") or their path below /sys without it
	// ("kernel/mm/transparent_hugepage/enabled", "block/sda/queue/scheduler"), as the kernel writes them. What could
	// not be read is absent.
	Settings map[string]string `json:"settings,omitempty"`
	// Limits are the resource limits of the server's process, under the names of /proc/PID/limits in lower case with
	// underscores ("max_open_files"); -1 stands for unlimited.
	Limits map[string]int64 `json:"limits,omitempty"`
	// Process holds figures of the server's process at the end of the window, under the names of /proc/PID/status in
	// lower case ("vmrss", "vmpeak", "vmhwm", "vmswap", "hugetlbpages"), bytes.
	Process   map[string]uint64 `json:"process,omitempty"`
	NUMANodes known.Value[int]  `json:"numa_nodes,omitzero"`
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
func (s *Snapshot) Source(name source.Name) source.Source {
	for _, x := range s.Sources {
		if x.Name == name {
			return x
		}
	}
	return source.Source{Name: name, State: source.Missing, Reason: "not in the snapshot"}
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

// Plan returns what the server answered when it was asked for the plan of a class, in the class's default database. A
// plan that does not say in which database it was asked for is taken where there is no better.
func (s *Snapshot) Plan(c class.Class) (explain.Plan, bool) {
	found := -1
	for i, p := range s.Plans {
		switch {
		case p.Class != c.ID:
		case p.Schema == c.Schema:
			return p, true
		case p.Schema == "" && found < 0:
			found = i
		}
	}
	if found < 0 {
		return explain.Plan{}, false
	}
	return s.Plans[found], true
}

// Class returns the class with the id, the first one where several databases have it.
func (s *Snapshot) Class(id string) (class.Class, bool) {
	for _, c := range s.Classes {
		if c.ID == id {
			return c, true
		}
	}
	return class.Class{}, false
}

// ClassIn returns the class with the id whose statements have schema as their default database.
func (s *Snapshot) ClassIn(schema, id string) (class.Class, bool) {
	for _, c := range s.Classes {
		if c.ID == id && c.Schema == schema {
			return c, true
		}
	}
	return class.Class{}, false
}

// Connections returns how many connections clients had on average over the moments, Dyno's own left out; unknown where
// none tells.
func (s *Snapshot) Connections() known.Value[float64] {
	sum, n := 0.0, 0
	for _, m := range s.Moments {
		if c, ok := m.Connections.Get(); ok {
			sum, n = sum+float64(c), n+1
		}
	}
	if n == 0 {
		return known.None[float64]()
	}
	return known.Of(sum / float64(n))
}

// Seconds returns the length of the window.
func (s *Snapshot) Seconds() float64 { return s.To.Sub(s.From).Seconds() }

// TotalTime returns the statement time of all classes in the window, seconds.
func (s *Snapshot) TotalTime() (sec float64) {
	for _, c := range s.Classes {
		sec += c.TimeSec
	}
	return sec + s.Rest.TimeSec
}
