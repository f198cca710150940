package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox"
)

// place is one sandbox of the stand. Variants that differ only in what a start of the server can change share one.
type place struct {
	name string
	key  string // server build, what a data directory is made with, data set, filesystem
	data string // key of the data set, "" for none
	box  sandbox.Sandbox
	id   host.Identity     // of the running server
	set  map[string]string // settings it runs with
	was  map[string]string // global variables that were changed since it started, and what they were, as literals
	used bool              // a server has been started on its data since they were put back
}

func (p *place) alive() bool { return p.id.Alive() }

// dataDir is the directory of its server's data: a filesystem of their own may be mounted there.
func (p *place) dataDir() string { return filepath.Join(p.box.Dir, "data") }

// last returns the last words of a server that died.
func (p *place) last(y *sandbox.Yard) string {
	if said := y.LastError(p.name); said != "" {
		return said
	}
	return "its log says nothing"
}

// sweep removes the sandboxes that this experiment left behind when its process was killed: their data are in no known
// state. Nobody else has an experiment's name.
func (s *Testbed) sweep(ctx context.Context) error {
	if s.swept {
		return nil
	}
	all, err := s.Yard.List(ctx)
	if err != nil {
		return err
	}
	for _, b := range all {
		rest, ours := strings.CutPrefix(b.Name, s.Name+"-")
		if _, err := strconv.Atoi(rest); !ours || err != nil && rest != preparing {
			continue
		}
		if err := s.Yard.Remove(ctx, b.Name); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			return err
		}
	}
	s.swept = true
	return nil
}

// preparing is what the name of the sandbox ends with that data are made in.
const preparing = "prepare"

// provide returns a place whose server runs as the job asks.
func (s *Testbed) provide(ctx context.Context, j *job, sink progress.Sink) (*place, error) {
	if err := s.prepare(ctx, j, sink); err != nil {
		return nil, err
	}
	var p *place
	for _, x := range s.places {
		if x.key == j.place {
			p = x
		}
	}
	if p == nil {
		p = &place{name: fmt.Sprintf("%s-%d", s.Name, len(s.places)+1), key: j.place, data: j.data}
		s.places = append(s.places, p)
	}
	if s.current != nil && s.current != p {
		if err := s.stop(ctx, s.current, j.fresh == plan.FreshData); err != nil {
			return nil, err
		}
	}
	running := s.current == p && p.alive()
	if running && (j.fresh == plan.FreshNone || j.fresh == plan.FreshLive) && maps.Equal(p.set, j.config.Settings) {
		return p, s.adjust(ctx, p, j)
	}
	if running {
		if err := s.stop(ctx, p, j.fresh == plan.FreshData); err != nil {
			return nil, err
		}
	}
	if p.box.Name != "" && j.fresh == plan.FreshData && p.used && p.data != "" {
		if _, err := s.Yard.RestoreData(ctx, p.name, sink); err != nil {
			return nil, err
		}
		p.used = false
	} else if p.box.Name != "" && j.fresh == plan.FreshData && p.used {
		// data that a template has: a new sandbox is as good
		if err := s.Yard.Remove(ctx, p.name); err != nil {
			return nil, err
		}
		p.box = sandbox.Sandbox{}
	}
	p.used = true // from here on, also when the server does not come up: it may have written before it was ended
	box, err := s.Yard.Up(ctx, sandbox.Config{
		Name: p.name, Server: j.server.Path, Settings: j.settings(), CPUs: serverCPUs(s.cpus, j),
		Limits: j.config.Limits, Data: p.data,
		Filesystem: j.config.Filesystem, FilesystemBytes: j.bytes, Owner: true,
	}, sink)
	if err != nil {
		return nil, err
	}
	p.box, p.set, p.was = box, maps.Clone(j.config.Settings), nil
	if p.id, err = host.IdentityOf(box.PID); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	s.current = p
	return p, nil
}

// serverCPUs is where the job's server runs, "" for anywhere.
func serverCPUs(cpus *cpus, j *job) string {
	if j.config.CPUs != "" {
		return j.config.CPUs
	}
	return cpus.server
}

// apart reports whether the job's server and the client have no CPU in common: a variant may give its server others
// than the placement does.
func apart(cpus *cpus, j *job) bool {
	if j.config.CPUs == "" || cpus.client == "" {
		return cpus.apart
	}
	servers, err1 := host.ParseCPUs(j.config.CPUs)
	clients, err2 := host.ParseCPUs(cpus.client)
	return err1 == nil && err2 == nil && !slices.ContainsFunc(servers, func(c int) bool {
		return slices.Contains(clients, c)
	})
}

// adjust brings the running server of p to the job's limits and CPUs.
func (s *Testbed) adjust(ctx context.Context, p *place, j *job) error {
	if cpus := serverCPUs(s.cpus, j); cpus != p.box.CPUs { // "" too: the variant before may have had CPUs of its own
		if err := s.Yard.Place(ctx, p.name, cpus); err != nil {
			return err
		}
		p.box.CPUs = cpus
	}
	states, err := s.Yard.Limit(ctx, p.name, j.config.Limits)
	if err != nil {
		return err
	}
	p.box.Limits = states
	return nil
}

// stop ends the server of a place: at once when its data are to be put back anyway.
func (s *Testbed) stop(ctx context.Context, p *place, throwAway bool) error {
	end := s.Yard.Down
	if throwAway {
		end = s.Yard.Kill
	}
	s.endLive()
	if s.current == p {
		s.current = nil
	}
	if err := end(ctx, p.name); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		return err
	}
	return nil
}
