package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
)

// AllOptions says which faults are planted one after the other, and where.
type AllOptions struct {
	Servers    []string // as for `sandbox up`; empty means MariaDB
	ServerDirs []string
	Seeds      int // 1 to so many; 0 means 1
	First      int // seed to begin with; 0 means 1
	Only       []string
	Pairs      bool // also faults planted two at a time
	NoCure     bool
	// Done are lines of an earlier call: what they tell of is left out.
	Done []AccuracyLine
	// Beside, when not nil, is called with each server while the load runs, when the diagnosis has ended.
	Beside func(ctx context.Context, l *AccuracyLine, s Beside) error
	// Begin, when not nil, is called before each fault.
	Begin func(fault, server string, seed, number, of int)
}

// Beside is what other tools get to see of a server of the demo: as much as the diagnosis did.
type Beside struct {
	Server  family.Server
	Socket  string
	Port    int
	Flavor  dbms.Flavor
	Expects []fault.Expectation // to grade them by
	Kind    fault.Kind
}

// AccuracyLine is what came of one fault on one server.
type AccuracyLine struct {
	Fault  string     `json:"fault"`
	Kind   fault.Kind `json:"kind"`
	Server string     `json:"server"` // "mariadb@10.11.19"
	Asked  string     `json:"asked"`  // as it was asked for: "mariadb"
	Seed   int        `json:"seed"`
	Found  bool       `json:"found"` // every planted cause stands first or second; of a control: nothing was found
	// of the expected finding, from 1; of several the last one's; 0 when there is none
	Rank     int           `json:"rank"`
	Missed   string        `json:"missed,omitempty"`
	Foreign  []ForeignLine `json:"foreign"` // findings that are neither expected nor true beside the fault
	Gain     *GainLine     `json:"gain"`    // measured of the live cure; null when none was tried
	Seconds  float64       `json:"seconds"`
	NotLimit []string      `json:"limits_not_in_force,omitempty"`
	Error    string        `json:"error,omitempty"` // what ended it early
	// Tools are what other tools said on the same server.
	Tools map[string]ToolLine `json:"tools,omitempty"`
}

// ForeignLine is a finding that does not belong.
type ForeignLine struct {
	Rule     string           `json:"rule"`
	Severity finding.Severity `json:"severity"`
	Title    string           `json:"title"`
}

// GainLine is a measured gain: a factor, above 1 is better.
type GainLine struct {
	Lo      float64     `json:"lo"`
	Center  float64     `json:"center"`
	Hi      float64     `json:"hi"`
	N       int         `json:"n"`      // pairs of windows
	Figure  string      `json:"figure"` // "qps", "tps", "p95_ms"
	Verdict stat.Result `json:"verdict"`
}

// ToolLine is what another tool said.
type ToolLine struct {
	Found  bool     `json:"found"`
	Named  []string `json:"named,omitempty"` // what it said about the planted cause
	Others []string `json:"others"`          // other things that it asks to change
	Error  string   `json:"error,omitempty"`
}

// OK reports whether a line is as it should be: found, nothing false, and a gain where the cure was tried and must give
// one.
func (l AccuracyLine) OK() bool {
	return l.Error == "" && l.Found && len(l.Foreign) == 0 && (l.Gain == nil || l.Gain.Lo > 1)
}

func (l AccuracyLine) key() string { return fmt.Sprintf("%s|%s|%d", l.Fault, l.Asked, l.Seed) }

// All plants the faults one after the other and tells each line as soon as it is known. A fault that fails does not
// stop the others; its line says why. When ctx ends, what was told holds, and Done takes it up again.
func All(ctx context.Context, a *app.App, o AllOptions, tell func(AccuracyLine) error) error {
	jobs, err := o.jobs()
	if err != nil {
		return err
	}
	for i, l := range jobs {
		if o.Begin != nil {
			o.Begin(l.Fault, l.Asked, l.Seed, i+1, len(jobs))
		}
		l = demoLine(ctx, a, o, l)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("plant faults: stopped after %d of %d: %w", i, len(jobs), err)
		}
		if l.Error == notThere {
			continue
		}
		if err := tell(l); err != nil {
			return err
		}
	}
	return nil
}

