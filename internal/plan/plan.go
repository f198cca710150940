// Package plan holds the plan of an experiment as people write it in YAML. It reports all mistakes
// at once, with line numbers, and derives the variants and the table.
//
// A plan is fixed before the first run, and results do not change it. The package does no I/O: its
// callers read the files.
package plan

import "github.com/dyno-perf/dyno/internal/limit"

// Format is the version of the plan's form that this program writes, the value of the key dyno_plan.
const Format = 1

// Plan is one experiment.
type Plan struct {
	Name     string `json:"name"`               // letters, digits, "-" and "_"
	Title    string `json:"title,omitzero"`     // the question it answers: "What do charset and collation cost?"
	About    string `json:"about,omitzero"`     // anything a reader must know, in sentences
	Topic    string `json:"topic,omitzero"`     // of a recipe: what was published, in a few words
	Scale    string `json:"scale,omitzero"`     // which of the plan's scales this is; empty: the plan as written
	Database string `json:"database,omitempty"` // the schema that SQL runs in; "lab" when nothing is said

	// Base is what all variants have in common. Its Server may be empty when an axis names servers.
	Base Config `json:"base"`
	Axes []Axis `json:"axes,omitempty"`
	// Skip leaves out every variant that has all of these levels, by axis: {server: mariadb@10.11, collation:
	// utf8mb4_0900_ai_ci}.
	Skip []map[string]string `json:"skip,omitempty"`
	// Baseline names a level for some axes. A cell is compared with the variant that has these levels and is the same
	// in the axes not named: baseline {collation: latin1} gives every thread count a baseline of its own. With no axes
	// there is one variant, and only the control is compared.
	Baseline map[string]string `json:"baseline,omitempty"`

	Table     Table       `json:"table"`
	Trials    Trials      `json:"trials"`
	Placement Placement   `json:"placement"`
	Budget    Duration    `json:"budget,omitzero"` // no trial begins that would end later; 0 for none
	Prices    []Price     `json:"prices,omitempty"`
	Published []Published `json:"published,omitempty"`
}

// Config is everything that a variant is made of. Of two configs laid over each other the upper one's maps are merged
// key by key, its lists are appended, its other values win where they are set.
type Config struct {
	Server string `json:"server,omitempty"` // as for `sandbox up`: "mysql@9.7"
	// of the server at its start, as in my.cnf; names with "_"
	Settings map[string]string `json:"settings,omitempty"`
	// ext4, xfs, btrfs on a loop device; empty: where the sandboxes are
	Filesystem string `json:"filesystem,omitzero"`
	// where the server runs, as in taskset -c; empty: as Placement says
	CPUs   string            `json:"cpus,omitzero"`
	Limits limit.Limits      `json:"limits,omitzero"`
	Set    map[string]string `json:"set,omitempty"` // global variables set on the running server before each trial

	// TableOptions end the CREATE TABLE of the workload's tables, after create-table-options. Variants moves them
	// there, so that a Variant has none.
	TableOptions []string `json:"table_options,omitempty"`

	// Data is what each trial finds. It is made once per server build, page size and the like, and copied from then on.
	Data Data `json:"data,omitzero"`

	// A trial runs a workload, or probes, or just reads. One of the three is set.
	Run   Run     `json:"run,omitzero"`
	Probe []Probe `json:"probe,omitempty"`

	Before []Step `json:"before,omitempty"` // before each trial, after Set: SQL or shell
	After  []Step `json:"after,omitempty"`  // after each trial, also one that failed
	// value by name → SQL that returns one number or text, read after the trial
	Read map[string]string `json:"read,omitempty"`
	// Predict gives, for values of Read, what arithmetic says they should be: {pool: buffer_pool_size}. See package
	// trial's Value.
	Predict map[string]string `json:"predict,omitempty"`
}

// Data is what is in the server before a trial.
type Data struct {
	Workload string            `json:"workload,omitempty"` // whose tables are prepared; empty: Run's
	Options  map[string]string `json:"options,omitempty"`  // sysbench's names; those of Run hold too
	Threads  int               `json:"threads,omitzero"`   // that prepare; 0: as many as CPUs
	SQL      []string          `json:"sql,omitempty"`      // after the tables, one statement each
}

// Run is the load of a trial.
type Run struct {
	Workload string            `json:"workload,omitempty"`
	Options  map[string]string `json:"options,omitempty"`
	Threads  int               `json:"threads,omitzero"`
	PSMode   string            `json:"db_ps_mode,omitempty"` // auto or disable
	Ignore   []string          `json:"mysql_ignore_errors,omitempty"`
}

// Probe is one statement measured by itself: how long it takes, how many rows the server touched for it, and its plan.
type Probe struct {
	Name  string `json:"name"`
	SQL   string `json:"sql"`
	Times int    `json:"times,omitzero"` // executions per trial, the median counts; 0 means 5
}

// Step is one thing done outside the measurement. One of its members is set.
type Step struct {
	SQL string `json:"sql,omitempty"`
	// SQL asked again and again until it returns a number other than 0; a minute at most
	Wait string `json:"wait,omitempty"`
	// by /bin/sh, with DYNO_SOCKET, DYNO_PORT, DYNO_DATADIR, DYNO_VARIANT in its environment
	Shell string `json:"shell,omitempty"`
}

