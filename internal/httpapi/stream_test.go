package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/access"
)

// second is the reading of a target at its n-th second.
func second(target string, n int, events ...event.Event) reading.Reading {
	at := noon.Add(time.Duration(n) * time.Second)
	return reading.Reading{Target: target, At: at, Events: events, State: &state.State{
		Target: target, At: at, Up: true, Vitals: []state.Vital{{Name: state.QPS, Value: float64(n)}},
		Sessions: []state.Session{{ID: uint64(n), Command: "Query"}},
	}}
}

func none(string) bool { return false }

// follower is a client of the stream.
type follower struct {
	t      *testing.T
	body   *bufio.Reader
	cancel context.CancelFunc
	last   string // Last-Event-ID
}

func follow(t *testing.T, url, last string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %s %v", a.Status, a.Header)
	}
	t.Cleanup(func() { cancel(); a.Body.Close() })
	f := &follower{t: t, body: bufio.NewReader(a.Body), cancel: cancel}
	if kind, data := f.message(); kind+data != "" { // the first sets retry and id only
		t.Fatalf("got %s %s", kind, data)
	}
	return f
}

// message reads up to the next empty line; ended when the server closed the stream.
func (f *follower) message() (kind, data string) {
	f.t.Helper()
	for {
		line, err := f.body.ReadString('\n')
		if err != nil {
			return "ended", ""
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "":
			return kind, data
		case "id":
			f.last = value
		case "event":
			kind = value
		case "data":
			data = value
		}
	}
}

func (f *follower) want(kind, data string) {
	f.t.Helper()
	if k, d := f.message(); k != kind || !strings.Contains(d, data) {
		f.t.Fatalf("got %s %s, want %s %s", k, d, kind, data)
	}
}

func TestStreamResumesWhereTheClientWas(t *testing.T) {
	v := New(bare(), Options{})
	web := httptest.NewServer(v)
	t.Cleanup(web.Close) // after the clients have gone
	url := web.URL + "/api/dyno/v1/stream"

	all, shop, full := follow(t, url, ""), follow(t, url+"?target=shop", ""), follow(t, url+"?target=shop&full=1", "")
	v.Publish(second("blog", 1))
	v.Publish(second("shop", 1, event.Event{Kind: event.Restart, Text: "the server came up again"}))
	v.Publish(reading.Reading{Target: "shop", Events: []event.Event{{Kind: event.Gap, Text: "missed", Target: "shop"}}})
	v.Publish(reading.Reading{Target: "shop"}) // nothing to tell
	all.want("vitals", `{"target":"blog","at":"2026-11-03T12:00:01Z","up":true,"vitals":[{"n":"qps","v":1}]}`)
	all.want("event", `"target":"shop","kind":"restart"`)
	all.want("vitals", `{"target":"shop"`)
	all.want("event", `"kind":"gap"`)
	shop.want("event", `"target":"shop","kind":"restart"`)
	shop.want("vitals", `"v":1`)
	before := shop.last
	shop.want("event", `"kind":"gap"`)
	if before == shop.last {
		t.Fatal("an event alone has no id")
	}
	full.want("event", "restart")
	full.want("state", `"sessions":[{"id":1`)

	shop.cancel()
	for n := 2; n < 5; n++ {
		v.Publish(second("shop", n))
		v.Publish(second("blog", n))
	}
	back := follow(t, url+"?target=shop", before)
	back.want("event", "gap")
	for n := 2; n < 5; n++ {
		back.want("vitals", fmt.Sprintf(`"v":%d`, n))
	}
	v.Publish(second("shop", 5))
	back.want("vitals", `"v":5`)

	follow(t, url, "otherrun-7").want("note", "another run")
	follow(t, url, "rubbish").want("note", "not one of its")
	if w := request(v, "GET", "/api/dyno/v1/stream?full=yes", ""); w.Code != http.StatusBadRequest {
		t.Fatalf("got %d", w.Code)
	}
}

