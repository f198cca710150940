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
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/workload"
)

// job is a variant made ready to be carried out.
type job struct {
	key    string
	config plan.Config
	server sandbox.Server
	schema string
	seed   uint64
	fresh  plan.Fresh

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
	if j.server, err = s.Yard.Resolve(context.Background(), v.Config.Server); err == nil {
		err = j.server.NotYet("comparisons")
	}
	if err != nil {
		return nil, fmt.Errorf("%s", describe(err))
	}
	build := func(name string, layers ...map[string]string) (
		workload.Workload, *workload.Plan, map[string]string, error,
	) {
		w, err := workload.Find(s.Workloads, name)
		if err != nil {
			return nil, nil, nil, err
		}
		options := map[string]string{}
		for _, o := range w.Options() {
			if o.Name == "mysql-db" {
				options[o.Name] = j.schema
			}
			for _, l := range layers {
				for k, v := range l {
					if strings.ReplaceAll(k, "_", "-") == o.Name {
						// options of the other workload need not be this one's
						options[o.Name] = v
					}
				}
			}
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
		if shapes(k) {
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

// harmless are the beginnings of settings that leave no trace in a data directory that was shut down cleanly: variants
// that differ in these alone start from the same data set. Any other setting gets data of its own.
var harmless = []string{
	"innodb_buffer_pool", "innodb_flush", "sync_binlog", "log_bin", "skip_log_bin", "binlog_", "server_id",
	"innodb_log_buffer_size", "innodb_io_capacity",
	"innodb_log_file", "innodb_redo_log_capacity", "innodb_log_write_ahead", "max_", "table_open_cache",
	"table_definition_cache", "thread_", "performance_schema", "innodb_adaptive", "innodb_doublewrite",
	"innodb_monitor", "query_cache", "innodb_read_io", "innodb_write_io", "innodb_purge",
	"slow_query_log", "long_query_time",
	"innodb_lru", "tmp_table_size", "sort_buffer_size", "join_buffer_size", "read_buffer_size", "read_rnd_buffer_size",
	"back_log", "innodb_thread_concurrency", "innodb_spin", "innodb_use_native_aio",
	"innodb_change_buffering", "optimizer_", "open_files_limit", "general_log", "log_", "innodb_max_dirty",
	"innodb_page_cleaners", "innodb_sync_", "innodb_dedicated_server", "innodb_numa", "large_pages",
	"key_buffer_size", "wait_timeout", "interactive_timeout", "net_", "userstat", "innodb_old_blocks",
	"innodb_random_read_ahead", "innodb_read_ahead", "innodb_concurrency", "innodb_commit_concurrency",
	"innodb_lock_wait", "innodb_deadlock",
}

// shapes reports whether a setting may change what the data directory holds.
func shapes(name string) bool {
	name = strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(name), "-", "_"), "loose_")
	for _, h := range harmless {
		if strings.HasPrefix(name, h) {
			return false
		}
	}
	return true
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
	for k, v := range quick(j.server) { // durability is of no use here
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
	t, err := target.Open(ctx, box.Spec())
	if err != nil {
		return err
	}
	defer t.Close()
	if j.fill != nil && len(j.fill.Tables) > 0 {
		threads := j.config.Data.Threads
		if threads == 0 {
			threads = max(2, len(s.cpus.before))
		}
		procs := runtime.GOMAXPROCS(max(s.cpus.procs, 1)) // loading is not measured
		err := load.Prepare(ctx, t, load.Data{
			Workload: j.fills, Options: j.fillWith, Threads: threads,
			Seed: j.seed + 1,
		}, sink)
		runtime.GOMAXPROCS(procs)
		if err != nil {
			return err
		}
	}
	if err := dataSQL(ctx, t, j); err != nil {
		return err
	}
	t.Close()
	about := map[string]string{"server": j.server.Spec(), "variant": j.key}
	if j.fill != nil {
		about["workload"] = j.fill.Workload
	}
	return s.Yard.SaveData(ctx, name, j.data, about, sink)
}

// quick returns settings that make loading fast.
func quick(srv sandbox.Server) map[string]string {
	m := map[string]string{"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}
	if !srv.Flavor.IsMariaDB() && !strings.HasPrefix(srv.Version, "5.") {
		m["disable_log_bin"] = "ON"
		m["local_infile"] = "ON" // off as shipped; without it the rows come in by INSERT
	}
	return m
}

// dataSQL runs the plan's own statements in the job's schema.
func dataSQL(ctx context.Context, t *target.Target, j *job) error {
	c, err := t.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	statements := []string{"CREATE DATABASE IF NOT EXISTS " + ddl.Quote(j.schema), "USE " + ddl.Quote(j.schema)}
	statements = append(statements, j.config.Data.SQL...)
	if j.fill != nil { // every copy begins with the same statistics, whatever the background threads had got to
		for _, t := range j.fill.Tables {
			statements = append(statements, "ANALYZE TABLE "+ddl.Quote(t.Name))
		}
	}
	for _, q := range statements {
		if _, err := c.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", brief(q), t.Wrap("prepare data on", err))
		}
	}
	return nil
}

// brief shortens a statement for a message.
func brief(q string) string {
	q = strings.Join(strings.Fields(q), " ")
	if len(q) > 120 {
		return q[:117] + "..."
	}
	return q
}
