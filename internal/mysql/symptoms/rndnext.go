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

// rndNextPerSec leaves out what reading small tables, the dictionary and Dyno's own questions cost.
const rndNextPerSec = 10_000

// rndNext compares rows read in the order of the table, which is what a scan does, with rows sent.
func rndNext(s *snapshot.Snapshot) []finding.Symptom {
	rate := s.Rate(figures.Handlers.Of("read_rnd_next"))
	v, ok := rate.Get()
	if !ok || v < rndNextPerSec {
		return nil
	}
	sent, from := rowsSent(s)
	n, known := sent.Get()
	if known && v < diagnose.RowsPerSent*n {
		return nil
	}
	ev := []finding.Evidence{{
		What: "Handler_read_rnd_next per second", Value: rate, Unit: "1/s", Source: source.GlobalStatus,
		Expected: fmt.Sprintf("< %s", unit.Count(rndNextPerSec)),
		Text:     fmt.Sprintf("The server read %s in the order of the table, as scans do.", unit.Rate(v, "rows/s")),
	}}
	title := fmt.Sprintf("scans read %s", unit.Rate(v, "rows/s"))
	if known {
		ev = append(ev, finding.Evidence{
			What: "rows sent per second", Value: sent, Unit: "1/s", Source: from,
			Text: fmt.Sprintf("It sent %s to its clients.", unit.Rate(n, "rows/s")),
		})
		title += fmt.Sprintf(" and %s are sent", unit.Rate(n, "rows/s"))
	}
	return []finding.Symptom{{
		ID: finding.RndNext.ID(), Kind: finding.RndNext, Subject: "server", Title: title,
		Evidence: ev,
	}}
}

// rowsSent is the server's own counter where it has one (MariaDB), else the sum over classes when all were counted.
func rowsSent(s *snapshot.Snapshot) (known.Value[float64], source.Name) {
	if r := s.Rate("mysql_global_status_rows_sent"); r.OK() {
		return r, source.GlobalStatus
	}
	total := 0.0
	for _, c := range s.Classes {
		n, ok := c.RowsSent.Get()
		if !ok || c.Sampled {
			return known.None[float64](), ""
		}
		total += float64(n)
	}
	if len(s.Classes) == 0 || s.Rest.Classes > 0 || s.Seconds() <= 0 {
		return known.None[float64](), ""
	}
	return known.Of(total / s.Seconds()), source.Digests
}
