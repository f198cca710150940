package session

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	largeRows  = 10_000 // rows for each call: more than people or pages use
	largeShare = 0.1    // of the statement time
	largeLoad  = 0.05   // seconds of statement time per second
)

// largeResults finds classes that return so many rows that sending and reading them is the work.
func largeResults(v *advise.View) (out []finding.Finding) {
	if v.Window <= 0 || v.Total <= 0 {
		return nil
	}
	for _, c := range v.Classes {
		rows, ok := c.PerCall(c.RowsSent).Get()
		if !ok || c.Sampled || rows < largeRows || v.Share(c) < largeShare || c.TimeSec < largeLoad*v.Window {
			continue
		}
		sh, err := v.Shape(c)
		if err != nil || sh.Kind != shape.Select {
			continue
		}
		f := finding.Finding{
			Rule: "large-results", ID: finding.MakeID("large-results", c.ID), Severity: finding.Notice,
			Confidence: finding.Certain, Share: v.Share(c), Subject: finding.Subject{Classes: []string{c.ID}},
			Title: fmt.Sprintf("one class returns %s rows for each call and takes %s of the statement time",
				unit.Count(rows), unit.Percent(v.Share(c))),
			Cause: "Each row is made into a message, sent, and read by the client, whatever the client does with it.",
			Evidence: []finding.Evidence{{
				What: "rows returned per call", Value: known.Of(rows), Unit: "rows", Source: c.Source(),
				Expected: fmt.Sprintf("< %s", unit.Count(largeRows)),
				Text: fmt.Sprintf("%s calls returned %s rows: %s.", unit.Count(float64(c.Count)),
					unit.Count(float64(c.RowsSent.Or(0))), Clip(c.Fingerprint)),
			}},
			Against: []string{"An export or a report may need all of them."},
			Falsify: "Disproved if the client uses all rows that it gets.",
			Suggestion: "Ask for what is shown: the next page by the last value seen (WHERE key > $1 ORDER BY key " +
				"LIMIT), sums made by the server instead of the client, and only the columns that are used.",
			Cost:     "Application work.",
			Explains: []string{advise.ClassTime(c.ID)}, Unobserved: v.Unobserved(),
		}
		for _, r := range sh.Tables {
			if t, ok := v.Resolve(c, r); ok {
				f.Subject.Tables = append(f.Subject.Tables, schema.Ref{Schema: t.Schema, Table: t.Table})
			}
		}
		var r Reasons
		r.Say("What does a call return?", c.Source(), "%s", f.Evidence[0].Text)
		f.Why = r
		out = append(out, f)
	}
	return out
}
