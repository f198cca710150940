package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/service"
)

// graphAPI is the figures of graphs.
type graphAPI struct {
	metrics *service.Metrics
	fleet   *service.Fleet
}

// Limits of graphs.
const (
	usualPoints = 600
	maxPoints   = 2000
	// longestGraph keeps an answer within seconds: working out a window takes time by its length, also where nothing is
	// kept.
	longestGraph = 401 * 24 * time.Hour
)

func (h graphAPI) routes(v *Server) {
	v.get("/api/dyno/v1/graphs", h.graphs)
	v.get("/api/dyno/v1/panels", h.panels)
	v.get("/api/dyno/v1/deltas", h.deltas)
}

func (h graphAPI) graphs(r *http.Request) (any, error) {
	p := query(r)
	q := service.GraphQuery{
		Target: p.need("target"), Panels: p.values["panel"], Compare: p.span("compare", 0),
		Step: p.span("step", 0),
	}
	q.From, q.To = p.window(clock.Now())
	q.Points = min(p.limit("points", usualPoints), maxPoints)
	switch {
	case p.err != nil:
	case q.Points < 1:
		p.wrong("points", errors.New("it must be 1 or more"))
	case q.Compare < 0 || q.Compare%time.Second != 0:
		p.wrong("compare", errors.New("it is a number of whole seconds, such as 86400"))
	case q.Step < 0 || q.Step%time.Second != 0:
		p.wrong("step", errors.New("it is a number of whole seconds"))
	case q.Step > 0 && q.To.Sub(q.From)/q.Step > maxPoints:
		p.wrong("step", errors.New("that makes more than 2000 points; ask for a longer step or a shorter time"))
	case q.To.Sub(q.From) > longestGraph:
		p.wrong("from", errors.New("a graph shows 400 days at most, the maximum retention"))
	case !q.To.After(q.From):
		p.wrong("to", errors.New("it is not after from"))
	}
	if p.err != nil {
		return nil, p.err
	}
	if err := knows(r.Context(), h.fleet, q.Target); err != nil {
		return nil, err
	}
	g, err := h.metrics.Graphs(r.Context(), q)
	if unknown := (*service.UnknownPanelError)(nil); errors.As(err, &unknown) {
		err = fmt.Errorf("%w; GET /api/dyno/v1/panels lists them", err)
	}
	if err != nil {
		return nil, err
	}
	return written{body: appendGraphs(make([]byte, 0, 256<<10), g)}, nil
}

// deltas answers how much counters grew between two moments.
func (h graphAPI) deltas(r *http.Request) (any, error) {
	p := query(r)
	target := p.need("target")
	from, to := p.window(clock.Now())
	if p.err == nil && !to.After(from) {
		p.wrong("to", errors.New("it is not after from"))
	}
	if p.err != nil {
		return nil, p.err
	}
	if err := knows(r.Context(), h.fleet, target); err != nil {
		return nil, err
	}
	return h.metrics.Deltas(r.Context(), target, from, to)
}

// panels answers with the definitions alone.
func (h graphAPI) panels(*http.Request) (any, error) {
	b := append([]byte(nil), `{"panels":[`...)
	for i, p := range app.Panels() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPanel(b, p)
		for j, l := range p.Lines {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendText(append(b, `{"name":`...), l.Name)
			b = appendText(append(b, `,"expr":`...), l.Ways[0].Expr("$target", "1m"))
			if l.By != "" {
				b = appendText(append(b, `,"by":`...), l.By)
			}
			b = append(appendRole(b, l), '}')
		}
		b = append(b, "]}"...)
	}
	return written{body: append(b, "]}"...)}, nil
}

// appendGraphs writes graphs as JSON. It is done by hand because an answer is tens of thousands of figures, of which
// six digits are more than a graph can show.
func appendGraphs(b []byte, g service.Graphs) []byte {
	b = appendText(append(b, `{"target":`...), g.Target)
	b = strconv.AppendInt(append(b, `,"from":`...), g.From, 10)
	b = strconv.AppendInt(append(b, `,"to":`...), g.To, 10)
	b = strconv.AppendInt(append(b, `,"step":`...), g.Step, 10)
	b = append(b, `,"panels":[`...)
	for i, p := range g.Panels {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPanel(b, p.Panel)
		for j, l := range p.Lines {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendText(append(b, `{"name":`...), l.Name)
			b = appendText(append(b, `,"expr":`...), l.Expr)
			b = appendRole(b, l.Line)
			if l.Unknown != "" {
				b = append(appendText(append(b, `,"unknown":`...), l.Unknown), `,"mean":[]`...)
			} else {
				b = appendFigures(append(b, `,"mean":`...), l.Mean)
			}
			if l.Min != nil {
				b = appendFigures(append(b, `,"min":`...), l.Min)
				b = appendFigures(append(b, `,"max":`...), l.Max)
			}
			if l.Compare != nil {
				b = appendFigures(append(b, `,"compare":`...), l.Compare)
			}
			b = append(b, '}')
		}
		b = append(b, "]}"...)
	}
	return append(b, "]}"...)
}

// appendPanel writes a panel up to its lines.
func appendPanel(b []byte, p panel.Panel) []byte {
	b = appendText(append(b, `{"id":`...), p.ID)
	b = appendText(append(b, `,"group":`...), p.Group)
	b = appendText(append(b, `,"title":`...), p.Title)
	b = appendText(append(b, `,"unit":`...), p.Unit)
	b = appendText(append(b, `,"about":`...), p.About)
	b = strconv.AppendBool(append(b, `,"stacked":`...), p.Stacked)
	return append(b, `,"lines":[`...)
}

func appendRole(b []byte, l panel.Line) []byte {
	if l.Limit {
		b = append(b, `,"limit":true`...)
	}
	if l.Rest {
		b = append(b, `,"rest":true`...)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	j, _ := json.Marshal(s) // a string always is JSON
	return append(b, j...)
}

// appendFigures writes figures with six digits; what is not known is null.
func appendFigures(b []byte, vs []float64) []byte {
	b = append(b, '[')
	for i, v := range vs {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1e6:
			b = strconv.AppendInt(b, int64(v), 10)
		default:
			b = strconv.AppendFloat(b, v, 'g', 6, 64)
		}
	}
	return append(b, ']')
}
