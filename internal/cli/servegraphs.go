package cli

import (
	"context"
	"errors"
	"fmt"

	"dyno/internal/app"
	"dyno/internal/httpapi"
)

type graphs struct{ s *app.Service }

func (e *env) serveGraphs(s *app.Service) httpapi.Graphs { return graphs{s} }

func (x graphs) Graphs(ctx context.Context, q app.GraphQuery) (app.Graphs, error) {
	if ok, err := x.s.Known(ctx, q.Target); err != nil || !ok {
		return app.Graphs{}, errors.Join(err, unknownTarget(q.Target))
	}
	g, err := x.s.Graphs(ctx, q)
	if unknown := (*app.UnknownPanelError)(nil); errors.As(err, &unknown) {
		err = fmt.Errorf("%w: %w; GET /api/dyno/v1/panels lists them", httpapi.ErrBadRequest, err)
	}
	if errors.Is(err, app.ErrGraphSize) {
		err = fmt.Errorf("%w: %w", httpapi.ErrBadRequest, err)
	}
	return g, err
}
