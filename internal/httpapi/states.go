package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// stateAPI is what servers were doing.
type stateAPI struct {
	fleet   *service.Fleet
	history *history.History
}

func (h stateAPI) routes(v *Server) {
	v.get("/api/dyno/v1/state", h.at)
	v.get("/api/dyno/v1/states", h.times)
}

// at answers with the newest state at or before a moment; without one, with that of now.
func (h stateAPI) at(r *http.Request) (any, error) {
	p := query(r)
	name, at := p.need("target"), p.time("at", time.Time{})
	if p.err != nil {
		return nil, p.err
	}
	if !at.IsZero() {
		return h.history.StateAt(r.Context(), name, at)
	}
	m, ok := h.fleet.Find(name)
	if !ok {
		return nil, unknownTarget(name)
	}
	if m.State == nil {
		return nil, fmt.Errorf("%w: %s has not been read yet", errUnavailable, name)
	}
	return m.State, nil
}

func (h stateAPI) times(r *http.Request) (any, error) {
	p := query(r)
	name := p.need("target")
	from, to := p.window(clock.Now())
	limit := p.most(1000, maxTimes)
	if p.err != nil {
		return nil, p.err
	}
	if err := knows(r.Context(), h.fleet, name); err != nil {
		return nil, err
	}
	ts, err := h.history.StateTimes(r.Context(), name, from, to, limit)
	return map[string]any{"target": name, "times": list(ts)}, err
}
