package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/test/program"
)

// kind says who may ask for a path.
type kind string

const (
	public  kind = "everybody"
	read    kind = "viewers and operators, people and tokens"
	changes kind = "operators, people and tokens; a person's browser with the CSRF token"
	self    kind = "people, about themselves; with the CSRF token"
	seeSelf kind = "people, about themselves"
	manage  kind = "operators that are people; with the CSRF token"
	oversee kind = "operators that are people"
	seek    kind = "operators, people and tokens"
)

// reads are the POSTs that change nothing: Prometheus' API takes long expressions so, and logins have rules of their
// own.
var reads = map[string]kind{
	"POST /api/v1/query": read, "POST /api/v1/query_range": read, "POST /api/v1/series": read,
	"POST /api/v1/labels": read, "POST /api/v1/query_exemplars": read,
	"POST /api/dyno/v1/login": public, "POST /api/dyno/v1/login/token": public,
	"POST /api/dyno/v1/logout": self, "POST /api/dyno/v1/session/remove": self,
}

// kinds lists every path that is neither a GET that every viewer may ask for nor a POST that every operator may. A path
// that is added is one of these two unless it is listed here.
var kinds = map[string]kind{
	"GET /-/healthy": public, "GET /-/ready": public, "GET /api/dyno/v1/session": public,
	"GET /api/dyno/v1/sessions": seeSelf,
	"GET /api/dyno/v1/discover": seek,
	"GET /api/dyno/v1/users":    oversee, "GET /api/dyno/v1/tokens": oversee, "GET /api/dyno/v1/audit": oversee,
	"POST /api/dyno/v1/user/password": self,
	"POST /api/dyno/v1/user/add":      manage, "POST /api/dyno/v1/user/role": manage,
	"POST /api/dyno/v1/user/remove": manage,
	"POST /api/dyno/v1/token/add":   manage, "POST /api/dyno/v1/token/remove": manage,
}

func kindOf(t *testing.T, pattern string) kind {
	t.Helper()
	if k, ok := reads[pattern]; ok {
		return k
	}
	if k, ok := kinds[pattern]; ok {
		return k
	}
	switch method, _, _ := strings.Cut(pattern, " "); method {
	case "GET":
		return read
	case "POST":
		return changes
	}
	t.Fatalf("%s: only GET and POST are used", pattern)
	return ""
}

// TestWhoMayWhat asks for every path as everybody.
func TestWhoMayWhat(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna, ben, nobody := g.visitor(t), g.visitor(t), g.visitor(t)
	anna.login("anna", pass)
	ben.login("ben", pass)
	seen := map[string]bool{}
	for _, pattern := range g.Paths() {
		seen[pattern] = true
		k := kindOf(t, pattern)
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{name}", "x", "{$}", "").Replace(path)
		// what a caller gets: 0 is an answer of the path itself, whatever that is
		f := func(who string, b *visitor, want int, headers ...string) {
			t.Helper()
			if strings.HasSuffix(path, "/stream") {
				if want == 0 {
					return // see TestStreamsEndWithTheSession
				}
			}
			w := b.ask(method, path, "{}", headers...)
			refused := (w.Code == 401 || w.Code == 403) && !strings.Contains(w.Body.String(), "password is wrong")
			if want == 0 && refused || want != 0 && w.Code != want {
				t.Errorf("%s (%s) as %s: got %d %s", pattern, k, who, w.Code, w.Body)
			}
			if refused {
				problemOf(t, w)
			}
		}
		bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
		var none, viewer, operator, viewerToken, operatorToken, forged int
		switch k {
		case public:
		case read:
			none, forged = 401, 401
		case changes, seek:
			none, viewer, viewerToken, forged = 401, 403, 403, 401
		case self, seeSelf:
			none, viewerToken, operatorToken, forged = 401, 403, 403, 401
		case manage, oversee:
			none, viewer, viewerToken, operatorToken, forged = 401, 403, 403, 403, 401
		}
		if strings.HasPrefix(path, "/api/dyno/v1/login") { // tried elsewhere
			continue
		}
		f("nobody", nobody, none)
		f("a forged token", nobody, forged, bearer("dyno_"+strings.Repeat("A", 43))...)
		f("a viewer's token", nobody, viewerToken, bearer(g.viewer)...)
		f("an operator's token", nobody, operatorToken, bearer(g.operator)...)
		f("a viewer's token beside an operator's cookie", anna, viewerToken,
			append(bearer(g.viewer), csrfHeader, "")...)
		if k == changes || k == self || k == manage {
			ben2, anna2 := *ben, *anna
			for _, csrf := range []string{"", "x", anna.csrf, ben.csrf + "x", ben.csrf[1:], strings.ToUpper(ben.csrf)} {
				f("a viewer without the token", &ben2, 403, csrfHeader, csrf)
			}
			for _, csrf := range []string{"", "x", ben.csrf, g.operator} {
				f("an operator without the token", &anna2, 403, csrfHeader, csrf)
			}
			if k != self || path == "/api/dyno/v1/user/password" {
				f("an operator from another site", anna, 403, "Sec-Fetch-Site", "cross-site")
				f("an operator from another port", anna, 403, "Origin", "http://127.0.0.1:3000")
				f("an operator with a form", anna, 415, "Content-Type", "application/x-www-form-urlencoded")
				f("an operator with a form of parts", anna, 415, "Content-Type", "multipart/form-data; boundary=x")
				f("an operator with text", anna, 415, "Content-Type", "text/plain")
				f("an operator with text that is called JSON", anna, 415, "Content-Type",
					"text/plain; application/json")
			}
		}
		if pattern == "POST /api/dyno/v1/logout" { // it lets go; tried elsewhere
			continue
		}
		f("a viewer", ben, viewer)
		f("an operator", anna, operator)
	}
	for p := range kinds {
		if !seen[p] {
			t.Errorf("%s is listed and does not exist", p)
		}
	}
	for p := range reads {
		if !seen[p] {
			t.Errorf("%s is listed and does not exist", p)
		}
	}
	if all := g.world.notes(t); len(all) != 0 {
		t.Errorf("something was changed: %+v", all)
	}
}

