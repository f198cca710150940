package family

import (
	"context"
	"database/sql"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Bench is how the trials of experiments are carried out on servers of a family.
type Bench interface {
	BenchData
	BenchLoad
	BenchSettings
	// Open logs in to the server of a trial.
	Open(ctx context.Context, s endpoint.Spec) (TrialServer, error)
}

// BenchData is how the data of trials are made, before any server runs.
type BenchData interface {
	// Shapes reports whether a setting may change what a data directory holds that was shut down cleanly: variants that
	// differ in other settings alone start from the same data.
	Shapes(setting string) bool
	// Quick returns settings of the server's start that make loading fast, at the cost of durability.
	Quick(f dbms.Flavor, version string) map[string]string
}

// BenchLoad is what a family knows of the loads of trials.
type BenchLoad interface {
	// Workload returns a workload as the family has it. An error says that it has not, and names both.
	Workload(w workload.Workload) (workload.Workload, error)
	// Database is the option of workloads that names the database of their tables.
	Database() string
	// Retried returns the codes of the errors that are part of a load that writes, such as that of a deadlock.
	Retried() []string
}

// BenchSettings is what a family knows of its servers' settings.
type BenchSettings interface {
	// Needs guesses what a server with these settings of its start takes.
	Needs(settings map[string]string) ServerNeeds
	// Predict returns what arithmetic says that a server makes of its settings, and by which rules. what names the
	// arithmetic; an error says that there is none of that name, or why it cannot be done.
	Predict(what string, p Prediction) (value float64, rules []string, err error)
	// Changeable reports whether a server knows every setting that can be changed while it runs at its start too.
	Changeable() bool
	// Causes tells what the servers' variables depend on.
	Causes() trial.Causes
}

// ServerNeeds is what a server takes besides what every server does.
type ServerNeeds struct {
	Disk        int64  // bytes of its logs
	Memory      int64  // bytes of its caches
	Sessions    int    // that a load may have
	SessionsKey string // the setting that says so
}

// Prediction is a server whose settings arithmetic is about.
type Prediction struct {
	Flavor   dbms.Flavor
	Version  string
	Settings map[string]string // of its start
	Set      map[string]string // changed while it runs
	CPUs     int               // that it may use
}

// TrialServer is a server that a trial runs on.
type TrialServer interface {
	TrialSettings
	TrialReadings
	// Session opens a session in a database, which is made when it is missing. A held one may be idle for hours.
	Session(ctx context.Context, database string, held bool) (TrialSession, error)
	// WriteOut has the server write its changed pages now, until undo puts back what was changed for that. undo works
	// also when ctx has ended, and makes sure of it.
	WriteOut(ctx context.Context) (undo func() error, err error)
	// Wrap turns an error of the server into one that says what was done and what to do about it.
	Wrap(op string, err error) error
	Close() error
}

// TrialSettings changes settings of a running server.
type TrialSettings interface {
	// Apply puts settings in effect and takes back those that it was given for an earlier trial. was is what it
	// returned then, nil at the first time since the server's start.
	Apply(ctx context.Context, set, was map[string]string) (now map[string]string, err error)
	// Switch prepares to put one of several groups of settings in effect after the other, all of the same names.
	Switch(ctx context.Context, groups []map[string]string) (SettingsSwitch, error)
}

// SettingsSwitch puts one group of settings after the other in effect on a running server, quickly.
type SettingsSwitch interface {
	// To puts a group in effect and returns the values that the server shows then, in the order of the settings' names.
	To(ctx context.Context, group int) (values []string, err error)
	// Text is what To executes for a group.
	Text(group int) string
	Close()
}

// TrialReadings reads what a server is and what it did.
type TrialReadings interface {
	// Environment returns facts of the groups "server" and "variable", see trial.Environment, and what could not be
	// read, by "group.name" with the reason.
	Environment(ctx context.Context) (facts map[string]map[string]string, unknown map[string]string, err error)
	// Written returns how many bytes the server has written since its start, by layer: "data", "redo" and others. A
	// layer that is not counted is missing.
	Written(ctx context.Context) (map[string]uint64, error)
}

// TrialSession is one session of a trial. It is used by one goroutine; its errors are the server's own.
type TrialSession interface {
	Exec(ctx context.Context, statement string) error
	// Value returns the first column of the first row, with 1 and 0 for true and false; sql.ErrNoRows when there is no
	// row.
	Value(ctx context.Context, query string) (sql.NullString, error)
	// Analyze renews the statistics of tables.
	Analyze(ctx context.Context, tables []string) error
	// Probe executes a statement once unmeasured and then so many times.
	Probe(ctx context.Context, statement string, times int) (Probed, error)
	Close() error
}

// Probed is what measuring one statement found.
type Probed struct {
	Plan     string    // in one line
	Sorts    bool      // it sorts rows
	MS       []float64 // milliseconds of each execution
	RowsRead float64   // by one execution, on average
	RowsSent int       // by the last one
}