// Axis is one thing that is varied.
type Axis struct {
	Name   string  `json:"name"`
	Levels []Level `json:"levels"` // at least one, of different names
	// Numeric says that every level is a number (threads, sizes, quotas), so that the axis can be drawn as one.
	Numeric bool `json:"numeric,omitzero"`
}

// Level is one value of an axis: what it lays over the base.
type Level struct {
	Name string `json:"name"`
	// Numeric is the level as a number when the axis is Numeric: sizes in bytes, percentages as shares.
	Numeric float64 `json:"numeric,omitzero"`
	Config  Config  `json:"config"`
}

// Table says how the result is laid out.
type Table struct {
	Rows    []string `json:"rows,omitempty"`    // axes
	Columns []string `json:"columns,omitempty"` // the other axes
	// Show names the values of a cell (see package trial); the first one is what verdicts are about.
	Show []string `json:"show,omitempty"`
	Unit string   `json:"unit,omitzero"` // of Show[0] when it is a value of Read
}

// Trials says how often and how long.
type Trials struct {
	Time    Duration `json:"time"`     // that is measured; 0 for probes
	WarmMin Duration `json:"warm_min"` // load before that, at least
	// and at most, when the rate does not become stationary; a trial that did not is marked
	WarmMax Duration `json:"warm_max"`
	Min     int      `json:"min"`        // rounds; each runs every variant once, in random order
	Max     int      `json:"max"`        // rounds
	Margin  float64  `json:"margin"`     // ratios within 1 ± Margin are the same
	Conf    float64  `json:"confidence"` // 0.95
	Seed    uint64   `json:"seed"`       // of orders and data
	// Fresh says what a trial begins with.
	Fresh Fresh `json:"fresh"`
	// Turns makes the variants of a round take turns of this length under one load on one server, in an order that is
	// random within each block, until each has had Time without the guards: drift and slow noise hit all alike. 0: each
	// variant has trials of its own.
	Turns Duration `json:"turns,omitzero"`
	// Settle waits before each trial until the server has stopped writing.
	Settle bool `json:"settle,omitzero"`
	// judge rates as they are, without a correction for the speed of the CPUs
	Raw        bool `json:"raw,omitzero"`
	DropCaches bool `json:"drop_caches,omitzero"` // the kernel's, before each trial; needs root
	// leave the A/A trials out: only for plans whose values are not measured but read
	NoControl bool `json:"no_control,omitzero"`
}

// Fresh says what a trial begins with.
type Fresh string

const (
	// restored data and a restarted server; the default for loads that write, and where variants differ in their steps
	FreshData   Fresh = "data"
	FreshServer Fresh = "server" // a restarted server on the data as they are; the default for loads that read only
	FreshNone   Fresh = "none"   // the running server, as far as the variants differ in nothing that needs a start
	// FreshLive goes on with the running load, too: variants that differ in limits, CPUs, set and steps alone are put
	// in force under it, so that trials can be short and in quick turn. Settings that only new sessions take over are
	// not felt.
	FreshLive Fresh = "live"
)

// Placement says which CPUs the server and the client run on.
type Placement struct {
	Mode   PlacementMode `json:"mode"`
	Server string        `json:"server,omitempty"` // list of CPUs as in taskset -c, for Mode "given"
	Client string        `json:"client,omitempty"`
}

// PlacementMode is how CPUs are shared out.
type PlacementMode string

const (
	Split  PlacementMode = "split"  // the default: server and client on CPUs of their own, most to the server
	Shared PlacementMode = "shared" // both on the same, all there are
	Given  PlacementMode = "given"
	Free   PlacementMode = "free" // the kernel decides at each wake-up; the result carries a warning
)

// Price is what a server costs. It is applied to the variants that have all of the levels of For.
type Price struct {
	For      map[string]string `json:"for,omitempty"`
	Month    float64           `json:"month"`
	Currency string            `json:"currency,omitempty"` // "$" when nothing is said
}

// Published is a figure that was found by someone else, then, on other hardware, for one cell or row.
type Published struct {
	For    map[string]string `json:"for,omitempty"` // levels by axis; empty: the whole table
	Text   string            `json:"text"`          // "1.55-1.62× slower than latin1"
	Lo     float64           `json:"lo,omitzero"`   // as a ratio to the baseline, 0 when it is not one
	Hi     float64           `json:"hi,omitzero"`
	Absent string            `json:"absent,omitzero"` // why this arm is not measured here
}

// Variant is one configuration of the table, with everything settled.
type Variant struct {
	// Key names it within its plan: "collation=latin1,threads=4", axes in the plan's order; "base" without axes.
	Key    string            `json:"key"`
	Levels map[string]string `json:"levels,omitempty"` // level by axis
	Config Config            `json:"config"`           // base and levels laid over each other
	// Baseline is the Key of the variant that this one is compared with; its own when it is a baseline.
	Baseline string `json:"baseline"`
}
