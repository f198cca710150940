package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// examinedPerSec leaves out classes that examine too little to matter whatever the ratio.
const examinedPerSec = 1_000

// What holds less of the statement time, or comes after so many others, is not looked at one by one: nothing done to it
// would be felt.
const (
	leastShare = 0.001
	mostScans  = 200
)

// rowsPerPage is the most rows that a page of PostgreSQL holds, 291 of 28 bytes. Who wanted fewer pages has not read
// them all, whatever the plan for any value of the parameters says.
const rowsPerPage = 291

// scans looks at the rows that a class examines against those it returns or changes, exact or sampled, and at
// executions that the server itself counted as scans when the plan confirms them.
func scans(s *snapshot.Snapshot, parse shape.Parse, own []string) (out []finding.Symptom) {
	if s.Seconds() <= 0 {
		return nil
	}
	least := leastShare * s.TotalTime()
	for i, c := range byTime(s) {
		if i >= mostScans || c.TimeSec < least {
			break
		}
		if dictionary(c, parse, own) {
			continue
		}
		p, _ := s.Plan(c)
		if x, ok := scan(s, c, p); ok {
			out = append(out, x)
		}
	}
	return out
}

// dictionary reports whether a class reads the server's own tables only. These are made to be scanned, and no index can
// be added.
func dictionary(c class.Class, parse shape.Parse, own []string) bool {
	sh, err := parse(c.Text())
	if err != nil || len(sh.Tables) == 0 {
		return false
	}
	return !slices.ContainsFunc(sh.Tables, func(t shape.TableRef) bool {
		return !schema.Own(cmp.Or(t.Schema, c.Schema), own)
	})
}

func scan(s *snapshot.Snapshot, c class.Class, p explain.Plan) (finding.Symptom, bool) {
	var ev []finding.Evidence
	title := ""
	examined, seen := c.Examined.Get()
	rate := float64(examined) / s.Seconds()
	useful := float64(c.RowsSent.Or(0) + c.Affected.Or(0))
	if seen && rate >= examinedPerSec && c.RowsSent.OK() && float64(examined) >= RowsPerSent*max(1, useful) {
		ratio := float64(examined) / max(1, useful)
		title = fmt.Sprintf("a class examines %s for each that it returns or changes", unit.Count(ratio)+" rows")
		ev = append(ev, finding.Evidence{
			What: "rows examined per row returned or changed", Value: known.Of(ratio), Unit: "rows",
			Source: c.Source(), Sampled: c.Sampled,
			Expected: fmt.Sprintf("< %d", RowsPerSent),
			Text: fmt.Sprintf("The class examined %s and returned or changed %s.", unit.Rate(rate, "rows/s"),
				unit.Rate(useful/s.Seconds(), "rows/s")),
		})
	}
	if n, ok := c.FullScans.Get(); ok && n > 0 && len(ev) > 0 {
		ev = append(ev, finding.Evidence{
			What: "executions that scanned their first table", Value: known.Of(float64(n)),
			Source: c.Source(), Sampled: c.Sampled,
			Text: fmt.Sprintf("%s of %s executions scanned their first table.", unit.Count(float64(n)),
				unit.Count(float64(c.Count))),
		})
	}
	for _, st := range p.Steps {
		if !st.All() || st.Rows < examinedPerSec {
			continue
		}
		counted := c.FullScans.Or(0) > 0 || c.NoIndex.Or(0) > 0 || c.FullJoins.Or(0) > 0
		if st.Access == explain.SeqScan && !c.Sampled { // PostgreSQL counts no scans of a class: its plan tells them
			pages, told := c.PerCall(c.Pages).Get()
			counted = told && pages*rowsPerPage >= st.Rows &&
				st.Rows*float64(c.Count) >= examinedPerSec*s.Seconds() &&
				st.Rows*float64(c.Count) >= RowsPerSent*max(1, useful)
		}
		if len(ev) == 0 && !counted && !(c.Sampled && (!seen || rate >= examinedPerSec)) {
			continue
		}
		if title == "" {
			title = fmt.Sprintf("a class scans %s", st.Table)
		}
		ev = append(ev, finding.Evidence{
			What: "plan", Value: known.Of(st.Rows), Unit: "rows", Source: source.Plan, Sampled: true,
			Text: fmt.Sprintf("The plan reads all of %s, about %s rows.", st.Table, unit.Count(st.Rows)),
		})
	}
	if len(ev) == 0 {
		return finding.Symptom{}, false
	}
	return finding.Symptom{ID: finding.Scan.ID(c.ID), Kind: finding.Scan, Subject: c.ID, Title: title, Evidence: ev},
		true
}
