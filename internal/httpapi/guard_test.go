package httpapi

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestOnlyThisMachineIsAnswered(t *testing.T) {
	v := newWorld(t, Options{})
	f := func(host string, want int) {
		t.Helper()
		if w := request(v, "GET", "/api/dyno/v1/targets", "", "Host", host); w.Code != want {
			t.Fatalf("%q: got %d %s", host, w.Code, w.Body)
		} else if want != http.StatusOK {
			told(t, w)
		}
	}
	f("127.0.0.1:9188", 200)
	f("127.0.0.1", 200)
	f("127.8.9.1:1", 200)
	f("localhost:9188", 200)
	f("LocalHost", 200)
	f("[::1]:9188", 200)
	f("[::1]", 200)
	f("evil.example", 421) // its name was made to resolve to 127.0.0.1
	f("evil.example:9188", 421)
	f("127.0.0.1.evil.example:9188", 421)
	f("localhost.evil.example", 421)
	f("10.0.0.5:9188", 421)
	f("0.0.0.0:9188", 421)
	f("[fe80::1]:9188", 421)
	f("", 421)
}

func TestOtherOriginsCannotChangeAnything(t *testing.T) {
	v := newWorld(t, Options{})
	f := func(want int, headers ...string) {
		t.Helper()
		before := len(v.notes(t))
		w := request(v, "POST", "/api/dyno/v1/annotate", `{"text":"x"}`,
			append([]string{"Content-Type", "application/json"}, headers...)...)
		if w.Code != want || (len(v.notes(t)) > before) != (want == 201) {
			t.Fatalf("%v: got %d %s", headers, w.Code, w.Body)
		}
		if want != 201 {
			told(t, w)
		}
	}
	f(201) // no browser
	f(201, "Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:9188")
	f(201, "Origin", "http://127.0.0.1:9188")
	f(403, "Sec-Fetch-Site", "cross-site")
	f(403, "Sec-Fetch-Site", "same-site") // another port of this machine
	f(403, "Origin", "http://evil.example")
	f(403, "Origin", "http://127.0.0.1:3000")
	f(403, "Origin", "null")
	f(415, "Content-Type", "text/plain") // what a form can send without being asked
	f(415, "Content-Type", "application/x-www-form-urlencoded")
	f(415, "Content-Type", "")
	f(201, "Content-Type", "application/json; charset=utf-8")
}