// jobs lists what is to be done.
func (o AllOptions) jobs() (jobs []AccuracyLine, err error) {
	var names []string
	for _, f := range app.Faults() {
		names = append(names, f.Name)
	}
	if o.Pairs {
		for _, p := range app.FaultPairs() {
			names = append(names, p[0]+"+"+p[1])
		}
	}
	if len(o.Only) > 0 {
		names = o.Only
	}
	for _, n := range names {
		for f := range strings.SplitSeq(n, "+") {
			if _, err := app.FindFault(f); err != nil {
				return nil, err
			}
		}
	}
	servers := o.Servers
	if len(servers) == 0 {
		servers = []string{string(dbms.MariaDB)}
	}
	first := max(1, o.First)
	done := map[string]bool{}
	for _, l := range o.Done {
		if l.Error == "" {
			done[l.key()] = true
		}
	}
	for seed := first; seed < first+max(1, o.Seeds); seed++ {
		for _, s := range servers {
			for _, n := range names {
				l := AccuracyLine{Fault: n, Asked: s, Seed: seed, Foreign: []ForeignLine{}}
				if !done[l.key()] && elsewhere(n, s) == nil {
					jobs = append(jobs, l)
				}
			}
		}
	}
	return jobs, nil
}

// elsewhere returns an error when one of the faults does not exist on the flavor and version that a server's name has.
func elsewhere(names, server string) error {
	name, version, _ := strings.Cut(server, "@")
	flavor := dbms.Flavor(name)
	if _, ok := app.FamilyOf(flavor); !ok { // a path: the server itself will tell
		return nil
	}
	for n := range strings.SplitSeq(names, "+") {
		if _, err := app.FaultOn(n, flavor, version); err != nil {
			return err
		}
	}
	return nil
}

// notThere marks a fault that does not exist on a server.
const notThere = "does not exist there"

// demoLine plants one fault.
func demoLine(ctx context.Context, a *app.App, o AllOptions, l AccuracyLine) AccuracyLine {
	begin := time.Now()
	d := Options{
		Fault: l.Fault, Server: l.Asked, ServerDirs: o.ServerDirs, RandomNames: true, Seed: uint64(l.Seed),
		NoCure: o.NoCure, Voice: silent{},
	}
	if o.Beside != nil {
		d.beside = func(ctx context.Context, s Beside) error { return o.Beside(ctx, &l, s) }
	}
	res, err := Run(ctx, a, d)
	var no *fault.FlavorError
	if errors.As(err, &no) {
		l.Error = notThere
		return l
	}
	l.Seconds = time.Since(begin).Round(100 * time.Millisecond).Seconds()
	l.Server = res.Server.Spec()
	if err != nil {
		l.Error = err.Error()
	}
	control := len(res.Parts) > 0
	for _, p := range res.Parts {
		l.Kind = p.Fault.Kind
		control = control && p.Fault.Kind == fault.Control
		l.Rank = max(l.Rank, p.Rank)
		if p.Missed != "" {
			l.Missed += strings.Repeat("; ", min(1, len(l.Missed))) + p.Fault.Name + ": " + p.Missed
		}
	}
	if slices.ContainsFunc(res.Parts, func(p Part) bool { return p.Rank == 0 }) {
		l.Rank = 0
	}
	for _, f := range res.Foreign {
		l.Foreign = append(l.Foreign, ForeignLine{f.Rule, f.Severity, f.Title})
	}
	l.Found = res.Found || control && res.Judged && len(res.Findings) == 0
	if v := res.Verdict; v != nil {
		l.Gain = &GainLine{v.Ratio.Lo, v.Ratio.Center, v.Ratio.Hi, v.Ratio.N, v.Metric, v.Result}
	}
	for _, s := range res.Limits {
		if !s.InForce {
			l.NotLimit = append(l.NotLimit, s.Name+" "+s.Wanted+": "+s.Reason)
		}
	}
	return l
}

// silent is the Voice of demos that nobody listens to.
type silent struct{}

// Say drops a step.
func (silent) Say(report.Step) {}

// Live drops a second.
func (silent) Live(Live) {}

// Progress returns no sink.
func (silent) Progress() progress.Sink { return nil }
