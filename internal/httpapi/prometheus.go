package httpapi

import (
	"encoding/json"
	"net/http"
	"runtime"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// prometheus registers Prometheus' API, as
// https://prometheus.io/docs/prometheus/latest/querying/api/ has it and Grafana's data source uses it.
func (v *Server) prometheus() {
	both := func(x *turns, path string, h http.HandlerFunc) {
		v.handleIn(x, "GET "+path, h)
		v.handleIn(x, "POST "+path, h)
	}
	both(&v.queries, "/api/v1/query", v.query)
	both(&v.queries, "/api/v1/query_range", v.queryRange)
	both(&v.turns, "/api/v1/series", v.series)
	both(&v.turns, "/api/v1/labels", v.labels)
	v.handle("GET /api/v1/label/{name}/values", v.labelValues)
	v.handle("GET /api/v1/metadata", v.metadata)
	v.handle("GET /api/v1/status/buildinfo", v.buildInfo)
	// What Dyno does not have, so that its users find none instead of an error.
	both(&v.turns, "/api/v1/query_exemplars", constant([]struct{}{}))
	v.handle("GET /api/v1/rules", constant(map[string]any{"groups": []struct{}{}}))
	v.handle("GET /api/v1/alerts", constant(map[string]any{"alerts": []struct{}{}}))
}

func constant(data any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { succeed(w, data, nil) }
}

// succeed answers as Prometheus does.
func succeed(w http.ResponseWriter, data any, warnings []string) {
	respondJSON(w, http.StatusOK, struct {
		Status   string   `json:"status"`
		Data     any      `json:"data"`
		Warnings []string `json:"warnings,omitempty"`
	}{"success", data, warnings})
}

func (v *Server) query(w http.ResponseWriter, r *http.Request) {
	if v.service.Querier == nil {
		absent(w)
		return
	}
	if !form(w, r) {
		return
	}
	p := params{values: r.Form}
	o := p.queryOptions()
	at := p.time("time", clock.Now())
	if p.err != nil {
		respondError(w, http.StatusBadRequest, "bad_data", p.err.Error())
		return
	}
	a, err := v.service.Querier.Query(r.Context(), p.text("query"), at, o)
	v.answer(w, r, a, err)
}

func (v *Server) queryRange(w http.ResponseWriter, r *http.Request) {
	if v.service.Querier == nil {
		absent(w)
		return
	}
	if !form(w, r) {
		return
	}
	p := params{values: r.Form}
	o := p.queryOptions()
	from, to := p.needTime("start"), p.needTime("end")
	step, err := series.ParseDuration(p.text("step"))
	if err != nil {
		p.wrong("step", err)
	}
	if p.err != nil {
		respondError(w, http.StatusBadRequest, "bad_data", p.err.Error())
		return
	}
	a, err := v.service.Querier.QueryRange(r.Context(), p.text("query"), from, to, step, o)
	v.answer(w, r, a, err)
}

func (p *params) queryOptions() series.QueryOptions {
	return series.QueryOptions{
		Limit: p.limit("limit", 0), Timeout: p.span("timeout", 0),
		Lookback: p.span("lookback_delta", 0),
	}
}

// answer writes the value of an expression without a detour over other values: it may be megabytes.
func (v *Server) answer(w http.ResponseWriter, r *http.Request, a series.Answer, err error) {
	if err != nil {
		v.fail(w, r, err)
		return
	}
	b := append(make([]byte, 0, 1024), `{"status":"success","data":`...)
	b = a.AppendJSON(b)
	for _, x := range [...]struct {
		key   string
		texts []string
	}{{"warnings", a.Warnings}, {"infos", a.Infos}} {
		if len(x.texts) > 0 {
			t, _ := json.Marshal(x.texts) // strings can always be written
			b = append(append(append(append(b, `,"`...), x.key...), `":`...), t...)
		}
	}
	respondBytes(w, http.StatusOK, append(b, '}'))
}

// maxListed is how many series, names or values one answer has at most, also without a limit: an answer says when it is
// cut.
const maxListed = 20_000

// listed is the limit of a list of Prometheus' API, where 0 means all.
func (p *params) listed() int {
	if n := p.limit("limit", 0); n > 0 {
		return min(n, maxListed)
	}
	return maxListed
}

// browse reads what the lists of series have in common.
func (v *Server) browse(
	w http.ResponseWriter, r *http.Request,
) (selectors []string, from, to time.Time, limit int, ok bool) {
	if v.service.Browser == nil {
		absent(w)
		return selectors, from, to, limit, ok
	}
	if !form(w, r) {
		return selectors, from, to, limit, ok
	}
	p := params{values: r.Form}
	from, to, limit = p.time("start", time.Time{}), p.time("end", time.Time{}), p.listed()
	if p.err != nil {
		respondError(w, http.StatusBadRequest, "bad_data", p.err.Error())
		return selectors, from, to, limit, ok
	}
	return r.Form["match[]"], from, to, limit, true
}

func cutNote(cut bool) []string {
	if cut {
		return []string{"results truncated due to limit"}
	}
	return nil
}

func (v *Server) series(w http.ResponseWriter, r *http.Request) {
	selectors, from, to, limit, ok := v.browse(w, r)
	if !ok {
		return
	}
	l, err := v.service.Browser.Matching(r.Context(), selectors, from, to, limit)
	if err != nil {
		v.fail(w, r, err)
		return
	}
	out := make([]map[string]string, len(l.Items))
	for i, ls := range l.Items {
		out[i] = object(ls)
	}
	succeed(w, out, cutNote(l.Cut))
}

// object makes labels a JSON object.
func object(ls metric.Labels) map[string]string {
	m := make(map[string]string, len(ls))
	for _, l := range ls {
		m[l.Name] = l.Value
	}
	return m
}

func (v *Server) labels(w http.ResponseWriter, r *http.Request) {
	selectors, from, to, limit, ok := v.browse(w, r)
	if !ok {
		return
	}
	l, err := v.service.Browser.LabelNames(r.Context(), selectors, from, to, limit)
	v.names(w, r, l, err)
}

func (v *Server) labelValues(w http.ResponseWriter, r *http.Request) {
	selectors, from, to, limit, ok := v.browse(w, r)
	if !ok {
		return
	}
	l, err := v.service.Browser.LabelValues(r.Context(), r.PathValue("name"), selectors, from, to, limit)
	v.names(w, r, l, err)
}

func (v *Server) names(w http.ResponseWriter, r *http.Request, l series.Listing[string], err error) {
	if err != nil {
		v.fail(w, r, err)
		return
	}
	if l.Items == nil {
		l.Items = []string{}
	}
	succeed(w, l.Items, cutNote(l.Cut))
}

func (v *Server) metadata(w http.ResponseWriter, r *http.Request) {
	if v.service.Browser == nil {
		absent(w)
		return
	}
	if !form(w, r) {
		return
	}
	p := params{values: r.Form}
	limit, per := p.listed(), p.limit("limit_per_metric", 0)
	if p.err != nil {
		respondError(w, http.StatusBadRequest, "bad_data", p.err.Error())
		return
	}
	m, err := v.service.Browser.Metadata(r.Context(), p.text("metric"), limit)
	if err != nil {
		v.fail(w, r, err)
		return
	}
	for name, all := range m {
		if per > 0 && len(all) > per {
			m[name] = all[:per]
		}
	}
	succeed(w, m, nil)
}

// buildInfo tells the version of Prometheus whose language is spoken, for that is what Grafana chooses its features by.
func (v *Server) buildInfo(w http.ResponseWriter, r *http.Request) {
	succeed(w, map[string]string{
		"application": "dyno", "dynoVersion": v.options.Version,
		"version": series.PrometheusVersion, "revision": "", "branch": "", "buildUser": "", "buildDate": "",
		"goVersion": runtime.Version(),
	}, nil)
}
