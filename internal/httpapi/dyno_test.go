package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/target"
)

// nobody is a Querier that must not be asked.
type nobody struct{}

func (nobody) Query(context.Context, string, time.Time, series.QueryOptions) (series.Answer, error) {
	panic("BUG: asked")
}

func (nobody) QueryRange(context.Context, string, time.Time, time.Time, time.Duration,
	series.QueryOptions,
) (series.Answer, error) {
	panic("BUG: asked")
}

func TestAnswersInJSON(t *testing.T) {
	v := New((&fleet{}).service(), Options{Version: "1.2"})
	f := func(path, want string) {
		t.Helper()
		w := request(v, "GET", "/api/dyno/v1/"+path, "")
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want ||
			w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
			t.Fatalf("%s: got %d %s\nwant %s", path, w.Code, got, want)
		}
	}
	f("targets",
		`{"targets":[{"name":"blog","address":"10.0.0.9:3306","up":false,"reason":"connection refused","at":"2026-11-03T12:00:00Z"},`+
			`{"name":"shop","address":"/run/mysqld/mysqld.sock","labels":{"site":"ber"}}]}`)
	f("sources?target=shop",
		`{"sources":[{"name":"innodb_metrics","state":"denied","reason":"a privilege is missing","fix":"GRANT PROCESS","reads":0,"cost":"light","every_seconds":1}],"target":"shop"}`)
	f("cost?target=shop&span=1m",
		`{"target":"shop","from":"2026-11-03T12:00:00Z","to":"2026-11-03T12:01:00Z","server_seconds_per_second":0.002}`)
	f("state?target=shop",
		`{"target":"shop","at":"2026-11-03T12:00:00Z","up":true,"sessions":[{"id":7,"command":"Query","seconds":0,"sql":"SELECT '\u003c/script\u003e'"}]}`)
	f("states?target=shop&from=60&to=120", `{"target":"shop","times":[]}`)
	f("classes?target=shop&from=60&to=120",
		`{"classes":[],"coverage":{"from":"1970-01-01T00:01:00Z","to":"1970-01-01T00:02:00Z","observed_seconds":60}}`)
	f("classes?target=shop&from=60&to=120&search=none",
		`{"classes":[],"found":0,"coverage":{"from":"1970-01-01T00:01:00Z","to":"1970-01-01T00:02:00Z","observed_seconds":60}}`)
	f("class?target=shop&id=AB&from=60&to=120",
		`{"class":{"id":"AB","fingerprint":"","origin":"","count":0,"time_sec":0},"coverage":{"observed_seconds":0},"buckets":[]}`)
	f("events?kind=ddl&from=60&to=120",
		`{"events":[{"id":"e2","at":"2026-11-03T12:00:00Z","target":"shop","kind":"ddl","text":"ALTER TABLE orders"}]}`)
	f("events?kind=gap", `{"events":[]}`)
}

func TestParametersReachTheService(t *testing.T) {
	s := &fleet{}
	v := New(s.service(), Options{})
	f := func(path, want string) {
		t.Helper()
		if w := request(v, "GET", "/api/dyno/v1/"+path, ""); w.Code != http.StatusOK || s.asked != want {
			t.Fatalf("%s: got %d, asked for %q, want %q", path, w.Code, s.asked, want)
		}
	}
	f("state?target=shop&at=1700000000.5", "shop 1700000000500")
	f("state?target=shop&at=2023-11-14T22:13:20%2B00:00", "shop 1700000000000")
	f("states?target=shop&to=7200", "shop 3600 7200 1000") // the hour before
	f("states?target=shop&from=1&to=2&limit=99999999", "shop 1 2 11000")
	f("classes?target=shop&from=1&to=2", "shop 1 2 50")
	f("classes?target=shop&from=1&to=2&limit=5", "shop 1 2 5")
	f("classes?target=shop&from=1&to=2&search=Orders+id", "shop 1 2 50 Orders id")
	f("class?target=shop&from=1&to=2&id=X", "shop X 1 2")
	f("cost?target=shop", "shop 5m0s")
	g := func(path string) {
		t.Helper()
		s.asked = ""
		w := request(v, "GET", "/api/dyno/v1/"+path, "")
		if w.Code != http.StatusBadRequest || s.asked != "" {
			t.Fatalf("%s: got %d, asked for %q", path, w.Code, s.asked)
		}
		told(t, w)
	}
	g("state")
	g("state?target=shop&at=soon")
	g("states?target=shop&from=9&to=1")
	g("states?target=shop&limit=-1")
	g("states?target=shop&limit=0") // it would be all
	g("classes?target=shop&limit=0")
	g("classes?target=shop&limit=many")
	g("class?target=shop")
	g("cost?target=shop&span=0")
	g("cost?target=shop&span=-5m")
	g("cost?target=shop&span=25h") // it would be years
	g("sources")
}

