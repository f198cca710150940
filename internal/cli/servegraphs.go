package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/service"
)

type graphs struct{ s *service.Service }

func (e *env) serveGraphs(s *service.Service) httpapi.Graphs { return graphs{s} }

func (x graphs) Graphs(ctx context.Context, q service.GraphQuery) (service.Graphs, error) {
	if ok, err := x.s.Fleet.Known(ctx, q.Target); err != nil || !ok {
		return service.Graphs{}, errors.Join(err, unknownTarget(q.Target))
	}
	g, err := x.s.Metrics.Graphs(ctx, q)
	if unknown := (*service.UnknownPanelError)(nil); errors.As(err, &unknown) {
		err = fmt.Errorf("%w: %w; GET /api/dyno/v1/panels lists them", httpapi.ErrBadRequest, err)
	}
	if errors.Is(err, service.ErrGraphSize) {
		err = fmt.Errorf("%w: %w", httpapi.ErrBadRequest, err)
	}
	return g, err
}
