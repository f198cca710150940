package index

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/unit"
)

// week is the time of counting in seconds from which an index that nobody read counts as one that nobody needs: most
// jobs run once a week at least.
const week = 7 * 86_400

// unusedIndex finds indexes that nothing has read since the server began to count, of tables that are used. It is a
// fact to know, and a finding only when it was counted for a week and the index is written.
func unusedIndex(u *uses) []finding.Finding {
	var all []dropCandidate
	v := u.v
	refers := referred(v)
	for _, t := range v.Tables {
		if !users(v, t) || !u.lives(t) {
			continue
		}
		keyed := needed(t)
		for n, x := range t.Indexes {
			if !droppable(x) || !u.of(t, x).none() || u.hinted[strings.ToLower(x.Name)] {
				continue
			}
			if _, redundant := better(t, n); redundant {
				continue
			}
			if keyed[x.Name] != "" || refersTo(refers[t.Ref], x) {
				continue
			}
			if _, _, few := fewDistinct(t, x); few && len(x.Parts) == 1 {
				if changed, share, _ := u.writes(t, x); changed >= oftenRows && share >= oftenShare &&
					t.Rows.Or(0) >= largeTable {
					continue // low-cardinality-index tells of it
				}
			}
			all = append(all, u.candidate(t, x, func() finding.Finding { return u.unused(t, x) }))
		}
	}
	return worst(all)
}

func (u *uses) unused(t schema.Table, x schema.Index) finding.Finding {
	v := u.v
	f := u.dropping("unused-index", t, x)
	rows, share, _ := u.writes(t, x)
	counted, from, sure := u.since(t)
	f.Title = fmt.Sprintf("Index %s of %s has not been read for %s", x.Name, t.Ref, unit.Seconds(counted))
	f.Cause = fmt.Sprintf("The server counts the rows found through each index. Through %s (%s) it found none %s, or "+
		"since the counters were reset.", x.Name, v.Dialect.Parts(x.Parts), from)
	if v.Dialect.CountsScans {
		f.Title = fmt.Sprintf("No scan of index %s of %s is counted", x.Name, t.Ref)
		if counted > 0 {
			f.Title += fmt.Sprintf(", for at most %s", unit.Seconds(counted))
		}
		f.Cause = fmt.Sprintf("The server counts the scans of each index. It counted none of %s (%s) %s.", x.Name,
			v.Dialect.Parts(x.Parts), from)
	}
	f.Evidence = append(u.useEvidence(t, x), u.costEvidence(t, x)...)
	switch {
	case counted < week && (counted > 0 || !v.Dialect.CountsScans):
		f.Against = append(f.Against, fmt.Sprintf("It was counted for %s only, %s: what runs once a week or once a "+
			"month may have been missed.", unit.Seconds(counted), from))
		f.Confidence = finding.Possible
	case !sure:
		f.Against = append(f.Against, u.unsure())
		f.Confidence = finding.Possible
	case rows > 0:
		f.Severity = finding.Notice
		f.Share = 0.5 * share / float64(1+len(t.Indexes))
	}
	f.Against = append(f.Against, "Other servers with the same tables, replicas above all, may use theirs.")
	dropSQL := v.Dialect.DropIndex(t.Ref, x.Name)
	if c, ok := u.mayNeed(t, x); ok {
		f.Severity, f.Confidence, f.Share = finding.Fact, finding.Possible, 0
		f.Against = append(f.Against, fmt.Sprintf("The class %s searches rows by %s, and its plan on this table is "+
			"unknown: lookups that find nothing are not counted.", c.ID, v.Dialect.Quote(x.Parts[0].Column)))
		f.Suggestion = fmt.Sprintf("Check the plan of that statement. If it does not use %s, and nothing else needs "+
			"it, drop the index: %s.", x.Name, dropSQL)
	} else if a, ok := hide(v, t, x); ok {
		f.Action = a
		f.Suggestion = fmt.Sprintf("Hide it, which can be undone at once: %s. If nothing became slower within a "+
			"month, drop it: %s.", a.SQL, dropSQL)
	} else if v.Dialect.CountsScans { // nothing tells how long it was counted
		f.Suggestion = fmt.Sprintf("Diagnose again after a week. If it still has no scan, and you know that nothing "+
			"needs it, drop it: %s.", dropSQL)
	} else {
		f.Action = drop(v, t, x)
		f.Suggestion = fmt.Sprintf("Drop it when you know that nothing needs it: %s. To undo: %s.",
			dropSQL, f.Action.Undo)
	}
	if f.Action != nil {
		f.Action.Unread = true
	}
	f.Falsify = withoutIt(v, x)
	f.Reference = v.Dialect.Manual[advise.UnusedIndexes]
	f.Why = []finding.Reason{{Ask: "Has anything read it?", Answer: f.Evidence[0].Text, Source: f.Evidence[0].Source}}
	return f
}
