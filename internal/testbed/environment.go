package testbed

import (
	"context"
	"fmt"
	"maps"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/trial"
)

// environmentOf tells what the trial runs on.
func environmentOf(
	ctx context.Context, cpus *cpus, t family.TrialServer, p *place, tr *trial.Trial,
) *trial.Environment {
	e := &trial.Environment{Facts: map[string]map[string]string{}, Unknown: map[string]string{}}
	facts, unknown := host.Environment(p.box.PID, p.dataDir())
	maps.Copy(e.Facts, facts)
	maps.Copy(e.Unknown, unknown)
	facts, unknown, err := t.Environment(ctx)
	if err != nil {
		e.Unknown["variable"] = err.Error()
	}
	for group, m := range facts { // a group may have facts of the machine and of the server
		if e.Facts[group] == nil {
			e.Facts[group] = map[string]string{}
		}
		maps.Copy(e.Facts[group], m)
	}
	maps.Copy(e.Unknown, unknown)
	for _, l := range p.box.Limits {
		if e.Facts["limit"] == nil {
			e.Facts["limit"] = map[string]string{}
		}
		state := l.Wanted + " (" + l.How + ")"
		if !l.InForce {
			tr.Warnings = append(tr.Warnings, fmt.Sprintf("the limit %s of %s is not in effect: %s",
				l.Name, l.Wanted, l.Reason))
			state = l.Wanted + " (not in effect)"
			if tr.NotInForce == nil {
				tr.NotInForce = map[string]string{}
			}
			tr.NotInForce[l.Name] = l.Wanted
		}
		e.Facts["limit"][l.Name] = state
	}
	if cpus.client != "" {
		if e.Facts["client"] == nil {
			e.Facts["client"] = map[string]string{}
		}
		e.Facts["client"]["cpus"] = cpus.client
	}
	return e
}