// TestOtherMethodsChangeNothing: a change is reached by POST alone.
func TestOtherMethodsChangeNothing(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna := g.visitor(t)
	anna.login("anna", pass)
	for _, pattern := range g.Paths() {
		method, path, _ := strings.Cut(pattern, " ")
		if method != "POST" || slices.Contains(g.Paths(), "GET "+path) {
			continue
		}
		for _, m := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "X"} {
			if w := anna.ask(m, path, words, "Content-Type", "application/json", csrfHeader, anna.csrf,
				"X-HTTP-Method-Override", "POST"); w.Code != 405 {
				t.Errorf("%s %s: got %d", m, path, w.Code)
			}
		}
	}
}

func TestHosts(t *testing.T) {
	g := guardedServer(t, Guarding{Hosts: []string{"dyno.example.org", "192.0.2.80"}})
	b := g.visitor(t)
	f := func(host string, want int) {
		t.Helper()
		b.want(want, "GET", "/metrics", "", "Host", host, "Authorization", "Bearer "+g.viewer)
	}
	f("dyno.example.org", 200)
	f("dyno.example.org:8306", 200)
	f("DYNO.example.org.", 200)
	f("192.0.2.80:1", 200)
	f("localhost:1", 200)
	f("evil.example", 421)
	f("dyno.example.org.evil.example", 421)
	f("evil.example:dyno.example.org", 421)
	f("xdyno.example.org", 421)
	f("example.org", 421)
	f("192.0.2.81", 421)
	f("", 421)
	f(".", 421)
	f("dyno.example.org@evil.example", 421)
	// What a proxy adds does not count.
	b.want(421, "GET", "/metrics", "", "Host", "evil.example", "X-Forwarded-Host", "dyno.example.org",
		"Authorization", "Bearer "+g.viewer)
}

// TestOwnAddressIsAName: the address at which a connection came in is no other page's name.
func TestOwnAddressIsAName(t *testing.T) {
	g := guardedServer(t, Guarding{Beyond: true})
	f := func(local, host string, want int) {
		t.Helper()
		r := ours(httptest.NewRequest("GET", "/-/healthy", nil))
		a, err := net.ResolveTCPAddr("tcp", local)
		good(t, err)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, a))
		r.Host = host
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s at %s: got %d", host, local, w.Code)
		}
	}
	f("192.0.2.5:8306", "192.0.2.5:8306", 200)
	f("[::ffff:192.0.2.5]:8306", "192.0.2.5", 200)
	f("[2001:db8::5]:8306", "[2001:db8::5]:8306", 200)
	f("192.0.2.5:8306", "192.0.2.6:8306", 421)
	f("192.0.2.5:8306", "0.0.0.0:8306", 421)
	f("192.0.2.5:8306", "0xC0000205:8306", 421)
}

