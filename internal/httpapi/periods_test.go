package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// putClasses keeps a minute of n classes of shop.
func (w *world) putClasses(t *testing.T, from time.Time, n int) {
	t.Helper()
	cs := make([]class.Class, n)
	for i := range cs {
		cs[i] = class.Class{
			ID: fmt.Sprintf("C%03d", i), Fingerprint: fmt.Sprintf("select '</script>' from t%d", i),
			Origin: class.PerformanceSchema, Count: 6, TimeSec: float64(n - i),
		}
	}
	good(t, w.History.PutClasses(t.Context(), "shop", from, from.Add(time.Minute), cs))
}

func TestClassesInJSON(t *testing.T) {
	h := newWorld(t, Options{})
	h.putClasses(t, time.Unix(60, 0), 3)
	good(t, h.History.PutSample(t.Context(), "shop", history.Sample{Class: "C001", At: noon, SQL: "SELECT 1"}))
	f := func(path string, want ...string) {
		t.Helper()
		w := request(h, "GET", "/api/dyno/v1/"+path, "")
		for _, part := range want {
			if !strings.Contains(w.Body.String(), part) || w.Code != http.StatusOK {
				t.Errorf("%s: got %d %s\nwant %s", path, w.Code, w.Body, part)
			}
		}
	}
	f("classes?target=shop&from=60&to=120&lines=1&limit=1",
		`{"classes":[{"id":"C000","fingerprint":"select '\u003c/script\u003e' from t0","origin":"performance_schema",`+
			`"count":6,"time_sec":3,`+
			`"first_seen":"1970-01-01T00:01:00Z","last_seen":"1970-01-01T00:02:00Z","line":{"from":60,"step":60,"values":[0.05]}}],"coverage":{`,
		`"observed_seconds":60,"classes":3,"count":18,"time_sec":6`)
	f("classes?target=shop&from=60&to=120&search=T2", `{"classes":[{"id":"C002"`, `"found":1,"coverage"`)
	f("classes?target=blog&from=60&to=120", `{"classes":[],"coverage":{"observed_seconds":0}}`)
	if w := request(h, "GET", "/api/dyno/v1/classes?target=shop", ""); strings.Contains(w.Body.String(), `"line"`) {
		t.Errorf("courses that nobody asked for: %s", w.Body)
	}
	f("class?target=shop&id=C001&from=60&to=120", `{"class":{"id":"C001"`, `"buckets":[{"from"`,
		`"item":"SELECT t?","tables":["t1"],"examples":[{"at":"2026-11-03T12:00:00Z","sql":"SELECT 1"}]`)
	h.putClasses(t, time.Unix(7200, 0), 2)
	f("compare-classes?target=shop&from=7200&to=10800&before_from=60&before_to=120", `"change":"vanished"`,
		`"load_change":-`, `"total":3`)
	f("compare-classes?target=shop&from=7200&to=10800", // as long before
		`"before":{"from":"1970-01-01T01:00:00Z","to":"1970-01-01T02:00:00Z"`)
	f("compare-classes?target=shop&from=7200&to=10800&before_to=4000",
		`"before":{"from":"1970-01-01T00:06:40Z","to":"1970-01-01T01:06:40Z"`)
	g := func(path string, code int) {
		t.Helper()
		w := request(h, "GET", "/api/dyno/v1/"+path, "")
		if told(t, w); w.Code != code {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
	g("class?target=shop&id=none&from=60&to=120", 404)
	g("class?target=shop", 400)
	g("classes?target=other", 404)
	g("classes?target=shop&limit=0", 400)
	g("classes?target=shop&limit=many", 400)
	g("compare-classes?from=1&to=2", 400)
	g("compare-classes?target=shop&from=2&to=2", 400)
	g("compare-classes?target=shop&from=2&to=9&before_from=5&before_to=5", 400)
	g("compare-classes?target=shop&from=2&to=9&before_from=soon", 400)
	g("compare-classes?target=shop&limit=-1", 400)
	g("compare-classes?target=shop&limit=0", 400)
	g("compare-classes?target=other", 404)
}
