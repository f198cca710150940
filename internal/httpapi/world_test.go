package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
)

var noon = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

// world is a handler over real stores, with what a test puts into them.
type world struct {
	*Server
	Services
	ledger *ledger.Ledger
}

// newWorld has the targets blog and shop in its inventory, which are no servers, and nothing else.
func newWorld(t testing.TB, o Options) *world {
	t.Helper()
	a := &app.App{Home: t.TempDir(), Version: "test", Environ: func(string) string { return "" }}
	t.Cleanup(func() { a.Close() })
	l, err := a.Ledger(t.Context())
	good(t, err)
	for _, name := range []string{"blog", "shop"} {
		good(t, l.PutTarget(t.Context(), ledger.Target{Name: name, URL: "mysql://dyno@127.0.0.1:1/"}))
	}
	s, err := service.New(t.Context(), a, service.Options{Looking: discovery.Options{None: true}})
	good(t, err)
	t.Cleanup(func() { good(t, s.Close()) })
	users, err := access.Open(t.Context(), filepath.Join(a.Home, "store", "access.db"), access.Options{})
	good(t, err)
	t.Cleanup(func() { good(t, users.Close()) })
	x := Services{
		Access: users, Service: s, Engine: series.NewEngine(s.Series, app.Help, series.Limits{}),
		Lab: lab.New(a, &s.Tasks, func() []ledger.Target { return nil }),
	}
	return &world{New(x, o), x, l}
}

// watched is newWorld with its targets watched, and read once.
func watched(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, Options{Version: "1.2"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		good(t, <-ended)
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		all := w.Fleet.All()
		if len(all) == 2 && all[0].State != nil && all[1].State != nil {
			return w
		}
		if time.Now().After(end) {
			t.Fatal("the targets are not watched")
		}
	}
}

// notes returns the notes on the timeline.
func (w *world) notes(t *testing.T) []event.Event {
	t.Helper()
	all, err := w.Events.NewestEvents(t.Context(), "", []string{string(event.Annotation)}, time.Time{},
		time.Now().Add(time.Hour), 1000)
	good(t, err)
	return all
}

// bare is for tests that ask no service.
func bare() Services { return Services{Service: &service.Service{}} }

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