func TestErrorsHaveTheirStatus(t *testing.T) {
	var log bytes.Buffer
	s := &fleet{}
	v := New(s.service(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	f := func(err error, want int, typ string, logged bool) {
		t.Helper()
		log.Reset()
		s.err = err
		for _, path := range []string{
			"/metrics", "/probe?target=shop", "/api/dyno/v1/targets",
			"/api/dyno/v1/classes?target=shop", "/api/dyno/v1/state?target=shop", "/api/dyno/v1/events",
		} {
			w := request(v, "GET", path, "")
			if p := told(t, w); w.Code != want || p.Type != typ || !strings.Contains(p.Error, err.Error()) {
				t.Fatalf("%s with %v: got %d %+v", path, err, w.Code, p)
			}
		}
		if logged != (log.Len() > 0) {
			t.Fatalf("%v: log is %q", err, log.String())
		}
	}
	f(fmt.Errorf("target \"x\": %w", ErrNotFound), 404, "not_found", false)
	f(fmt.Errorf("%w: the store opens", ErrUnavailable), 503, "unavailable", false)
	f(fmt.Errorf("read: %w", context.DeadlineExceeded), 503, "timeout", false)
	f(errors.New("the disk is on fire"), 500, "internal", true)
	s.err = &target.Error{Op: "connect to", Target: "shop", Kind: target.Denied, Hint: "look at its grants"}
	if p := told(t, request(v, "GET", "/api/dyno/v1/targets", "")); p.Hint != "look at its grants" {
		t.Fatalf("got %+v", p)
	}
	s.err = nil
	for _, path := range []string{"/probe", "/probe?target=other"} {
		if w := request(v, "GET", path, ""); w.Code/100 != 4 {
			t.Fatalf("%s: got %d", path, w.Code)
		}
	}
}

func TestWhatIsNotPluggedInIsTold(t *testing.T) {
	v := New(Service{}, Options{})
	for _, p := range v.Paths() {
		method, path, _ := strings.Cut(p, " ")
		switch path {
		case "/{$}", "/api/dyno/v1/{$}", "/api/dyno/v1/session", "/-/healthy", "/-/ready", "/api/v1/status/buildinfo",
			"/api/v1/query_exemplars", "/api/v1/rules", "/api/v1/alerts":
			if w := request(v, method, strings.TrimSuffix(path, "{$}"), ""); w.Code != http.StatusOK ||
				!json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: got %d %s", p, w.Code, w.Body)
			}
		case "/api/dyno/v1/stream", "/api/dyno/v1/openapi.yaml": // need nothing
		default:
			w := request(v, method, strings.ReplaceAll(path, "{name}", "x")+"?target=shop&id=X&task=watch&flavor=mysql",
				"{}", "Content-Type", "application/json")
			if w.Code != http.StatusNotImplemented {
				t.Errorf("%s: got %d %s", p, w.Code, w.Body)
			}
			told(t, w)
		}
	}
}

func TestNotesAreChecked(t *testing.T) {
	s := &fleet{}
	v := New(s.service(), Options{})
	f := func(body string, want int) {
		t.Helper()
		s.notes = nil
		w := request(v, "POST", "/api/dyno/v1/annotate", body, "Content-Type", "application/json")
		if w.Code != want || (len(s.notes) == 1) != (want == 201) {
			t.Fatalf("%s: got %d %s", body, w.Code, w.Body)
		}
		if want != 201 {
			told(t, w)
		}
	}
	f(`{"text":" deploy  \n 42 ","target":"shop","at":"2026-11-03T12:00:00Z","until":"2026-11-03T12:05:00Z"}`, 201)
	if e := s.notes[0]; e.Text != "deploy 42" || e.Kind != event.Annotation || e.Target != "shop" ||
		!e.At.Equal(noon) || e.Until.Sub(noon) != 5*time.Minute {
		t.Fatalf("got %+v", e)
	}
	before := time.Now()
	f(`{"text":"now"}`, 201)
	if e := s.notes[0]; e.At.Before(before) || e.At.After(time.Now()) || !e.Until.IsZero() {
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