func TestSessionsCannotBePlantedOrUsedAgain(t *testing.T) {
	g := guardedServer(t, Guarding{})
	b := g.visitor(t)
	// A value that somebody planted before the login is not the session afterwards.
	planted := strings.Repeat("A", 43)
	b.cookie = &http.Cookie{Name: "dyno-9188", Value: planted}
	b.login("ben", pass)
	if b.cookie.Value == planted {
		t.Fatal("the session has the value that was planted")
	}
	// A login ends the session before it.
	first := *b
	b.login("ben", pass)
	first.want(401, "GET", "/metrics", "")
	b.want(200, "GET", "/metrics", "")
	// Two cookies of that name: one of them is a neighbour's.
	b.want(401, "GET", "/metrics", "", "Cookie", "dyno-9188="+planted+"; dyno-9188="+b.cookie.Value)
	// Another port's session is none here.
	b.want(401, "GET", "/metrics", "", "Host", "127.0.0.1:9189")
	// A session is no token, a token no session.
	b.want(401, "GET", "/metrics", "", "Cookie", "", "Authorization", "Bearer "+b.cookie.Value)
	b.want(401, "GET", "/metrics", "", "Cookie", "dyno-9188="+g.operator)
	b.want(401, "GET", "/metrics", "", "Cookie", "dyno-9188="+url.QueryEscape("' OR 1=1 --"))
	// Not in the URL either.
	for _, q := range []string{"token=" + g.operator, "access_token=" + g.operator, "dyno-9188=" + b.cookie.Value} {
		g.visitor(t).want(401, "GET", "/metrics?"+q, "")
	}

	gone := *b
	b.want(200, "POST", "/api/dyno/v1/logout", "{}")
	gone.want(401, "GET", "/metrics", "")
	gone.want(401, "POST", "/api/dyno/v1/logout", "{}")

	one, two := g.visitor(t), g.visitor(t)
	one.login("ben", pass)
	two.login("ben", pass)
	two.want(200, "POST", "/api/dyno/v1/user/password", `{"current":"`+pass+`","password":"`+other+`"}`)
	one.want(401, "GET", "/metrics", "")
	two.want(200, "GET", "/metrics", "")
	one.login("ben", other)
	one.want(200, "POST", "/api/dyno/v1/logout", `{"everywhere":true}`)
	two.want(401, "GET", "/metrics", "")
	two.login("ben", other)
	g.pass(access.Idle)
	if p := problemOf(t, two.want(401, "GET", "/metrics", "")); p.Type != "unauthorized" || p.Hint == "" {
		t.Fatalf("%+v", p)
	}
}

func TestPasswordsAreSetByTheirOwners(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna, ben := g.visitor(t), g.visitor(t)
	anna.login("anna", pass)
	ben.login("ben", pass)
	const path = "/api/dyno/v1/user/password"
	ben.want(403, "POST", path, `{"name":"anna","current":"`+pass+`","password":"`+other+`"}`)
	ben.want(403, "POST", path, `{"current":"wrong wrong wrong","password":"`+other+`"}`)
	ben.want(403, "POST", path, `{"password":"`+other+`"}`)
	ben.want(400, "POST", path, `{"current":"`+pass+`","password":"short"}`)
	anna.want(403, "POST", path, `{"name":"ben","current":"`+other+`","password":"`+other+`"}`)
	anna.want(200, "POST", path, `{"name":"ben","current":"`+pass+`","password":"`+other+`"}`)
	ben.want(401, "GET", "/metrics", "")
	ben.login("ben", other)
	// Who sits at a page that was left open guesses the password no faster than at the login.
	for range 20 {
		ben.ask("POST", path, `{"current":"wrong wrong wrong","password":"`+pass+`"}`)
	}
	if w := ben.want(429, "POST", path, `{"current":"`+other+`","password":"`+pass+`"}`); w.Header().
		Get("Retry-After") == "" {
		t.Error("it does not tell when")
	}
}

