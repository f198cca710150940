package cli

import (
	"context"
	"errors"
	"time"

	"dyno/internal/app"
	"dyno/internal/class"
	"dyno/internal/httpapi"
)

func (e *env) servePeriods(s *app.Service) httpapi.Periods { return periods{s} }

type periods struct{ s *app.Service }

func (x periods) ClassLines(ctx context.Context, name string, list []class.Class, from, to time.Time) ([]app.Line, error) {
	return x.s.ClassLines(ctx, name, list, from, to)
}

func (x periods) ClassExtra(ctx context.Context, name string, c class.Class) (app.ClassExtra, error) {
	return x.s.ClassExtra(ctx, name, c)
}

func (x periods) CompareClasses(ctx context.Context, name string, before, after app.Period, most int) (app.PeriodComparison, error) {
	if ok, err := x.s.Known(ctx, name); err != nil || !ok {
		return app.PeriodComparison{}, errors.Join(err, unknownTarget(name))
	}
	return x.s.ComparePeriods(ctx, name, before, after, most)
}
