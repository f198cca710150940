// Package trial carries out trials of experiments on servers of the MySQL family: it implements family.Bench.
package trial

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql/arith"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Bench implements family.Bench.
type Bench struct{}

var _ family.Bench = Bench{}

// Open implements family.Bench.
func (Bench) Open(ctx context.Context, s endpoint.Spec) (family.TrialServer, error) {
	t, err := target.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return server{t}, nil
}

// Workload implements family.BenchLoad.
func (Bench) Workload(w workload.Workload) (workload.Workload, error) {
	if x, ok := w.(interface {
		In(workload.Dialect) (workload.Workload, error)
	}); ok {
		return x.In(workload.MySQL)
	}
	return w, nil
}

// Database implements family.BenchLoad.
func (Bench) Database() string { return "mysql-db" }

// Retried implements family.BenchLoad by what a load retries.
func (Bench) Retried() []string {
	codes, _ := loader.Server{}.Retried()
	return codes
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

// Shapes implements family.BenchData.
func (Bench) Shapes(name string) bool {
	name = strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(name), "-", "_"), "loose_")
	for _, h := range harmless {
		if strings.HasPrefix(name, h) {
			return false
		}
	}
	return true
}

// Quick implements family.BenchData.
func (Bench) Quick(f dbms.Flavor, version string) map[string]string {
	m := map[string]string{"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}
	if !f.IsMariaDB() && !strings.HasPrefix(version, "5.") {
		m["disable_log_bin"] = "ON"
		m["local_infile"] = "ON" // off as shipped; without it the rows come in by INSERT
	}
	return m
}

// Needs implements family.BenchSettings.
func (Bench) Needs(settings map[string]string) family.ServerNeeds {
	// of the 151 sessions that servers come with, one is for Dyno's own questions
	n := family.ServerNeeds{Sessions: 150, SessionsKey: "max_connections"}
	if v, err := strconv.Atoi(settings[n.SessionsKey]); err == nil {
		n.Sessions = v
	}
	sum := func(names ...string) (sum int64) {
		for _, name := range names {
			if v, err := unit.ParseSize(settings[name]); err == nil {
				sum += int64(v)
			}
		}
		return sum
	}
	n.Disk = sum("innodb_redo_log_capacity", "innodb_log_file_size")
	n.Memory = sum("innodb_buffer_pool_size", "rocksdb_block_cache_size", "key_buffer_size")
	return n
}

// Changeable implements family.BenchSettings: some global variables have no option, or one of another name.
func (Bench) Changeable() bool { return false }

// pools are the figures of a buffer pool that Predict knows, by name.
var pools = map[string]func(arith.Pool) uint64{
	"buffer_pool_size":       func(p arith.Pool) uint64 { return p.Size },
	"buffer_pool_instances":  func(p arith.Pool) uint64 { return uint64(p.Instances) },
	"buffer_pool_chunk_size": func(p arith.Pool) uint64 { return p.Chunk },
}

// Predict implements family.BenchSettings: what becomes of a buffer pool.
func (Bench) Predict(what string, p family.Prediction) (value float64, rules []string, err error) {
	of, ok := pools[what]
	if !ok {
		return 0, nil, fmt.Errorf("no arithmetic is called %q; there is %s", what,
			strings.Join(slices.Sorted(maps.Keys(pools)), ", "))
	}
	a, err := ask(p)
	if err != nil {
		return 0, nil, err
	}
	pool, err := arith.BufferPool(p.Flavor, p.Version, a)
	if err != nil {
		return 0, nil, err
	}
	if to, ok := p.Set["innodb_buffer_pool_size"]; ok { // changed while it runs
		n, err := unit.ParseSize(to)
		if err != nil {
			return 0, nil, fmt.Errorf("innodb_buffer_pool_size: %w", err)
		}
		if pool, err = arith.Resize(p.Flavor, p.Version, pool, n); err != nil {
			return 0, nil, err
		}
	}
	return float64(of(pool)), pool.Rules, nil
}

// ask returns the buffer pool that settings ask for at the start.
func ask(p family.Prediction) (a arith.Ask, err error) {
	a.CPUs = p.CPUs
	m := map[string]string{}
	for k, v := range p.Settings {
		m[strings.TrimPrefix(k, "loose_")] = v
	}
	for name, into := range map[string]*uint64{
		"innodb_buffer_pool_size":       &a.Size,
		"innodb_buffer_pool_chunk_size": &a.Chunk,
	} {
		if v, ok := m[name]; ok {
			if *into, err = unit.ParseSize(v); err != nil {
				return a, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if v, ok := m["innodb_buffer_pool_instances"]; ok {
		if a.Instances, err = strconv.Atoi(v); err != nil {
			return a, fmt.Errorf("innodb_buffer_pool_instances: %w", err)
		}
	}
	return a, nil
}
