package trial

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/trial"

	"github.com/google/go-cmp/cmp"
)

// env makes an environment of "group.name=value" and "?group.name=reason".
func env(facts ...string) trial.Environment {
	e := trial.Environment{Facts: map[string]map[string]string{}, Unknown: map[string]string{}}
	for _, f := range facts {
		k, v, _ := strings.Cut(f, "=")
		if u, ok := strings.CutPrefix(k, "?"); ok {
			e.Unknown[u] = v
			continue
		}
		g, n, _ := strings.Cut(k, ".")
		if e.Facts[g] == nil {
			e.Facts[g] = map[string]string{}
		}
		e.Facts[g][n] = v
	}
	return e
}

// told writes differences as "group.name (why) key: value, key: value".
func told(ds []trial.Difference) (out []string) {
	for _, d := range ds {
		s := d.Group + "." + d.Name
		if d.Why != "" {
			s += " (" + d.Why + ")"
		}
		if d.Varied {
			s += " varied"
		}
		for _, k := range slices.Sorted(maps.Keys(d.Values)) {
			s += " " + k + ":" + d.Values[k]
		}
		out = append(out, s)
	}
	return out
}

func TestDifferences(t *testing.T) {
	type config = plan.Config
	// Each case has two variants, a and b, of one trial each unless told otherwise.
	f := func(name string, a, b config, ea, eb []trial.Environment, also, explained []string) {
		t.Helper()
		vs := []plan.Variant{{Key: "a", Config: a}, {Key: "b", Config: b}}
		_, gotAlso, gotExplained := trial.Differences(vs, map[string][]trial.Environment{
			"a": ea, "b": eb,
		}, func(string) trial.Causes { return Bench{}.Causes() })
		if d := cmp.Diff(also, told(gotAlso)); d != "" {
			t.Errorf("%s: also differs (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(explained, told(gotExplained)); d != "" {
			t.Errorf("%s: explained (-want +got):\n%s", name, d)
		}
	}
	one := func(facts ...string) []trial.Environment { return []trial.Environment{env(facts...)} }
	flush := func(v string) config {
		return config{Server: "mysql@9.7", Settings: map[string]string{"innodb_flush_log_at_trx_commit": v}}
	}

	f("nothing", config{}, config{}, one("kernel.release=6"), one("kernel.release=6"), nil, nil)
	f("a setting", flush("0"), flush("1"), one("variable.innodb_flush_log_at_trx_commit=0"),
		one("variable.innodb_flush_log_at_trx_commit=1"),
		nil, []string{"variable.innodb_flush_log_at_trx_commit (set by the plan) a:0 b:1"})
	f("beside a setting, something that no one set", flush("0"), flush("1"), one("variable.sync_binlog=0",
		"kernel.release=6.1"), one("variable.sync_binlog=1", "kernel.release=6.2"),
		[]string{"kernel.release a:6.1 b:6.2", "variable.sync_binlog a:0 b:1"}, nil)
	f("a setting with dashes and one to skip", config{Settings: map[string]string{"skip-log-bin": ""}}, config{},
		one("variable.log_bin=OFF", "variable.log_replica_updates=OFF"),
		one("variable.log_bin=ON", "variable.log_replica_updates=ON"),
		nil, []string{"variable.log_bin (set by the plan) a:OFF b:ON", "variable.log_replica_updates (follows " +
			"log_bin) a:OFF b:ON"})
	f("a global variable", config{Set: map[string]string{"sync_binlog": "0"}},
		config{Set: map[string]string{"sync_binlog": "1"}},
		one("variable.sync_binlog=0"), one("variable.sync_binlog=1"), nil,
		[]string{"variable.sync_binlog (set by the plan) a:0 b:1"})
	f("what follows from a setting", config{Settings: map[string]string{"innodb_buffer_pool_size": "1G"}},
		config{Settings: map[string]string{"innodb_buffer_pool_size": "2G"}},
		one("variable.innodb_buffer_pool_size=1", "variable.innodb_buffer_pool_instances=1",
			"variable.innodb_io_capacity=200"),
		one("variable.innodb_buffer_pool_size=2", "variable.innodb_buffer_pool_instances=8",
			"variable.innodb_io_capacity=300"),
		[]string{"variable.innodb_io_capacity a:200 b:300"},
		[]string{
			"variable.innodb_buffer_pool_instances (follows innodb_buffer_pool_size) a:1 b:8",
			"variable.innodb_buffer_pool_size (set by the plan) a:1 b:2",
		})
	f("performance_schema and its sizes", config{Settings: map[string]string{"performance_schema": "ON"}},
		config{Settings: map[string]string{"performance_schema": "OFF"}},
		one("variable.performance_schema_digests_size=10000"), one("variable.performance_schema_digests_size=0"),
		nil, []string{"variable.performance_schema_digests_size (follows performance_schema) a:10000 b:0"})
	f("the same setting under another name", config{Set: map[string]string{"transaction_isolation": "READ-COMMITTED"}},
		config{},
		one("variable.tx_isolation=READ-COMMITTED"), one("variable.tx_isolation=REPEATABLE-READ"),
		nil, []string{"variable.tx_isolation (set by the plan) a:READ-COMMITTED b:REPEATABLE-READ"})
	f("another server", config{Server: "mysql@9.7"}, config{Server: "mariadb@10.11"},
		one("server.version=9.7", "variable.sort_buffer_size=1", "variable.new=1", "machine.memory_bytes=1"),
		one("server.version=10.11", "variable.sort_buffer_size=2", "machine.memory_bytes=2"),
		[]string{"machine.memory_bytes a:1 b:2"},
		[]string{"server.version (comes with the server) a:9.7 b:10.11", "variable.new (comes with the server) a:1 " +
			"b:(none)", "variable.sort_buffer_size (comes with the server) a:1 b:2"})
	f("limits", config{Limits: limit.Limits{CPU: 0.97}}, config{Limits: limit.Limits{CPU: 1}},
		one("limit.cpu=0.97", "limit.memory=none", "server.cgroup=/dyno/a"), one("limit.cpu=1", "limit.memory=4096",
			"server.cgroup=/dyno/b"),
		[]string{"limit.memory a:none b:4096"}, []string{"limit.cpu (set by the plan) a:0.97 b:1"})
	f("a filesystem", config{Filesystem: "ext4"}, config{Filesystem: "xfs"}, one("storage.filesystem=ext4",
		"kernel.swappiness=60"), one("storage.filesystem=xfs", "kernel.swappiness=1"),
		[]string{"kernel.swappiness a:60 b:1"}, []string{"storage.filesystem (set by the plan) a:ext4 b:xfs"})
	f("a step", config{Before: []plan.Step{{Shell: "echo never > /sys/kernel/mm/transparent_hugepage/enabled"}}},
		config{},
		one("kernel.transparent_huge_page_enabled=never", "kernel.swappiness=1"),
		one("kernel.transparent_huge_page_enabled=always", "kernel.swappiness=60"),
		[]string{"kernel.swappiness a:1 b:60"}, []string{"kernel.transparent_huge_page_enabled (set by a step of the " +
			"plan) a:never b:always"})
	f("CPUs", config{CPUs: "0"}, config{CPUs: "1"}, one("server.affinity=0", "client.affinity=1", "client.nice=0"),
		one("server.affinity=1", "client.affinity=0", "client.nice=5"),
		[]string{"client.nice a:0 b:5"}, []string{
			"client.affinity (set by the plan) a:1 b:0",
			"server.affinity (set by the plan) a:0 b:1",
		})
	f("from trial to trial", flush("0"), flush("1"),
		[]trial.Environment{
			env("machine.governor=performance"), env("machine.governor=powersave"),
			env("machine.governor=performance"),
		}, one("machine.governor=performance"),
		[]string{"machine.governor varied a:performance | powersave b:performance"}, nil)
	f("a setting that did not stay", flush("0"), flush("1"),
		[]trial.Environment{
			env("variable.innodb_flush_log_at_trx_commit=0"),
			env("variable.innodb_flush_log_at_trx_commit=2"),
		}, one("variable.innodb_flush_log_at_trx_commit=1"),
		[]string{"variable.innodb_flush_log_at_trx_commit varied a:0 | 2 b:1"}, nil)
	f("readable on one side", config{}, config{}, one("?kernel.sched_features=not permitted for this user"),
		one("kernel.sched_features=X"),
		[]string{"kernel.sched_features a:(unknown) b:X"}, nil)
	f("a group that nobody looked at", config{}, config{}, one("machine.cpus=2"),
		one("machine.cpus=2", "storage.device=vda"), nil, nil)
	f("no environment", config{}, config{}, nil, one("machine.cpus=2"), nil, nil)
}
