package diagnose

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// dominates is the share of all statement time from which a class is worth a look of its own: by Amdahl's law
	// nothing done to a smaller one makes the whole faster than by a factor of 1.4.
	dominates = 0.3
	// noise is the statement time per second below which shares mean nothing: 5 % of one session.
	noise = 0.05
)

// Dominant looks for classes that hold much of the statement time.
func Dominant(s *snapshot.Snapshot) (out []finding.Symptom) {
	total := s.TotalTime()
	if s.Seconds() <= 0 || total <= 0 {
		return nil
	}
	for _, c := range byTime(s) {
		share := c.TimeSec / total
		if share < dominates || c.TimeSec/s.Seconds() < noise {
			break
		}
		how := "took"
		if c.Sampled {
			how = "took, estimated from samples,"
		}
		out = append(out, finding.Symptom{
			ID: finding.DominantClass.ID(c.ID), Kind: finding.DominantClass, Subject: c.ID,
			Title: fmt.Sprintf("one class holds %s of the statement time", unit.Percent(share)),
			Evidence: []finding.Evidence{{
				What: "share of statement time", Value: known.Of(share * 100), Unit: "%",
				Source: c.Source(), Sampled: c.Sampled,
				Expected: fmt.Sprintf("< %.0f", dominates*100),
				Text: fmt.Sprintf("The class %s %s of %s statement time in the window.", how,
					unit.Seconds(c.TimeSec), unit.Seconds(total)),
			}},
		})
	}
	return out
}
