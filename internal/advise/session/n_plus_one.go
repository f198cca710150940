package session

import (
	"fmt"
	"math"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	lookupsPerSec = 100.0 // below, the round trips do not matter
	lookupShare   = 0.2   // of the statement time, of the class of lookups
	listRows      = 5.0   // rows that a call of the other class returns at least
	sameCount     = 0.1   // how far executions and rows may be apart: some are of calls that the window cut
	mostLookups   = 50    // classes that are looked at
)

// nPlusOne finds a class that looks up a row by a value once for each row that another class returned: the rows of a
// list are asked for one by one.
func nPlusOne(v *advise.View) (out []finding.Finding) {
	if v.Window <= 0 || v.Total <= 0 {
		return nil
	}
	for i, c := range v.Classes {
		if i == mostLookups {
			break
		}
		if c.Sampled || float64(c.Count)/v.Window < lookupsPerSec || v.Share(c) < lookupShare || !looksUp(v, c) {
			continue
		}
		if list, apart, ok := listOf(v, c); ok {
			out = append(out, oneByOne(v, c, list, apart))
		}
	}
	return out
}

// looksUp reports whether statements of a class read a row or two of one table by one value.
func looksUp(v *advise.View, c class.Class) bool {
	sh, err := v.Shape(c)
	rows, ok := c.PerCall(c.RowsSent).Get()
	return err == nil && ok && rows <= 2 && sh.Kind == shape.Select && len(sh.Tables) == 1 && len(sh.Parts) == 0 &&
		!sh.Folded && len(sh.Predicates) == 1 && sh.Predicates[0].Op == shape.Eq && !sh.Predicates[0].Join
}

// listOf returns the class that returned as many rows as c was executed, and how far apart the two are, 0 to 1.
func listOf(v *advise.View, c class.Class) (list class.Class, apart float64, ok bool) {
	apart = sameCount
	for _, x := range v.Classes {
		rows, told := x.RowsSent.Get()
		if x.ID == c.ID || !told || x.Sampled || x.PerCall(x.RowsSent).Or(0) < listRows {
			continue
		}
		if sh, err := v.Shape(x); err != nil || sh.Kind != shape.Select {
			continue
		}
		if d := math.Abs(float64(rows)/float64(c.Count) - 1); d <= apart {
			list, apart, ok = x, d, true
		}
	}
	return list, apart, ok
}

func oneByOne(v *advise.View, c, list class.Class, apart float64) finding.Finding {
	share, each := v.Share(c), list.PerCall(list.RowsSent).Or(0)
	f := finding.Finding{
		Rule: "n-plus-one", ID: finding.MakeID("n-plus-one", c.ID, list.ID), Severity: finding.Notice,
		Confidence: finding.Possible, Share: share, Subject: finding.Subject{Classes: []string{c.ID, list.ID}},
		Title: fmt.Sprintf("one class looks up single rows %s, once for each row that another class returns",
			unit.Rate(float64(c.Count)/v.Window, "times/s")),
		Cause: "An application that reads a list and then asks for what belongs to each of its rows sends one " +
			"statement for the list and one for each row. Each of them is fast, and takes a round trip.",
		Evidence: []finding.Evidence{
			{
				What: "executions of the lookup", Value: known.Of(float64(c.Count)), Source: c.Source(),
				Text: fmt.Sprintf("It ran %s times with %s of the statement time: %s.", unit.Count(float64(c.Count)),
					unit.Percent(share), Clip(c.Fingerprint)),
			},
			{
				What: "rows of the list", Value: known.Of(float64(list.RowsSent.Or(0))), Source: list.Source(),
				Text: fmt.Sprintf("This one returned %s rows, %s for each call: %s.",
					unit.Count(float64(list.RowsSent.Or(0))), unit.Count(each), Clip(list.Fingerprint)),
			},
		},
		Against: []string{"That the two belong together is inferred from their counts, which differ by " +
			unit.Percent(apart) + "."},
		Falsify: "Disproved if the lookup runs as often while the other statement does not run.",
		Suggestion: "Ask for all rows of a list at once: join the second table in the first statement, or send one " +
			"lookup with all values (= ANY ($1)). ORMs call it eager loading.",
		Cost:     "Application work. A join repeats the columns of the list for each row that it finds.",
		Explains: []string{advise.ClassTime(c.ID)}, Unobserved: v.Unobserved(),
	}
	if lo := each / 2; lo > 1 {
		f.Gain = &finding.Gain{
			What: "statements for a list", Lo: lo, Hi: each + 1,
			Text: fmt.Sprintf("Now %s statements are sent for a list, then one or two.", unit.Count(each+1)),
		}
	}
	var r Reasons
	r.Say("What runs so often?", c.Source(), "%s", f.Evidence[0].Text)
	r.Say("Who returns as many rows?", list.Source(), "%s", f.Evidence[1].Text)
	r.Say("Does one statement belong to each row?", source.Statement, "The lookup finds %s rows by one value.",
		unit.Count(c.PerCall(c.RowsSent).Or(0)))
	f.Why = r
	return f
}