func TestLoginsArePaused(t *testing.T) {
	g := guardedServer(t, Guarding{Hosts: []string{"dyno.example.org"}}) // else X-Forwarded-For is refused
	b := g.visitor(t)
	codes := map[int]int{}
	var last *httptest.ResponseRecorder
	for range 30 {
		last = b.ask("POST", "/api/dyno/v1/login", `{"name":"ben","password":"wrong wrong wrong"}`)
		codes[last.Code]++
	}
	if codes[401] > 6 || codes[401] < 3 || codes[401]+codes[429] != 30 || last.Header().Get("Retry-After") != "1" {
		t.Fatalf("%v, %v", codes, last.Header())
	}
	// Neither the right password nor another header gets past the pause; a token is not held up.
	b.want(429, "POST", "/api/dyno/v1/login", `{"name":"ben","password":"`+pass+`"}`)
	b.want(429, "POST", "/api/dyno/v1/login", `{"name":"ben","password":"`+pass+`"}`, "X-Forwarded-For", "203.0.113.9")
	b.want(200, "GET", "/metrics", "", "Authorization", "Bearer "+g.viewer)
	g.pass(2 * time.Second)
	b.login("ben", pass)
	if n := auditCount(t, g, "refused: unauthorized"); n != codes[401] {
		t.Errorf("%d failures in the log, %d happened", n, codes[401])
	}
}

func auditCount(t *testing.T, g *guarded, outcome string) (n int) {
	t.Helper()
	all, err := g.store.Audit.List(t.Context(), 0, 10_000)
	good(t, err)
	for _, e := range all {
		if e.Outcome == outcome {
			n++
		}
	}
	return n
}

// TestUsersAreNotTold: the answers to a wrong password and to an unknown name are the same to the byte;
// TestUnknownNamesTakeAsLong of store/access holds the times together.
func TestUsersAreNotTold(t *testing.T) {
	g := guardedServer(t, Guarding{})
	ask := func(name, from string) *httptest.ResponseRecorder {
		b := g.visitor(t)
		b.from = from + ":1"
		return b.ask("POST", "/api/dyno/v1/login", `{"name":"`+name+`","password":"wrong wrong wrong"}`)
	}
	for i := range 8 { // also when the pause has begun
		a, b := ask("ben", fmt.Sprintf("192.0.2.%d", i)), ask("nobody", fmt.Sprintf("198.51.100.%d", i))
		if a.Code != b.Code || a.Body.String() != b.Body.String() || fmt.Sprint(a.Header()) != fmt.Sprint(b.Header()) {
			t.Fatalf("try %d:\n%d %v %s\n%d %v %s", i, a.Code, a.Header(), a.Body, b.Code, b.Header(), b.Body)
		}
	}
}

func TestAddressesBehindAProxy(t *testing.T) {
	f := func(hosts, host, remote, forwarded, want string) {
		t.Helper()
		v := New(bare(), Options{Guarding: Guarding{Hosts: strings.Fields(hosts)}})
		r := httptest.NewRequest("GET", "/", nil)
		r.Host, r.RemoteAddr = host, remote
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		if got := v.addressOf(r); got != want {
			t.Errorf("%s from %s (%s): %q, want %q", host, remote, forwarded, got, want)
		}
	}
	f("", "127.0.0.1:1", "127.0.0.1:5", "", "127.0.0.1")
	f("", "127.0.0.1:1", "127.0.0.1:5", "203.0.113.1", "127.0.0.1")                // no proxy is known
	f("d.example", "d.example", "127.0.0.1:5", "203.0.113.1", "203.0.113.1 via ?") // the proxy's word
	// what the caller put before it is not
	f("d.example", "d.example", "127.0.0.1:5", "6.6.6.6, 203.0.113.1", "203.0.113.1 via ?")
	f("d.example", "d.example", "127.0.0.1:5", "garbage", "unknown")
	f("d.example", "d.example", "192.0.2.1:5", "203.0.113.1", "192.0.2.1") // not from here
	f("d.example", "127.0.0.1:8306", "127.0.0.1:5", "203.0.113.1", "127.0.0.1")
	f("", "127.0.0.1:1", "[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::/64")
	f("", "127.0.0.1:1", "[::ffff:192.0.2.1]:5", "", "192.0.2.1")
	f("", "127.0.0.1:1", "[fe80::1%eth0]:5", "", "fe80::/64")
	f("", "127.0.0.1:1", "[::1]:5", "", "::1")
}

