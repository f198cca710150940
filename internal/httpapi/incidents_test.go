package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
)

func TestIncidentsInJSON(t *testing.T) {
	v := newWorld(t, Options{})
	ctx := t.Context()
	begin := time.Now().UTC().Truncate(time.Minute).Add(-10 * time.Minute)
	at := func(sec int) time.Time { return begin.Add(time.Duration(sec) * time.Second) }
	for i := range 3 {
		good(t, v.History.PutState(&state.State{Target: "shop", At: at(i), Up: true}))
	}
	good(t, v.History.PutClasses(ctx, "shop", begin, at(60), []class.Class{
		{ID: "A1", Fingerprint: "select ?", Count: 7},
	}))
	one := func(id string, sec int, open bool) incident.Incident {
		return incident.Incident{
			ID: id, Target: "shop", From: at(sec), To: at(sec + 30), Open: open, Title: "Lock pile-up",
			Conditions: []incident.Condition{{Kind: event.Locks, Title: "Lock pile-up"}},
			Findings:   []incident.Finding{}, Worst: []incident.Second{{At: at(sec), Level: 3}},
		}
	}
	good(t, v.ledger.Incidents.Put(ctx, []incident.Incident{one("i-1-shop", 0, false), one("i-2-shop", 300, true)}))
	good(t, history.Pin(ctx, v.History, "shop", "i-1-shop", []time.Time{at(0), at(2)}))
	f := func(path string, code int, want ...string) {
		t.Helper()
		w := request(v, "GET", "/api/dyno/v1/"+path, "")
		for _, x := range want {
			if w.Code != code || !strings.Contains(w.Body.String(), x) {
				t.Errorf("%s: got %d %s\nwant %d %s", path, w.Code, w.Body, code, x)
			}
		}
	}
	f("incidents?target=shop", 200, `{"incidents":[{"id":"i-2-shop"`, `{"id":"i-1-shop"`,
		`"watched_since":"`+begin.Local().Format("2006-01-02T15:04:"))
	f("incidents?limit=1", 200, `"open":false,"cut":true`, `"truncated":true`) // it is not watched any more
	f(fmt.Sprintf("incidents?from=%d&to=%d", at(0).Unix(), at(60).Unix()), 200, `{"incidents":[{"id":"i-1-shop"`)
	f("incidents?from=60&to=120", 200, `{"incidents":[]}`)
	f("incidents?target=other", 404, "not_found")
	f("incidents?from=9&to=1", 400, "bad_data")
	f("incidents?limit=0", 400, "bad_data")
	f("incident?id=i-1-shop", 200, `"id":"i-1-shop"`, `"kept":["`+at(0).Local().Format("2006-01-02T15:04:05"),
		`"classes":[{"id":"A1"`, `"line":{`, `"worst_seconds":[{"at":"`, `"findings":[]`)
	f("incident?id=i-9", 404, "not_found")
	f("incident", 400, "bad_data")
}
