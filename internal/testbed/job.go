package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/workload"
)

// job is a variant made ready to be carried out.
type job struct {
	key     string
	config  plan.Config
	server  sandbox.Server
	servers servers
	schema  string
	seed    uint64
	fresh   plan.Fresh

	run     *workload.Plan    // nil for probes
	runWith map[string]string // options of run
	runs    workload.Workload

	fill     *workload.Plan // whose tables are prepared; nil for none
	fillWith map[string]string
	fills    workload.Workload

	data  string // key of the data set, "" when there is nothing to keep
	place string // key of the place
	bytes int64  // size of a loop device, 0 for the default
}

// settings are those of the server's start.
func (j *job) settings() map[string]string {
	m := maps.Clone(j.config.Settings)
	if m == nil {
		m = map[string]string{}
	}
	return m
}

// job settles a variant.
func (s *Testbed) job(v plan.Variant, p plan.Plan) (*job, error) {
	j := &job{key: v.Key, config: v.Config, schema: p.Database, seed: p.Trials.Seed, fresh: p.Trials.Fresh}
	if j.schema == "" {
		j.schema = "lab"
	}
	var err error
	if j.server, err = s.Yard.Resolve(context.Background(), v.Config.Server); err != nil {
		return nil, fmt.Errorf("%s", describe(err))
	}
	if j.servers, err = s.serversOf(j.server.Flavor); err != nil {
		return nil, err
	}
	build := func(name string, layers ...map[string]string) (
		workload.Workload, *workload.Plan, map[string]string, error,
	) {
		layers = append([]map[string]string{{j.servers.Database(): j.schema}}, layers...)
		w, options, err := j.servers.find(s.Workloads, name, layers...)
		if err != nil {
			return nil, nil, nil, err
		}
		options = workload.WithThreads(w, options, v.Config.Run.Threads)
		wp, err := w.Build(options)
		return w, wp, options, err
	}
	if r := v.Config.Run; r.Workload != "" {
		if j.runs, j.run, j.runWith, err = build(r.Workload, v.Config.Data.Options, r.Options); err != nil {
			return nil, err
		}
	}
	if name, options := v.Config.Prepared(); name != "" {
		if j.fills, j.fill, j.fillWith, err = build(name, options); err != nil {
			return nil, err
		}
	}
	if j.fill != nil {
		j.schema = j.fill.Schema
	}
	if j.fresh == "" {
		j.fresh = plan.FreshServer
	}
	if j.config.Filesystem != "" {
		j.bytes = max(leastDevice, 3*dataSize(j)) // sparse: what is not written takes no room
	}
	j.keys()
	return j, nil
}

// leastDevice is the size of a loop device for small data.
const leastDevice = 4 << 30

// keys names what is made once and used by many trials.
func (j *job) keys() {
	shape := map[string]string{}
	for k, v := range j.config.Settings {
		if j.servers.Shapes(k) {
			shape[k] = v
		}
	}
	h := sha256.New()
	put := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	put("3", j.server.Path, string(j.server.Flavor), j.server.Version)
	for _, k := range slices.Sorted(maps.Keys(shape)) {
		put(k, shape[k])
	}
	base := hex.EncodeToString(h.Sum(nil))[:16]
	put(j.schema, fmt.Sprint(j.seed))
	tables := 0
	if j.fill != nil {
		put(load.Identities(j.fill, j.seed+1)...)
		put(j.fill.Workload)
		tables = len(j.fill.Tables)
		for _, k := range slices.Sorted(maps.Keys(j.fill.Options)) {
			if strings.HasPrefix(k, "rand-") { // the rows' values follow the distribution
				put(k, j.fill.Options[k])
			}
		}
	}
	put(j.config.Data.SQL...)
	if tables > 0 || len(j.config.Data.SQL) > 0 {
		j.data = "lab-" + hex.EncodeToString(h.Sum(nil))[:16]
	}
	j.place = strings.Join([]string{base, j.data, j.config.Filesystem}, "/")
}

// prepare makes the job's data set when the yard has none.
func (s *Testbed) prepare(ctx context.Context, j *job, sink progress.Sink) (err error) {
	if j.data == "" {
		return nil
	}
	if _, ok := s.Yard.HasData(j.data); ok {
		return nil
	}
	if s.current != nil { // one server at a time
		if err := s.stop(ctx, s.current, false); err != nil {
			return err
		}
	}
	name := s.Name + "-" + preparing
	s.note("Preparing the data of %s, once: they are stored for later trials.", j.key)
	settings := j.settings()
	for k, v := range j.servers.Quick(j.server.Flavor, j.server.Version) { // durability is of no use here
		if _, given := settings[k]; !given {
			settings[k] = v
		}
	}
	box, err := s.Yard.Up(ctx, sandbox.Config{Name: name, Server: j.server.Path, Settings: settings, Owner: true}, sink)
	if err != nil {
		return err
	}
	defer func() {
		if e := s.Yard.Remove(context.WithoutCancel(ctx), name); e != nil && !errors.Is(e, sandbox.ErrNotFound) &&
			err == nil {
			err = e
		}
	}()
	if err := s.fill(ctx, box, j, sink); err != nil {
		return err
	}
	about := map[string]string{"server": j.server.Spec(), "variant": j.key}
	if j.fill != nil {
		about["workload"] = j.fill.Workload
	}
	return s.Yard.SaveData(ctx, name, j.data, about, sink)
}

// fill makes the job's tables on the server of a sandbox, and runs the plan's own statements.
func (s *Testbed) fill(ctx context.Context, box sandbox.Sandbox, j *job, sink progress.Sink) error {
	if j.fill != nil && len(j.fill.Tables) > 0 {
		srv, err := j.servers.OpenLoad(ctx, box.Spec())
		if err != nil {
			return err
		}
		defer srv.Close()
		threads := j.config.Data.Threads
		if threads == 0 {
			threads = max(2, len(s.cpus.before))
		}
		procs := runtime.GOMAXPROCS(max(s.cpus.procs, 1)) // loading is not measured
		err = srv.Prepare(ctx, load.Data{
			Workload: j.fills, Options: j.fillWith, Threads: threads, Seed: j.seed + 1,
		}, sink)
		runtime.GOMAXPROCS(procs)
		if err != nil {
			return err
		}
	}
	t, err := j.servers.Open(ctx, box.Spec())
	if err != nil {
		return err
	}
	defer t.Close()
	c, err := t.Session(ctx, j.schema, false)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, q := range j.config.Data.SQL {
		if err := c.Exec(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", brief(q), t.Wrap("prepare data on", err))
		}
	}
	if j.fill == nil {
		return nil
	}
	var tables []string
	for _, x := range j.fill.Tables {
		tables = append(tables, x.Name)
	}
	// every copy begins with the same statistics, whatever the background threads had got to
	return t.Wrap("renew the statistics of tables on", c.Analyze(ctx, tables))
}

// brief shortens a statement for a message.
func brief(q string) string {
	q = strings.Join(strings.Fields(q), " ")
	if len(q) > 120 {
		return q[:117] + "..."
	}
	return q
}
