package testbed

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Family is a family of servers that trials can run on.
type Family interface {
	Name() string
	Bench() family.Bench
	// OpenLoad logs in to load a server.
	OpenLoad(ctx context.Context, s endpoint.Spec) (load.Server, error)
}

// servers is a family as a job asks it.
type servers struct {
	Family
	family.Bench
}

// serversOf returns the family of a flavor.
func (s *Testbed) serversOf(f dbms.Flavor) (servers, error) {
	x, ok := s.Family(f)
	if !ok {
		return servers{}, fmt.Errorf("compare servers: dyno cannot do that yet with %s", f.Name())
	}
	return servers{x, x.Bench()}, nil
}

// open logs in to the server of a place.
func (f servers) open(ctx context.Context, p *place) (family.TrialServer, error) {
	spec := p.box.Spec()
	spec.Name = "sandbox:" + p.name
	return f.Open(ctx, spec)
}

// find returns a workload as the family has it, and those of the options given that are its own. An option that it has
// for other families only is an error.
func (f servers) find(
	all []workload.Workload, name string, given ...map[string]string,
) (w workload.Workload, options map[string]string, err error) {
	original, err := workload.Find(all, name)
	if err != nil {
		return nil, nil, err
	}
	if w, err = f.Workload(original); err != nil {
		return nil, nil, err
	}
	has := func(w workload.Workload, name string) bool {
		return slices.ContainsFunc(w.Options(), func(o workload.Option) bool { return o.Name == name })
	}
	options = map[string]string{}
	for _, layer := range given { // options of the other workload need not be this one's
		for k, v := range layer {
			switch k = strings.ReplaceAll(k, "_", "-"); {
			case has(w, k):
				options[k] = v
			case has(original, k):
				return nil, nil, fmt.Errorf("the workload %s has no option %s for %s: leave it out", name, k, f.Name())
			}
		}
	}
	return w, options, nil
}
