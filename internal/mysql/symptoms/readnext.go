package symptoms

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// readNext compares what is read in the order of indexes with rows sent. No counter of scans moves for it: a whole
// index that is read, one that finds far too much, and rows that are sorted out by hand all show here and nowhere else.
// MariaDB counts entries that an index condition throws away as well; MySQL counts these nowhere.
func readNext(s *snapshot.Snapshot) []finding.Symptom {
	next, ok := s.Rate(figures.Handlers.Of("read_next")).Get()
	if !ok {
		return nil
	}
	prev := s.Rate(figures.Handlers.Of("read_prev")).Or(0)
	pushed, counted := s.Rate(figures.Handlers.Of("icp_attempts")).Get()
	passed := s.Rate(figures.Handlers.Of("icp_match")).Or(0)
	all := next + prev + max(0, pushed-passed)
	sent, from := rowsSent(s)
	n, told := sent.Get()
	if all < rndNextPerSec || !told || all < diagnose.RowsPerSent*n {
		return nil
	}
	text := fmt.Sprintf("The server read %s in the order of an index (Handler_read_next, Handler_read_prev)",
		unit.Rate(next+prev, "rows/s"))
	if counted && pushed > 0 {
		text += fmt.Sprintf(" and discarded %s by a condition within the index (Handler_icp_attempts less "+
			"Handler_icp_match)", unit.Rate(max(0, pushed-passed), "entries/s"))
	}
	return []finding.Symptom{{
		ID: finding.ReadNext.ID(), Kind: finding.ReadNext, Subject: "server",
		Title: fmt.Sprintf("%s are read along indexes and %s are sent", unit.Rate(all, "entries/s"),
			unit.Rate(n, "rows/s")),
		Evidence: []finding.Evidence{
			{
				What: "index entries read per second", Value: known.Of(all), Unit: "1/s", Source: source.GlobalStatus,
				Expected: fmt.Sprintf("< %s for each row sent", unit.Count(diagnose.RowsPerSent)), Text: text + ".",
			},
			{
				What: "rows sent per second", Value: sent, Unit: "1/s", Source: from,
				Text: fmt.Sprintf("It sent %s to its clients.", unit.Rate(n, "rows/s")),
			},
		},
	}}
}
