package cli

import (
	"context"
	"errors"

	"dyno/internal/app"
	"dyno/internal/compare"
	"dyno/internal/httpapi"
	"dyno/internal/store/trials"
)

func (e *env) serveLab(s *app.Service) httpapi.Lab { return lab{app.NewLab(s)} }

// lab gives httpapi an app.Lab with errors in httpapi's words.
type lab struct{ l *app.Lab }

// labMeans is an error with what it means over HTTP, in its own words.
type labMeans struct{ err, kind error }

func (m labMeans) Error() string   { return m.err.Error() }
func (m labMeans) Unwrap() []error { return []error{m.err, m.kind} }

func labError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, app.ErrNoRecord):
		return labMeans{err, httpapi.ErrNotFound}
	case errors.Is(err, compare.ErrSets), errors.Is(err, trials.ErrBusy), errors.Is(err, trials.ErrChanged), errors.Is(err, trials.ErrCorrupt), errors.Is(err, trials.ErrNewer):
		return labMeans{err, httpapi.ErrConflict}
	case errors.Is(err, app.ErrLabOptions):
		return labMeans{err, httpapi.ErrBadRequest}
	}
	return err
}

func (x lab) Experiments(ctx context.Context) ([]app.LabLine, error) {
	all, err := x.l.Experiments(ctx)
	return all, labError(err)
}

func (x lab) Experiment(ctx context.Context, id string) (app.LabExperiment, error) {
	y, err := x.l.Experiment(ctx, id)
	return y, labError(err)
}

func (x lab) SideBySide(ctx context.Context, id, with string) (app.LabExperiment, error) {
	y, err := x.l.SideBySide(ctx, id, with)
	return y, labError(err)
}

func (x lab) Resume(ctx context.Context, id, by string) (app.Task, error) {
	t, err := x.l.Resume(ctx, id, by)
	return t, labError(err)
}

func (x lab) Recipes(ctx context.Context) ([]app.LabRecipe, error) {
	all, err := x.l.Recipes(ctx)
	return all, labError(err)
}

func (x lab) Recipe(ctx context.Context, name, scale string, set map[string]string) (app.LabDryRun, error) {
	y, err := x.l.Recipe(ctx, name, scale, set)
	return y, labError(err)
}

func (x lab) RunRecipe(ctx context.Context, name, scale string, set map[string]string, by string) (app.Task, error) {
	t, err := x.l.RunRecipe(ctx, name, scale, set, by)
	return t, labError(err)
}

func (x lab) Runs(ctx context.Context, target string, limit int) ([]app.LabRun, error) {
	all, err := x.l.Runs(ctx, target, limit)
	return all, labError(err)
}

func (x lab) Run(ctx context.Context, id string) (app.LabRunDetail, error) {
	y, err := x.l.Run(ctx, id)
	return y, labError(err)
}

func (x lab) Documents(ctx context.Context, limit int) ([]app.LabDocument, error) {
	all, err := x.l.Documents(ctx, limit)
	return all, labError(err)
}
