package web

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// served is Handler under the paths that it says it has, as the program mounts it.
func served(t *testing.T, dir string) http.Handler {
	t.Helper()
	h := Handler(dir)
	mux := http.NewServeMux()
	for _, p := range Paths() {
		mux.Handle("GET "+p, h)
	}
	return mux
}

func ask(t *testing.T, h http.Handler, method, path string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body}
}

// answer is what the handler wrote.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

func body(t *testing.T, r answer) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const html = "text/html,application/xhtml+xml,*/*;q=0.8"

// asset returns the path of a built file with that ending.
func asset(t *testing.T, ending string) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files(t))) {
		if strings.HasSuffix(name, ending) {
			return "/" + name
		}
	}
	t.Fatalf("no built file ends with %s; build/ui makes them", ending)
	return ""
}

// files returns what is built.
func files(t *testing.T) map[string]*file {
	t.Helper()
	dist, err := fs.Sub(built, "dist")
	if err != nil {
		t.Fatal(err)
	}
	all, err := read(dist)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stored returns one of them.
func stored(t *testing.T, name string) string {
	t.Helper()
	f := files(t)[name]
	if f == nil {
		t.Fatalf("there is no %s; build/ui makes it", name)
	}
	return string(f.body)
}

func TestEveryPageIsTheDocument(t *testing.T) {
	h := served(t, "")
	want := stored(t, "index.html")
	for _, p := range append([]string{""}, pages...) {
		r := ask(t, h, "GET", "/"+p+"?target=shop", "Accept", html)
		if r.StatusCode != 200 || body(t, r) != want {
			t.Errorf("/%s: status %d, and not the document", p, r.StatusCode)
		}
		if got := r.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
			t.Errorf("/%s: type %s", p, got)
		}
		if got := r.Header.Get("Cache-Control"); got != "no-cache" || r.Header.Get("ETag") == "" {
			t.Errorf("/%s: cache %q, tag %q", p, got, r.Header.Get("ETag"))
		}
		if got := r.Header.Get("Content-Security-Policy"); got != Policy {
			t.Errorf("/%s: policy %q", p, got)
		}
	}
}

// The script has its own list of pages: an address that only one of the two knows is a broken link.
func TestPagesAreThoseOfTheScript(t *testing.T) {
	b, err := os.ReadFile("../../ui/src/core/url.ts")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)export const pages = \[(.*?)\]`).FindSubmatch(b)
	if m == nil {
		t.Fatal("url.ts has no list of pages")
	}
	var got []string
	for _, x := range regexp.MustCompile(`'([a-z]+)'`).FindAllSubmatch(m[1], -1) {
		got = append(got, string(x[1]))
	}
	if want := append([]string{"fleet"}, pages...); !slices.Equal(got, want) {
		t.Errorf("url.ts has %v, want %v", got, want)
	}
}

func TestDocumentHasNothingInline(t *testing.T) {
	b := stored(t, "index.html")
	for _, wrong := range []string{
		`<script>`, `<style`, ` style=`, ` onload=`, ` onerror=`, `javascript:`, `http:`,
		`https:`, `src="/`, `href="/`,
	} {
		if strings.Contains(b, wrong) {
			t.Errorf("the document has %s", wrong)
		}
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="\./([^"]+)"`).FindAllStringSubmatch(b, -1) {
		stored(t, m[1])
		if !hashed.MatchString(m[1]) {
			t.Errorf("%s has no hash in its name: a browser would keep an old one", m[1])
		}
	}
}

func TestAssets(t *testing.T) {
	h := served(t, "")
	f := func(ending, kind string) {
		t.Helper()
		p := asset(t, ending)
		r := ask(t, h, "GET", p)
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != kind || r.Header.Get("Content-Encoding") != "" {
			t.Fatalf("%s: %d %v", p, r.StatusCode, r.Header)
		}
		if body(t, r) != stored(t, strings.TrimPrefix(p, "/")) {
			t.Errorf("%s: not the file", p)
		}
		if got := r.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: cache %q", p, got)
		}
	}
	f(".js", "text/javascript; charset=utf-8")
	f(".css", "text/css; charset=utf-8")
	f(".svg", "image/svg+xml")
}

