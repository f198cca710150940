package cli

import (
	"context"
	"errors"

	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/task"
)

func (e *env) serveLab(s *service.Service) httpapi.Lab {
	return labAPI{lab.New(e.app, &s.Tasks, func() (all []ledger.Target) {
		for _, m := range s.Fleet.All() {
			all = append(all, m.Entry)
		}
		return all
	})}
}

// labAPI gives httpapi a lab.Lab with errors in httpapi's words.
type labAPI struct{ l *lab.Lab }

// labMeans is an error with what it means over HTTP, in its own words.
type labMeans struct{ err, kind error }

func (m labMeans) Error() string   { return m.err.Error() }
func (m labMeans) Unwrap() []error { return []error{m.err, m.kind} }

func labError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, lab.ErrNoRecord):
		return labMeans{err, httpapi.ErrNotFound}
	case errors.Is(err, compare.ErrSets), errors.Is(err, trials.ErrBusy), errors.Is(err, trials.ErrChanged),
		errors.Is(err, trials.ErrCorrupt), errors.Is(err, trials.ErrNewer):
		return labMeans{err, httpapi.ErrConflict}
	case errors.Is(err, lab.ErrOptions):
		return labMeans{err, httpapi.ErrBadRequest}
	}
	return err
}

func (x labAPI) Experiments(ctx context.Context) ([]lab.Line, error) {
	all, err := x.l.Experiments(ctx)
	return all, labError(err)
}

func (x labAPI) Experiment(ctx context.Context, id string) (lab.Experiment, error) {
	y, err := x.l.Experiment(ctx, id)
	return y, labError(err)
}

func (x labAPI) SideBySide(ctx context.Context, id, with string) (lab.Experiment, error) {
	y, err := x.l.SideBySide(ctx, id, with)
	return y, labError(err)
}

func (x labAPI) Resume(ctx context.Context, id, by string) (task.Task, error) {
	t, err := x.l.Resume(ctx, id, by)
	return t, labError(err)
}

func (x labAPI) Recipes(ctx context.Context) ([]lab.Recipe, error) {
	all, err := x.l.Recipes(ctx)
	return all, labError(err)
}

func (x labAPI) Recipe(ctx context.Context, name, scale string, set map[string]string) (lab.DryRun, error) {
	y, err := x.l.Recipe(ctx, name, scale, set)
	return y, labError(err)
}

func (x labAPI) RunRecipe(ctx context.Context, name, scale string, set map[string]string,
	by string,
) (task.Task, error) {
	t, err := x.l.RunRecipe(ctx, name, scale, set, by)
	return t, labError(err)
}

func (x labAPI) Runs(ctx context.Context, target string, limit int) ([]lab.Run, error) {
	all, err := x.l.Runs(ctx, target, limit)
	return all, labError(err)
}

func (x labAPI) Run(ctx context.Context, id string) (lab.RunDetail, error) {
	y, err := x.l.Run(ctx, id)
	return y, labError(err)
}

func (x labAPI) Documents(ctx context.Context, limit int) ([]lab.Document, error) {
	all, err := x.l.Documents(ctx, limit)
	return all, labError(err)
}
