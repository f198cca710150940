package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/target"
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
	if spec, err := target.ParseURL(m.Entry.URL); err == nil {
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
	for _, i := range scrape.Sources() {
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

// eventAPI is the marks on the timeline.
type eventAPI struct{ events *service.Events }

func (h eventAPI) routes(v *Server) {
	v.get("/api/dyno/v1/events", h.all)
	v.post("/api/dyno/v1/annotate", h.annotate)
}

type eventList struct {
	Events    []event.Event `json:"events"`
	Truncated bool          `json:"truncated,omitzero"` // there are older ones in that time
}

func (h eventAPI) all(r *http.Request) (any, error) {
	p := query(r)
	from, to := p.window(clock.Now())
	if p.err != nil {
		return nil, p.err
	}
	es, err := h.events.NewestEvents(r.Context(), p.text("target"), p.values["kind"], from, to, maxEvents+1)
	cut := max(0, len(es)-maxEvents) // the oldest goes
	return eventList{list(es[cut:]), cut > 0}, err
}

// annotate stores a note.
func (h eventAPI) annotate(r *http.Request) (any, error) {
	var n struct {
		Text   string    `json:"text"`
		Target string    `json:"target"`
		At     time.Time `json:"at"`
		Until  time.Time `json:"until"`
	}
	if err := decodeJSON(r, &n); err != nil {
		return nil, err
	}
	if !n.Until.IsZero() && n.At.IsZero() {
		return nil, fmt.Errorf("%w: until is given without at", errBadRequest)
	}
	if n.At.IsZero() {
		n.At = clock.Now()
	}
	e := event.Event{
		At: n.At, Until: n.Until, Target: n.Target, Kind: event.Annotation,
		Text: strings.Join(strings.Fields(n.Text), " "), // one line
	}
	if err := e.CheckNote(); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	e, err := h.events.Annotate(r.Context(), e)
	return coded{http.StatusCreated, e}, err
}
