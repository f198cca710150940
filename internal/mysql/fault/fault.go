package fault

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Kind says how a fault is graded.
type Kind string

const (
	// Hurts costs performance now: its cure must prove a gain.
	Hurts Kind = "hurts"
	// Risk is graded by the finding alone.
	Risk Kind = "risk"
	// Control is a healthy server: nothing must be found.
	Control Kind = "control"
)

// Fault is one problem to plant, or one healthy control.
type Fault struct {
	Name    string
	Title   string // one sentence for lists
	Story   string // what is planted and what is to be seen, for people; tells the cause
	Kind    Kind
	Flavors []dbms.Flavor // where it exists, Percona Server left out as it is like MySQL; empty: on all
	// PostgreSQL says that the same workload shows the fault there.
	PostgreSQL bool
	// Until is the version of MariaDB from which on the server does itself what the cure does, "11.1"; "" for none.
	Until   string
	Threads int // sessions of the load
	// Settings are the server's, as in my.cnf. Names that some servers lack begin with "loose_", so that these go on
	// without.
	Settings map[string]string
	Limits   limit.Limits // of the server's process
	// Workload makes the data and the load. It takes the option names-seed.
	Workload workload.Workload
	// After are statements to execute when the data are there: triggers, routines, deletes, ANALYZE. Templates with
	// {names}; the workload's schema is the default database.
	After  []string
	Actors []Actor       // what else goes on while the load runs
	Warm   time.Duration // how long load and actors run before anybody looks; 0 for the usual time
	// Replica has the diagnosis look at a replica of the loaded server, with these settings of its own; nil for none.
	Replica map[string]string
	Cure    Cure
	// Belongs names further rules whose findings are true here as well, each with the reason. They are not counted as
	// false.
	Belongs map[string]string

	expect func(names) Expectation
}

// Actor is somebody who does something beside the load: he keeps a transaction open, alters a table, deletes at
// intervals.
type Actor struct {
	Name string
	// Run does it until ctx ends. An error before that ends the demo. It uses connections of its own and leaves none
	// behind.
	Run func(ctx context.Context, s Stage) error
}

// Stage is where actors play.
type Stage struct {
	Target *target.Target
	Schema string              // the workload's
	SQL    func(string) string // fills in the names of a template: "SELECT 1 FROM {clients}"
	Seed   uint64
}

// CureKind says how a fault is cured.
type CureKind string

const (
	// CureAction carries out the finding's own action, and takes it back and forth for the proof where that is
	// possible.
	CureAction CureKind = ""
	// CureRestart puts the finding's own settings into my.cnf and starts the server anew.
	CureRestart CureKind = "restart"
	// CureActors ends the actors: the finding names a session or a job to end.
	CureActors CureKind = "actors"
	// CureWorkload has the application do what the finding asks for: Cure.Workload runs in place of the load.
	CureWorkload CureKind = "workload"
)

// Cure is what proves the gain of a fault that hurts.
type Cure struct {
	Kind     CureKind
	Workload workload.Workload // for CureWorkload
	Actors   []Actor           // for CureWorkload: in place of the fault's own
	// Figure is what the proof compares: "" for operations a second. "latency" takes the 95th percentile of the
	// operations' times.
	Figure string
}

// Expectation is what the right finding says. The zero Expectation expects no finding.
type Expectation struct {
	Rule  string     // id of the rule
	Table schema.Ref // among the finding's tables
	// the first parts of the action's index, in order; without an index in the action the first of the subject's
	// columns
	Columns  []string
	Index    string // name of the index to hide or drop
	Variable string // to change: in the action or in the lines for my.cnf
	// Check says what else is wrong with a finding, "" for nothing.
	Check func(finding.Finding) string
}

// Wrong says in a few words why a finding is not the one expected; "" when it is.
func (e Expectation) Wrong(f finding.Finding) string {
	var parts []string
	if f.Action != nil {
		for _, p := range f.Action.Index.Parts {
			parts = append(parts, p.Column)
		}
		for _, c := range f.Action.Changes {
			for _, p := range c.Index.Parts {
				parts = append(parts, p.Column)
			}
		}
	}
	if len(parts) == 0 {
		parts = f.Subject.Columns
	}
	named := func(variable string) bool {
		return f.Action != nil && f.Action.Variable == variable || slices.ContainsFunc(f.Setting, func(l string) bool {
			name, _, _ := strings.Cut(l, "=")
			return strings.TrimSpace(name) == variable
		})
	}
	switch {
	case e.Rule == "":
		return "nothing is expected"
	case f.Rule != e.Rule:
		return "rule " + f.Rule + ", not " + e.Rule
	case e.Table.Table != "" && !slices.Contains(f.Subject.Tables, e.Table):
		return "it is not about " + e.Table.String()
	case len(e.Columns) > len(parts) || !slices.Equal(parts[:len(e.Columns)], e.Columns):
		return "its columns are " + strings.Join(parts, ", ") + ", not " + strings.Join(e.Columns, ", ")
	case e.Index != "" && (f.Action == nil || f.Action.Index.Name != e.Index):
		return "it is not about the index " + e.Index
	case e.Variable != "" && !named(e.Variable):
		return "it does not change " + e.Variable
	case e.Check != nil:
		return e.Check(f)
	}
	return ""
}

