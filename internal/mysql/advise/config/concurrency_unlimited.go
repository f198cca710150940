package config

import (
	"fmt"
	"strconv"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// waitingPerCPU is how many of the server's threads must stand in the queue of each CPU. What other programs take
	// of the CPUs makes the queue no longer than the server has threads that can run, so that few sessions never get
	// there.
	waitingPerCPU = 8.0
	// runningUnseen takes its place where the process cannot be seen: statements running at a time for each CPU.
	runningUnseen = 16.0
	// minWaiting leaves out small numbers on small machines.
	minWaiting = 16.0
)

// concurrencyUnlimited finds many more statements that could run than CPUs, with nothing that limits them.
func concurrencyUnlimited(v *advise.View) []finding.Finding {
	cpus, ok := v.Host.CPUs.Get()
	running, ok2 := v.Mean("mysql_global_status_threads_running").Get()
	if !ok || !ok2 || cpus <= 0 {
		return nil
	}
	if n, ok := v.Number("innodb_thread_concurrency").Get(); ok && n > 0 {
		return nil
	}
	if h, _ := v.Variable("thread_handling"); h == "pool-of-threads" || h == "loaded-dynamically" {
		return nil
	}
	for _, kind := range []string{"row", "table", "metadata", "global", "user"} {
		// those wait for somebody, not for a CPU
		if n, ok := v.Mean("dyno_lock_waiters", metric.Label{Name: "kind", Value: kind}).Get(); ok {
			running -= n
		}
	}
	waiting, seen := v.Rate("dyno_server_run_queue_seconds_total").Get()
	sure := finding.Likely
	if seen {
		if waiting < max(minWaiting, waitingPerCPU*cpus) || running < max(minWaiting, waitingPerCPU*cpus) {
			return nil
		}
	} else {
		if _, full := v.Has(finding.CPUSaturated, ""); !full || running < max(2*minWaiting, runningUnseen*cpus) {
			return nil
		}
		sure = finding.Possible
	}
	f := finding.Finding{
		Rule: "concurrency-unlimited", ID: finding.MakeID("concurrency-unlimited", "server"),
		Severity: finding.Warning, Confidence: sure,
		Title: fmt.Sprintf("%s statements run at a time on %s CPUs", about(running), about(cpus)),
		Cause: "Nothing limits how many statements run at a time, so that they share the CPUs in time slices. Each " +
			"takes many times as long as alone, " +
			"holds its locks and memory all that time, and the switching itself costs CPU time.",
		Falsify: "Disproved if fewer statements at a time, by a limit or fewer connections, do not shorten the time " +
			"of a statement.",
		Explains: []string{advise.EffectRunning, advise.EffectMutex},
		Valid:    "all",
	}
	most := 0.0
	for _, c := range v.Classes {
		most = max(most, v.Share(c))
	}
	if most >= 0.5 { // one class that takes very long makes a crowd of its own
		f.Rests = []string{advise.EffectRunning}
	}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "Threads_running", Value: known.Of(running), Expected: fmt.Sprintf("≤ %s, twice the CPUs", about(2*cpus)),
		Source: source.GlobalStatus,
		Text:   fmt.Sprintf("%s statements ran at a time, those that wait for locks not counted.", about(running)),
	})
	if seen {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "threads waiting for a CPU", Value: known.Of(waiting), Expected: "< " + about(cpus),
			Source: source.ProcessThreads,
			Text:   fmt.Sprintf("%s threads of the server waited for a CPU at a time.", about(waiting)),
		})
		f.Share = min(0.3, waiting/(waiting+cpus)*0.3)
		f.Gain = &finding.Gain{
			What: "time of a statement", Lo: 1, Hi: max(1.2, min(10, running/(2*cpus))),
			Text: fmt.Sprintf("A statement that is let in runs up to %s times as fast; the others wait outside, "+
				"where they hold nothing. Operations a second rise little unless statements blocked each other.",
				unit.Ratio(max(1.2, min(10, running/(2*cpus))))),
		}
	} else {
		f.Unobserved = blinds(v, source.ProcessThreads)
		f.Share = 0.2
	}
	if s, ok := v.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "system"}).Get(); ok {
		if all, ok := serverCPU(v).Get(); ok && all > 0 {
			f.Evidence = append(f.Evidence, finding.Evidence{
				What: "system part of the server's CPU time", Value: known.Of(100 * s / all),
				Unit: "%", Source: source.Process,
				Text: fmt.Sprintf("%s of the server's CPU time went to the kernel.", unit.Percent(s/all)),
			})
		}
	}
	if r := v.Rate("dyno_server_context_switches_total", metric.Label{Name: "kind", Value: "involuntary"}); r.OK() {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "involuntary context switches", Value: r, Unit: "1/s", Source: source.Process,
			Text: fmt.Sprintf("Its threads were taken off a CPU %s.", unit.Rate(r.Or(0), "times/s")),
		})
	}
	if busy, ok := v.Rate("node_cpu_seconds_total", metric.Label{Name: "mode", Value: "user"}).Get(); ok {
		if own, ok := serverCPU(v).Get(); ok && own < 0.5*busy {
			f.Against = append(f.Against, "Other programs take most of this machine's CPUs; without them the queue "+
				"would be shorter.")
		}
	}
	limit := strconv.Itoa(max(8, int(4*cpus)))
	if _, has := v.Variable("innodb_thread_concurrency"); has && !(v.MariaDB() && v.AtLeast(10, 5)) {
		// there it has no effect any more
		f.Action = v.SetVariable("innodb_thread_concurrency", limit)
		f.Setting, f.File = []string{"innodb_thread_concurrency = " + limit}, "my.cnf"
		f.Subject.Variables = []string{"innodb_thread_concurrency"}
		f.Suggestion = fmt.Sprintf("Have the application share %s connections or so through a pool. At once, and "+
			"reversible: let %s statements into the engine at a time.", limit, limit)
		f.Cost = "Statements beyond the limit wait before the engine. A limit that is too low leaves CPUs idle: " +
			"raise it when statements inside wait for disks."
		f.Reference = "https://dev.mysql.com/doc/refman/en/innodb-performance-thread_concurrency.html"
	} else {
		f.Setting, f.File, f.Restart = []string{"thread_handling = pool-of-threads", "thread_pool_size = " +
			strconv.Itoa(max(1, int(cpus)))}, "my.cnf", true
		f.Subject.Variables = []string{"thread_handling", "thread_pool_size"}
		f.Suggestion = fmt.Sprintf("Have the application share %s connections or so through a pool, or let the "+
			"server run its sessions in a pool of threads.", limit)
		f.Cost = "A restart. In a pool of threads a short statement may wait for a long one of its group, up to " +
			"thread_pool_stall_limit."
		f.Reference = "https://mariadb.com/kb/en/thread-pool-in-mariadb/"
	}
	f.Why = []finding.Reason{
		{
			Ask: "How many statements run at a time?", Answer: about(running) + ", without those that wait for locks",
			Source: source.GlobalStatus,
		},
		{Ask: "How many can run?", Answer: about(cpus) + " CPUs", Source: source.Host},
		{
			Ask: "Do they wait for a CPU, or for something else?", Answer: waitsForCPU(waiting, seen),
			Source: source.ProcessThreads,
		},
		{
			Ask: "Does anything limit them?", Answer: "no limit of the engine and no pool of threads",
			Source: source.Variables,
		},
	}
	return []finding.Finding{f}
}

func waitsForCPU(waiting float64, seen bool) string {
	if !seen {
		return "not observed; the CPUs are full"
	}
	return fmt.Sprintf("%s of them wait for a CPU at a time", about(waiting))
}