func TestGzip(t *testing.T) {
	h := served(t, "")
	p := asset(t, ".css")
	want := stored(t, strings.TrimPrefix(p, "/"))
	f := func(accept string, zipped bool) {
		t.Helper()
		r := ask(t, h, "GET", p, "Accept-Encoding", accept)
		if got := r.Header.Get("Content-Encoding") == "gzip"; got != zipped ||
			r.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%q: gzip %v, want %v; vary %q", accept, got, zipped, r.Header.Get("Vary"))
		}
		in := r.Body
		if zipped {
			z, err := gzip.NewReader(in)
			if err != nil {
				t.Fatal(err)
			}
			in = z
			if n, err := strconv.Atoi(r.Header.Get("Content-Length")); err != nil || n >= len(want) {
				t.Errorf("%d bytes with gzip, %d without: %v", n, len(want), err)
			}
		}
		if b, err := io.ReadAll(in); err != nil || string(b) != want {
			t.Errorf("%q: not the file: %v", accept, err)
		}
	}
	f("gzip, deflate, br, zstd", true)
	f("br;q=1.0, gzip;q=0.5", true)
	f("*", true)
	f("", false)
	f("identity", false)
	f("gzip;q=0, *", false)
	f("gzip;q=wrong", false)
	f("br, *;q=0", false)
}

func TestNotModified(t *testing.T) {
	h := served(t, "")
	f := func(encoding string) {
		t.Helper()
		tag := ask(t, h, "GET", "/", "Accept-Encoding", encoding).Header.Get("ETag")
		for _, s := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			r := ask(t, h, "GET", "/overview", "Accept-Encoding", encoding, "If-None-Match", s)
			if r.StatusCode != http.StatusNotModified || body(t, r) != "" || r.Header.Get("ETag") != tag {
				t.Errorf("%s: status %d", s, r.StatusCode)
			}
		}
		if r := ask(t, h, "GET", "/", "Accept-Encoding", encoding, "If-None-Match", `"other"`); r.StatusCode != 200 {
			t.Errorf("another tag: status %d", r.StatusCode)
		}
	}
	f("")
	f("gzip")
	if ask(t, h, "GET", "/").Header.Get("ETag") == ask(t, h, "GET", "/", "Accept-Encoding", "gzip").Header.Get("ETag") {
		t.Error("both encodings have one tag: a proxy would take one for the other")
	}
}

func TestHead(t *testing.T) {
	h := served(t, "")
	for _, p := range []string{"/", "/queries", asset(t, ".js")} {
		get, head := ask(t, h, "GET", p), ask(t, h, "HEAD", p)
		if head.StatusCode != 200 || body(t, head) != "" ||
			head.Header.Get("Content-Length") != get.Header.Get("Content-Length") {
			t.Errorf("HEAD %s: %d %v", p, head.StatusCode, head.Header)
		}
	}
}

func TestWrongPaths(t *testing.T) {
	h := served(t, "")
	f := func(path, accept, kind string) {
		t.Helper()
		r := ask(t, h, "GET", path, "Accept", accept)
		b := body(t, r)
		if r.StatusCode != 404 || r.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if kind == "application/json" && !json.Valid([]byte(b)) {
			t.Errorf("%s: %s", path, b)
		}
	}
	f("/nothing", html, "text/html; charset=utf-8") // the page itself says that there is none
	f("/index.html", html, "text/html; charset=utf-8")
	f("/nothing", "*/*", "application/json")
	f("/favicon.ico", "image/avif,*/*", "application/json")
	f("/assets/", html, "application/json") // no list of files
	f("/assets/nothing.js", html, "application/json")
	f("/assets/index.html", html, "application/json")
	f("/assets/%2e%2e/index.html", html, "application/json")
	f("/assets/..%2findex.html", html, "application/json")
	f("/assets/..%5c..%5cweb.go", html, "application/json")
	f("/assets/%00", html, "application/json")
	if r := ask(t, Handler(""), "POST", "/"); r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", r.StatusCode)
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "site", "assets"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("secret.js", "secret")
	write("site/index.html", "one")
	write("site/assets/a-12345678.js", "mine")
	if err := os.Symlink("../../secret.js", filepath.Join(dir, "site", "assets", "link.js")); err != nil {
		t.Fatal(err)
	}
	h := served(t, filepath.Join(dir, "site"))
	if got := body(t, ask(t, h, "GET", "/experiments")); got != "one" {
		t.Errorf("the document is %q", got)
	}
	r := ask(t, h, "GET", "/assets/a-12345678.js")
	if body(t, r) != "mine" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the asset: %v", r.Header)
	}
	for _, p := range []string{"/assets/link.js", "/assets/../../secret.js", "/assets/%2e%2e/%2e%2e/secret.js"} {
		if got := body(t, ask(t, Handler(filepath.Join(dir, "site")), "GET", p)); strings.Contains(got, "secret") {
			t.Errorf("%s leads out of the directory", p)
		}
	}
	write("site/index.html", "two") // seen at once
	if got := body(t, ask(t, h, "GET", "/")); got != "two" {
		t.Errorf("the document is %q after a change", got)
	}
	if r := ask(t, served(t, filepath.Join(dir, "nothing")), "GET", "/"); r.StatusCode != 500 {
		t.Errorf("no such directory: %d", r.StatusCode)
	}
}