// TestOtherSitesCannotMakeTheAPIWork: an image or a frame of another page neither looks for servers nor runs a query.
func TestOtherSitesCannotMakeTheAPIWork(t *testing.T) {
	v := newWorld(t, Options{
		Page:      http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		PagePaths: []string{"/{$}"},
	})
	f := func(want int, method, path string, headers ...string) {
		t.Helper()
		w := request(v, method, path, "", headers...)
		if (w.Code == 403) != (want == 403) || want == 200 && w.Code != 200 {
			t.Errorf("%s %s %v: got %d %s", method, path, headers, w.Code, w.Body)
		}
	}
	const other = 501 // or whatever the path itself says
	for _, p := range v.Paths() {
		method, path, _ := strings.Cut(p, " ")
		if path = strings.NewReplacer("{name}", "x", "{$}", "").Replace(path); method != "GET" ||
			!strings.HasPrefix(path, "/api/") || strings.HasSuffix(path, "/stream") {
			continue
		}
		for _, site := range []string{"cross-site", "same-site"} {
			f(403, "GET", path, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image")
			f(403, "GET", path, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")
			f(403, "HEAD", path, "Sec-Fetch-Site", site)
		}
		f(other, "GET", path, "Sec-Fetch-Site", "same-origin")
		f(other, "GET", path, "Sec-Fetch-Site", "none")
		f(other, "GET", path)
	}
	f(403, "GET", "/api/dyno/v1/discover", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate",
		"Sec-Fetch-Dest", "document")
	f(403, "HEAD", "/api/dyno/v1/stream", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors",
		"Sec-Fetch-Dest", "empty")
	for _, path := range []string{"/metrics", "/probe?target=shop"} { // all the turns of who is logged in
		f(403, "GET", path, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image")
		f(other, "GET", path, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate",
			"Sec-Fetch-Dest", "document")
	}
	// a link in a ticket
	f(other, "GET", "/api/dyno/v1/report.html?id=d-1", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate",
		"Sec-Fetch-Dest", "document")
	f(200, "GET", "/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	f(403, "GET", "/metrics", "Sec-Fetch-Site", "same-site")
	f(200, "GET", "/metrics", "Sec-Fetch-Site", "same-origin")
}

// TestProxiesMustBeNamed: all that comes through one comes from this machine, and would be let in.
func TestProxiesMustBeNamed(t *testing.T) {
	s := newWorld(t, Options{}).Services
	f := func(o Guarding, want int, headers ...string) {
		t.Helper()
		w := request(New(s, Options{Guarding: o}), "GET", "/metrics", "", headers...)
		if w.Code != want {
			t.Fatalf("%+v %v: got %d %s", o, headers, w.Code, w.Body)
		}
		if want == 421 {
			if p := told(t, w); !strings.Contains(p.Hint, "--host") || !strings.Contains(p.Error, headers[0]) {
				t.Errorf("%+v", p)
			}
		}
	}
	for _, name := range []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
		"Forwarded", "Via", "X-Real-IP",
	} {
		f(Guarding{}, 421, name, "203.0.113.1")
		f(Guarding{}, 421, name, "")
		f(Guarding{Hosts: []string{"dyno.example.org"}}, 401, name, "203.0.113.1") // as ever: a login is needed
		f(Guarding{Beyond: true}, 401, name, "203.0.113.1")
	}
	f(Guarding{}, 200)
	f(Guarding{}, 200, "X-Forwarded", "x", "User-Agent", "via")
}

// TestTheHostnameIsAName: beyond this machine, where a certificate of our own has it too.
func TestTheHostnameIsAName(t *testing.T) {
	name, err := os.Hostname()
	if err != nil || name == "" || loopbackHost(name) {
		t.Skip("this machine has no name")
	}
	s := newWorld(t, Options{}).Services
	f := func(o Guarding, host string, want int) {
		t.Helper()
		if w := request(New(s, Options{Guarding: o}), "GET", "/-/healthy", "", "Host",
			host); w.Code != want {
			t.Errorf("%s: got %d", host, w.Code)
		}
	}
	f(Guarding{Beyond: true}, name, 200)
	f(Guarding{Beyond: true}, strings.ToUpper(name)+".:8306", 200)
	f(Guarding{Beyond: true}, name+".evil.example", 421)
	f(Guarding{Beyond: true}, "", 421)
	f(Guarding{}, name, 421)
	f(Guarding{Hosts: []string{"dyno.example.org"}}, name, 421)
}

func TestEveryAnswerIsLocked(t *testing.T) {
	v := newWorld(t, Options{})
	for _, path := range []string{"/", "/metrics", "/api/dyno/v1/targets", "/nowhere", "/api/v1/query"} {
		h := request(v, "GET", path, "", "Origin", "http://evil.example").Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		for name := range h {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s lets other origins read", path, name)
			}
		}
	}
}

func TestWrongPathsMethodsAndSizesAreToldInJSON(t *testing.T) {
	v := newWorld(t, Options{})
	f := func(method, path, body string, want int, headers ...string) {
		t.Helper()
		w := request(v, method, path, body, headers...)
		if w.Code != want {
			t.Fatalf("%s %s: got %d %s", method, path, w.Code, w.Body)
		}
		if method != "HEAD" {
			told(t, w)
		}
	}
	f("GET", "/nowhere", "", 404)
	f("GET", "/api/v1/admin/tsdb/delete_series", "", 404)
	f("POST", "/metrics", "", 405)
	f("GET", "/api/dyno/v1/annotate", "", 405)
	f("DELETE", "/api/dyno/v1/targets", "", 405)
	f("OPTIONS", "/api/dyno/v1/annotate", "", 405, "Origin", "http://evil.example")
	f("POST", "/api/dyno/v1/annotate", `{"text":"`+strings.Repeat("x", maxBody)+`"}`, 413,
		"Content-Type", "application/json")
	f("POST", "/api/v1/query", "query="+strings.Repeat("x", maxBody+1), 413, "Content-Type",
		"application/x-www-form-urlencoded")
	f("POST", "/api/v1/query", "query=%zz", 400, "Content-Type", "application/x-www-form-urlencoded")
	if w := request(v, "DELETE", "/api/v1/query", ""); !strings.Contains(w.Header().Get("Allow"), "POST") {
		t.Fatalf("what is allowed is not told: %v", w.Header())
	}
}
