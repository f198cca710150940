package schema

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// triggerSec is the time of one execution below which a trigger costs no more than the statement around it anyhow.
const triggerSec = 50e-6

// triggerCost finds triggers that take a good part of the statement time.
func triggerCost(v *advise.View) (out []finding.Finding) {
	for _, p := range v.Programs {
		if p.Kind != "trigger" || p.Count == 0 || !worth(v, p.TimeSec) || p.TimeSec/float64(p.Count) < triggerSec {
			continue
		}
		t, event, ok := ofTrigger(v, p)
		if !ok {
			continue
		}
		out = append(out, triggerFinding(v, p, t, event))
	}
	return out
}

// ofTrigger finds the table of a trigger and what sets it off, "" when that is not known.
func ofTrigger(v *advise.View, p snapshot.Program) (t schema.Table, event string, ok bool) {
	for _, t := range v.Tables {
		if !strings.EqualFold(t.Schema, p.Schema) {
			continue
		}
		for _, x := range t.Triggers {
			if strings.EqualFold(x.Name, p.Name) {
				return t, strings.ToUpper(x.Event), true
			}
		}
	}
	if p.Table == "" {
		return t, "", false
	}
	ref := schema.Ref{Schema: p.Schema, Table: p.Table}
	if t, ok = v.Table(ref); !ok {
		t = schema.Table{Ref: ref}
	}
	return t, "", true
}

var (
	loops    = lazyregexp.New(`(?i)\b(WHILE|LOOP|REPEAT|FOR)\b`)
	branches = lazyregexp.New(`(?i)\b(IF|CASE)\b`)
)

// calls reports whether the body of a program names another one.
func calls(body, name string) bool {
	return regexp.MustCompile("(?i)(^|[^0-9A-Za-z_$])`?" + regexp.QuoteMeta(name) + "`?\\s*(\\(|;|$)").MatchString(body)
}

