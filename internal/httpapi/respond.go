package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/task"
)

// problem is the JSON of every error.
type problem struct {
	Status string `json:"status"` // "error"
	Type   string `json:"errorType"`
	Error  string `json:"error"`
	Hint   string `json:"hint,omitempty"` // what the caller can do
}

// clientGone is the status for a caller that went away; nobody reads it but logs and tests.
const clientGone = 499

func respondError(w http.ResponseWriter, code int, typ, text string) {
	respondJSON(w, code, problem{"error", typ, text, ""})
}

// respond works out an answer to a request. What it returns is written as JSON with status 200, unless it is a coded or
// a written; an error is answered as status says.
type respond func(r *http.Request) (any, error)

// coded is an answer with a status of its own.
type coded struct {
	code int
	body any
}

// written is an answer that is not left to encoding/json.
type written struct {
	typ    string // "": JSON
	policy string // Content-Security-Policy, "" for the usual one
	body   []byte
}

// replies makes a handler of a respond.
func (v *gate) replies(h respond) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x, err := h(r)
		if err != nil {
			v.fail(w, r, err)
			return
		}
		switch x := x.(type) {
		case coded:
			respondJSON(w, x.code, x.body)
		case written:
			if x.policy != "" {
				w.Header().Set("Content-Security-Policy", x.policy)
			}
			if x.typ == "" {
				respondBytes(w, http.StatusOK, x.body)
				return
			}
			w.Header().Set("Content-Type", x.typ)
			_, _ = w.Write(x.body)
		default:
			respondJSON(w, http.StatusOK, x)
		}
	}
}

// get registers what everybody may read who may read at all.
func (v *Server) get(pattern string, h respond) { v.handle("GET "+pattern, v.replies(h)) }

// post registers a change, see change.
func (v *Server) post(pattern string, h respond) { v.change("POST "+pattern, v.replies(h)) }

// started answers with a task that was just started, or with why it was not.
func started(t task.Task, err error) (any, error) { return coded{http.StatusAccepted, t}, err }

// list makes an empty list of none: JSON has null for it otherwise.
func list[T any](x []T) []T {
	if x == nil {
		return []T{}
	}
	return x
}

func respondJSON(w http.ResponseWriter, code int, x any) {
	b, err := json.Marshal(x)
	if err != nil { // a NaN: a value that came from a figure that should have been unknown
		code, b = http.StatusInternalServerError,
			[]byte(`{"status":"error","errorType":"internal","error":"cannot write the answer as JSON"}`)
	}
	respondBytes(w, code, b)
}

func respondBytes(w http.ResponseWriter, code int, b []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)+1))
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n')) // an error means that the caller has gone
}

// form reads the parameters of a GET, or of a POST of a form too.
func form(r *http.Request) (*params, error) {
	if err := r.ParseForm(); err != nil {
		return nil, answer{fmt.Errorf("error parsing form values: %w", err), errBadRequest}
	}
	return &params{values: r.Form}, nil
}

// query reads the parameters of a GET.
func query(r *http.Request) *params { return &params{values: r.URL.Query()} }

// params reads parameters and keeps the first thing that is wrong with them.
type params struct {
	values url.Values
	err    error
}

func (p *params) wrong(name string, err error) {
	if p.err == nil {
		p.err = answer{fmt.Errorf("invalid parameter %q: %w", name, err), errBadRequest}
	}
}

func (p *params) text(name string) string { return p.values.Get(name) }

// need returns a parameter that must not be empty.
func (p *params) need(name string) string {
	s := p.values.Get(name)
	if s == "" {
		p.wrong(name, errors.New("it is missing"))
	}
	return s
}

// time returns a moment; none when the parameter is not given.
func (p *params) time(name string, none time.Time) time.Time {
	s := p.values.Get(name)
	if s == "" {
		return none
	}
	t, err := series.ParseTime(s)
	if err != nil {
		p.wrong(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t
}

// spans are those with units; a number alone is Unix seconds, before 1970 here.
var spans = lazyregexp.New(`^[0-9].*[a-z]$`)

// moment returns a moment that may be told from now; none when the parameter is not given.
func (p *params) moment(name string, now, none time.Time) time.Time {
	s := p.values.Get(name)
	back, _ := strings.CutPrefix(s, "now")
	if s != "" && back == "" {
		return now
	}
	if span, ok := strings.CutPrefix(back, "-"); ok && spans.MatchString(span) {
		if d, err := series.ParseDuration(span); err == nil {
			return now.Add(-d)
		}
	}
	return p.time(name, none)
}

func (p *params) needTime(name string) time.Time {
	t, err := series.ParseTime(p.values.Get(name))
	if err != nil {
		p.wrong(name, err)
	}
	return t
}

// span returns a time span; none when the parameter is not given.
func (p *params) span(name string, none time.Duration) time.Duration {
	s := p.values.Get(name)
	if s == "" {
		return none
	}
	d, err := series.ParseDuration(s)
	if err != nil {
		p.wrong(name, err)
	}
	return d
}

// limit returns a number that is not negative; none when the parameter is not given.
func (p *params) limit(name string, none int) int {
	s := p.values.Get(name)
	if s == "" {
		return none
	}
	n, err := strconv.Atoi(s)
	if err == nil && n < 0 {
		err = errors.New("limit must be non-negative")
	}
	if err != nil {
		p.wrong(name, err)
	}
	return n
}

// window returns from and to; without them the hour that ends now. Either may be told from now: "now", "-1h30m" or
// "now-7d".
func (p *params) window(now time.Time) (from, to time.Time) {
	to = p.moment("to", now, now)
	from = p.moment("from", now, to.Add(-time.Hour))
	if p.err == nil && to.Before(from) {
		p.wrong("to", errors.New("it is before from"))
	}
	if p.err == nil && (from.Year() < 1970 || to.Year() > 2200) {
		// lengths of time are counted in nanoseconds, and end after 292 years
		p.wrong("from", errors.New("a window lies between the years 1970 and 2200"))
	}
	return from, to
}

// most returns the parameter limit of a list: usual without it, and at most most. 0 is refused, for below it means all.
func (p *params) most(usual, most int) int {
	n := p.limit("limit", usual)
	if p.err == nil && n < 1 {
		p.wrong("limit", fmt.Errorf("it is from 1 to %d", most))
	}
	return min(n, most)
}
