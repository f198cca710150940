package testbed

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

const defaultTimes = 5

// probe runs the job's statements one after the other, each by itself.
func probe(ctx context.Context, t family.TrialServer, j *job, tr *trial.Trial) error {
	c, err := t.Session(ctx, j.schema, false)
	if err != nil {
		return unusable(ctx, err)
	}
	defer c.Close()
	tr.From = time.Now()
	for _, p := range j.config.Probe {
		prefix := ""
		if len(j.config.Probe) > 1 {
			prefix = p.Name + "."
		}
		if err := probeOne(ctx, c, p, prefix, tr); err != nil {
			return unusable(ctx, fmt.Errorf("%s: %w", brief(p.SQL), t.Wrap("probe", err)))
		}
	}
	tr.To = time.Now()
	return nil
}

func probeOne(ctx context.Context, c family.TrialSession, p plan.Probe, prefix string, tr *trial.Trial) error {
	times := p.Times
	if times <= 0 {
		times = defaultTimes
	}
	x, err := c.Probe(ctx, p.SQL, times)
	if err != nil {
		return err
	}
	tr.Texts[prefix+"plan"], tr.Texts[prefix+"filesort"] = x.Plan, "no"
	if x.Sorts {
		tr.Texts[prefix+"filesort"] = "yes"
	}
	tr.Values[prefix+"ms"] = stat.Median(x.MS)
	tr.Values[prefix+"rows_read"] = x.RowsRead
	tr.Values[prefix+"rows_sent"] = float64(x.RowsSent)
	return nil
}
