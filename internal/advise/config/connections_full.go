package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// topHolders is how many of the users who hold connections are named.
const topHolders = 3

// longestText is how much of a statement is quoted, bytes.
const longestText = 120

// holder is a user with connections.
type holder struct {
	user       string
	open, idle int
	least      string         // "at least " where the list of sessions was cut
	runs       map[string]int // sessions by what they run
}

// connectionsFull finds a server whose connections are used up or nearly so, and says who holds them.
func connectionsFull(v *advise.View) []finding.Finding {
	x, ok := v.Has(finding.ConnectionsFull, "")
	w := v.Dialect.Connections
	most, ok1 := v.Number(w.Limit).Get()
	open, ok2 := v.Connections().Get()
	if counted := v.Dialect.Connected; counted != "" { // as the symptom has it
		open, ok2 = v.Mean(counted).Get()
	}
	if !ok || !ok1 || !ok2 {
		return nil
	}
	refused := v.Rate(v.Dialect.ConnectionErrors.Of(w.Limit)).Or(0)
	f := finding.Finding{
		Rule: "connections-full", ID: finding.MakeID("connections-full", "server"), Severity: finding.Warning,
		Confidence: finding.Certain,
		Title:      fmt.Sprintf("%.0f of %.0f connections are in use", open, most),
		Cause: fmt.Sprintf("A server with no connection left refuses every new client (%s), also of active "+
			"applications, until one disconnects.", w.Refused),
		Falsify: "Disproved if clients connect without an error while as many connections are open.",
		Valid:   "all", Share: 0.02, Symptoms: []string{x.ID}, Evidence: x.Evidence,
		Reference: v.Dialect.Manual[advise.ConnectionLimit],
		Subject:   finding.Subject{Variables: []string{w.Limit}},
		Cost: fmt.Sprintf("A larger %s %s for each connection, and lets as many more statements run at a time.",
			w.Limit, w.Costs),
	}
	if refused > 0 || open >= most {
		f.Severity = finding.Critical
		f.Title += ": new clients are refused"
	}
	all, idle := holders(v)
	for _, h := range all[:min(topHolders, len(all))] {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "connections of " + h.user, Value: known.Of(float64(h.open)), Source: source.Processlist,
			Text: h.String(),
		})
	}
	f.Why = []finding.Reason{{Ask: "Are connections left?", Answer: f.Title, Source: source.GlobalStatus}}
	if n := float64(idle); 2*n >= open {
		f.Title += fmt.Sprintf("; %d of them are idle", idle)
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "idle connections", Value: known.Of(n), Source: source.Processlist,
			Text: fmt.Sprintf("%d connections run nothing and have no transaction open.", idle),
		})
	} else if len(all) > 0 {
		f.Title += fmt.Sprintf("; %s holds %s%d", all[0].user, all[0].least, all[0].open)
		f.Why = append(f.Why, finding.Reason{
			Ask: "Who holds them?", Answer: all[0].String(),
			Source: source.Processlist,
		})
	}
	switch {
	case 2*float64(idle) >= open:
		f.Suggestion = fmt.Sprintf("Most are idle: make the clients' pools smaller, close what is not used, or %s. "+
			"Raise %s only if all of them are needed.", w.Less, w.Limit)
	case len(all) == 0:
		if b := v.Blind(source.Processlist); b != "" {
			f.Unobserved = []string{b}
		}
		f.Suggestion = fmt.Sprintf("See which clients hold them (%s), and close those that are not needed. "+
			"Raise %s only if the memory allows for it.", w.List, w.Limit)
	default:
		f.Suggestion = fmt.Sprintf("Most are active: find out why their statements take so long, because a larger "+
			"%s lets more of them queue. %s", w.Limit, w.End)
	}
	return []finding.Finding{f}
}

// holders returns who has connections in the newest moment, most first, and how many of all are idle.
func holders(v *advise.View) (all []holder, idle int) {
	if len(v.Moments) == 0 {
		return nil, 0
	}
	by, least := map[string]*holder{}, ""
	last := v.Moments[len(v.Moments)-1]
	if last.Left.Sessions > 0 {
		least = "at least "
	}
	for _, s := range last.Sessions {
		h := by[s.User]
		if h == nil {
			h = &holder{user: s.User, least: least, runs: map[string]int{}}
			by[s.User] = h
		}
		h.open++
		switch {
		case !s.Busy():
			h.idle++
			idle++
		case s.SQL != "":
			h.runs[v.Dialect.Fingerprint(s.SQL)]++
		}
	}
	for _, h := range by {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b holder) int { return cmp.Or(b.open-a.open, strings.Compare(a.user, b.user)) })
	return all, max(idle, last.Idle.Or(0))
}

func (h holder) String() string {
	text, most, sql := fmt.Sprintf("%s holds %s%d, of which %d are idle", h.user, h.least, h.open, h.idle), 0, ""
	for _, x := range slices.Sorted(maps.Keys(h.runs)) {
		if h.runs[x] > most {
			most, sql = h.runs[x], x
		}
	}
	if most > 0 {
		text += fmt.Sprintf(" and %d run %s", most, state.Clip(sql, longestText))
	}
	return text + "."
}
