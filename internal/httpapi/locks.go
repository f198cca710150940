package httpapi

import (
	"net/http"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// lockAPI is the deadlocks and lock waits that were.
type lockAPI struct {
	fleet   *service.Fleet
	history *history.History
}

func (h lockAPI) routes(v *Server) {
	v.get("/api/dyno/v1/locks", h.all)
	v.get("/api/dyno/v1/deadlock", h.one)
}

// maxLocks is how many deadlocks and how many waits are answered with at most: each has the statements of its sessions.
const maxLocks = 1000

func (h lockAPI) all(r *http.Request) (any, error) {
	p := query(r)
	name := p.need("target")
	from, to := p.window(clock.Now())
	limit := p.most(100, maxLocks)
	if p.err != nil {
		return nil, p.err
	}
	if err := knows(r.Context(), h.fleet, name); err != nil {
		return nil, err
	}
	return h.history.Locks.Between(r.Context(), name, from, to, limit)
}

func (h lockAPI) one(r *http.Request) (any, error) {
	p := query(r)
	name, id := p.need("target"), p.need("id")
	if p.err != nil {
		return nil, p.err
	}
	return h.history.Locks.Deadlock(r.Context(), name, id)
}
