// Package trial carries out trials of experiments on servers of PostgreSQL: it implements family.Bench.
package trial

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/postgres/loader"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Bench implements family.Bench.
type Bench struct{}

var _ family.Bench = Bench{}

// Open implements family.Bench.
func (Bench) Open(ctx context.Context, s endpoint.Spec) (family.TrialServer, error) {
	t, err := conn.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return server{t}, nil
}

// Workload implements family.BenchLoad.
func (Bench) Workload(w workload.Workload) (workload.Workload, error) {
	return loader.InDialect(w)
}

// Database implements family.BenchLoad.
func (Bench) Database() string { return "pgsql-db" }

// Retried implements family.BenchLoad by what a load retries.
func (Bench) Retried() []string {
	codes, _ := loader.Server{}.Retried()
	return codes
}

// Shapes implements family.BenchData. Of the settings that can be changed at all only a few decide what new tables and
// their statistics are like.
func (Bench) Shapes(setting string) bool {
	name := strings.ReplaceAll(strings.ToLower(setting), "-", "_")
	return strings.HasPrefix(name, "default_") || strings.HasPrefix(name, "vacuum_")
}

// Quick implements family.BenchData.
func (Bench) Quick(dbms.Flavor, string) map[string]string {
	return map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
}

const (
	defaultSessions = 100     // max_connections as shipped
	ownSessions     = 3       // of Dyno's own beside a load
	defaultWAL      = 1 << 30 // max_wal_size as shipped
)

// Needs implements family.BenchSettings.
func (Bench) Needs(settings map[string]string) family.ServerNeeds {
	n := family.ServerNeeds{Sessions: defaultSessions, SessionsKey: "max_connections", Disk: defaultWAL}
	if v, err := strconv.Atoi(settings[n.SessionsKey]); err == nil {
		n.Sessions = v
	}
	n.Sessions -= ownSessions
	if v, ok := size(settings["max_wal_size"], 1<<20); ok {
		n.Disk = v
	}
	n.Memory, _ = size(settings["shared_buffers"], 8<<10)
	return n
}

// size reads a setting of bytes; one without a unit is a number of the setting's own.
func size(v string, one int64) (int64, bool) {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return n * one, true
	}
	n, err := unit.ParseSize(v)
	return int64(n), err == nil
}

// Changeable implements family.BenchSettings.
func (Bench) Changeable() bool { return true }

// Predict implements family.BenchSettings: there is no arithmetic.
func (Bench) Predict(what string, _ family.Prediction) (value float64, rules []string, err error) {
	return 0, nil, fmt.Errorf("no arithmetic of PostgreSQL is called %q: leave predict out", what)
}

// Causes implements family.BenchSettings. Sources: "Resource Consumption", "Write Ahead Log", "Preset Options" of
// https://www.postgresql.org/docs/current/runtime-config.html.
func (Bench) Causes() trial.Causes {
	memory := []string{"shared_memory_size", "shared_memory_size_in_huge_pages", "num_os_semaphores"}
	return trial.Causes{
		Family: "PostgreSQL",
		Follows: map[string][]string{
			"shared_buffers": append([]string{
				"wal_buffers", "commit_timestamp_buffers", "subtransaction_buffers", "transaction_buffers",
			}, memory...),
			"max_connections": memory, "max_worker_processes": memory, "max_wal_senders": memory,
			"max_prepared_transactions": memory, "max_locks_per_transaction": memory, "wal_buffers": memory,
			"autovacuum_max_workers": memory, "autovacuum_worker_slots": memory, "huge_pages": {"huge_pages_status"},
			"shared_preload_libraries": {"*.*"},
			"io_method":                {"io_*"}, "io_max_concurrency": memory,
		},
		ByMachine: []string{"io_max_concurrency"},
		Server:    map[string][]trial.Cause{"extensions": {{Setting: "shared_preload_libraries"}}},
		Plain:     func(option string) string { return strings.ReplaceAll(strings.ToLower(option), "-", "_") },
	}
}
