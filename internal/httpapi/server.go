package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/store/access"
)

// Options are what the handler needs beside its Services; the zero value works.
type Options struct {
	Version string       // of Dyno, told by status/buildinfo
	Log     *slog.Logger // failures that are not the caller's; nil: none
	// Replay is how long the stream remembers what it sent, for clients that come back; 0 is a minute.
	Replay time.Duration
	// Page serves the page that people look at, and PagePaths are the paths it answers, as http.ServeMux takes them
	// ("/{$}", "/assets/"); nil: there is none, and "/" lists the paths.
	Page      http.Handler
	PagePaths []string
	// Listen is the address that it answers on, told by settings.
	Listen string
	// Every is the time between two readings of a target, by which the page knows that one is late.
	Every time.Duration
	// Timeout bounds every answer but the stream's; 0 is a minute.
	Timeout time.Duration
	// Guarding says who is answered.
	Guarding Guarding
}

// Server is the handler of all paths. It is safe for concurrent use.
type Server struct {
	*gate
	services Services
	mux      *http.ServeMux
	paths    []string // as registered: "GET /metrics"
	handler  http.Handler
	hub      *hub
	turns    turns
	queries  turns
	crowd    crowd // by address

	refusals refusals

	quiet       time.Duration // of the stream, as is writeWithin; tests have shorter ones
	writeWithin time.Duration
	bodyWithin  time.Duration // of who is not let in yet
}

// bodyWithin is how long who is not let in yet may take to send what a login is, and whatever else.
const bodyWithin = 10 * time.Second

// New returns a handler that answers from s. What happens live comes in through Publish.
func New(s Services, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Replay <= 0 {
		o.Replay = time.Minute
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	g := &gate{origins: origins{guarding: o.Guarding}, access: s.Access, options: o, log: o.Log}
	if o.Guarding.Beyond {
		g.hostname, _ = os.Hostname() // without one it has a name less
	}
	v := &Server{
		gate: g, services: s, mux: http.NewServeMux(), hub: newHub(o.Replay),
		queries: turns{ofOne: queriesOfOneAtOnce}, quiet: quiet, writeWithin: writeWithin, bodyWithin: bodyWithin,
	}
	v.routes()
	v.handler = v.guard(http.HandlerFunc(v.route))
	return v
}

// ServeHTTP answers one request.
func (v *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A client that sends or reads too slowly must not hold a connection and an answer for ever. The deadline of
	// reading is the later one, for net/http takes a passed one for a caller that went away. Recorders of tests have no
	// deadlines.
	c := http.NewResponseController(w)
	v.mayTakeLong(w)
	if r.ContentLength != 0 { // admit, and a login that was read, give the rest of the time
		_ = c.SetReadDeadline(time.Now().Add(min(v.bodyWithin, 2*v.options.Timeout)))
	}
	_ = c.SetWriteDeadline(time.Now().Add(v.options.Timeout + 10*time.Second))
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	v.handler.ServeHTTP(w, r)
}

// mayTakeLong lets a request be read for as long as any.
func (v *gate) mayTakeLong(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(2 * v.options.Timeout))
}

// Publish hands a reading to everybody who follows the stream. It takes no longer than copying it and never waits for a
// client; r.State and r.Events must not be changed afterwards, the rest of r is not kept.
func (v *Server) Publish(r reading.Reading) { v.hub.publish(r) }

// Paths returns what is answered, as "METHOD /path", in order of registration.
func (v *Server) Paths() []string { return v.paths }

func (v *Server) routes() {
	if v.options.Page != nil {
		v.page()
	} else {
		v.handle("GET /{$}", v.index)
	}
	v.handle("GET /api/dyno/v1/{$}", v.index)
	v.register("GET /-/healthy", alive)
	v.register("GET /-/ready", alive)
	s := v.services
	queryAPI{s.Engine, v.options.Version}.routes(v)
	scrapeAPI{s.Fleet}.routes(v)
	fleetAPI{s.Fleet, s.Metrics, s.Health}.routes(v)
	stateAPI{s.Fleet, s.History}.routes(v)
	lockAPI{s.Fleet, s.History}.routes(v)
	classAPI{s.Classes, s.Fleet, s.History}.routes(v)
	eventAPI{s.Events}.routes(v)
	v.handleLong("GET /api/dyno/v1/stream", v.stream)
	graphAPI{s.Metrics, s.Fleet}.routes(v)
	taskAPI{&s.Tasks}.routes(v)
	findingAPI{s.Diagnoses, s.Fleet}.routes(v)
	incidentAPI{s.Incidents, s.Classes, s.Fleet}.routes(v)
	changeAPI{s.Changes}.routes(v)
	labAPI{s.Lab}.routes(v)
	settingAPI{s.Service, s.Inventory, s.Retention, v.options.Listen}.routes(v)
	loginAPI{v.gate}.routes(v)
	userAPI{s.Access, v.accountOf}.routes(v)
	v.openapiRoutes()
}