// All returns the faults in the order in which lists show them.
func All() []Fault {
	return slices.Concat(indexFaults(), schemaFaults(), layoutFaults(), memoryFaults(), loadFaults(),
		sessionFaults(), controls())
}

// Exists reports whether the fault exists on servers of a flavor.
func (f Fault) Exists(flavor dbms.Flavor) bool {
	if flavor.IsPostgres() {
		return f.PostgreSQL
	}
	return len(f.Flavors) == 0 || slices.Contains(f.Flavors, flavor)
}

// On returns an error when the fault does not exist on a server of that flavor and version: a *FlavorError.
func (f Fault) On(flavor dbms.Flavor, version string) error {
	switch {
	case !f.Exists(flavor):
		where := f.Flavors
		if len(where) == 0 {
			where = []dbms.Flavor{dbms.MySQL, dbms.MariaDB}
		}
		return &FlavorError{Fault: f.Name, Flavor: flavor, Flavors: where}
	case f.Until == "" || !flavor.IsMariaDB():
		return nil
	}
	until := target.ParseVersion(f.Until)
	if !target.ParseVersion(version).AtLeast(until.Major, until.Minor, 0) { // what is no version counts as an old one
		return nil
	}
	return &FlavorError{Fault: f.Name, Flavor: flavor, Until: f.Until}
}

// Find returns the fault of that name.
func Find(name string) (Fault, error) {
	all := All()
	list := make([]workload.Workload, len(all))
	for i, f := range all {
		if f.Name == name {
			return f, nil
		}
		list[i] = f.Workload
	}
	return Fault{}, fmt.Errorf("unknown fault %q%s", name, workload.Suggest(name, list))
}

// Workloads returns the workloads of all faults: the load can run any of them again on a server where it was planted.
func Workloads() []workload.Workload {
	var list []workload.Workload
	for _, f := range All() {
		list = append(list, f.Workload)
	}
	return list
}

// Options returns the options with which the workload finds its tables under the names of a seed; 0 stands for the
// names people would choose.
func Options(seed uint64) map[string]string {
	return map[string]string{namesSeed: strconv.FormatUint(seed, 10)}
}

// Setup makes the data on a fresh server, with the names of a seed. It fails where tables of these names exist. When it
// fails it leaves nothing behind, or says what is left.
func (f Fault) Setup(ctx context.Context, t *target.Target, seed uint64, more map[string]string,
	sink progress.Sink,
) error {
	if err := f.Plant(ctx, load.MySQL{T: t}, seed, more, sink); err != nil {
		return err
	}
	if len(f.After) == 0 {
		return nil
	}
	stage, err := f.Stage(t, seed)
	if err != nil {
		return err
	}
	conn, err := t.Conn(ctx)
	if err != nil {
		return fmt.Errorf("plant %s: %w", f.Name, err)
	}
	defer func() { // its default database must not meet another user of the pool
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	for _, q := range append([]string{"USE " + ddl.Quote(stage.Schema)}, f.After...) {
		if _, err := conn.ExecContext(ctx, stage.SQL(q)); err != nil {
			return fmt.Errorf("plant %s: %s: %w", f.Name, stage.SQL(q), err)
		}
	}
	return nil
}

// Plant is Setup on a server of any family, without what comes after the data.
func (f Fault) Plant(ctx context.Context, s load.Server, seed uint64, more map[string]string,
	sink progress.Sink,
) error {
	o := Options(seed)
	maps.Copy(o, more)
	if err := s.Prepare(ctx, load.Data{Workload: f.Workload, Options: o, Threads: 2, Seed: 1}, sink); err != nil {
		return fmt.Errorf("plant %s: %w", f.Name, err)
	}
	return nil
}

// Stage returns what the actors get when the fault is planted with the names of a seed.
func (f Fault) Stage(t *target.Target, seed uint64) (Stage, error) {
	p, err := f.Workload.Build(Options(seed))
	if err != nil {
		return Stage{}, err
	}
	return Stage{Target: t, Schema: p.Schema, SQL: names{seed}.sql, Seed: seed}, nil
}

// Expect returns what the right finding says when the names of the seed are used.
func (f Fault) Expect(seed uint64) Expectation {
	if f.expect == nil {
		return Expectation{}
	}
	return f.expect(names{seed})
}

// ExpectOn is Expect on servers of a flavor.
func (f Fault) ExpectOn(flavor dbms.Flavor, seed uint64) Expectation {
	e := f.Expect(seed)
	if flavor.IsPostgres() && e.Table.Table != "" {
		e.Table.Schema = "public"
	}
	return e
}
