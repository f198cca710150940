package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/task"
)

func TestTargetsInJSON(t *testing.T) {
	v := watched(t)
	f := func(path string, code int, want ...string) {
		t.Helper()
		w := request(v, "GET", "/api/dyno/v1/"+path, "")
		for _, part := range want {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: %s, want %s", path, w.Body, part)
			}
		}
		if w.Code != code || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	f("targets", 200, `{"targets":[{"name":"blog","address":"127.0.0.1:1","up":false,"reason":"`, `{"name":"shop",`)
	f("health", 200, `{"troubles":[`)
	f("sources?target=shop", 200, `"sources":[`, `"target":"shop"`)
	f("sources?target=other", 404, "no target is called")
	f("sources", 400)
	f("state?target=shop", 200, `{"target":"shop","at":"`, `"up":false`)
	f("state?target=other", 404, "not found: no target is called")
	f("cost?target=other", 404)
	for span, want := range map[string]time.Duration{"": 5 * time.Minute, "&span=1m": time.Minute} {
		var p service.Price
		w := request(v, "GET", "/api/dyno/v1/cost?target=shop"+span, "")
		if unmarshal(t, w.Body.Bytes(), &p); p.To.Sub(p.From) != want || p.Target != "shop" {
			t.Errorf("%s", w.Body)
		}
	}
	f("cost?target=shop&span=0", 400)
	f("cost?target=shop&span=-5m", 400)
	f("cost?target=shop&span=25h", 400, "a day at most") // it would be years
	f("settings", 200, `"targets":[{"name":"blog"`)
	f("panels", 200, `{"panels":[{`)
}

func TestStatesAndEventsInJSON(t *testing.T) {
	v := newWorld(t, Options{})
	now := time.Now().UTC().Truncate(time.Second)
	for i := range 3 {
		good(t, v.History.PutState(&state.State{
			Target: "shop", At: now.Add(time.Duration(i-100) * time.Second), Up: true,
			Sessions: []state.Session{{ID: 7, Command: "Query", SQL: "SELECT '</script>'"}},
		}))
	}
	good(t, v.History.Flush(t.Context()))
	good(t, v.ledger.Events.PutAll(t.Context(), []event.Event{
		{ID: "e1", At: noon, Target: "shop", Kind: event.Config, Text: "max_connections 151 → 200"},
		{ID: "e2", At: noon, Target: "shop", Kind: event.DDL, Text: "ALTER TABLE orders"},
	}))
	f := func(path string, code int, want string) {
		t.Helper()
		w := request(v, "GET", "/api/dyno/v1/"+path, "")
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s\nwant %d %s", path, w.Code, w.Body, code, want)
		}
	}
	at := now.Add(-98 * time.Second)
	f(fmt.Sprintf("state?target=shop&at=%d.5", at.Unix()), 200, `{"target":"shop","at":"`+at.Format(time.RFC3339)+
		`","up":true,"sessions":[{"id":7,"command":"Query","seconds":0,"sql":"SELECT '\u003c/script\u003e'"}]`)
	f("state?target=shop&at="+url.QueryEscape(at.Format(time.RFC3339)), 200, at.Format(time.RFC3339))
	f("state?target=shop&at=60", 404, "not_found")
	f("state?target=shop", 404, "not_found") // it is not watched
	f("state?target=shop&at=soon", 400, "bad_data")
	f("state", 400, "bad_data")
	f("states?target=shop", 200, at.Format(time.RFC3339)) // the hour before
	f("states?target=shop&from=60&to=120", 200, `{"target":"shop","times":[]}`)
	f("states?target=other", 404, "not_found")
	f("states?target=shop&from=9&to=1", 400, "bad_data")
	f("states?target=shop&limit=-1", 400, "bad_data")
	f("states?target=shop&limit=0", 400, "bad_data") // it would be all
	window := fmt.Sprintf("&from=%d&to=%d", noon.Unix()-60, noon.Unix()+60)
	f("events?kind=ddl"+window, 200,
		`{"events":[{"id":"e2","at":"2026-11-03T12:00:00Z","target":"shop","kind":"ddl","text":"ALTER TABLE orders"}]}`)
	f("events?kind=gap"+window, 200, `{"events":[]}`)
}

