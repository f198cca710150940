package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/service"
)

// Periods tells how classes went over time. For an unknown target each method returns ErrNotFound.
type Periods interface {
	// ClassLines returns the course of each class of a list over a window.
	ClassLines(ctx context.Context, target string, list []class.Class, from, to time.Time) ([]service.Line, error)
	// ClassExtra returns examples, plans and tables of a class.
	ClassExtra(ctx context.Context, target string, c class.Class) (service.ClassExtra, error)
	// CompareClasses joins the classes of two periods; the most (0: all) with the greatest change of load first.
	CompareClasses(ctx context.Context, target string, before, after service.Period,
		most int) (service.PeriodComparison, error)
}

func (v *Server) periodRoutes() {
	v.handle("GET /api/dyno/v1/compare-classes", v.compareClasses)
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

// withLines gives the first classes of a list their course.
func (v *Server) withLines(ctx context.Context, target string, l ClassList, from, to time.Time) (classList, error) {
	out := classList{Classes: make([]classRow, len(l.Classes)), Found: l.Found, Coverage: l.Coverage}
	for i, c := range l.Classes {
		out.Classes[i].Class = c
	}
	if v.service.Periods == nil || len(l.Classes) == 0 {
		return out, nil
	}
	lines, err := v.service.Periods.ClassLines(ctx, target, l.Classes[:min(len(l.Classes), maxLines)], from, to)
	for i := range lines {
		out.Classes[i].Line = &lines[i]
	}
	return out, err
}

// classFull is a ClassDetail with the other stored data of the class.
type classFull struct {
	ClassDetail
	Item     string                 `json:"item,omitzero"`
	Tables   []string               `json:"tables"`
	Examples []service.ClassExample `json:"examples"`
	Plans    []service.ClassPlan    `json:"plans"`
}

func (v *Server) withExtra(ctx context.Context, target string, d ClassDetail) (classFull, error) {
	x, err := v.service.Periods.ClassExtra(ctx, target, d.Class)
	return classFull{
		ClassDetail: d, Item: x.Item, Tables: list(x.Tables), Examples: list(x.Examples),
		Plans: list(x.Plans),
	}, err
}

func (v *Server) compareClasses(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
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
	if v.service.Periods == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	c, err := v.service.Periods.CompareClasses(r.Context(), name, before, service.Period{From: from, To: to}, limit)
	v.reply(w, r, c, err)
}
