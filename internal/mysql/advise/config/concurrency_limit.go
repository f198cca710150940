package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// queuedPerInside is how many statements wait before the engine for each inside of it when the queue counts as one.
	// A server that runs into its limit now and then stays below.
	queuedPerInside = 0.5
	// queuedMean is the least mean length of the queue.
	queuedMean = 1.0
	// freeCPU is the part of the CPUs that must be free for the limit to cost anything: with all of them taken the
	// queue would stand before the CPUs instead, and the limit does what it is for.
	freeCPU = 0.2
)

// concurrencyLimit finds innodb_thread_concurrency so low that statements queue while CPUs are free.
func concurrencyLimit(v *advise.View) []finding.Finding {
	const variable = "innodb_thread_concurrency"
	limit, ok := v.Number(variable).Get()
	if !ok || limit <= 0 {
		return nil
	}
	queue, seen := v.Mean("mysql_engine_innodb_queries_in_queue").Get()
	inside, _ := v.Mean("mysql_engine_innodb_queries_inside_innodb").Get()
	if !seen || queue < queuedMean || queue < queuedPerInside*inside {
		return nil
	}
	cpus, cpusKnown := v.Host.CPUs.Get()
	used, usedKnown := serverCPU(v).Get()
	sure := finding.Likely
	switch {
	case !cpusKnown || !usedKnown:
		sure = finding.Possible
	case used > (1-freeCPU)*cpus:
		return nil
	}
	f := finding.Finding{
		Rule: "concurrency-limit", ID: finding.MakeID("concurrency-limit", variable),
		Severity: finding.Warning, Confidence: sure,
		Subject: finding.Subject{Variables: []string{variable}},
		Title: fmt.Sprintf("%s statements wait to enter the engine, which lets %s in at a time",
			about(queue), about(limit)),
		Cause: fmt.Sprintf("%s is %s: a statement that finds that many inside sleeps and tries again, even while "+
			"those inside wait for a disk, "+
			"a lock or their client and CPUs are free.", variable, about(limit)),
		Falsify: "Disproved if the queue stays as long with the limit at 0, or if operations a second do not rise.",
		Suggestion: fmt.Sprintf("Remove the limit: SET GLOBAL %s = 0. It takes effect at once and can be set back.",
			variable),
		Cost: "None while CPUs are free. Should hundreds of statements run at a time later, set a limit above twice " +
			"the number of CPUs, or have " +
			"the application use fewer connections.",
		Action:  v.SetVariable(variable, "0"),
		Setting: []string{variable + " = 0"}, File: "my.cnf",
		Valid:     "MySQL, Percona Server; MariaDB up to 10.5",
		Reference: "https://dev.mysql.com/doc/refman/en/innodb-performance-thread_concurrency.html",
		Explains:  []string{advise.EffectRunning},
	}
	f.Share = min(0.9, queue/(queue+inside))
	if f.Share >= 0.5 {
		f.Severity = finding.Critical
	}
	f.Evidence = []finding.Evidence{
		{
			What: "queries in queue", Value: known.Of(queue), Expected: "0", Source: figures.InnodbStatus,
			Text: fmt.Sprintf("On average %s statements waited to enter the engine and %s were inside.",
				about(queue), about(inside)),
		},
		{What: variable, Value: known.Of(limit), Expected: "0", Source: source.Variables, Text: fmt.Sprintf("%s is %s.",
			variable, about(limit))},
	}
	if usedKnown && cpusKnown {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "CPUs used by the server", Value: known.Of(used), Unit: "cores", Source: source.Process,
			Text: fmt.Sprintf("Meanwhile the server used %s of %s CPUs.", about(used), about(cpus)),
		})
	} else {
		f.Unobserved = blinds(v, source.Process, source.Host)
	}
	if running, ok := v.Mean("mysql_global_status_threads_running").Get(); ok {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "Threads_running", Value: known.Of(running), Source: source.GlobalStatus,
			Text: fmt.Sprintf("%s statements ran at a time, by the server's count.", about(running)),
		})
	}
	if limit >= 2*cpus && cpusKnown {
		f.Against = append(f.Against, fmt.Sprintf("The limit is not low for %s CPUs: find out as well what delays "+
			"those inside.", about(cpus)))
	}
	hi := (queue + inside) / max(inside, min(limit, queue+inside), 0.5)
	f.Gain = &finding.Gain{
		What: "operations a second", Lo: 1 + 0.1*(max(hi, 1.2)-1), Hi: max(hi, 1.2),
		Text: fmt.Sprintf("%s instead of %s could run at a time: up to %s times as much, less where they meet at the "+
			"next bottleneck.", about(queue+inside), about(max(inside, 0)), unit.Ratio(max(hi, 1.2))),
	}
	f.Why = []finding.Reason{
		{
			Ask: "Is entry to the engine limited?", Answer: fmt.Sprintf("yes, %s is %s", variable, about(limit)),
			Source: source.Variables,
		},
		{
			Ask: "Do statements queue for it?", Answer: fmt.Sprintf("yes, %s on average", about(queue)),
			Source: figures.InnodbStatus,
		},
		{
			Ask:    "Is the machine full, so that the queue would only move?",
			Answer: fmt.Sprintf("no, the server uses %s of %s CPUs", aboutOf(serverCPU(v)), aboutOf(v.Host.CPUs)),
			Source: source.Process,
		},
	}
	return []finding.Finding{f}
}

// aboutOf writes a value that may be unknown.
func aboutOf(x known.Value[float64]) string {
	if n, ok := x.Get(); ok {
		return about(n)
	}
	return "an unknown number"
}
