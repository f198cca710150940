package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/store/access"
)

func TestOneCallerHasAPartOfTheTurns(t *testing.T) {
	v := New(bare(), Options{})
	var running, most atomic.Int32
	begun, end := make(chan struct{}, 100), make(chan struct{})
	h := v.inTurn(func(http.ResponseWriter, *http.Request) {
		n := running.Add(1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		begun <- struct{}{}
		<-end
		running.Add(-1)
	})
	var wg sync.WaitGroup
	ask := func(ctx context.Context, name string) *httptest.ResponseRecorder {
		c := caller{Identity: access.Identity{Kind: access.ByLogin, Name: name}}
		w := httptest.NewRecorder()
		h(w, httptest.NewRequestWithContext(context.WithValue(ctx, callerKey{}, c), http.MethodGet, "/", nil))
		return w
	}
	for range 40 {
		wg.Go(func() { ask(t.Context(), "anna") })
	}
	for range ofOneAtOnce {
		<-begun
	}
	wg.Go(func() { ask(t.Context(), "ben") })
	<-begun // whatever anna asks for
	if n := most.Load(); n != ofOneAtOnce+1 {
		t.Errorf("%d answers were made at once, want %d of one and 1 of another", n, ofOneAtOnce)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if w := ask(ctx, "anna"); w.Code < 400 {
		t.Errorf("who waited for too long is told %d", w.Code)
	}
	close(end)
	wg.Wait()
	if running.Load() != 0 || len(begun) != 40-ofOneAtOnce {
		t.Errorf("%d run, %d more began", running.Load(), len(begun))
	}
}

// TestAViewersRequestsForChangesTakeTurns: what a viewer sends to change something is refused, or read, a few at a
// time.
func TestAViewersRequestsForChangesTakeTurns(t *testing.T) {
	g := guardedServer(t, Guarding{})
	own, _ := g.turns.of(caller{Identity: access.Identity{Kind: access.ByAPIToken, Name: "the-viewer"}}.key())
	for range ofOneAtOnce {
		own <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, note, strings.NewReader(words))
	r.Host, r.RemoteAddr = "127.0.0.1:9188", "192.0.2.9:4711"
	r = ours(r)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+g.viewer)
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() { defer close(done); g.ServeHTTP(w, r) }()
	select {
	case <-done:
	case <-time.After(300 * time.Millisecond): // it waits
	}
	cancel()
	<-done
	if w.Code != clientGone {
		t.Errorf("a viewer whose turns are taken is told %d", w.Code)
	}
}

// TestOneCallerLeavesQueriesToOthers: whoever asks slow questions, or reads the answers slowly, leaves some of the
// engine's turns.
func TestOneCallerLeavesQueriesToOthers(t *testing.T) {
	g := guardedServer(t, Guarding{})
	begun, end := make(chan struct{}, 100), make(chan struct{})
	g.handleIn(&g.queries, "GET /slow", func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-end
	})
	var wg sync.WaitGroup
	ask := func(token string) {
		wg.Go(func() { g.visitor(t).ask("GET", "/slow", "", "Authorization", "Bearer "+token) })
	}
	for range 4 {
		ask(g.viewer)
	}
	for range queriesOfOneAtOnce {
		<-begun
	}
	select {
	case <-begun:
		t.Errorf("more than %d queries of one caller run", queriesOfOneAtOnce)
	case <-time.After(200 * time.Millisecond):
	}
	ask(g.operator)
	<-begun // whatever the other asks

	// Queries that wait hold up nothing else of the same caller.
	answered := make(chan struct{})
	wg.Go(func() {
		defer close(answered)
		g.visitor(t).ask("GET", "/api/v1/status/buildinfo", "", "Authorization", "Bearer "+g.viewer)
	})
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("another answer waits for the queries")
	}
	close(end)
	wg.Wait()
}

// TestFewWaitForTheirTurn: one caller's requests that wait hold no connection of others who come through the same
// proxy.
func TestFewWaitForTheirTurn(t *testing.T) {
	var x turns
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range ofOneAtOnce {
		_, err := x.take(ctx, "anna")
		good(t, err)
	}
	var wg sync.WaitGroup
	for range waitingOfOne {
		wg.Go(func() { _, _ = x.take(ctx, "anna") })
	}
	for waiting := 0; waiting < waitingOfOne; time.Sleep(time.Millisecond) {
		x.waiting.mu.Lock()
		waiting = x.waiting.by["anna"]
		x.waiting.mu.Unlock()
	}
	short, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if _, err := x.take(short, "anna"); !errors.Is(err, errCrowd) {
		t.Errorf("one more: %v", err)
	}
	end, err := x.take(ctx, "ben")
	good(t, err)
	end()
	cancel()
	wg.Wait()
	if len(x.waiting.by) != 0 {
		t.Errorf("%v wait", x.waiting.by)
	}
}

// TestOneAddressTakesNotAllOfAProxy: who comes through a proxy shares its connections with all others who do. What one
// address has under way there is bounded, whoever it is, and so is what comes directly over connections that carry many
// requests.
func TestOneAddressTakesNotAllOfAProxy(t *testing.T) {
	g := guardedServer(t, Guarding{Hosts: []string{"dyno.example.org"}})
	begun, end := make(chan struct{}, 1000), make(chan struct{})
	g.register("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Quick") == "" {
			begun <- struct{}{}
			<-end
		}
	})
	ask := func(from, host, forwarded string, headers ...string) *httptest.ResponseRecorder {
		b := g.visitor(t)
		b.from, b.host = from, host
		return b.ask("GET", "/slow", "", append(headers, "X-Forwarded-For", forwarded)...)
	}
	var wg sync.WaitGroup
	f := func(most int, from, host, mine, others string) {
		t.Helper()
		for range most {
			wg.Go(func() { ask(from, host, mine) })
		}
		for range most {
			<-begun
		}
		if w := ask(from, host, mine, "X-Quick", "1"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", mine, w.Code, w.Body)
		}
		wg.Go(func() {
			if w := ask(from, host, others); w.Code != http.StatusOK {
				t.Errorf("%s: %d %s", others, w.Code, w.Body)
			}
		})
		<-begun
	}
	f(underWay, "127.0.0.1:4711", "dyno.example.org", "192.0.2.7", "192.0.2.8")
	f(underWay, "127.0.0.1:4711", "dyno.example.org", "2001:db8::7", "2001:db8:0:1::7")
	for range 4 * underWay { // without a proxy connections are counted
		wg.Go(func() { ask("127.0.0.1:4711", "127.0.0.1:9188", "192.0.2.7") })
		<-begun
	}
	close(end)
	wg.Wait()
	if len(g.crowd.by) != 0 {
		t.Errorf("%v", g.crowd.by)
	}
}
