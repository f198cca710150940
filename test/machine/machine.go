// Package machine builds snapshots of servers on a machine that nothing is wrong with, and asks rules about them.
package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

// New returns a server of 16 GB with a kernel that a database needs nothing from.
func New() *snap.Made {
	m := snap.Build()
	m.S.Host.MemBytes = known.Of(uint64(16 << 30))
	m.S.Host.NUMANodes = known.Of(1)
	m.S.Host.DatadirDev = "sda"
	m.S.Host.Settings = map[string]string{
		"vm.swappiness": "1", "vm.overcommit_memory": "0", "vm.dirty_background_ratio": "0",
		"vm.dirty_background_bytes": "67108864", "vm.zone_reclaim_mode": "0",
		"kernel/mm/transparent_hugepage/enabled": "always [madvise] never", "block/sda/queue/scheduler": "none " +
			"[mq-deadline] kyber bfq",
		"meminfo/HugePages_Total": "0", "meminfo/HugePages_Free": "0", "meminfo/HugePages_Rsvd": "0",
		"meminfo/Hugepagesize": "2097152",
		"devices/system/clocksource/clocksource0/current_clocksource":   "tsc",
		"devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock",
	}
	m.S.Host.Limits = map[string]int64{"max_open_files": 20_000}
	m.S.Host.Process = map[string]uint64{"vmrss": 4 << 30, "vmhwm": 4 << 30, "vmswap": 0, "hugetlbpages": 0}
	m.Gauge("node_memory_SwapTotal_bytes", 4<<30).Rate("node_vmstat_pswpin", 0)
	return m.Set("max_connections", "500").Set("table_open_cache", "4000").Set("innodb_buffer_pool_size",
		fmt.Sprint(4<<30))
}

// Kernel sets one of the kernel's settings.
func Kernel(m *snap.Made, name, value string) *snap.Made {
	m.S.Host.Settings[name] = value
	return m
}

// Found asks a rule and compares "severity: title" and every line to set, one string for each finding.
func Found(t *testing.T, rule func(*advise.View) []finding.Finding, m *snap.Made, want ...string) []finding.Finding {
	t.Helper()
	got := rule(m.View())
	var told []string
	for _, f := range got {
		told = append(told, strings.Join(append([]string{string(f.Severity) + ": " + f.Title}, f.Setting...), " | "))
		if f.Rule == "" || f.ID == "" || len(f.Evidence) == 0 || f.Suggestion == "" ||
			f.Cost == "" || f.Confidence == "" {
			t.Errorf("incomplete: %+v", f)
		}
		if f.Severity != finding.Fact && (f.Cause == "" || f.Falsify == "" || len(f.Why) == 0) {
			t.Errorf("not reasoned: %+v", f)
		}
		for _, e := range f.Evidence {
			if e.Source == "" || e.Text == "" || strings.Contains(e.Text, "NaN") || strings.Contains(e.Text, "%!") {
				t.Errorf("evidence: %+v", e)
			}
		}
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	return got
}
