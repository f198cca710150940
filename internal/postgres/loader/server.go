package loader

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Server is a load.Server of PostgreSQL.
type Server struct {
	T        *conn.Target
	Database string // for workloads whose options name none; "" for the workload's own default
}

// maintenance is the database that every server has for those who look for another.
const maintenance = "postgres"

// Open logs in, to another database when the one that the spec names is yet to be made by Prepare.
func Open(ctx context.Context, spec endpoint.Spec) (load.Server, error) {
	s := Server{Database: spec.Database}
	var err error
	if s.T, err = conn.Open(ctx, spec); conn.KindOf(err) == endpoint.NoSuchDatabase {
		spec.Database = maintenance
		s.T, err = conn.Open(ctx, spec)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

var _ load.Server = Server{}

// Fit returns the workload in PostgreSQL's dialect, on the target's database where the options name none.
func (s Server) Fit(w workload.Workload, options map[string]string) (workload.Workload, map[string]string, error) {
	if w == nil {
		return nil, nil, fmt.Errorf("load %s: no workload given", s.T)
	}
	w, err := InDialect(w)
	if err != nil {
		return nil, nil, err
	}
	named := func(k string) bool { return strings.HasSuffix(strings.ReplaceAll(k, "_", "-"), "sql-db") }
	if db := s.Database; db != "" && !slices.ContainsFunc(slices.Collect(maps.Keys(options)), named) {
		options = maps.Clone(options)
		if options == nil {
			options = map[string]string{}
		}
		options["pgsql-db"] = db
	}
	return w, options, nil
}

// plan settles a workload and its options; step is what is done with it, for the error.
func (s Server) plan(step string, d load.Data) (*workload.Plan, error) {
	var err error
	if d.Workload, d.Options, err = s.Fit(d.Workload, d.Options); err != nil {
		return nil, err
	}
	return d.Plan(step)
}

// Run runs a workload; see load.Run.
func (s Server) Run(ctx context.Context, c load.Config, sink func(loadresult.Tick)) (loadresult.Run, error) {
	var err error
	if c.Workload, c.Options, err = s.Fit(c.Workload, c.Options); err != nil {
		return loadresult.Run{State: loadresult.Failed, Error: err.Error()}, err
	}
	r, err := load.RunOn(ctx, sessions{s.T}, c, sink)
	r.Target = s.T.String()
	return r, err
}

// Retried returns the SQLSTATEs that are always retried.
func (s Server) Retried() (codes []string, option string) { return sessions{s.T}.Retried() }

// Close closes the target.
func (s Server) Close() error { return s.T.Close() }
