package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"dyno/internal/class"
	"dyno/internal/clock"
	"dyno/internal/event"
)

// dyno registers Dyno's own API.
func (v *Server) dyno() {
	v.handle("GET /api/dyno/v1/targets", v.targets)
	v.handle("GET /api/dyno/v1/health", v.health)
	v.handle("GET /api/dyno/v1/sources", v.sources)
	v.handle("GET /api/dyno/v1/cost", v.cost)
	v.handle("GET /api/dyno/v1/state", v.stateAt)
	v.handle("GET /api/dyno/v1/states", v.stateTimes)
	v.handle("GET /api/dyno/v1/classes", v.classes)
	v.handle("GET /api/dyno/v1/class", v.class)
	v.handle("GET /api/dyno/v1/events", v.events)
	v.change("POST /api/dyno/v1/annotate", v.annotate)
	v.handleLong("GET /api/dyno/v1/stream", v.stream)
}

// Limits of lists: what is asked for beyond them is cut.
const (
	maxClasses = 1000
	maxTimes   = 11_000
	maxEvents  = 10_000

	maxSpan = 24 * time.Hour // that means are taken over, of all single readings
)

// most returns the parameter limit of a list: usual without it, and at most most. 0 is refused, for below it means all.
func (p *params) most(usual, most int) int {
	n := p.limit("limit", usual)
	if p.err == nil && n < 1 {
		p.wrong("limit", fmt.Errorf("it is from 1 to %d", most))
	}
	return min(n, most)
}

// reply answers with x, or with err.
func (v *Server) reply(w http.ResponseWriter, r *http.Request, x any, err error) {
	if err != nil {
		v.fail(w, r, err)
		return
	}
	respondJSON(w, http.StatusOK, x)
}

func (v *Server) targets(w http.ResponseWriter, r *http.Request) {
	if v.service.Fleet == nil {
		absent(w)
		return
	}
	ts, err := v.service.Fleet.Targets(r.Context())
	type row struct {
		Target
		Labels map[string]string `json:"labels,omitempty"`
	}
	rows := make([]row, len(ts))
	for i, t := range ts {
		rows[i] = row{t, object(t.Labels)}
	}
	v.reply(w, r, map[string]any{"targets": rows}, err)
}

func (v *Server) health(w http.ResponseWriter, r *http.Request) {
	if v.service.Fleet == nil {
		absent(w)
		return
	}
	all, err := v.service.Fleet.Health(r.Context())
	v.reply(w, r, map[string]any{"troubles": list(all)}, err)
}

func (v *Server) sources(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name := p.need("target")
	if v.service.Fleet == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	ss, err := v.service.Fleet.Sources(r.Context(), name)
	v.reply(w, r, map[string]any{"target": name, "sources": list(ss)}, err)
}

// refuse answers a wrong parameter, or without one that a part of the Service is not there.
func refuse(w http.ResponseWriter, err error) {
	if err != nil {
		respondError(w, http.StatusBadRequest, "bad_data", err.Error())
		return
	}
	absent(w)
}

// list makes an empty list of none: JSON has null for it otherwise.
func list[T any](x []T) []T {
	if x == nil {
		return []T{}
	}
	return x
}

func (v *Server) cost(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name, span := p.need("target"), p.span("span", 5*time.Minute)
	if p.err == nil && (span <= 0 || span > maxSpan) {
		p.wrong("span", fmt.Errorf("it is longer than 0, and a day at most"))
	}
	if v.service.Fleet == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	x, err := v.service.Fleet.Price(r.Context(), name, span)
	v.reply(w, r, x, err)
}

func (v *Server) stateAt(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name, at := p.need("target"), p.time("at", time.Time{})
	if v.service.States == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	s, err := v.service.States.StateAt(r.Context(), name, at)
	if err == nil && s == nil {
		err = ErrNotFound
	}
	v.reply(w, r, s, err)
}

func (v *Server) stateTimes(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name := p.need("target")
	from, to := p.window(clock.Now())
	limit := p.most(1000, maxTimes)
	if v.service.States == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	ts, err := v.service.States.StateTimes(r.Context(), name, from, to, limit)
	v.reply(w, r, map[string]any{"target": name, "times": list(ts)}, err)
}

func (v *Server) classes(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name := p.need("target")
	from, to := p.window(clock.Now())
	limit := p.most(50, maxClasses)
	if v.service.Classes == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	l, err := v.service.Classes.Classes(r.Context(), name, from, to, p.text("search"), limit)
	if l.Classes == nil {
		l.Classes = []class.Class{}
	}
	if err == nil && p.text("lines") == "1" {
		full, err := v.withLines(r.Context(), name, l, from, to)
		v.reply(w, r, full, err)
		return
	}
	v.reply(w, r, l, err)
}

func (v *Server) class(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name, id := p.need("target"), p.need("id")
	from, to := p.window(clock.Now())
	if v.service.Classes == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	d, err := v.service.Classes.Class(r.Context(), name, id, from, to)
	if d.Buckets == nil {
		d.Buckets = []Bucket{}
	}
	if err == nil && v.service.Periods != nil {
		full, err := v.withExtra(r.Context(), name, d)
		v.reply(w, r, full, err)
		return
	}
	v.reply(w, r, d, err)
}

type eventList struct {
	Events    []event.Event `json:"events"`
	Truncated bool          `json:"truncated,omitzero"` // there are older ones in that time
}

func (v *Server) events(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	from, to := p.window(clock.Now())
	if v.service.Events == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	es, err := v.service.Events.Events(r.Context(), p.text("target"), p.values["kind"], from, to, maxEvents+1)
	cut := max(0, len(es)-maxEvents) // the oldest goes
	v.reply(w, r, eventList{list(es[cut:]), cut > 0}, err)
}

// annotate stores a note.
func (v *Server) annotate(w http.ResponseWriter, r *http.Request) {
	if v.service.Events == nil {
		absent(w)
		return
	}
	var n struct {
		Text   string    `json:"text"`
		Target string    `json:"target"`
		At     time.Time `json:"at"`
		Until  time.Time `json:"until"`
	}
	err := decodeJSON(r, &n)
	n.Text = strings.Join(strings.Fields(n.Text), " ") // one line
	switch {
	case err != nil:
	case !n.Until.IsZero() && n.At.IsZero():
		err = fmt.Errorf("%w: until is given without at", ErrBadRequest)
	}
	if n.At.IsZero() {
		n.At = clock.Now()
	}
	e := event.Event{At: n.At, Until: n.Until, Target: n.Target, Kind: event.Annotation, Text: n.Text}
	if err == nil {
		if err = e.CheckNote(); err != nil {
			err = fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	if err == nil {
		e, err = v.service.Events.Annotate(r.Context(), e)
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	respondJSON(w, http.StatusCreated, e)
}
