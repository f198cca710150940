package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/service"
)

// drawn answers for graphs, and keeps what it was asked.
type drawn struct {
	asked service.GraphQuery
	err   error
}

func (d *drawn) Graphs(_ context.Context, q service.GraphQuery) (service.Graphs, error) {
	d.asked = q
	p, _ := panel.Find("connections")
	return service.Graphs{
		Target: q.Target, From: 100, To: 130, Step: 10,
		Panels: []service.GraphPanel{{Panel: p, Lines: []service.GraphLine{
			{
				Name: "running", Expr: `sum(x{a="b"})`, Mean: []float64{1, math.NaN(), 1234.5678},
				Min: []float64{0, math.NaN(), 1e-9}, Max: []float64{2, math.NaN(), 1e12},
				Compare: []float64{0.5, 1, math.Inf(1)},
			},
			{Name: "connected", Expr: "y", Mean: []float64{1, 2, 3}},
			{Name: "limit", Expr: "z", Unknown: "may not \"look\""},
		}}},
	}, d.err
}

func TestGraphsJSON(t *testing.T) {
	d := &drawn{}
	h := New(Service{Graphs: d}, Options{})
	ask := func(query string) *httptest.ResponseRecorder {
		r := ours(httptest.NewRequest(http.MethodGet, "http://localhost/api/dyno/v1/graphs?"+query, nil))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := ask("target=shop&from=1000&to=2000&points=99&compare=86400&panel=connections&panel=cpu")
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if want := (service.GraphQuery{
		Target: "shop", From: time.Unix(1000, 0).UTC(), To: time.Unix(2000, 0).UTC(),
		Points: 99, Compare: 24 * time.Hour, Panels: []string{"connections", "cpu"},
	}); fmt.Sprint(
		d.asked) != fmt.Sprint(want) {
		t.Errorf("asked %v, want %v", d.asked, want)
	}
	// Moments may be told from now.
	for query, want := range map[string][2]time.Duration{
		"": {time.Hour, 0}, "&from=-90m&to=now": {90 * time.Minute, 0},
		"&from=now-2d&to=-1h30m": {48 * time.Hour, 90 * time.Minute}, "&from=-1w": {7 * 24 * time.Hour, 0},
	} {
		before := time.Now()
		if ask("target=shop" + query); d.asked.From.Before(before.Add(-want[0])) ||
			d.asked.From.After(time.Now().Add(-want[0])) ||
			d.asked.To.Before(before.Add(-want[1])) || d.asked.To.After(time.Now().Add(-want[1])) {
			t.Errorf("%s: %v to %v", query, d.asked.From, d.asked.To)
		}
	}
	for _, query := range []string{
		"from=-3600", "from=-1x", "from=now-", "from=nowhere", "from=-", "from=now&to=-1h",
		"from=--1h", "from=-900y", "from=-1e3", "from=now--1e3", "from=now-1e3",
	} {
		if w := ask("target=shop&" + query); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	var got struct {
		Target         string
		From, To, Step int64
		Panels         []struct {
			ID, Group, Title, Unit, About string
			Stacked                       bool
			Lines                         []struct {
				Name, Expr, Unknown     string
				Mean, Min, Max, Compare []*float64
				Limit, Rest             bool
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if got.From != 100 || got.To != 130 || got.Step != 10 || got.Target != "shop" || len(got.Panels) != 1 {
		t.Fatalf("%+v", got)
	}
	l := got.Panels[0].Lines
	if *l[0].Mean[0] != 1 || l[0].Mean[1] != nil || *l[0].Mean[2] != 1234.57 || *l[0].Min[2] != 1e-9 ||
		*l[0].Max[2] != 1e12 || l[0].Compare[2] != nil || l[0].Expr != `sum(x{a="b"})` {
		t.Errorf("%s", w.Body)
	}
	if l[1].Min != nil || l[1].Unknown != "" || len(l[2].Mean) != 0 || l[2].Unknown != `may not "look"` ||
		!l[2].Limit || l[0].Limit {
		t.Errorf("%s", w.Body)
	}

	refused := func(query string) {
		t.Helper()
		if w := ask(query); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
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
	if ask("target=shop&points=9999999"); d.asked.Points != maxPoints {
		t.Errorf("%d points were asked for", d.asked.Points)
	}
	d.err = fmt.Errorf("%w: no", ErrNotFound)
	if w := ask("target=nobody"); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	d.err = errors.New("disk gone")
	if w := ask("target=shop"); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPanelsJSON(t *testing.T) {
	w := httptest.NewRecorder()
	New(Service{Graphs: &drawn{}}, Options{}).ServeHTTP(w,
		ours(httptest.NewRequest(http.MethodGet, "http://localhost/api/dyno/v1/panels", nil)))
	var got struct {
		Panels []struct {
			ID    string
			Lines []struct{ Name, Expr string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Panels) != len(panel.Server()) ||
		got.Panels[0].Lines[0].Expr == "" {
		t.Fatalf("%v: %s", err, w.Body)
	}
}

func BenchmarkAppendGraphs(b *testing.B) {
	v := make([]float64, 360)
	for i := range v {
		v[i] = 1234.5678 * float64(i)
	}
	var g service.Graphs
	for _, p := range panel.Server() {
		x := service.GraphPanel{Panel: p}
		for _, l := range p.Lines {
			x.Lines = append(x.Lines, service.GraphLine{Name: l.Name, Mean: v, Min: v, Max: v})
		}
		g.Panels = append(g.Panels, x)
	}
	var out []byte
	for b.Loop() {
		out = appendGraphs(out[:0], g)
	}
	b.SetBytes(int64(len(out)))
}
