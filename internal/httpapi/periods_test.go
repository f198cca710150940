package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/service"
)

// courses is a fleet with two classes that are known well.
type courses struct{ fleet }

func (c *courses) service() Service {
	s := c.fleet.service()
	s.Classes, s.Periods = c, c
	return s
}

func (c *courses) Classes(_ context.Context, target string, from, to time.Time, search string,
	n int,
) (ClassList, error) {
	return ClassList{
		Classes: []class.Class{{
			ID: "A", Fingerprint: "select ?", Origin: class.PerformanceSchema, Count: 6,
			TimeSec: 3,
		}, {ID: "B", Fingerprint: "select '</script>'", Origin: class.Processlist, Sampled: true}},
		Coverage: Coverage{Seconds: 60, Classes: 12, Count: 70, TimeSec: 9}, Found: known.Of(len(search)),
	}, c.know(target, from.Unix(), to.Unix(), n)
}

func (c *courses) ClassLines(
	_ context.Context, target string, list []class.Class, from, to time.Time,
) ([]service.Line, error) {
	lines := make([]service.Line, len(list))
	for i := range lines {
		lines[i] = service.Line{From: from.Unix(), Step: 60, Values: []known.Value[float64]{
			known.Of(0.5),
			known.None[float64](),
		}}
	}
	return lines, c.know(target)
}

func (c *courses) ClassExtra(_ context.Context, target string, x class.Class) (service.ClassExtra, error) {
	return service.ClassExtra{
		Item: "SELECT t", Tables: []string{"t"}, Examples: []service.ClassExample{{At: noon, SQL: "SELECT 1"}},
		Plans: []service.ClassPlan{{
			Hash: "h2", FirstSeen: noon, LastSeen: noon, Text: "…", Before: "h1",
			Changes: []string{"t: access ref → ALL"},
		}},
	}, c.know(target, x.ID)
}

func (c *courses) CompareClasses(_ context.Context, target string, before, after service.Period,
	most int,
) (service.PeriodComparison, error) {
	p := service.PeriodComparison{
		Target: target, Result: "same",
		Classes: []service.PeriodClass{{
			ID: "A", Change: digest.Vanished, Before: &service.PeriodFigures{Count: 1},
			LoadChange: -1,
		}}, Total: 3,
	}
	return p, c.know(target, before.From.Unix(), before.To.Unix(), after.From.Unix(), after.To.Unix(), most)
}

func TestCoursesOfClassesInJSON(t *testing.T) {
	c := &courses{}
	v := New(c.service(), Options{})
	f := func(path string, want ...string) {
		t.Helper()
		w := request(v, "GET", "/api/dyno/v1/"+path, "")
		for _, part := range want {
			if !strings.Contains(w.Body.String(), part) || w.Code != http.StatusOK {
				t.Errorf("%s: got %d %s\nwant %s", path, w.Code, w.Body, part)
			}
		}
	}
	f("classes?target=shop&from=60&to=120&lines=1",
		`"id":"A","fingerprint":"select ?","origin":"performance_schema","count":6,"time_sec":3,"line":{"from":60,"step":60,"values":[0.5,null]}}`,
		`"sampled":true`, `"found":0,"coverage":{"observed_seconds":60,"classes":12,"count":70,"time_sec":9}`,
		`\u003c/script\u003e`)
	f("classes?target=shop&search=four&lines=1", `"found":4,"coverage"`)
	if w := request(v, "GET", "/api/dyno/v1/classes?target=shop", ""); strings.Contains(w.Body.String(), `"line"`) {
		t.Errorf("courses that nobody asked for: %s", w.Body)
	}
	f("class?target=shop&id=AB&from=60&to=120",
		`"item":"SELECT t","tables":["t"],"examples":[{"at":"2026-11-03T12:00:00Z","sql":"SELECT 1"}],"plans":[{"hash":"h2","first_seen":"2026-11-03T12:00:00Z","last_seen":"2026-11-03T12:00:00Z","steps":null,"plan":"…","before":"h1","changes":["t: access ref → ALL"]}]`)
	f("compare-classes?target=shop&from=7200&to=10800", `"result":"same"`, `"change":"vanished"`,
		`"load_change":-1`, `"total":3`)
}

func TestPeriodsReachTheService(t *testing.T) {
	c := &courses{}
	v := New(c.service(), Options{})
	f := func(query, want string) {
		t.Helper()
		if w := request(v, "GET", "/api/dyno/v1/compare-classes?target=shop&"+query, ""); w.Code != http.StatusOK ||
			c.asked != want {
			t.Errorf("%s: got %d, asked for %q, want %q", query, w.Code, c.asked, want)
		}
	}
	f("from=7200&to=10800", "shop 3600 7200 7200 10800 200") // as long before
	f("from=7200&to=10800&before_from=10&before_to=20&limit=5", "shop 10 20 7200 10800 5")
	f("from=7200&to=10800&before_to=4000&limit=99999", "shop 400 4000 7200 10800 1000")
	g := func(query string, code int) {
		t.Helper()
		c.asked = ""
		w := request(v, "GET", "/api/dyno/v1/compare-classes?"+query, "")
		if told(t, w); w.Code != code {
			t.Errorf("%s: got %d", query, w.Code)
		}
	}
	g("from=1&to=2", 400)
	g("target=shop&from=2&to=2", 400)
	g("target=shop&from=2&to=9&before_from=5&before_to=5", 400)
	g("target=shop&from=2&to=9&before_from=soon", 400)
	g("target=shop&limit=-1", 400)
	g("target=shop&limit=0", 400)
	g("target=other", 404)
	if w := request(New(Service{}, Options{}), "GET", "/api/dyno/v1/compare-classes?target=shop",
		""); w.Code != http.StatusNotImplemented {
		t.Errorf("without the part: %d", w.Code)
	}
}
