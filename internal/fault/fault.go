package fault

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"dyno/internal/load"
	"dyno/internal/progress"
	"dyno/internal/schema"
	"dyno/internal/target"
	"dyno/internal/workload"
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
	Threads int // sessions of the load
	// Settings are the server's, as in my.cnf. Names that some servers lack begin with "loose_", so that these go on without.
	Settings map[string]string
	// Workload makes the data and the load. It takes the option names-seed.
	Workload workload.Workload

	expect func(names) Expectation
}

// Expectation is what the right finding says. The zero Expectation expects no finding.
type Expectation struct {
	Rule    string // id of the rule
	Table   schema.Ref
	Columns []string // of the index to add, in order
}

// All returns the faults in the order in which lists show them.
func All() []Fault {
	return []Fault{missingIndex(), healthyReads(), healthyWrites(), healthyIdle()}
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

// Options returns the options with which the workload finds its tables under the names of a seed; 0 stands for the names people
// would choose.
func Options(seed uint64) map[string]string {
	return map[string]string{namesSeed: strconv.FormatUint(seed, 10)}
}

// Setup makes the data on a fresh server, with the names of a seed. It fails where tables of these names exist. When it fails it
// leaves nothing behind, or says what is left.
func (f Fault) Setup(ctx context.Context, t *target.Target, seed uint64, more map[string]string, sink progress.Sink) error {
	o := Options(seed)
	maps.Copy(o, more)
	if err := load.Prepare(ctx, t, load.Data{Workload: f.Workload, Options: o, Threads: 2, Seed: 1}, sink); err != nil {
		return fmt.Errorf("plant %s: %w", f.Name, err)
	}
	return nil
}

// Expect returns what the right finding says when the names of the seed are used.
func (f Fault) Expect(seed uint64) Expectation {
	if f.expect == nil {
		return Expectation{}
	}
	return f.expect(names{seed})
}