// TestSize holds what a browser fetches before a page is of use, for every page, and what all pages take together.
func TestSize(t *testing.T) {
	const mostForOne, mostForAll = 102_000, 156_000
	all := files(t)
	size := func(name string) int {
		f := all[name]
		if f == nil {
			t.Fatalf("%s is asked for and not there", name)
		}
		if z := f.zipped(); z != nil {
			return len(z)
		}
		return len(f.body)
	}
	// What is needed is what the document names, the page's own part, and whatever these import, on and on.
	static := regexp.MustCompile(`(?:from|import)"\./([^"]+)"`)
	linked := regexp.MustCompile(`(?:src|href)="\./(assets/[^"]+\.(?:js|css))"`)
	var need func(set map[string]bool, name string)
	need = func(set map[string]bool, name string) {
		if set[name] {
			return
		}
		set[name] = true
		if strings.HasSuffix(name, ".js") {
			for _, m := range static.FindAllStringSubmatch(string(all[name].body), -1) {
				need(set, "assets/"+m[1])
			}
		}
	}
	first := map[string]bool{}
	entry := ""
	for _, m := range linked.FindAllStringSubmatch(string(all["index.html"].body), -1) {
		need(first, m[1])
		if strings.HasPrefix(m[1], "assets/index-") && strings.HasSuffix(m[1], ".js") {
			entry = string(all[m[1]].body)
		}
	}
	list := regexp.MustCompile(`\["\./[^\]]*\]`).FindString(entry) // what pages bring along, by number
	var parts []string
	if err := json.Unmarshal([]byte(list), &parts); err != nil {
		t.Fatalf("the list of parts in the script: %v", err)
	}
	pages := 0
	for _, m := range regexp.MustCompile(`import\("\./([a-z]+)-[^"]+\.js"\)[^,]*,__vite__mapDeps\(\[([0-9,]+)\]`).
		FindAllStringSubmatch(entry, -1) {
		pages++
		set := map[string]bool{}
		for name := range first {
			set[name] = true
		}
		for n := range strings.SplitSeq(m[2], ",") {
			i, err := strconv.Atoi(n)
			if err != nil || i >= len(parts) {
				t.Fatalf("page %s needs part %s of %d", m[1], n, len(parts))
			}
			need(set, "assets/"+strings.TrimPrefix(parts[i], "./"))
		}
		sum := 0
		for name := range set {
			sum += size(name)
		}
		t.Logf("%s: %d bytes with gzip", m[1], sum)
		if sum > mostForOne {
			t.Errorf("page %s takes %d bytes with gzip, want at most %d", m[1], sum, mostForOne)
		}
	}
	if pages < 10 {
		t.Errorf("%d pages found in the script", pages)
	}
	sum := 0
	for name := range all {
		if strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".css") {
			sum += size(name)
		}
	}
	t.Logf("all scripts and styles: %d bytes with gzip", sum)
	if sum > mostForAll {
		t.Errorf("all scripts and styles are %d bytes with gzip, want at most %d", sum, mostForAll)
	}
}
