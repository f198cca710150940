package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

// generous is a server with 16 GiB whose 500 sessions may sort in 256 MiB each.
func generous(more ...func(*snap.Made)) *snap.Made {
	m := snap.Build().Set("innodb_buffer_pool_size", "4294967296").Set("max_connections", "500").Set("sort_buffer_size",
		"268435456").Set("join_buffer_size", "262144").
		Set("read_buffer_size", "131072").Set("read_rnd_buffer_size", "67108864").Set("thread_stack", "299008").
		Set("query_cache_type", "OFF").Set("query_cache_size", "17179869184")
	m.S.Host.MemBytes = known.Of(uint64(16 * gib))
	m.S.Host.Process = map[string]uint64{"vmrss": 5 * gib}
	status(m, "Max_used_connections", 20)
	for _, f := range more {
		f(m)
	}
	return m
}

func TestSessionMemory(t *testing.T) {
	f := one(t, sessionMemory, generous())
	has(t, f, "sort_buffer_size = 2M")
	has(t, f, "read_rnd_buffer_size = 256K")
	if f.Action == nil || f.Action.Variable != "sort_buffer_size" || f.Action.Value != "2097152" ||
		f.Severity != finding.Notice || f.Share != 0 || len(f.Setting) != 2 {
		t.Errorf("%+v %s %v", f.Action, f.Severity, f.Setting)
	}
	if f = one(t, sessionMemory, generous(replace("mysql_global_status_max_used_connections", 300))); f.Severity !=
		finding.Warning {
		t.Errorf("300 sessions were there already: %s", f.Severity)
	}
	f = one(t, sessionMemory, generous(func(m *snap.Made) {
		m.S.Host.MemBytes, m.S.Host.MemLimit = known.Of(uint64(1024*gib)), known.Of(uint64(8*gib))
	}))
	if !strings.Contains(f.Evidence[0].Text, "the control group allows 8 GiB") {
		t.Errorf("the group's limit counts: %s", f.Evidence[0].Text)
	}
	f = one(t, sessionMemory, generous(func(m *snap.Made) { m.MySQL("8.0.33") }))
	has(t, f, "sort_buffer_size = 256K")
}

func TestSessionMemorySilent(t *testing.T) {
	silent(t, sessionMemory, "nothing is seen", snap.Build())
	silent(t, sessionMemory, "few may connect", generous(func(m *snap.Made) { m.Set("max_connections", "30") }))
	silent(t, sessionMemory, "many with ordinary buffers", generous(func(m *snap.Made) {
		m.Set("max_connections", "20000").Set("sort_buffer_size", "2097152").Set("read_rnd_buffer_size", "262144")
	}))
	silent(t, sessionMemory, "a machine with enough", generous(func(m *snap.Made) {
		m.S.Host.MemBytes = known.Of(uint64(512 * gib))
	}))
	silent(t, sessionMemory, "a machine that nobody saw", generous(func(m *snap.Made) {
		m.S.Host.MemBytes = known.None[uint64]()
	}))
	silent(t, sessionMemory, "a pool that is too large by itself",
		generous(func(m *snap.Made) { m.Set("innodb_buffer_pool_size", "34359738368") }))
}