// TestAForgedAddressHoldsNobodyUp: another account of this machine names the address that a user logs in from through
// the proxy, which is here the test itself.
func TestAForgedAddressHoldsNobodyUp(t *testing.T) {
	g := guardedServer(t, Guarding{Hosts: []string{"dyno.example.org"}})
	url := "http://" + loopback(t, g)
	login := func(c *http.Client, password string) int {
		t.Helper()
		return answerOf(t, c, "POST", url+"/api/dyno/v1/login", `{"name":"anna","password":"`+password+`"}`,
			"Host", "dyno.example.org", "X-Forwarded-For", "203.0.113.9").code
	}
	if code := login(http.DefaultClient, pass); code != 200 {
		t.Fatalf("anna: %d", code)
	}
	stranger := program.Stranger(t)
	for code := 0; code != 429; {
		if code = login(stranger, "wrong wrong wrong"); code != 401 && code != 429 {
			t.Fatalf("the stranger: %d", code)
		}
	}
	if code := login(http.DefaultClient, pass); code != 200 {
		t.Errorf("anna, whose address a stranger names: %d", code)
	}
}

func TestCookie(t *testing.T) {
	g := guardedServer(t, Guarding{Hosts: []string{"dyno.example.org"}})
	f := func(host string, headers []string, want string) {
		t.Helper()
		b := g.visitor(t)
		b.host, b.from = host, "127.0.0.1:9"
		w := b.want(200, "POST", "/api/dyno/v1/login", `{"name":"ben","password":"`+pass+`"}`, headers...)
		line := w.Header().Get("Set-Cookie")
		name, rest, _ := strings.Cut(line, "=")
		value, flags, _ := strings.Cut(rest, "; ")
		if got := name + " " + flags; got != want || len(value) != 43 {
			t.Errorf("%s: got %s (%s)", host, got, value)
		}
		if strings.Contains(w.Body.String(), value) {
			t.Error("the answer holds the session's secret where a script can read it")
		}
	}
	f("127.0.0.1:9188", nil, "dyno-9188 Path=/; HttpOnly; SameSite=Strict")
	f("localhost", nil, "dyno Path=/; HttpOnly; SameSite=Strict")
	f("dyno.example.org", []string{"X-Forwarded-Proto", "https"}, "__Host-dyno Path=/; HttpOnly; Secure; "+
		"SameSite=Strict")
	f("dyno.example.org:8443", []string{"X-Forwarded-Proto", "https"}, "__Host-dyno-8443 Path=/; HttpOnly; Secure; "+
		"SameSite=Strict")
	s := httptest.NewTLSServer(g)
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/api/dyno/v1/login",
		strings.NewReader(`{"name":"anna","password":"`+pass+`"}`))
	good(t, err)
	r.Header.Set("Content-Type", "application/json")
	a, err := s.Client().Do(r)
	good(t, err)
	defer a.Body.Close()
	if line := a.Header.Get("Set-Cookie"); a.StatusCode != 200 || !strings.HasPrefix(line, "__Host-dyno-") ||
		!strings.HasSuffix(line, "; Path=/; HttpOnly; Secure; SameSite=Strict") {
		t.Errorf("%d %s", a.StatusCode, line)
	}
}

// hostile are texts that must stay texts.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</script><svg onload=alert(1)>`,
	`javascript:alert(1)`, "a\r\nSet-Cookie: x=1\r\n\r\n<b>",
	"right\u202eleft", `\u003c/script\u003e`, `{{7*7}}`, `' OR '1'='1`, `../../etc/passwd`, "\u2028\u2029", "\x00\x01",
}