func TestErrorsHaveTheirStatus(t *testing.T) {
	var log bytes.Buffer
	v := New(bare(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	f := func(err error, want int, typ, text string, logged bool) {
		t.Helper()
		log.Reset()
		w := httptest.NewRecorder()
		v.fail(w, httptest.NewRequest("GET", "/", nil), err)
		if p := told(t, w); w.Code != want || p.Type != typ || p.Error != text+err.Error() ||
			p.Hint != target.HintOf(err) {
			t.Errorf("%v: got %d %+v", err, w.Code, p)
		}
		if logged != (log.Len() > 0) {
			t.Errorf("%v: log is %q", err, log.String())
		}
	}
	const missing, wrong, conflict = "not found: ", "bad request: ", "conflict with the present state: "
	f(fmt.Errorf("target \"x\": %w", errNotFound), 404, "not_found", "", false)
	f(&app.UnknownTargetError{Text: "x"}, 404, "not_found", missing, false)
	f(fmt.Errorf("undo: %w", ledger.ErrNotFound), 404, "not_found", missing, false)
	f(lab.ErrNoRecord, 404, "not_found", "", false)
	f(access.ErrNotFound, 404, "not_found", "", false)
	f(service.ErrPreviewChanged, 409, "conflict", conflict, false)
	f(service.ErrNothingToProve, 409, "conflict", conflict, false)
	f(&change.BlockedError{Blockers: []string{"a dump runs"}}, 409, "conflict", conflict, false)
	f(app.ErrTargetExists, 409, "conflict", conflict, false)
	f(task.ErrBusy, 409, "conflict", "", false)
	f(service.ErrBadRetention, 400, "bad_data", wrong, false)
	f(&endpoint.Error{Op: "read the URL", Kind: endpoint.BadTarget, Err: errors.New("x")}, 400, "bad_data", wrong,
		false)
	f(lab.ErrOptions, 400, "bad_data", "", false)
	f(access.ErrWrong, 401, "unauthorized", "", false)
	f(&endpoint.Error{Op: "connect to", Target: "shop", Kind: endpoint.Denied, Fix: "look at its grants"}, 503,
		"unavailable", "not available now: ", false)
	f(fmt.Errorf("%w: the store opens", errUnavailable), 503, "unavailable", "", false)
	f(fmt.Errorf("read: %w", context.DeadlineExceeded), 503, "timeout", "", false)
	f(errors.New("the disk is on fire"), 500, "internal", "", true)
}

// newest returns the latest of some events.
func newest(es []event.Event) event.Event {
	return slices.MaxFunc(es, func(a, b event.Event) int { return a.At.Compare(b.At) })
}

func TestNotesAreChecked(t *testing.T) {
	v := newWorld(t, Options{})
	f := func(body string, want int) {
		t.Helper()
		before := len(v.notes(t))
		w := request(v, "POST", "/api/dyno/v1/annotate", body, "Content-Type", "application/json")
		if w.Code != want || (len(v.notes(t)) > before) != (want == 201) {
			t.Fatalf("%s: got %d %s", body, w.Code, w.Body)
		}
		if want != 201 {
			told(t, w)
		}
	}
	f(`{"text":" deploy  \n 42 ","target":"shop","at":"2026-11-03T12:00:00Z","until":"2026-11-03T12:05:00Z"}`, 201)
	if e := v.notes(t)[0]; e.Text != "deploy 42" || e.Kind != event.Annotation || e.Target != "shop" ||
		!e.At.Equal(noon) || e.Until.Sub(noon) != 5*time.Minute {
		t.Fatalf("got %+v", e)
	}
	before := time.Now()
	f(`{"text":"now"}`, 201)
	if e := newest(v.notes(t)); e.At.Before(before) || e.At.After(time.Now()) || !e.Until.IsZero() {
		t.Fatalf("got %+v", e)
	}
	f(`{"text":"x","target":"other"}`, 404)
	f(``, 400)
	f(`[]`, 400)
	f(`{"text":""}`, 400)
	f(`{"text":" \n"}`, 400)
	f(`{"text":"x"}{"text":"y"}`, 400)
	f(`{"text":"x","txet":"y"}`, 400)
	f(`{"text":"\u001b[31mred"}`, 400)
	f(`{"text":"`+strings.Repeat("x", event.MaxNote+1)+`"}`, 400)
	f(`{"text":"x","until":"2026-11-03T12:05:00Z"}`, 400)
	f(`{"text":"x","at":"2026-11-03T12:05:00Z","until":"2026-11-03T12:00:00Z"}`, 400)
}
