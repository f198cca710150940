package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/progress"
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

// Fault is one problem to plant, or one healthy control, on servers of one family.
type Fault struct {
	Name    string
	Title   string // one sentence for lists
	Story   string // what is planted and what is to be seen, for people; tells the cause
	Kind    Kind
	Flavors []dbms.Flavor // where it exists, each for its kin, see dbms.Flavor.Kin; empty: on all of its family
	// Until has the versions from which on servers of a flavor do themselves what the cure does, "11.1".
	Until   map[dbms.Flavor]string
	Threads int // sessions of the load
	// Settings are the server's, as in its file of settings.
	Settings map[string]string
	Limits   limit.Limits // of the server's process
	// Workload makes the data and the load. It takes the option NamesSeed.
	Workload workload.Workload
	// After are statements to execute when the data are there: triggers, routines, deletes, statistics. Templates with
	// {names}; the workload's schema is the default one.
	After  []string
	Actors []Actor       // what else goes on while the load runs
	Warm   time.Duration // how long load and actors run before anybody looks; 0 for the usual time
	// Replica has the diagnosis look at a replica of the loaded server, with these settings of its own; nil for none.
	Replica map[string]string
	Cure    Cure
	// Belongs names further rules whose findings are true here as well, each with the reason. They are not counted as
	// false.
	Belongs map[string]string
	// Right says what the right finding says when these names are used; nil for a control.
	Right func(Names) Expectation
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
	// Server is the one that the fault is planted on. Actors know what servers of their own family can do.
	Server interface{ Spec() endpoint.Spec }
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
	// CureRestart puts the finding's own settings into the server's file and starts it again.
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

// Exists reports whether the fault exists on servers of a flavor of its family.
func (f Fault) Exists(flavor dbms.Flavor) bool {
	return len(f.Flavors) == 0 || slices.Contains(f.Flavors, flavor.Lower().Kin())
}

// On returns an error when the fault does not exist on a server of that flavor and version: a *FlavorError.
func (f Fault) On(flavor dbms.Flavor, version string) error {
	switch until := f.Until[flavor.Lower().Kin()]; {
	case !f.Exists(flavor):
		return &FlavorError{Fault: f.Name, Flavor: flavor, Flavors: f.Flavors}
	case until != "" && slices.Compare(numbers(version), numbers(until)) >= 0:
		return &FlavorError{Fault: f.Name, Flavor: flavor, Until: until}
	}
	return nil
}

// numbers returns those of a version; none for what is no version, which counts as an old one.
func numbers(version string) (list []int) {
	for part := range strings.SplitSeq(version, ".") {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(part)
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			break
		}
		list = append(list, n)
	}
	return list
}

// Options returns the options with which the workload finds its tables under the names of a seed; 0 stands for the
// names people would choose.
func Options(seed uint64) map[string]string {
	return map[string]string{NamesSeed: strconv.FormatUint(seed, 10)}
}

// Prepare makes the data on a fresh server, with the names of a seed, and nothing of After. It fails where tables of
// these names exist. When it fails it leaves nothing behind, or says what is left.
func (f Fault) Prepare(ctx context.Context, s load.Tables, seed uint64, more map[string]string,
	sink progress.Sink,
) error {
	o := Options(seed)
	maps.Copy(o, more)
	if err := s.Prepare(ctx, load.Data{Workload: f.Workload, Options: o, Threads: 2, Seed: 1}, sink); err != nil {
		return fmt.Errorf("plant %s: %w", f.Name, err)
	}
	return nil
}

// Stage returns what the actors get when the fault is planted on a server with the names of a seed.
func (f Fault) Stage(s interface{ Spec() endpoint.Spec }, seed uint64) (Stage, error) {
	p, err := f.Workload.Build(Options(seed))
	if err != nil {
		return Stage{}, err
	}
	return Stage{Server: s, Schema: p.Schema, SQL: Names(seed).SQL, Seed: seed}, nil
}

// Expect returns what the right finding says when the names of the seed are used.
func (f Fault) Expect(seed uint64) Expectation {
	if f.Right == nil {
		return Expectation{}
	}
	return f.Right(Names(seed))
}