func triggerFinding(v *advise.View, p snapshot.Program, t schema.Table, event string) finding.Finding {
	body := p.Body
	for _, x := range t.Triggers {
		if strings.EqualFold(x.Name, p.Name) {
			body = cmp.Or(body, x.Body)
		}
	}
	share := min(1, p.TimeSec/v.Total)
	each := p.TimeSec / float64(p.Count)
	ref, name := t.Ref, p.Schema+"."+p.Name
	f := finding.Finding{
		Rule: "trigger-cost", ID: finding.MakeID("trigger-cost", name), Severity: v.Severity(share),
		Confidence: finding.Certain,
		Subject:    finding.Subject{Tables: []schema.Ref{ref}},
		Title: fmt.Sprintf("%s of the statement time is the trigger %s of %s: %s for each row", unit.Percent(share),
			p.Name, ref, unit.Seconds(each)),
		Cause: fmt.Sprintf("Every row that is written to %s runs the trigger %s before its statement can end, and "+
			"the statement's locks are held as long.", ref, p.Name),
	}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "time of the trigger per second", Value: known.Of(p.TimeSec / v.Window), Unit: "s/s",
		Expected: fmt.Sprintf("< %s of the statement time", unit.Percent(layoutShare)), Source: source.Programs,
		Text: fmt.Sprintf("It ran %s times in %s and took %s, of %s that all statements took.",
			unit.Count(float64(p.Count)), unit.Seconds(v.Window), unit.Seconds(p.TimeSec), unit.Seconds(v.Total)),
	})
	f.Explains = append(f.Explains, advise.EffectCPU)
	// The statements that set it off: their time holds the trigger's.
	var around float64
	for _, u := range uses(v, changing) {
		if u.t.Ref != ref || !sets(u.shape.Kind, event) {
			continue
		}
		f.Subject.Classes = append(f.Subject.Classes, u.c.ID)
		f.Explains = append(f.Explains, advise.ClassTime(u.c.ID))
		around += u.c.TimeSec
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "part of the statement that is its trigger", Value: known.Of(100 * min(1, p.TimeSec/u.c.TimeSec)),
			Unit: "%", Source: u.c.Source(), Sampled: u.c.Sampled,
			Text: fmt.Sprintf("%s in %s, the trigger in it: %s", unit.Seconds(u.c.TimeSec),
				unit.Plural(int(u.c.Count), "execution", "executions"), clip(u.c.Fingerprint)),
		})
	}
	if n, ok := p.Statements.Get(); ok {
		text := fmt.Sprintf("It executes %s statements each time.", unit.Count(float64(n)/float64(p.Count)))
		if sec, ok := p.StatementsSec.Get(); ok {
			text = fmt.Sprintf("It executes %s statements each time, which take %s of its time.",
				unit.Count(float64(n)/float64(p.Count)), unit.Percent(min(1, sec/p.TimeSec)))
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What:  "statements per execution",
			Value: known.Of(float64(n) / float64(p.Count)), Source: source.Programs, Text: text,
		})
	}
	hot, hotBody := p.Name, body
	for _, q := range v.Programs {
		if q.Kind == "trigger" || body == "" || q.TimeSec < 0.3*p.TimeSec || !strings.EqualFold(q.Schema, p.Schema) ||
			!calls(body, q.Name) {
			continue
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "time of a routine that it calls", Value: known.Of(q.TimeSec / v.Window),
			Unit: "s/s", Source: source.Programs,
			Text: fmt.Sprintf("It calls the %s %s, which takes %s in %s executions: %s of the trigger's time.", q.Kind,
				q.Name, unit.Seconds(q.TimeSec), unit.Count(float64(q.Count)),
				unit.Percent(min(1, q.TimeSec/p.TimeSec))),
		})
		hot, hotBody = q.Name, q.Body
	}
	var advice []string
	if loops.MatchString(hotBody) {
		advice = append(advice, fmt.Sprintf("%s works in a loop, each iteration of which is interpreted: replace it "+
			"by one statement over all rows, or by a table of the results", hot))
	}
	if branches.MatchString(hotBody) {
		advice = append(advice, fmt.Sprintf("%s uses its results in some branches only: check the condition first, "+
			"and remove branches that no row reaches any more", hot))
	}
	if len(advice) == 0 {
		advice = append(advice, "check what it does for each row, remove what nothing reads, and move to a job what "+
			"need not be done at once")
	}
	f.Suggestion = fmt.Sprintf("Rewrite %s: %s. To measure what it costs before that, run the statement on a copy of "+
		"the table without the trigger.", hot, strings.Join(advice, "; "))
	if body == "" {
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved, "What the trigger does: its text is not visible with these privileges "+
			"(needs TRIGGER on the table).")
	}
	if n := len(f.Subject.Classes); n == 0 {
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved, "Which statements fire it: none of those with the most time writes to "+
			"the table.")
	} else if around > 0 && p.TimeSec < 0.3*around {
		f.Against = append(f.Against, fmt.Sprintf("The statements that fire it take %s, %s of it for other work.",
			unit.Seconds(around), unit.Percent(1-p.TimeSec/around)))
	}
	lo, hi := 1.2, 10.0
	if around > p.TimeSec {
		hi = min(hi, around/(around-0.95*p.TimeSec))
		lo = min(lo, hi)
	}
	f.Gain = &finding.Gain{
		What: "time per statement that fires it", Lo: lo, Hi: hi,
		Text: fmt.Sprintf("up to %s if nearly all of the %s can go; how much must stay is unknown",
			unit.Ratio(hi), unit.Seconds(each)),
	}
	f.Share = givesBack(share, 1.5, 10)
	f.Cost = "While a trigger is replaced, writes to its table wait; between DROP TRIGGER and CREATE TRIGGER rows " +
		"are inserted without it unless the table is locked (MariaDB: CREATE OR REPLACE TRIGGER)."
	f.Falsify = "Disproved if the statement takes as long on a copy of the table without the trigger."
	f.Reference = "Reference manual, \"Trigger Syntax and Examples\" and \"Statement Summary Tables\""
	f.Why = []finding.Reason{asking("Where does the time go?", source.Programs, "%s", f.Evidence[0].Text)}
	for _, e := range f.Evidence[1:] {
		f.Why = append(f.Why, asking("What is it made of?", e.Source, "%s", e.Text))
	}
	f.Subject.Classes = slices.Compact(f.Subject.Classes)
	return f
}

// sets reports whether a statement may set a trigger off. INSERT … ON DUPLICATE KEY UPDATE sets off both kinds, and
// REPLACE deletes.
func sets(k shape.Kind, event string) bool {
	switch event {
	case "UPDATE":
		return k == shape.Update || k == shape.Insert
	case "DELETE":
		return k == shape.Delete || k == shape.Insert
	case "INSERT":
		return k == shape.Insert
	}
	return writes(k)
}
