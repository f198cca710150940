// Package web is the web UI of `dyno serve`: built assets that are part of the program, and the
// handler that serves them. It holds no data; the UI gets them from package httpapi.
//
// The UI is one document, index.html, at every address; the browser derives from the address what
// to show. Names of assets contain a hash of their content, so a browser caches them permanently.
// It requests the document itself each time.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

//go:embed all:dist
var built embed.FS

// pages are the addresses of the UI besides "/", as ui/src/core/url.ts has them.
var pages = []string{
	"overview", "activity", "queries", "explorer", "findings", "changes", "experiments", "overhead", "settings",
	"login", "welcome",
}

// Policy is the Content-Security-Policy of the page: scripts and styles of its own files only, nothing inline, nothing
// from elsewhere.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'none'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Paths returns the paths that Handler answers, as http.ServeMux takes them. The last one is for wrong addresses: a
// browser is shown the page, which says so and leads back.
func Paths() []string {
	out := []string{"/{$}", "/assets/"}
	for _, p := range pages {
		out = append(out, "/"+p)
	}
	return append(out, "/{page}")
}

// Handler serves the page: the built one, or with dir the files of that directory as they are now, for those who work
// on it. It answers GET and HEAD.
func Handler(dir string) http.Handler {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path
	}
	s := &site{open: sync.OnceValues(func() (map[string]*file, error) { return read(files) })}
	if dir != "" {
		s.fresh = true
		s.open = func() (map[string]*file, error) {
			root, err := os.OpenRoot(dir) // links in it lead nowhere else
			if err != nil {
				return nil, err
			}
			defer root.Close()
			return read(root.FS())
		}
	}
	return s
}

// site answers from the files that open returns, by their slash-separated paths.
type site struct {
	open  func() (map[string]*file, error)
	fresh bool // nothing may be kept by a browser
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		say(w, r, http.StatusMethodNotAllowed, "only GET and HEAD are allowed here")
		return
	}
	files, err := s.open()
	if err != nil {
		say(w, r, http.StatusInternalServerError, "the web UI cannot be read: "+err.Error())
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/assets/")
	if ok {
		f := files["assets/"+name]
		if f == nil {
			say(w, r, http.StatusNotFound, "there is no such file")
			return
		}
		cache := "no-cache"
		if hashed.MatchString(name) {
			cache = "public, max-age=31536000, immutable"
		}
		s.send(w, r, f, http.StatusOK, cache)
		return
	}
	code := http.StatusOK
	if p := strings.TrimPrefix(r.URL.Path, "/"); p != "" && !slices.Contains(pages, p) {
		// A program that asked for a path of the API that is not there wants words, not a document.
		if code = http.StatusNotFound; !strings.Contains(r.Header.Get("Accept"), "text/html") {
			say(w, r, code, "there is no such path; GET /api/dyno/v1/ lists all")
			return
		}
	}
	f := files["index.html"]
	if f == nil {
		say(w, r, http.StatusNotFound, "this Dyno was built without its page; build/ui makes it")
		return
	}
	s.send(w, r, f, code, "no-cache")
}

// hashed are the names that the build gives: name-HASH.ext.
var hashed = lazyregexp.New(`-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)

func (s *site) send(w http.ResponseWriter, r *http.Request, f *file, code int, cache string) {
	h := w.Header()
	body, tag := f.body, f.tag
	if z := f.zipped(); z != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r.Header.Values("Accept-Encoding")) {
			body, tag = z, strings.TrimSuffix(tag, `"`)+`-gz"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	if s.fresh {
		cache = "no-store"
	} else {
		h.Set("ETag", tag)
	}
	h.Set("Cache-Control", cache)
	if code == http.StatusOK && !s.fresh && matches(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// say answers in words, in the form of the API's errors.
func say(w http.ResponseWriter, r *http.Request, code int, text string) {
	kind := map[int]string{http.StatusNotFound: "not_found", http.StatusMethodNotAllowed: "bad_data"}[code]
	if kind == "" {
		kind = "internal"
	}
	body := `{"status":"error","errorType":"` + kind + `","error":` + strconv.QuoteToASCII(text) + "}\n"
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, body)
	}
}

// file is one file as it is sent.
type file struct {
	body   []byte
	kind   string        // Content-Type
	tag    string        // ETag of body
	zipped func() []byte // body with gzip, made once; nil where that is not worth it
}

// read reads all files of a tree. There are few and they are small; what is not in the map does not exist for a
// request, so that no path of one ever reaches the file system.
func read(files fs.FS) (map[string]*file, error) {
	out := map[string]*file{}
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		zipped := sync.OnceValue(func() []byte { return zip(body) })
		if full, ok := strings.CutSuffix(name, ".gz"); ok { // as build/ui leaves what is worth it
			z := body
			name, zipped = full, func() []byte { return z }
			if body, err = unzip(z); err != nil {
				return err
			}
		}
		sum := sha256.Sum256(body)
		out[name] = &file{
			body: body, kind: kind(name), tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
			zipped: zipped,
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such directory")
	}
	return out, err
}

// kinds does not ask the system's tables, which differ from machine to machine.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json", ".txt": "text/plain; charset=utf-8", ".png": "image/png", ".ico": "image/x-icon",
}

func kind(name string) string {
	if k := kinds[path.Ext(name)]; k != "" {
		return k
	}
	return "application/octet-stream"
}

// unzip returns what zip was given.
func unzip(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// zip returns b with gzip, nil when that saves less than a tenth.
func zip(b []byte) []byte {
	var out strings.Builder
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is a valid one
	_, _ = z.Write(b)                                       // a Builder takes everything
	_ = z.Close()
	if out.Len() > len(b)*9/10 {
		return nil
	}
	return []byte(out.String())
}

// takesGzip reads Accept-Encoding (RFC 9110, 12.5.3).
func takesGzip(headers []string) bool {
	any := false
	for _, h := range headers {
		for part := range strings.SplitSeq(h, ",") {
			name, params, err := mime.ParseMediaType(strings.TrimSpace(part))
			if err != nil {
				continue
			}
			q := 1.0
			if s, ok := params["q"]; ok {
				if q, err = strconv.ParseFloat(s, 64); err != nil {
					q = 0
				}
			}
			switch name {
			case "gzip", "x-gzip":
				return q > 0
			case "*":
				any = q > 0
			}
		}
	}
	return any
}

// matches reads If-None-Match (RFC 9110, 13.1.2), whose comparison is the weak one.
func matches(headers []string, tag string) bool {
	for _, h := range headers {
		for part := range strings.SplitSeq(h, ",") {
			if p := strings.TrimPrefix(strings.TrimSpace(part), "W/"); p == "*" || p == tag {
				return true
			}
		}
	}
	return false
}
