package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
)

// TestListsAreBounded: no list is as long as there are things, also when nobody says a limit.
func TestListsAreBounded(t *testing.T) {
	v := newWorld(t, Options{})
	now := time.Now().Truncate(time.Second)
	samples := make([]metric.Sample, maxListed+5)
	for i := range samples {
		samples[i] = metric.Sample{
			Name: "up", Labels: metric.L("unit", fmt.Sprint("j", i)), At: now.UnixMilli(), Value: 1,
		}
	}
	good(t, v.Series.Append(samples, nil))
	get := func(path string) string {
		t.Helper()
		w := request(v, "GET", path, "")
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	for _, path := range []string{"/api/v1/series?match[]=up&", "/api/v1/label/unit/values?"} {
		for asked, want := range map[string]int{
			"": maxListed, "limit=0": maxListed, "limit=7": 7,
			"limit=1000000": maxListed,
		} {
			var all struct {
				Data     []any
				Warnings []string
			}
			if unmarshal(t, []byte(get(path+asked)), &all); len(all.Data) != want || len(all.Warnings) != 1 ||
				!strings.Contains(all.Warnings[0], "truncated") {
				t.Errorf("%s%s: %d, want %d; warnings %q", path, asked, len(all.Data), want, all.Warnings)
			}
		}
	}
	es := make([]event.Event, maxEvents+1)
	for i := range es {
		es[i] = event.Event{
			ID: fmt.Sprint("e", i), Kind: event.DDL,
			At: now.Add(time.Duration(i-len(es)) * time.Second),
		}
	}
	good(t, v.ledger.Events.PutAll(t.Context(), es))
	text := get("/api/dyno/v1/events?from=-7d")
	if n := strings.Count(text, `"id":`); n != maxEvents || !strings.Contains(text, `"truncated":true`) ||
		strings.Contains(text, `"e0"`) || !strings.Contains(text, `"e1"`) {
		t.Errorf("%d events, and the newest are not those that stay", n)
	}
}