// TestTextsStayTexts puts hostile texts wherever one can be put, and looks at every answer: JSON that no browser takes
// for anything else, with no character in it that ends a script.
func TestTextsStayTexts(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna := g.visitor(t)
	anna.login("anna", pass)
	for _, x := range hostile {
		b, err := json.Marshal(x)
		good(t, err)
		q := url.QueryEscape(x)
		type request struct{ method, path, body string }
		all := []request{
			{"POST", note, `{"text":` + string(b) + `,"target":` + string(b) + `}`},
			{"POST", note, `{` + string(b) + `:1}`},
			{"POST", "/api/dyno/v1/login", `{"name":` + string(b) + `,"password":` + string(b) + `}`},
			{"POST", "/api/dyno/v1/user/add", `{"name":` + string(b) + `,"role":` + string(b) +
				`,"password":"` + pass + `"}`},
			{"POST", "/api/dyno/v1/user/role", `{"name":` + string(b) + `,"role":"viewer"}`},
			{"POST", "/api/dyno/v1/token/add", `{"name":` + string(b) + `,"role":"viewer"}`},
			{"POST", "/api/dyno/v1/token/remove", `{"id":` + string(b) + `}`},
			{"POST", "/api/dyno/v1/session/remove", `{"id":` + string(b) + `}`},
			{"GET", "/" + url.PathEscape(x), ""},
			{"GET", "/api/v1/label/" + url.PathEscape(x) + "/values", ""},
		}
		for _, p := range g.Paths() {
			if path, ok := strings.CutPrefix(p, "GET "); ok && !strings.ContainsAny(path, "{") &&
				!strings.HasSuffix(path, "/stream") {
				all = append(all, request{"GET", path + "?target=" + q + "&id=" + q + "&from=" + q + "&at=" + q +
					"&query=" + q + "&name=" + q + "&panel=" + q + "&limit=" + q + "&x=" + q, ""})
				all = append(all, request{"GET", path + "?target=shop&id=" + q + "&name=" + q + "&task=" +
					q + "&flavor=" + q, ""})
			}
		}
		for _, r := range all {
			w := anna.ask(r.method, r.path, r.body, "User-Agent", strings.Map(func(c rune) rune {
				if c < 0x20 {
					return -1
				}
				return c
			}, x))
			h := w.Header()
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
				h.Get("Content-Security-Policy") != "default-src 'none'; frame-ancestors 'none'" {
				t.Errorf("%s %s: %v", r.method, r.path, h)
			}
			switch kind := h.Get("Content-Type"); {
			case strings.HasPrefix(kind, "text/plain"), strings.HasPrefix(kind, "application/openmetrics-text"),
				strings.HasPrefix(kind, "application/yaml"), strings.HasPrefix(kind, "text/yaml"):
			case w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect: // of paths with dots
				if to := h.Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
					strings.HasPrefix(to, "/\\") {
					t.Errorf("%s %s leads to %s", r.method, r.path, to)
				}
			case kind != "application/json; charset=utf-8" || !json.Valid(w.Body.Bytes()):
				t.Errorf("%s %s: %d %s %s", r.method, r.path, w.Code, kind, w.Body)
			case bytes.ContainsAny(w.Body.Bytes(), "<>\u2028\u2029"):
				t.Errorf("%s %s: unescaped in %s", r.method, r.path, w.Body)
			}
			if len(h.Values("Set-Cookie")) > 0 {
				t.Errorf("%s %s sets a cookie: %v", r.method, r.path, h)
			}
			if w.Code >= 500 {
				t.Errorf("%s %s: got %d %s", r.method, r.path, w.Code, w.Body)
			}
		}
	}
}

func TestPathsStayInside(t *testing.T) {
	g := guardedServer(t, Guarding{})
	s := httptest.NewServer(g)
	defer s.Close()
	f := func(raw string) {
		t.Helper()
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		good(t, err)
		defer c.Close()
		good(t, c.SetDeadline(time.Now().Add(time.Minute)))
		_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", raw)
		good(t, err)
		var b bytes.Buffer
		_, err = b.ReadFrom(c)
		good(t, err)
		if got := b.String(); strings.Contains(got, "root:") || strings.Contains(got, "mysql_up") ||
			strings.HasPrefix(got, "HTTP/1.1 5") {
			t.Errorf("%s: %s", raw, got)
		}
	}
	for _, p := range []string{
		"/../../../etc/passwd", "/assets/../../../../etc/passwd", "/assets/..%2f..%2f..%2fetc/passwd",
		"/assets/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/assets//etc/passwd",
		"/..\\..\\etc\\passwd", "/assets/..%5c..%5cetc%5cpasswd", "/assets/%00", "/./metrics", "/assets/../metrics",
		"//metrics", "/%6detrics", "/metrics/", "/metrics;x", "/metrics%00",
		"/api/dyno/v1/../../../metrics", "/login/../metrics", "/-/healthy/../../metrics", "http://evil.example/metrics",
		"/api/dyno/v1/session/../targets",
	} {
		f(p)
	}
}

