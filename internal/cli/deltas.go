package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/service"
)

// printDeltas prints how much each counter of a target grew between two moments, those that grew fastest first. JSON
// has those that did not grow, too.
func printDeltas(ctx context.Context, e *env, target string, from, to time.Time) error {
	d, err := service.StoredDeltas(ctx, e.app, target, from, to)
	if errors.Is(err, service.ErrNoSamples) {
		err = fmt.Errorf("%w; `dyno serve` stores them while it runs", err)
	}
	if err != nil {
		return e.unlessUnknown(ctx, target, err)
	}
	rate := func(x service.Delta) float64 { return x.Grown.Or(0) / x.Seconds }
	all := d.Counters
	if !e.json() {
		all = slices.DeleteFunc(all, func(x service.Delta) bool { return x.Grown.Or(-1) == 0 })
		slices.SortStableFunc(all, func(a, b service.Delta) int { return cmp.Compare(rate(b), rate(a)) })
	}
	err = listed(e, fmt.Sprintf("%16s %14s %8s  %s", "DIFFERENCE", "PER SECOND", "INTERVAL", "COUNTER"), all,
		func(x service.Delta) string {
			grown, each := "was reset", "-"
			if v, ok := x.Grown.Get(); ok {
				grown, each = strconv.FormatFloat(v, 'f', -1, 64), fmt.Sprintf("%.2f", rate(x))
				if v != float64(int64(v)) {
					grown = fmt.Sprintf("%.3f", v)
				}
			}
			return fmt.Sprintf("%16s %14s %7.0fs  %s", grown, each, x.Seconds, counterName(x))
		}, "No counter of "+target+" grew in that time.")
	if at, ok := d.Restarted.Get(); ok && err == nil {
		e.remark("The server restarted at %s: counters that were reset by it show their growth since then.",
			at.Local().Format(time.DateTime))
	}
	return err
}

// counterName is a counter as PromQL writes it.
func counterName(x service.Delta) string {
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(x.Labels)) {
		labels = append(labels, k+"="+strconv.Quote(x.Labels[k]))
	}
	if len(labels) == 0 {
		return x.Name
	}
	return x.Name + "{" + strings.Join(labels, ",") + "}"
}
