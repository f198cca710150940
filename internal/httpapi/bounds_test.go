package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// endless has more of everything than anybody asks for, as far as it is allowed.
type endless struct {
	Lab
	limits []int
}

func (e *endless) Matching(
	_ context.Context, _ []string, _, _ time.Time, limit int,
) (series.Listing[metric.Labels], error) {
	e.limits = append(e.limits, limit)
	return series.Listing[metric.Labels]{Cut: true}, nil
}

func (e *endless) LabelNames(_ context.Context, _ []string, _, _ time.Time, limit int) (series.Listing[string], error) {
	e.limits = append(e.limits, limit)
	return series.Listing[string]{Cut: true}, nil
}

func (e *endless) LabelValues(_ context.Context, _ string, _ []string, _, _ time.Time,
	limit int,
) (series.Listing[string], error) {
	return e.LabelNames(nil, nil, time.Time{}, time.Time{}, limit) //nolint:staticcheck // it asks nobody
}

func (e *endless) Metadata(_ context.Context, _ string, limit int) (map[string][]series.Metadata, error) {
	e.limits = append(e.limits, limit)
	return nil, nil
}

func (e *endless) Events(_ context.Context, _ string, _ []string, _, _ time.Time, n int) ([]event.Event, error) {
	es := make([]event.Event, n)
	for i := range es {
		es[i] = event.Event{ID: fmt.Sprint("e", i), Kind: event.DDL}
	}
	return es, nil
}

func (e *endless) Annotate(_ context.Context, x event.Event) (event.Event, error) { return x, nil }

func (e *endless) Experiments(context.Context) ([]lab.Line, error) {
	return make([]lab.Line, mostRecords+5), nil
}

// TestListsAreBounded: no list is as long as there are things, also when nobody says a limit.
func TestListsAreBounded(t *testing.T) {
	x := &endless{}
	v := New(Service{Browser: x, Events: x, Lab: x}, Options{})
	get := func(path string) string {
		t.Helper()
		w := request(v, "GET", path, "")
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	for _, path := range []string{
		"/api/v1/series?match[]=up&", "/api/v1/labels?",
		"/api/v1/label/job/values?", "/api/v1/metadata?",
	} {
		for asked, want := range map[string]int{
			"": maxListed, "limit=0": maxListed, "limit=7": 7,
			"limit=1000000": maxListed,
		} {
			x.limits = nil
			text := get(path + asked)
			if len(x.limits) != 1 || x.limits[0] != want {
				t.Errorf("%s%s: the limit is %v, want %d", path, asked, x.limits, want)
			}
			if !strings.Contains(path, "metadata") && !strings.Contains(text, "truncated") {
				t.Errorf("%s%s: that it is cut is not told: %s", path, asked, text)
			}
		}
	}
	text := get("/api/dyno/v1/events?from=0")
	if n := strings.Count(text, `"id":`); n != maxEvents || !strings.Contains(text, `"truncated":true`) ||
		strings.Contains(text, `"e0"`) || !strings.Contains(text, `"e1"`) {
		t.Errorf("%d events, and the newest are not those that stay", n)
	}
	var all struct{ Experiments []struct{} }
	unmarshal(t, []byte(get("/api/dyno/v1/experiments")), &all)
	if len(all.Experiments) != mostRecords {
		t.Errorf("%d experiments", len(all.Experiments))
	}
}
