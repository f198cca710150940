package host

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// throttled is the part of the scheduler's periods in which the group may be stopped before it is told: a burst now and
// then is what a quota is for.
const throttled = 0.1

// cpuThrottled finds a server that its cgroup stops because the CPU quota of a period is used up.
func cpuThrottled(v *advise.View) []finding.Finding {
	all, ok1 := v.Rate("dyno_cgroup_cpu_periods_total").Get()
	stopped, ok2 := v.Rate("dyno_cgroup_cpu_throttled_periods_total").Get()
	if !ok1 || !ok2 || all <= 0 || stopped < throttled*all {
		return nil
	}
	part := min(1, stopped/all)
	f := About("cpu-throttled", "cgroup cpu quota")
	f.Severity, f.Confidence = finding.Warning, finding.Certain
	f.Title = fmt.Sprintf("the server is throttled in %s of the scheduler's periods: its CPU quota is used up",
		unit.Percent(part))
	f.Cause = "The cgroup of the server has a quota of CPU time for each period. When it is used up, every thread is " +
		"stopped until the next period, those that hold locks too."
	f.Evidence = append(f.Evidence, Measured("periods in which it was throttled", 100*part, "%", "< 10 %",
		source.Cgroup,
		"In %s of the periods the quota ended before the period did.", unit.Percent(part)))
	if limit, ok := v.Last("dyno_cgroup_cpu_limit_cores").Get(); ok {
		f.Evidence = append(f.Evidence, Measured("CPU quota", limit, "cores", "", source.Cgroup,
			"The quota is %.2f CPUs.", limit))
	}
	if sec, ok := v.Rate("dyno_cgroup_cpu_throttled_seconds_total").Get(); ok {
		f.Evidence = append(f.Evidence, Measured("time throttled", sec, "s/s", "0", source.Cgroup,
			"It was stopped for %s each second, over all CPUs.", unit.Seconds(sec)))
	}
	f.Falsify = "Disproved if operations a second stay the same with a larger quota."
	f.Suggestion = "Raise the quota (cpu.max, or limits.cpu of the container), or use less CPU: the findings about " +
		"statements say how. Without a quota, weights (cpu.weight) share the machine and throttle nothing."
	f.Cost = "CPU time that other programs on the machine no longer get."
	f.Reference = "https://docs.kernel.org/scheduler/sched-bwc.html"
	f.Share, f.Rests = min(0.5, part/2), []string{advise.EffectCPU}
	f.Why = []finding.Reason{{
		Ask:    "Does the server get the CPU time that it needs?",
		Answer: "no, it is throttled in " + unit.Percent(part) + " of the periods", Source: source.Cgroup,
	}}
	return []finding.Finding{f}
}
