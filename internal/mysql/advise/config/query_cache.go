package config

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// cacheUse is how many results a second must be stored for the cache to count as in use.
	cacheUse = 5.0
	// hitsPerInsert is how often a stored result must be used to be worth storing: storing, registering and throwing
	// away cost about as much as the short statement that a hit saves.
	hitsPerInsert = 1.0
	// queueingShare is the part of the running statements in the cache's own queue that is a loss whatever the hits.
	queueingShare = 0.05
)

// queryCache finds a query cache whose results are thrown away by writes before they are used, or that statements queue
// for.
func queryCache(v *advise.View) []finding.Finding {
	size, ok := v.Number("query_cache_size").Get()
	if kind, _ := v.Variable("query_cache_type"); !ok || size <= 0 || kind == "" || strings.EqualFold(kind, "OFF") ||
		kind == "0" {
		return nil
	}
	hits, ok1 := v.Status("Qcache_hits").Get()
	inserts, ok2 := v.Status("Qcache_inserts").Get()
	w, ok3 := changes(v).Get()
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	queued, all := phases(v, func(s state.Session) (of, in bool) {
		return true, strings.Contains(strings.ToLower(s.Phase), "query cache")
	})
	share := 0.0
	if all > 0 {
		share = float64(queued) / float64(all)
	}
	wasted := inserts >= cacheUse && w >= 1 && hits < hitsPerInsert*inserts
	waits := queued >= 3 && share >= queueingShare
	if !wasted && !waits {
		return nil
	}
	f := finding.Finding{
		Rule: "query-cache", ID: finding.MakeID("query-cache", "query_cache_size"), Severity: finding.Warning,
		Confidence: finding.Certain,
		Subject:    finding.Subject{Variables: []string{"query_cache_size", "query_cache_type"}},
		Title: fmt.Sprintf("the query cache stores %s and is hit %s", unit.Rate(inserts, "results/s"),
			unit.Rate(hits, "times/s")),
		Cause: fmt.Sprintf("The tables are written to %s, and a write drops every stored result of its table. So "+
			"results are stored and dropped "+
			"without being used, and all of that happens under the one lock of the cache, which every statement takes.",
			unit.Rate(w, "times/s")),
		Falsify: "Disproved if the time of the same statements grows when the cache is switched off.",
		Suggestion: "Switch the query cache off: SET GLOBAL query_cache_size = 0 takes effect at once and for all " +
			"sessions; keep it off in my.cnf.",
		Cost: "Statements that were answered from the cache are executed again: " + unit.Rate(hits, "of them/s") +
			" at present. Its memory is freed.",
		Action:  v.SetVariable("query_cache_size", "0"),
		Setting: []string{"query_cache_type = 0", "query_cache_size = 0"}, File: "my.cnf",
		Valid:     "MariaDB, and MySQL before 8.0",
		Reference: "https://mariadb.com/kb/en/query-cache/",
		Explains:  []string{advise.EffectMutex},
	}
	f.Evidence = []finding.Evidence{
		{
			What: "hits for each stored result", Value: known.Of(hits / max(inserts, 1e-9)), Expected: "> 1",
			Source: source.GlobalStatus,
			Text: fmt.Sprintf("%s were stored and %s answered from the cache.", unit.Rate(inserts, "results/s"),
				unit.Rate(hits, "statements/s")),
		},
		{
			What: "writes", Value: known.Of(w), Unit: "1/s", Source: source.GlobalStatus,
			Text: fmt.Sprintf("The tables were written to %s.", unit.Rate(w, "times/s")),
		},
		{
			What: "query_cache_size", Value: known.Of(size), Unit: "B", Source: source.Variables,
			Text: fmt.Sprintf("The cache has %s.", unit.Bytes(size)),
		},
	}
	if inserts <= 0 {
		f.Evidence = f.Evidence[1:]
	}
	if queued > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "running statements in the cache's queue", Value: known.Of(100 * share), Unit: "%", Expected: "0 %",
			Source: source.Processlist, Sampled: true,
			Text: fmt.Sprintf("Of %d running statements sampled, %d waited for or worked in the query cache.", all,
				queued),
		})
	} else {
		f.Severity, f.Confidence = finding.Notice, finding.Likely
		f.Against = append(f.Against, "No statement was seen waiting for the lock of the cache: the loss is the "+
			"storing alone, and it is small on few CPUs.")
	}
	if p, ok := v.Status("Qcache_lowmem_prunes").Get(); ok && p > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "results dropped for space", Value: known.Of(p), Unit: "1/s", Source: source.GlobalStatus,
			Text: fmt.Sprintf("%s were dropped for lack of space.", unit.Rate(p, "results/s")),
		})
	}
	if hits > 0.2*inserts {
		f.Against = append(f.Against, fmt.Sprintf("%s were answered from the cache.", unit.Rate(hits, "statements/s")))
	}
	f.Share = max(0.03, min(0.5, share))
	f.Gain = &finding.Gain{
		What: "statements a second", Lo: 1, Hi: 1 + max(0.3, 2*share),
		Text: "The more CPUs and sessions there are, the more the lock costs; with few of both the gain is small.",
	}
	f.Why = []finding.Reason{
		{
			Ask: "Is the query cache in use?", Answer: fmt.Sprintf("yes, %s are stored", unit.Rate(inserts,
				"results/s")),
			Source: source.GlobalStatus,
		},
		{Ask: "Are stored results used?", Answer: usedEach(hits, inserts), Source: source.GlobalStatus},
		{Ask: "What drops them?", Answer: unit.Rate(w, "writes/s"), Source: source.GlobalStatus},
		{Ask: "Do statements wait for its lock?", Answer: fmt.Sprintf("%d of %d running statements sampled", queued,
			all), Source: source.Processlist},
	}
	return []finding.Finding{f}
}

// usedEach says how often a stored result is used.
func usedEach(hits, inserts float64) string {
	if inserts <= 0 {
		return "none was stored in this window; " + unit.Rate(hits, "statements/s") + " found one from before"
	}
	return about(hits/inserts) + " times each"
}