func TestStreamTellsWhatItForgot(t *testing.T) {
	v := New(bare(), Options{Replay: time.Nanosecond})
	web := httptest.NewServer(v)
	t.Cleanup(web.Close) // after the clients have gone
	f := follow(t, web.URL+"/api/dyno/v1/stream", "")
	for n := range 10 {
		time.Sleep(time.Microsecond) // longer than is remembered
		v.Publish(second("shop", n))
	}
	f.want("vitals", `"v":0`)
	back := follow(t, web.URL+"/api/dyno/v1/stream", f.last)
	back.want("note", "8 updates were missed")
	back.want("vitals", `"v":9`)
}

// TestStreamOutlivesTheLimitsOfAnswers: neither the time for an answer nor that for a request ends a stream.
func TestStreamOutlivesTheLimitsOfAnswers(t *testing.T) {
	v := New(bare(), Options{Timeout: 10 * time.Millisecond})
	web := httptest.NewUnstartedServer(v)
	web.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		// looking for whose it is may take longer than the limit
		return context.WithValue(ctx, peerKey{}, &peer{socket: true})
	}
	web.Start()
	t.Cleanup(web.Close)
	f := follow(t, web.URL+"/api/dyno/v1/stream", "")
	time.Sleep(200 * time.Millisecond)
	v.Publish(second("shop", 1))
	f.want("vitals", "shop")
}

