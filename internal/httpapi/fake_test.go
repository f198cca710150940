package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
)

var noon = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

// fleet is a service of two targets that knows nothing else.
type fleet struct {
	err   error // what everything answers, nil to answer
	notes []event.Event
	asked string // the parameters of the last call
}

func (f *fleet) service() Service { return Service{Fleet: f, States: f, Classes: f, Events: f} }

func (f *fleet) know(target string, args ...any) error {
	f.asked = strings.TrimSpace(fmt.Sprintln(append([]any{target}, args...)...))
	switch {
	case f.err != nil:
		return f.err
	case target != "shop" && target != "":
		return fmt.Errorf("target %q: %w", target, ErrNotFound)
	}
	return nil
}

func (f *fleet) Targets(context.Context) ([]Target, error) {
	return []Target{
		{Name: "blog", Address: "10.0.0.9:3306", Up: known.Of(false), Reason: "connection refused", At: noon},
		{Name: "shop", Address: "/run/mysqld/mysqld.sock", Labels: metric.L("site", "ber")},
	}, f.err
}

func (f *fleet) Latest(_ context.Context, target string) ([]Latest, error) {
	if err := f.know(target); err != nil {
		return nil, err
	}
	at := noon.UnixMilli()
	shop := Latest{Target: "shop", Labels: metric.L("site", "ber"), Samples: []metric.Sample{
		{Name: "mysql_up", At: at, Value: 1},
		{Name: "mysql_global_status_questions", Kind: metric.Counter, At: at, Value: 42},
		{
			Name: "mysql_info_schema_processlist_threads", Labels: metric.L("command", "query", "state", "a \"b\"\n\\c"),
			At: at, Value: 2,
		},
	}}
	if target != "" {
		return []Latest{shop}, nil
	}
	return []Latest{
		shop,
		{Target: "blog", Samples: []metric.Sample{{Name: "mysql_up", At: at, Value: 0}}},
		{Samples: []metric.Sample{{Name: "dyno_series", At: at, Value: 7}}},
	}, nil
}

func (f *fleet) Health(context.Context) ([]service.Trouble, error) {
	return []service.Trouble{{
		Kind: "disk", Severity: "bad", Text: "The disk is full: nothing is stored.",
		Fix: "free some space",
	}}, f.err
}

func (f *fleet) Sources(_ context.Context, target string) ([]Source, error) {
	return []Source{{Source: snapshot.Source{
		Name: "innodb_metrics", State: snapshot.Denied,
		Reason: "a privilege is missing", Fix: "GRANT PROCESS",
	}, Cost: "light", Every: 1}}, f.know(target)
}

func (f *fleet) Price(_ context.Context, target string, span time.Duration) (service.Price, error) {
	return service.Price{Target: target, From: noon, To: noon.Add(span), Server: known.Of(0.002)}, f.know(target, span)
}

func (f *fleet) StateAt(_ context.Context, target string, at time.Time) (*state.State, error) {
	if err := f.know(target, at.UnixMilli()); err != nil {
		return nil, err
	}
	return &state.State{
		Target: target, At: noon, Up: true,
		Sessions: []state.Session{{ID: 7, Command: "Query", SQL: "SELECT '</script>'"}},
	}, nil
}

func (f *fleet) StateTimes(_ context.Context, target string, from, to time.Time, limit int) ([]time.Time, error) {
	return nil, f.know(target, from.Unix(), to.Unix(), limit)
}

func (f *fleet) Classes(_ context.Context, target string, from, to time.Time, search string, n int) (ClassList, error) {
	l, asked := ClassList{Coverage: Coverage{From: from, To: to, Seconds: 60}}, []any{from.Unix(), to.Unix(), n}
	if search != "" {
		l.Found, asked = known.Of(0), append(asked, search)
	}
	return l, f.know(target, asked...)
}

func (f *fleet) Class(_ context.Context, target, id string, from, to time.Time) (ClassDetail, error) {
	return ClassDetail{Class: class.Class{ID: id}}, f.know(target, id, from.Unix(), to.Unix())
}

func (f *fleet) Events(_ context.Context, target string, kinds []string, from, to time.Time,
	_ int,
) ([]event.Event, error) {
	all := []event.Event{
		{ID: "e1", At: noon, Target: "shop", Kind: event.Config, Text: "max_connections 151 → 200"},
		{ID: "e2", At: noon, Target: "shop", Kind: event.DDL, Text: "ALTER TABLE orders"},
	}
	return slices.DeleteFunc(all, func(e event.Event) bool {
		return len(kinds) > 0 &&
			!slices.Contains(kinds, string(e.Kind))
	}), f.know(target, from.Unix(), to.Unix())
}

func (f *fleet) Annotate(_ context.Context, e event.Event) (event.Event, error) {
	if err := f.know(e.Target); err != nil {
		return event.Event{}, err
	}
	e.ID = "e3"
	f.notes = append(f.notes, e)
	return e, nil
}

// request asks a handler; headers are name, value, name, value.
func request(h http.Handler, method, url, body string, headers ...string) *httptest.ResponseRecorder {
	r := ours(httptest.NewRequest(method, url, strings.NewReader(body)))
	r.Host = "127.0.0.1:9188"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// ours has a request be of this process's own account: requests without a connection are nobody's.
func ours(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), peerKey{}, &peer{socket: true}))
}

// told reads an error; one without the members that every error has fails the test.
func told(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	var p problem
	b, _ := io.ReadAll(w.Result().Body)
	if err := json.Unmarshal(b, &p); err != nil || p.Status != "error" || p.Type == "" || p.Error == "" {
		t.Fatalf("%d %s is no error in JSON (%v)", w.Code, b, err)
	}
	return p
}

func unmarshal(t *testing.T, b []byte, x any) {
	t.Helper()
	if err := json.Unmarshal(b, x); err != nil {
		t.Fatal(err)
	}
}