// handle registers an answer that has a time limit, for everybody who may read.
func (v *Server) handle(pattern string, h http.HandlerFunc) {
	v.handleIn(&v.turns, pattern, h)
}

// handleIn is handle for answers that have turns of their own.
func (v *Server) handleIn(x *turns, pattern string, h http.HandlerFunc) {
	v.register(pattern, v.timed(v.admit(access.Viewer, false, v.inTurnOf(x, h))))
}

// handleLong registers an answer without a time limit, for everybody who may read; it ends when they may no longer.
func (v *Server) handleLong(pattern string, h http.HandlerFunc) {
	v.register(pattern, v.admit(access.Viewer, false, v.held(h)))
}

// route answers by path; what has none, or not with that method, is told in JSON too.
func (v *Server) route(w http.ResponseWriter, r *http.Request) {
	if v.proxied(r) {
		name := v.addressOf(r)
		if !v.crowd.enter(name, underWay) {
			w.Header().Set("Connection", "close") // its body is not waited for
			respondError(w, http.StatusServiceUnavailable, "unavailable", "too many requests from this address are "+
				"answered at the moment: wait for answers")
			return
		}
		defer v.crowd.leave(name)
	}
	h, pattern := v.mux.Handler(r)
	if pattern != "" {
		v.mux.ServeHTTP(w, r)
		return
	}
	var says verdict
	h.ServeHTTP(&says, r)
	if allow := says.header.Get("Allow"); says.code == http.StatusMethodNotAllowed && allow != "" {
		w.Header().Set("Allow", allow)
		respondError(w, says.code, "bad_data", "method "+r.Method+" is not allowed here, only "+allow)
		return
	}
	respondError(w, http.StatusNotFound, "not_found", "there is no such path; GET /api/dyno/v1/ lists all")
}

// verdict keeps what a handler would have answered, without the text.
type verdict struct {
	header http.Header
	code   int
}

func (v *verdict) Header() http.Header {
	if v.header == nil {
		v.header = http.Header{}
	}
	return v.header
}

func (v *verdict) Write(b []byte) (int, error) { return len(b), nil }
func (v *verdict) WriteHeader(code int)        { v.code = code }

// page registers the page's own paths. They are not part of the API, so Paths does not name them.
func (v *Server) page() {
	for _, p := range v.options.PagePaths {
		v.mux.Handle("GET "+p, v.options.Page)
	}
}

// isJSON reports whether a request says that its body is JSON. A form on a foreign page cannot say so without asking
// first, which is a second lock beside the check of the origin.
func isJSON(r *http.Request) bool {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && t == "application/json"
}

// decodeJSON reads the body's one JSON value into x. Members that x does not have to the letter are refused, and those
// that are there twice. Errors wrap errBadRequest.
func decodeJSON(r *http.Request, x any) error {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(body))
		err = d.Decode(x)
		if err == nil && d.Decode(&struct{}{}) != io.EOF {
			err = errors.New("there is more than one value")
		}
	}
	if err == nil {
		err = checkMembers(json.NewDecoder(bytes.NewReader(body)), reflect.TypeOf(x))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return nil
}

// checkMembers holds the names in a JSON value to those of a type. encoding/json takes "Name" for name, and of two the
// last, so that two readers of one body, such as the audit log and the change, would see different things in it. The
// value was decoded before, so it is well formed and not too deep.
func checkMembers(d *json.Decoder, t reflect.Type) error {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	open, err := d.Token()
	if err != nil {
		return err
	}
	switch open {
	case json.Delim('['):
		for d.More() {
			if err := checkMembers(d, t); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := k.(string)
			of, known := memberOf(t, name)
			switch {
			case !known:
				return fmt.Errorf("unknown member %q", name)
			case seen[name]:
				return fmt.Errorf("the member %q is given twice", name)
			}
			seen[name] = true
			if err := checkMembers(d, of); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token() // the end of it
	return err
}

// memberOf returns the type of a member; nil is that of anything.
func memberOf(t reflect.Type, name string) (of reflect.Type, known bool) {
	switch {
	case t == nil:
		return nil, true
	case t.Kind() == reflect.Map:
		return t.Elem(), true
	case t.Kind() != reflect.Struct:
		return nil, true
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name && tag != "" && tag != "-" && f.IsExported() {
			return f.Type, true
		}
	}
	return nil, false
}

func (v *Server) index(w http.ResponseWriter, r *http.Request) {
	respondJSON(w, http.StatusOK, map[string]any{"application": "dyno", "version": v.options.Version, "paths": v.paths})
}

// alive answers those who only look whether somebody answers.
func alive(w http.ResponseWriter, r *http.Request) {
	respondJSON(w, http.StatusOK, done)
}
