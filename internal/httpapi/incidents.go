package httpapi

import (
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/service"
)

// incidentAPI is what went wrong with targets.
type incidentAPI struct {
	incidents *service.Incidents
	classes   *service.Classes
	fleet     *service.Fleet
}

const (
	maxIncidents    = 1000
	incidentClasses = 20 // the classes of an incident's time, most time first
)

func (h incidentAPI) routes(v *Server) {
	v.get("/api/dyno/v1/incidents", h.all)
	v.get("/api/dyno/v1/incident", h.one)
}

// incidentList is the incidents of a time, newest first.
type incidentList struct {
	Incidents []incident.Incident `json:"incidents"`
	Truncated bool                `json:"truncated,omitzero"` // there are older ones in that time
	// WatchedSince is from when on something is stored of the target; absent for all targets, and when nothing is.
	WatchedSince time.Time `json:"watched_since,omitzero"`
}

func (h incidentAPI) all(r *http.Request) (any, error) {
	p := query(r)
	from, to := p.window(clock.Now())
	limit := p.most(100, maxIncidents)
	if p.err != nil {
		return nil, p.err
	}
	name := p.text("target")
	var x incidentList
	if name != "" {
		if err := knows(r.Context(), h.fleet, name); err != nil {
			return nil, err
		}
		var err error
		if x.WatchedSince, err = h.incidents.Since(r.Context(), name); err != nil {
			return nil, err
		}
	}
	all, err := h.incidents.Newest(r.Context(), name, from, to, limit+1)
	x.Truncated = len(all) > limit
	x.Incidents = list(all[:min(len(all), limit)])
	return x, err
}

// incidentFull is an incident with all that is kept of it.
type incidentFull struct {
	service.IncidentDetail
	// Classes are the query classes of its time, in whole minutes, most time first, each with its course.
	Classes  []classRow `json:"classes"`
	Coverage Coverage   `json:"coverage"` // how much of that time was observed
}

func (h incidentAPI) one(r *http.Request) (any, error) {
	p := query(r)
	id := p.need("id")
	if p.err != nil {
		return nil, p.err
	}
	ctx := r.Context()
	d, err := h.incidents.Detail(ctx, id)
	if err != nil {
		return nil, err
	}
	from, to := d.From.Truncate(time.Minute), d.To.Add(time.Minute-1).Truncate(time.Minute)
	l, err := h.classes.Classes(ctx, d.Target, from, to, "", incidentClasses)
	if err != nil {
		return nil, err
	}
	x := incidentFull{IncidentDetail: d, Classes: make([]classRow, len(l.Classes)), Coverage: coverage(l.Coverage)}
	x.Coverage.Rate = l.Rate
	lines, err := h.classes.ClassLines(ctx, d.Target, l.Classes, from, to)
	for i, c := range l.Classes {
		x.Classes[i].Class = c
		if i < len(lines) {
			x.Classes[i].Line = &lines[i]
		}
	}
	return x, err
}
