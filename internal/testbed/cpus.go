package testbed

import (
	"fmt"
	"runtime"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/trial"
)

// cpus is how the CPUs are shared out for the whole experiment.
type cpus struct {
	before []int // of this process, to go back to
	procs  int   // GOMAXPROCS, likewise
	server string
	client string
	apart  bool // server and client have none in common
	n      int  // of the client
}

// Share shares out the CPUs that this process may use: lists for server and client as taskset -c takes them. Split
// gives the client a quarter of them, at least one, and the server the rest; with a single CPU it is Shared.
func Share(p plan.Placement, allowed []int) (server, client []int, err error) {
	switch p.Mode {
	case plan.Given:
		for _, side := range []struct {
			name, list string
			into       *[]int
		}{{"server", p.Server, &server}, {"client", p.Client, &client}} {
			list, err := host.ParseCPUs(side.list)
			if err != nil {
				return nil, nil, fmt.Errorf("placement of the %s: %w", side.name, err)
			}
			for _, c := range list {
				if !has(allowed, c) {
					return nil, nil, fmt.Errorf("placement of the %s: CPU %d is not among %s, those that this "+
						"process may use", side.name, c, host.FormatCPUs(allowed))
				}
			}
			*side.into = list
		}
		return server, client, nil
	case plan.Shared, plan.Free:
		return allowed, allowed, nil
	default:
		n := len(allowed)
		if n < 2 {
			return allowed, allowed, nil
		}
		k := max(1, n/4)
		return allowed[:n-k], allowed[n-k:], nil
	}
}

func has(list []int, c int) bool {
	for _, x := range list {
		if x == c {
			return true
		}
	}
	return false
}

// place puts this process, which is the client, on its CPUs, once for all trials.
func (s *Testbed) place(p plan.Placement, t *trial.Trial) error {
	if s.cpus == nil {
		allowed, err := host.Allowed()
		if err != nil {
			return fmt.Errorf("place the client: %w", err)
		}
		server, client, err := Share(p, allowed)
		if err != nil {
			return err
		}
		c := &cpus{before: allowed, procs: runtime.GOMAXPROCS(0), n: len(client)}
		if p.Mode != plan.Free {
			c.server, c.client = host.FormatCPUs(server), host.FormatCPUs(client)
			if err := host.Pin(client); err != nil {
				return fmt.Errorf("place the client on CPU %s: %w", c.client, err)
			}
			runtime.GOMAXPROCS(len(client))
		}
		c.apart = true
		for _, x := range client {
			if has(server, x) {
				c.apart = false
			}
		}
		s.cpus = c
	}
	if p.Mode == plan.Free {
		t.Warnings = append(t.Warnings, "server and client were not pinned to CPUs: their placement by the kernel "+
			"can change figures by a factor of two")
	}
	return nil
}
