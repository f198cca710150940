package config

import (
	"fmt"
	"strconv"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// minConnects a second leaves out what monitoring, jobs and people do.
	minConnects = 20.0
	// connectCPU is about what one login costs the server, seconds of CPU: the exchange of greetings, the check of the
	// password, a session and, without a cache, a thread. A login over TLS costs several times as much.
	connectCPU = 0.00025
	// leastLogin is how much CPU logins must take for it to matter to anybody, and clearLogin, of the CPUs there are,
	// to be a clear loss.
	leastLogin = 0.01
	clearLogin = 0.02
	// connectShare is the part of the server's CPU time that logins must take.
	connectShare = 0.03
	// fewStatements for each connection speak for one connection per page or query.
	fewStatements = 20.0
	// threadsAnew is the part of connections that got a new thread, above which the cache of threads is too small.
	threadsAnew = 0.5
	// threadCache is what the cache of threads is set to at the most: an idle thread costs some hundred kB at worst.
	threadCache = 256
)

// connectionChurn finds connections made and closed so often that logging in takes a part of the server.
func connectionChurn(v *advise.View) []finding.Finding {
	connects, ok := v.Status("Connections").Get()
	if !ok || connects < minConnects {
		return nil
	}
	questions, asked := v.Status("Questions").Get()
	cpu, seen := serverCPU(v).Get()
	share := 0.0
	if seen && cpu > 0 {
		share = min(0.6, connects*connectCPU/cpu)
	}
	each := questions / connects
	switch {
	case seen && (share < connectShare || connects*connectCPU < leastLogin):
		return nil
	case !seen && (!asked || each > fewStatements):
		return nil
	}
	f := finding.Finding{
		Rule: "connection-churn", ID: finding.MakeID("connection-churn", "server"), Severity: finding.Warning,
		Confidence: finding.Likely,
		Title:      fmt.Sprintf("%s new connections a second", about(connects)),
		Cause: "A client connects for a statement or two and disconnects. Each connection takes several round trips " +
			"between client and server, a check of " +
			"the password and a session to set up and take down, which is more work than a short statement.",
		Falsify:   "Disproved if a client that keeps its connections sees the same times for the same statements.",
		Valid:     "all",
		Reference: "https://dev.mysql.com/doc/refman/en/connection-management.html",
		Explains:  []string{advise.EffectConnects},
		Share:     max(0.02, share),
		Cost:      "Each open connection takes some hundred kB and keeps its session state: a pool has to reset it.",
		Suggestion: "Have the application keep its connections: a pool, persistent connections, or a proxy that " +
			"pools where the application cannot. " +
			"Lists of sessions by user and host (performance_schema.accounts) show which client it is.",
	}
	waiting := v.Rate("dyno_server_run_queue_seconds_total").Or(0)
	if cpus, ok := v.Host.CPUs.Get(); ok && connects*connectCPU < clearLogin*cpus &&
		(!seen || cpu < 0.5*cpus) && waiting < 1 {
		f.Severity = finding.Notice // the machine has CPUs to spare
	}
	if !seen {
		f.Confidence, f.Unobserved = finding.Possible, blinds(v, source.Process)
	}
	if asked {
		f.Title += fmt.Sprintf(", beside %s", unit.Rate(questions, "statements/s"))
	}
	f.Evidence = []finding.Evidence{{
		What: "connections made", Value: known.Of(connects), Unit: "1/s", Expected: "< " + about(minConnects),
		Source: source.GlobalStatus,
		Text:   fmt.Sprintf("%s were made.", unit.Rate(connects, "connections/s")),
	}}
	if asked {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "statements for each new connection", Value: known.Of(each), Expected: "> " + about(fewStatements),
			Source: source.GlobalStatus,
			Text: fmt.Sprintf("There are %s statements for each new connection, including those of persistent "+
				"connections.", about(each)),
		})
	}
	if seen {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "part of the server's CPU time", Value: known.Of(100 * share), Unit: "%",
			Source: source.Process, Sampled: true,
			Text: fmt.Sprintf("At %.2f ms each, logging in takes about %s of the %s CPUs that the server uses.",
				1000*connectCPU, unit.Percent(share), about(cpu)),
		})
		f.Gain = &finding.Gain{
			What: "statements a second", Lo: 1, Hi: 1 + 2*share/(1-share),
			Text: fmt.Sprintf("%s connections × %.2f ms is %s CPUs; the clients save as much again, and each of "+
				"their queries two or three round trips.", about(connects), 1000*connectCPU,
				about(connects*connectCPU)),
		}
	}
	if each > fewStatements && asked {
		f.Against = append(f.Against, "Most statements run on persistent connections: the logins may come from a "+
			"single client.")
	}
	created, ok := v.Status("Threads_created").Get()
	cache, cacheKnown := v.Number("thread_cache_size").Get()
	pool, _ := v.Variable("thread_handling")
	anew := ok && created >= threadsAnew*connects && pool != "pool-of-threads"
	if anew {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "threads created", Value: known.Of(created), Unit: "1/s", Expected: "near 0",
			Source: source.GlobalStatus,
			Text: fmt.Sprintf("%s of the connections got a new thread; thread_cache_size is %s.",
				unit.Percent(min(1, created/connects)), aboutOf(v.Number("thread_cache_size"))),
		})
	}
	if anew && cacheKnown {
		want := 32.0
		if most, ok := v.Gauge("Max_used_connections").Get(); ok {
			want = max(want, most)
		}
		if want = min(want, threadCache); want > cache {
			f.Action = v.SetVariable("thread_cache_size", strconv.Itoa(int(want)))
			f.Setting, f.File = []string{fmt.Sprintf("thread_cache_size = %d", int(want))}, "my.cnf"
			f.Subject.Variables = []string{"thread_cache_size"}
			f.Suggestion += fmt.Sprintf(" Until then keep threads for them: SET GLOBAL thread_cache_size = %d avoids "+
				"creating a thread, which is the smaller part.", int(want))
		}
	}
	f.Why = []finding.Reason{
		{
			Ask: "How often do clients connect?", Answer: unit.Rate(connects, "connections/s"),
			Source: source.GlobalStatus,
		},
		{Ask: "Is that much for this server?", Answer: loginShare(share, seen), Source: source.Process},
		{Ask: "Are threads kept for them?", Answer: keptThreads(created, connects, ok), Source: source.GlobalStatus},
	}
	return []finding.Finding{f}
}

func loginShare(share float64, seen bool) string {
	if !seen {
		return "its CPU time is not observed; few statements come for each connection"
	}
	return "about " + unit.Percent(share) + " of its CPU time, by the usual cost of a login"
}

func keptThreads(created, connects float64, ok bool) string {
	switch {
	case !ok:
		return "not observed"
	case created >= threadsAnew*connects:
		return fmt.Sprintf("no, %s are made", unit.Rate(created, "threads/s"))
	default:
		return "yes, most get a cached one"
	}
}
