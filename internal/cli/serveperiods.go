package cli

import (
	"context"
	"errors"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/service"
)

func (e *env) servePeriods(s *service.Service) httpapi.Periods { return periods{s} }

type periods struct{ s *service.Service }

func (x periods) ClassLines(
	ctx context.Context, name string, list []class.Class, from, to time.Time,
) ([]service.Line, error) {
	return x.s.Classes.ClassLines(ctx, name, list, from, to)
}

func (x periods) ClassExtra(ctx context.Context, name string, c class.Class) (service.ClassExtra, error) {
	return x.s.Classes.ClassExtra(ctx, name, c)
}

func (x periods) CompareClasses(ctx context.Context, name string, before, after service.Period,
	most int,
) (service.PeriodComparison, error) {
	if ok, err := x.s.Fleet.Known(ctx, name); err != nil || !ok {
		return service.PeriodComparison{}, errors.Join(err, unknownTarget(name))
	}
	return x.s.Classes.ComparePeriods(ctx, name, before, after, most)
}