// TestCutAndMadeUpRequests sends bytes as no client does.
func TestCutAndMadeUpRequests(t *testing.T) {
	g := guardedServer(t, Guarding{})
	s := httptest.NewServer(g)
	defer s.Close()
	f := func(raw, want string) {
		t.Helper()
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		good(t, err)
		defer c.Close()
		good(t, c.SetDeadline(time.Now().Add(time.Minute)))
		_, err = c.Write([]byte(raw))
		good(t, err)
		good(t, c.(*net.TCPConn).CloseWrite())
		var b bytes.Buffer
		_, _ = b.ReadFrom(c) // a reset is an answer too
		// on a busy machine the end of sending is seen before the answer is there
		gone := fmt.Sprint(" ", clientGone, " ")
		if got, _, _ := strings.Cut(b.String(), "\r\n"); !strings.Contains(got, want) && !strings.Contains(got, gone) &&
			got != "" || strings.Contains(b.String(), "mysql_up") {
			t.Errorf("%.60q: %s", raw, b.String())
		}
	}
	const host = "Host: 127.0.0.1\r\n"
	f("GET /metrics HTTP/1.1\r\n"+host+host+"\r\n", "400")
	f("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", "400")
	f("GET /metrics HTTP/1.1\r\n\r\n", "400")
	f("GET /metrics HTTP/1.0\r\n\r\n", "421")
	f("POST "+note+" HTTP/1.1\r\n"+host+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET "+
		"/metrics HTTP/1.1\r\n"+host+"\r\n", "40")
	f("POST "+note+" HTTP/1.1\r\n"+host+"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}", "400")
	f("POST "+note+" HTTP/1.1\r\n"+host+"Content-Length: -1\r\n\r\n{}", "400")
	f("GET /metrics HTTP/1.1\r\n"+host+"Authorization: Bearer "+g.viewer+"\r\nAuthorization: Bearer "+
		g.operator+"\r\n\r\n", "401")
	f("GET /metrics HTTP/1.1\r\n"+host+"Authorization: Bearer "+g.viewer+"\x00\r\n\r\n", "400")
	f("GET /metrics HTTP/1.1\r\n"+host+"Authorization: Basic YW5uYTp4\r\n\r\n", "401")
	f("GET /metrics HTTP/1.1\r\n"+host+"Cookie: "+strings.Repeat("dyno=x; ", 2000)+"\r\n\r\n", "4")
	f("GET /metrics HTTP/1.1\r\n"+host+"X: "+strings.Repeat("x", 2<<20)+"\r\n\r\n", "431")
	f("\x16\x03\x01\x02\x00\x01", "400")
	f(strings.Repeat("\x00", 5000), "400")
}

func TestBodiesAreBounded(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna := g.visitor(t)
	anna.login("anna", pass)
	huge := `{"text":"` + strings.Repeat("x", maxBody) + `"}`
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for _, p := range g.Paths() {
		method, path, _ := strings.Cut(p, " ")
		if method != "POST" || kindOf(t, p) == read {
			continue
		}
		if w := anna.ask(method, path, huge); w.Code != 413 && w.Code != 400 {
			t.Errorf("%s: a huge body: got %d %.200s", p, w.Code, w.Body)
		}
		if w := anna.ask(method, path, deep); w.Code/100 != 4 {
			t.Errorf("%s: a deep body: got %d %.200s", p, w.Code, w.Body)
		}
		for _, body := range []string{
			"", "null", "[]", "1", `"x"`, "{", "{}{}", `{"x":1}`, "\xff",
			"{\"name\":\"\xff\"}",
		} {
			if w := anna.ask(method, path, body); w.Code >= 500 || w.Code == 401 &&
				(kindOf(t, p) == changes || kindOf(t, p) == manage) {
				t.Errorf("%s %q: got %d %.200s", p, body, w.Code, w.Body)
			}
		}
		if kindOf(t, p) == self { // they may have ended the session
			anna.login("anna", pass)
		}
	}
}

// TestSlowBodiesAreCutOff: a body that trickles in holds a connection for as long as any answer may take, and no
// longer.
func TestSlowBodiesAreCutOff(t *testing.T) {
	g := guardedServer(t, Guarding{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.ServeHTTP(w, ours(r)) }))
	defer s.Close()
	b := g.visitor(t)
	b.host = s.Listener.Addr().String()
	b.login("anna", pass)
	g.options.Timeout = 500 * time.Millisecond // a password takes its time
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	good(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nCookie: %s=%s\r\n%s: "+
		"%s\r\nContent-Length: 100000\r\n\r\n{", note, b.host, b.cookie.Name, b.cookie.Value, csrfHeader, b.csrf)
	good(t, err)
	good(t, c.SetDeadline(time.Now().Add(time.Minute)))
	begun := time.Now()
	stop := make(chan struct{})
	var trickle sync.WaitGroup
	trickle.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
			}
		}
	})
	var answer bytes.Buffer
	_, err = answer.ReadFrom(c)
	close(stop)
	trickle.Wait()
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Fatalf("it is still read after %v", time.Since(begun))
	}
	if strings.HasPrefix(answer.String(), "HTTP/1.1 2") {
		t.Fatal(answer.String())
	}
}

