package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/service"
)

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
