package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestCpuThrottled(t *testing.T) {
	m := machine.New().Rate("dyno_cgroup_cpu_periods_total", 10).Rate("dyno_cgroup_cpu_throttled_periods_total", 6).
		Gauge("dyno_cgroup_cpu_limit_cores", 0.5)
	found(t, cpuThrottled, m, "warning: the server is throttled in 60 % of the scheduler's periods: its CPU quota is "+
		"used up")
}

func TestCpuThrottledSilent(t *testing.T) {
	found(t, cpuThrottled, machine.New())
	found(t, cpuThrottled, machine.New().Rate("dyno_cgroup_cpu_periods_total", 10).
		Rate("dyno_cgroup_cpu_throttled_periods_total", 0.5))
	// no quota
	found(t, cpuThrottled, machine.New().Rate("dyno_cgroup_cpu_periods_total", 0).
		Rate("dyno_cgroup_cpu_throttled_periods_total", 0))
}
