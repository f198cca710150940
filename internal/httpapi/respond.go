package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/pattern"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/target"
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

// fail answers with an error of a part of the Service.
func (v *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, typ := http.StatusInternalServerError, "internal"
	var query *series.QueryError
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &query):
		code, typ = queryStatus(query.Type), string(query.Type)
	case errors.Is(err, ErrNotFound):
		code, typ = http.StatusNotFound, "not_found"
	case errors.As(err, &tooLong):
		code, typ = http.StatusRequestEntityTooLarge, "bad_data"
	case errors.Is(err, ErrBadRequest):
		code, typ = http.StatusBadRequest, "bad_data"
	case errors.Is(err, ErrConflict), errors.Is(err, task.ErrBusy):
		code, typ = http.StatusConflict, "conflict"
	case errors.Is(err, ErrUnavailable):
		code, typ = http.StatusServiceUnavailable, "unavailable"
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		code, typ = clientGone, "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		code, typ = http.StatusServiceUnavailable, "timeout"
	}
	if code == http.StatusInternalServerError {
		v.log.Error("cannot answer", "path", r.URL.Path, "err", err)
	}
	respondJSON(w, code, problem{"error", typ, err.Error(), target.HintOf(err)})
}

func queryStatus(t series.ErrorType) int {
	switch t {
	case series.BadData:
		return http.StatusBadRequest
	case series.Execution:
		return http.StatusUnprocessableEntity
	case series.Timeout, series.Unavailable:
		return http.StatusServiceUnavailable
	case series.Canceled:
		return clientGone
	case series.Internal:
	}
	return http.StatusInternalServerError
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

// absent answers for a part of the Service that is not there.
func absent(w http.ResponseWriter) {
	respondError(w, http.StatusNotImplemented, "unavailable", "this is not available in this process")
}

// form reads the parameters of a GET, or of a POST of a form too.
func form(w http.ResponseWriter, r *http.Request) bool {
	err := r.ParseForm()
	if err == nil {
		return true
	}
	code := http.StatusBadRequest
	if e := (*http.MaxBytesError)(nil); errors.As(err, &e) {
		code = http.StatusRequestEntityTooLarge
	}
	respondError(w, code, "bad_data", "error parsing form values: "+err.Error())
	return false
}

// params reads parameters and keeps the first thing that is wrong with them.
type params struct {
	values url.Values
	err    error
}

func (p *params) wrong(name string, err error) {
	if p.err == nil {
		p.err = fmt.Errorf("invalid parameter %q: %w", name, err)
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
var spans = pattern.New(`^[0-9].*[a-z]$`)

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
