package index

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// why tells the reasoning, one question after the other.
func why(v *advise.View, g group, f finding.Finding) (out []finding.Reason) {
	x, w := g.scans[0], g.wish
	say := func(ask string, from source.Name, format string, args ...any) {
		out = append(out, finding.Reason{Ask: ask, Answer: fmt.Sprintf(format, args...), Source: from})
	}
	say("What takes the time?", x.c.Source(), "%s of %s statement time in %s goes to %s: %s", unit.Percent(f.Share),
		unit.Seconds(v.Total), unit.Seconds(v.Window),
		unit.Plural(len(g.scans), "class", "classes"), clip(x.c.Fingerprint))
	if s, ok := v.Has(finding.Scan, x.c.ID); ok {
		say("Which symptoms does it show?", s.Evidence[0].Source, "%s", s.Evidence[0].Text)
	}
	say("How does the server find the rows?", source.Plan, "%s", planEvidence(x).Text)
	say("Which conditions must every row meet?", source.Statement, "On %s: %s. Order for an index: equality, then one "+
		"list, range or the sort.", x.t.Ref, strings.Join(x.wish.Columns[:x.wish.Cond], ", "))
	have := make([]string, 0, len(x.t.Indexes))
	for _, i := range x.t.Indexes {
		var cols []string
		for _, p := range i.Parts {
			cols = append(cols, p.Column)
		}
		s := i.Name + " (" + strings.Join(cols, ", ") + ")"
		if i.Hidden {
			s += " hidden"
		}
		have = append(have, s)
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	if x.barred != "" {
		say("Does an index serve that?", source.Catalog, "%s does, and the hint %s keeps the server from it. There "+
			"are: %s.", x.barred, x.hint, strings.Join(have, "; "))
	} else {
		say("Does an index serve that?", source.Catalog, "No visible one. There are: %s.", strings.Join(have, "; "))
	}
	if m, ok := x.match.Get(); ok {
		most := ""
		if x.bound {
			most, m = "at most ", max(m, 0.001)
		}
		say("Would an index find few rows?", x.c.Source(), "%s%s of the rows read are needed; above %s a scan would "+
			"be right.", most, unit.Percent(m), unit.Percent(maxMatch))
	} else {
		say("Would an index find few rows?", "", "Unknown; see the counter-evidence.")
	}
	say("What would it cost?", source.Catalog, "%s", f.Cost)
	for _, n := range w.Notes {
		say("Why these columns in this order?", source.Catalog, "%s", n)
	}
	return out
}

// clip shortens a statement for one line.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