// TestSlowBodiesOfNobodyAreCutOffSoon: who is not let in has far less time to send a body than who is.
func TestSlowBodiesOfNobodyAreCutOffSoon(t *testing.T) {
	g := guardedServer(t, Guarding{})
	g.bodyWithin = 300 * time.Millisecond
	address := loopback(t, g)
	f := func(path, token string, wait time.Duration, rest, want string) {
		t.Helper()
		c, err := net.Dial("tcp", address)
		good(t, err)
		defer c.Close()
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: "+
			"Bearer %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			path, address, token, len(words), words[:1])
		good(t, err)
		time.Sleep(wait)
		_, _ = io.WriteString(c, rest) // it may be closed by now
		good(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		b, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 "+want) {
			t.Errorf("%s: %.100s %v, want %s", path, b, err, want)
		}
	}
	f("/api/dyno/v1/login", "", 0, "", "400")
	f(note, "", 0, "", "401")
	f(note, g.operator, time.Second, words[1:], "201")
}

// TestNoSecretIsTold does what people do and looks for every secret in all answers and in the log.
func TestNoSecretIsTold(t *testing.T) {
	g := guardedServer(t, Guarding{})
	var all bytes.Buffer
	keep := func(w *httptest.ResponseRecorder) {
		fmt.Fprintln(&all, w.Body)
		fmt.Fprintln(&all, w.Header())
	}
	anna := g.visitor(t)
	anna.login("anna", pass)
	secrets := map[string]string{
		"session": anna.cookie.Value, "password": pass, "new password": other,
		"viewer's token": g.viewer, "operator's token": g.operator,
	}
	for _, p := range g.Paths() {
		method, path, _ := strings.Cut(p, " ")
		path = strings.NewReplacer("{name}", "x", "{$}", "").Replace(path)
		if strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/logout") {
			continue
		}
		keep(anna.ask(method, path, `{"name":"x","password":"`+other+`","current":"`+other+`","role":"viewer"}`))
		keep(anna.ask(method, path+"?target=shop", `{"name":"`+other+`","token":"`+g.operator+`","id":"`+g.viewer+`"}`))
		keep(g.visitor(t).ask(method, path, "{}", "Authorization", "Bearer "+g.viewer))
	}
	us, err := g.store.Audit.List(t.Context(), 0, 10_000)
	good(t, err)
	fmt.Fprintf(&all, "%+v\n%s", us, g.log)
	for what, secret := range secrets {
		if what == "new password" {
			continue // it is also used as a name, which an error repeats
		}
		if i := strings.Index(all.String(), secret); i >= 0 {
			t.Errorf("the %s is told: …%s…", what, all.String()[max(0, i-200):i+50])
		}
	}
	if strings.Contains(g.log.String(), other) || strings.Contains(fmt.Sprint(us), other) {
		t.Error("the log holds what was typed into the wrong field")
	}
	if strings.Contains(all.String(), "argon2id") {
		t.Error("a hash is told")
	}
}

func TestEveryAnswerIsLockedForStrangersToo(t *testing.T) {
	g := guardedServer(t, Guarding{HSTS: true})
	for _, r := range [][2]string{
		{"GET", "/"},
		{"GET", "/metrics"},
		{"GET", "/nowhere"},
		{"POST", note},
		{"GET", "/api/dyno/v1/session"},
		{"POST", "/api/dyno/v1/login"},
	} {
		h := g.visitor(t).ask(r[0], r[1], "").Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Strict-Transport-Security": "",
			"Access-Control-Allow-Origin": "", "Server": "",
		} {
			if h.Get(name) != want {
				t.Errorf("%v: %s is %q", r, name, h.Get(name))
			}
		}
	}
	s := httptest.NewTLSServer(g)
	defer s.Close()
	a, err := s.Client().Get(s.URL + "/-/healthy")
	good(t, err)
	a.Body.Close()
	if a.Header.Get("Strict-Transport-Security") == "" {
		t.Error("with TLS and HSTS it is not sent")
	}
}
