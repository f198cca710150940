package httpapi

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/service"
)

func TestGraphs(t *testing.T) {
	h := newWorld(t, Options{})
	type answer struct {
		From, To, Step int64
		Panels         []struct{ ID string }
	}
	ask := func(query string) answer {
		t.Helper()
		w := request(h, "GET", "/api/dyno/v1/graphs?"+query, "")
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		var a answer
		unmarshal(t, w.Body.Bytes(), &a)
		return a
	}
	if a := ask("target=shop&from=1000&to=2000&step=10&compare=86400&panel=connections&panel=cpu"); a.To < 2000 ||
		a.From > 1000 || len(a.Panels) != 2 {
		t.Errorf("%+v", a)
	}
	// Moments may be told from now.
	for query, want := range map[string][2]time.Duration{
		"": {time.Hour, 0}, "&from=-90m&to=now": {90 * time.Minute, 0},
		"&from=now-2d&to=-1h30m": {48 * time.Hour, 90 * time.Minute}, "&from=-1w": {7 * 24 * time.Hour, 0},
	} {
		a, now := ask("target=shop"+query), time.Now()
		for at, back := range map[int64]time.Duration{a.From: want[0], a.To: want[1]} {
			if off := time.Unix(at, 0).Sub(now.Add(-back)); off.Abs() > time.Duration(a.Step)*time.Second+time.Minute {
				t.Errorf("%s: %v to %v", query, time.Unix(a.From, 0), time.Unix(a.To, 0))
			}
		}
	}
	refused := func(query string) {
		t.Helper()
		if w := request(h, "GET", "/api/dyno/v1/graphs?"+query, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	for _, query := range []string{
		"from=-3600", "from=-1x", "from=now-", "from=nowhere", "from=-", "from=now&to=-1h",
		"from=--1h", "from=-900y", "from=-1e3", "from=now--1e3", "from=now-1e3", "panel=nothing",
	} {
		refused("target=shop&" + query)
	}
	refused("")
	refused("target=shop&points=0")
	refused("target=shop&from=10&to=10")
	refused("target=shop&compare=-1")
	refused("target=shop&compare=0.5")
	refused("target=shop&step=1&from=0&to=100000")
	refused("target=shop&step=-1")
	refused("target=shop&step=1.5")
	refused("target=shop&step=86400&from=0&to=40000000")  // beyond what is kept
	refused("target=shop&step=9e9&from=0&to=7000000000")  // however few points it makes
	refused("target=shop&from=-9000000000&to=9000000000") // beyond what a length of time can be
	refused("target=shop&from=1000&to=2000&compare=1e300")
	ask("target=shop&points=9999999")
	if w := request(h, "GET", "/api/dyno/v1/graphs?target=nobody", ""); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := request(h, "GET", "/api/dyno/v1/graphs?target=shop&panel=nothing", ""); told(t, w).Error !=
		`bad request: there is no panel "nothing"; GET /api/dyno/v1/panels lists them` {
		t.Errorf("%s", w.Body)
	}
}

// TestGraphsJSON: what is not known is null, and the rest has six digits.
func TestGraphsJSON(t *testing.T) {
	p, _ := panel.Find(mysql.Family{}.Panels(), "connections")
	b := appendGraphs(nil, service.Graphs{
		Target: "shop", From: 100, To: 130, Step: 10,
		Panels: []service.GraphPanel{{Panel: p, Lines: []service.GraphLine{
			{
				Line: panel.Line{Name: "running"}, Expr: `sum(x{a="b"})`, Mean: []float64{1, math.NaN(), 1234.5678},
				Min: []float64{0, math.NaN(), 1e-9}, Max: []float64{2, math.NaN(), 1e12},
				Compare: []float64{0.5, 1, math.Inf(1)},
			},
			{Line: panel.Line{Name: "connected"}, Expr: "y", Mean: []float64{1, 2, 3}},
			{Line: panel.Line{Name: "limit", Limit: true}, Expr: "z", Unknown: "may not \"look\""},
		}}},
	})
	var got struct {
		Target         string
		From, To, Step int64
		Panels         []graph
	}
	unmarshal(t, b, &got)
	if got.From != 100 || got.To != 130 || got.Step != 10 || got.Target != "shop" || len(got.Panels) != 1 {
		t.Fatalf("%+v", got)
	}
	l := got.Panels[0].Lines
	if *l[0].Mean[0] != 1 || l[0].Mean[1] != nil || *l[0].Mean[2] != 1234.57 || *l[0].Min[2] != 1e-9 ||
		*l[0].Max[2] != 1e12 || l[0].Compare[2] != nil || l[0].Expr != `sum(x{a="b"})` {
		t.Errorf("%s", b)
	}
	if l[1].Min != nil || l[1].Unknown != "" || len(l[2].Mean) != 0 || l[2].Unknown != `may not "look"` ||
		!l[2].Limit || l[0].Limit {
		t.Errorf("%s", b)
	}
}

func TestPanelsJSON(t *testing.T) {
	var got struct{ Panels []panelDefinition }
	unmarshal(t, request(New(bare(), Options{}), "GET", "/api/dyno/v1/panels", "").Body.Bytes(), &got)
	if len(got.Panels) != len(app.Panels()) || got.Panels[0].Lines[0].Expr == "" {
		t.Fatalf("%+v", got)
	}
}

func BenchmarkAppendGraphs(b *testing.B) {
	v := make([]float64, 360)
	for i := range v {
		v[i] = 1234.5678 * float64(i)
	}
	var g service.Graphs
	for _, p := range (mysql.Family{}).Panels() {
		x := service.GraphPanel{Panel: p}
		for _, l := range p.Lines {
			x.Lines = append(x.Lines, service.GraphLine{Line: l, Mean: v, Min: v, Max: v})
		}
		g.Panels = append(g.Panels, x)
	}
	var out []byte
	for b.Loop() {
		out = appendGraphs(out[:0], g)
	}
	b.SetBytes(int64(len(out)))
}
