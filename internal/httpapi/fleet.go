package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/source"
)

// Limits of lists: what is asked for beyond them is cut.
const (
	maxClasses = 1000
	maxTimes   = 11_000
	maxEvents  = 10_000

	maxSpan = 24 * time.Hour // that means are taken over, of all single readings
)

// fleetAPI is the targets that are watched, and what watching them costs.
type fleetAPI struct {
	fleet   *service.Fleet
	metrics *service.Metrics
	health  func() []service.Trouble
}

func (h fleetAPI) routes(v *Server) {
	v.get("/api/dyno/v1/targets", h.targets)
	v.get("/api/dyno/v1/health", h.troubles)
	v.get("/api/dyno/v1/sources", h.sources)
	v.get("/api/dyno/v1/cost", h.cost)
}

func (h fleetAPI) targets(*http.Request) (any, error) {
	all := []Target{}
	for _, m := range h.fleet.All() {
		all = append(all, targetOf(m))
	}
	return map[string]any{"targets": all}, nil
}

func targetOf(m service.Member) Target {
	t := Target{Name: m.Entry.Name, Incidents: m.Incidents, Denied: m.Denied, Account: m.Account}
	if spec, err := endpoint.ParseURL(m.Entry.URL); err == nil {
		t.Address = spec.Address
	}
	if s := m.State; s != nil {
		t.Server, t.Up, t.Reason, t.At = s.Server, known.Of(s.Up), s.Reason, s.At
		if t.NotConfigured, t.LoginRefused = s.NotConfigured, s.LoginRefused; t.NotConfigured || t.LoginRefused {
			t.Up = known.None[bool]()
		}
		if t.NotConfigured {
			t.Fix = service.FixNotConfigured
		}
	}
	return t
}

func (h fleetAPI) troubles(*http.Request) (any, error) {
	return map[string]any{"troubles": list(h.health())}, nil
}

func (h fleetAPI) sources(r *http.Request) (any, error) {
	p := query(r)
	name := p.need("target")
	if p.err != nil {
		return nil, p.err
	}
	m, ok := h.fleet.Find(name)
	if !ok {
		return nil, unknownTarget(name)
	}
	traits := map[source.Name]scrape.Traits{}
	for _, i := range h.fleet.Family(r.Context(), name).Sources() {
		traits[i.Name] = i.Traits
	}
	slowed := map[string]float64{} // how many times less often than usual a source is read, for it takes too much
	samples, _ := h.fleet.Newest(name)
	for _, x := range samples {
		if x.Name == "dyno_source_slowed" {
			slowed[x.Labels.Get("source")] = x.Value
		}
	}
	all := []Source{}
	for _, x := range m.Sources {
		s := Source{Source: x}
		if t, ok := traits[x.Name]; ok {
			s.Every = max(t.Every, h.fleet.Every()).Seconds() * slowed[string(x.Name)]
			s.Budget = cmp.Or(t.Budget, 0.01)
			s.Cost, s.Usual, s.Asked, s.Grant, s.About = string(t.Cost), t.Every.Seconds(), t.Asked, t.Grant, t.About
		}
		all = append(all, s)
	}
	return map[string]any{"target": name, "sources": all}, nil
}

func (h fleetAPI) cost(r *http.Request) (any, error) {
	p := query(r)
	name, span := p.need("target"), p.span("span", 5*time.Minute)
	if p.err == nil && (span <= 0 || span > maxSpan) {
		p.wrong("span", errors.New("it is longer than 0, and a day at most"))
	}
	if p.err != nil {
		return nil, p.err
	}
	if _, ok := h.fleet.Find(name); !ok {
		return nil, unknownTarget(name)
	}
	return h.metrics.Price(r.Context(), name, span)
}
