package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// classAPI is the query classes of targets, and how they went over time.
type classAPI struct {
	classes *service.Classes
	fleet   *service.Fleet
	history *history.History
}

func (h classAPI) routes(v *Server) {
	v.get("/api/dyno/v1/classes", h.all)
	v.get("/api/dyno/v1/class", h.one)
	v.get("/api/dyno/v1/latency", h.latency)
	v.get("/api/dyno/v1/compare-classes", h.compare)
}

// maxLines is how many classes of a list get their course.
const maxLines = 200

// classRow is a class of a list with its trend.
type classRow struct {
	class.Class
	Line *service.Line `json:"line,omitempty"`
}

// classList is a ClassList with courses.
type classList struct {
	Classes  []classRow       `json:"classes"`
	Found    known.Value[int] `json:"found,omitzero"`
	Coverage Coverage         `json:"coverage"`
}

func (h classAPI) all(r *http.Request) (any, error) {
	p := query(r)
	name := p.need("target")
	from, to := p.window(clock.Now())
	limit := p.most(50, maxClasses)
	if p.err != nil {
		return nil, p.err
	}
	if err := knows(r.Context(), h.fleet, name); err != nil {
		return nil, err
	}
	l, err := h.classes.Classes(r.Context(), name, from, to, p.text("search"), limit)
	if errors.Is(err, service.ErrManyWords) {
		p.wrong("search", err)
		return nil, p.err
	}
	if err != nil {
		return nil, err
	}
	out := classList{Classes: make([]classRow, len(l.Classes)), Found: l.Found, Coverage: coverage(l.Coverage)}
	out.Coverage.Rate = l.Rate
	for i, c := range l.Classes {
		out.Classes[i].Class = c
	}
	if p.text("lines") != "1" {
		return out, nil
	}
	lines, err := h.classes.ClassLines(r.Context(), name, l.Classes[:min(len(l.Classes), maxLines)], from, to)
	for i := range lines {
		out.Classes[i].Line = &lines[i]
	}
	return out, err
}

func coverage(c history.Coverage) Coverage {
	return Coverage{From: c.From, To: c.To, Seconds: c.Seconds, Classes: c.Classes, Count: c.Count, TimeSec: c.TimeSec}
}

// classFull is one class over a window, with all that is kept of it.
type classFull struct {
	Class    class.Class            `json:"class"`
	Coverage Coverage               `json:"coverage"`
	Buckets  []Bucket               `json:"buckets"`
	Plans    []service.ClassPlan    `json:"plans"`
	Item     string                 `json:"item,omitzero"`
	Tables   []string               `json:"tables"`
	Examples []service.ClassExample `json:"examples"`
	// Definitions are those of the tables, in their order, at most 16.
	Definitions []service.ClassTable `json:"table_definitions"`
}

func (h classAPI) one(r *http.Request) (any, error) {
	p := query(r)
	name, id := p.need("target"), p.need("id")
	from, to := p.window(clock.Now())
	if p.err != nil {
		return nil, p.err
	}
	ctx := r.Context()
	id, err := h.history.Name(ctx, id)
	if err != nil {
		return nil, err
	}
	all, cover, err := h.history.Classes(ctx, name, from, to, 0, func(c class.Class) bool { return c.ID == id })
	if err != nil {
		return nil, err
	}
	d := classFull{Coverage: coverage(cover), Buckets: []Bucket{}}
	for i, c := range all {
		if i == 0 {
			d.Class = c
		} else { // the same statement with another default database
			d.Class.Add(c)
		}
	}
	if d.Class.ID == "" {
		return nil, fmt.Errorf("%w: %s had no class %s in that time", errNotFound, name, id)
	}
	line, err := h.history.Timeline(ctx, name, id, from, to)
	if err != nil {
		return nil, err
	}
	for _, b := range line {
		d.Buckets = append(d.Buckets, Bucket{From: b.From, To: b.To, Class: class.Class{
			ID: id, Sampled: d.Class.Sampled, Count: b.Count, TimeSec: b.TimeSec, MaxSec: b.MaxSec, P95Sec: b.P95Sec,
			Errors: b.Errors, RowsSent: b.Sent, Examined: b.Examined,
		}})
	}
	x, err := h.classes.ClassExtra(ctx, name, d.Class, to)
	d.Item, d.Tables, d.Examples, d.Plans = x.Item, x.Tables, x.Examples, x.Plans
	d.Definitions = x.Definitions
	return d, err
}

// latency gives the distribution of the times of a class, or of all statements of a server.
func (h classAPI) latency(r *http.Request) (any, error) {
	p := query(r)
	name, id := p.need("target"), p.text("id")
	from, to := p.window(clock.Now())
	if p.err == nil && !from.Before(to) {
		p.wrong("to", errors.New("it is not after from"))
	}
	if p.err != nil {
		return nil, p.err
	}
	ctx := r.Context()
	if err := knows(ctx, h.fleet, name); err != nil {
		return nil, err
	}
	if id != "" {
		var err error
		if id, err = h.history.Name(ctx, id); err != nil {
			return nil, err
		}
	}
	return h.classes.Latency(ctx, name, id, from, to)
}

func (h classAPI) compare(r *http.Request) (any, error) {
	p := query(r)
	name := p.need("target")
	from, to := p.window(clock.Now())
	before := service.Period{To: p.time("before_to", from)} // without them the stretch of the same length before
	before.From = p.time("before_from", before.To.Add(from.Sub(to)))
	if p.err == nil && (before.From.Year() < 1970 || before.To.Year() > 2200) {
		p.wrong("before_from", errors.New("a period lies between the years 1970 and 2200"))
	}
	if p.err == nil && !before.From.Before(before.To) {
		p.wrong("before_to", errors.New("it is not after before_from"))
	}
	if p.err == nil && !from.Before(to) {
		p.wrong("to", errors.New("it is not after from"))
	}
	limit := p.most(200, maxClasses)
	if p.err != nil {
		return nil, p.err
	}
	if err := knows(r.Context(), h.fleet, name); err != nil {
		return nil, err
	}
	return h.classes.ComparePeriods(r.Context(), name, before, service.Period{From: from, To: to}, limit)
}