// TestAQuietStreamGoesOn: a deadline of writing that passes does not end a stream that has nothing to write.
func TestAQuietStreamGoesOn(t *testing.T) {
	t.Parallel()
	v := New(bare(), Options{})
	v.writeWithin, v.quiet = 2*time.Second, 3*time.Second
	web := httptest.NewServer(v)
	t.Cleanup(web.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/api/dyno/v1/stream", nil)
	good(t, err)
	a, err := web.Client().Do(r)
	good(t, err)
	defer a.Body.Close()
	f := &follower{t: t, body: bufio.NewReader(a.Body)}
	f.want("", "")
	line, err := f.body.ReadString('\n')
	if err != nil || line != ": \n" {
		t.Fatalf("in place of a comment: %q, %v", line, err)
	}
}

// bounded is a recorder that keeps the deadline of writing.
type bounded struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (b *bounded) SetWriteDeadline(t time.Time) error {
	b.until = t
	return nil
}

// TestTheEndOfAStreamIsBounded: a client that takes nothing does not hold the connection of a stream that has ended.
func TestTheEndOfAStreamIsBounded(t *testing.T) {
	v := New(bare(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &bounded{ResponseRecorder: httptest.NewRecorder()}
	v.stream(w, httptest.NewRequest("GET", "/api/dyno/v1/stream", nil).WithContext(ctx))
	if w.until.IsZero() {
		t.Error("what ends the answer may take for ever")
	}
}

// TestAskingForHeadersOnlyHoldsNoStream: HEAD has nothing to wait for.
func TestAskingForHeadersOnlyHoldsNoStream(t *testing.T) {
	v := New(bare(), Options{})
	for i := range maxStreams {
		_, _, _, _, err := v.hub.follow(strconv.Itoa(i/maxOwn), "", none)
		good(t, err)
	}
	w := request(v, "HEAD", "/api/dyno/v1/stream", "")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.Len() != 0 ||
		len(v.hub.clients) != maxStreams {
		t.Fatalf("%d %v %q", w.Code, w.Header(), w.Body)
	}
	if w := request(v, "HEAD", "/api/dyno/v1/stream?full=x", ""); w.Code != http.StatusBadRequest {
		t.Fatalf("got %d", w.Code)
	}
}

// slowly is a client that takes nothing until it is let go.
type slowly struct {
	*httptest.ResponseRecorder
	began chan struct{}
	goOn  chan struct{}
	once  bool
}

func (s *slowly) Write(b []byte) (int, error) {
	if !s.once && strings.Contains(string(b), "event: vitals") {
		s.once = true
		close(s.began)
		<-s.goOn
	}
	return s.ResponseRecorder.Write(b)
}

func TestSlowClientsAreDroppedAndNobodyWaits(t *testing.T) {
	v := New(bare(), Options{})
	w := &slowly{ResponseRecorder: httptest.NewRecorder(), began: make(chan struct{}), goOn: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.stream(w, httptest.NewRequest("GET", "/api/dyno/v1/stream", nil))
	}()
	for joined := false; !joined; time.Sleep(time.Millisecond) {
		v.hub.mu.Lock()
		joined = len(v.hub.clients) == 1
		v.hub.mu.Unlock()
	}
	v.Publish(second("shop", 0))
	<-w.began
	for n := range maxBehind + 1 { // would block for ever if it waited
		v.Publish(second("shop", n))
	}
	close(w.goOn)
	<-ended
	body := w.Body.String()
	if n := strings.Count(body, "event: vitals"); n != 1 ||
		!strings.Contains(body, "event: note\ndata: {\"text\":\"dropped") || !strings.HasSuffix(body, "\n\n") {
		t.Fatalf("%d updates, the end is %q", n, body[max(0, len(body)-200):])
	}
	if len(v.hub.clients) != 0 {
		t.Fatal("the dropped client is still there")
	}
}

func TestStreamsAreCounted(t *testing.T) {
	v := New(bare(), Options{})
	var last *client
	for i := range maxStreams {
		c, _, _, _, err := v.hub.follow(strconv.Itoa(i/maxOwn), "", none)
		if err != nil {
			t.Fatal(err)
		}
		last = c
	}
	if w := request(v, "GET", "/api/dyno/v1/stream", ""); w.Code != http.StatusServiceUnavailable {
		t.Fatalf("got %d", w.Code)
	}
	v.hub.leave(last)
	if _, _, _, _, err := v.hub.follow("x", "", none); err != nil {
		t.Fatal(err)
	}
}

func TestTheStreamsMemoryIsBounded(t *testing.T) {
	h := newHub(time.Hour)
	r := second("shop", 1)
	for range maxReplayed + 100 {
		h.publish(r)
	}
	if len(h.ring) != maxReplayed || h.ring[0].full != nil {
		t.Fatalf("%d updates are remembered", len(h.ring))
	}
}

// TestFullStatesThatWaitAreFew: a client that reads slowly keeps few full states, of the targets that it asked for; the
// others none.
func TestFullStatesThatWaitAreFew(t *testing.T) {
	h := newHub(time.Hour)
	join := func(who string, full func(string) bool) *client {
		c, _, _, _, err := h.follow(who, "", full)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	plain, all, some := join("anna", none), join("bert", func(string) bool { return true }),
		join("carl", func(target string) bool { return target == "shop" })
	f := func(c *client, want ...int) { // full states of other and shop in what waits
		t.Helper()
		got := map[string]int{}
		for n := len(c.updates); n > 0; n-- {
			u := <-c.updates
			if c.took(u); u.full != nil {
				got[u.target]++
			}
			if u.summary == nil {
				t.Error("an update without vitals")
			}
		}
		if got["other"] != want[0] || got["shop"] != want[1] {
			t.Errorf("%v full states wait, want %d of other and %d of shop", got, want[0], want[1])
		}
	}
	for range 2 { // who has caught up gets them again
		for n := range 3 * maxFull {
			h.publish(second([]string{"other", "other", "shop"}[n%3], n))
		}
		for n := range maxFull {
			h.publish(second("shop", n))
		}
		f(plain, 0, 0)
		f(all, maxFull*2/3+1, maxFull/3)
		f(some, 0, maxFull)
	}

	// All streams of one caller together keep as few, and who leaves with some gives them back.
	everything := func(string) bool { return true }
	for range 2 {
		var own []*client
		for range maxOwn {
			own = append(own, join("dora", everything))
		}
		for n := range 2 * maxFull {
			h.publish(second("shop", n))
		}
		kept := 0
		for i, c := range own {
			for i%2 == 0 && len(c.updates) > 0 {
				u := <-c.updates
				if c.took(u); u.full != nil {
					kept++
				}
			}
			h.leave(c)
		}
		if want := maxFull / 2; kept != want {
			t.Errorf("%d full states wait in half the streams of one caller, want %d", kept, want)
		}
		for _, c := range []*client{plain, all, some} {
			for len(c.updates) > 0 {
				c.took(<-c.updates)
			}
		}
	}
}

// TestASlowTabTakesNothingFromAnother: a stream that is not read has its caller's full states waiting, and the others
// get theirs all the same.
func TestASlowTabTakesNothingFromAnother(t *testing.T) {
	h := newHub(time.Hour)
	everything := func(string) bool { return true }
	slow, _, _, _, err := h.follow("anna", "", everything)
	good(t, err)
	quick, _, _, _, err := h.follow("anna", "", everything)
	good(t, err)
	got := 0
	const n = 2 * maxFull
	for i := range n {
		h.publish(second("shop", i))
		u := <-quick.updates
		if quick.took(u); u.full != nil {
			got++
		}
	}
	waits := 0
	for len(slow.updates) > 0 {
		if u := <-slow.updates; u.full != nil {
			waits++
		}
	}
	if got != n || waits != maxFull {
		t.Errorf("%d of %d full states came, and %d wait, want %d", got, n, waits, maxFull)
	}
}

// TestWhatIsSentAgainTakesATurn: a client that comes back again and again with an old id is as much work as any answer.
func TestWhatIsSentAgainTakesATurn(t *testing.T) {
	g := guardedServer(t, Guarding{})
	g.Publish(second("shop", 1))
	old := g.hub.id(0)
	own, _ := g.turns.of(caller{Identity: access.Identity{Kind: access.ByAPIToken, Name: "the-viewer"}}.key())
	for range ofOneAtOnce {
		own <- struct{}{}
	}
	address := loopback(t, g)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/dyno/v1/stream", nil)
	good(t, err)
	r.Header.Set("Authorization", "Bearer "+g.viewer)
	r.Header.Set("Last-Event-ID", old)
	w, err := http.DefaultClient.Do(r)
	good(t, err)
	defer w.Body.Close()
	lines := bufio.NewScanner(w.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "id: ") { // the first is the number of the last that it has
	}
	came := make(chan string, 100)
	go func() {
		for lines.Scan() {
			came <- lines.Text()
		}
	}()
	select {
	case s := <-came:
		if s == "" { // the end of the first message
			select {
			case s = <-came:
			case <-time.After(300 * time.Millisecond):
				s = ""
			}
		}
		if s != "" {
			t.Errorf("%q came without a turn", s)
		}
	case <-time.After(10 * time.Second):
		t.Error("not even the beginning came")
	}
	<-own
	for s := range came {
		if strings.HasPrefix(s, "event: vitals") {
			return
		}
	}
}

// TestAFullStateIsWrittenOnce: however many follow, a state is made JSON of once.
func TestAFullStateIsWrittenOnce(t *testing.T) {
	h := newHub(time.Hour)
	everything := func(string) bool { return true }
	var first []byte
	var all []*client
	for range 3 {
		c, _, _, _, err := h.follow("anna", "", everything)
		good(t, err)
		all = append(all, c)
	}
	h.publish(second("shop", 1))
	for _, c := range all {
		u := <-c.updates
		b, err := u.text.of(u.full)
		good(t, err)
		if first == nil {
			first = b
		}
		if &b[0] != &first[0] {
			t.Error("it is made again for another stream")
		}
	}
	if len(h.ring) != 1 || h.ring[0].text != nil {
		t.Error("it is kept for those who come back")
	}
}
