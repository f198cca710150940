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

// queryAPI is Prometheus' API, as
// https://prometheus.io/docs/prometheus/latest/querying/api/ has it and Grafana's data source uses it.
type queryAPI struct {
	engine  *series.Engine
	version string
}

func (h queryAPI) routes(v *Server) {
	both := func(x *turns, path string, h respond) {
		v.handleIn(x, "GET "+path, v.replies(h))
		v.handleIn(x, "POST "+path, v.replies(h))
	}
	both(&v.queries, "/api/v1/query", h.query)
	both(&v.queries, "/api/v1/query_range", h.queryRange)
	both(&v.turns, "/api/v1/series", h.series)
	both(&v.turns, "/api/v1/labels", h.labels)
	v.get("/api/v1/label/{name}/values", h.labelValues)
	v.get("/api/v1/metadata", h.metadata)
	v.get("/api/v1/status/buildinfo", h.buildInfo)
	// What Dyno does not have, so that its users find none instead of an error.
	both(&v.turns, "/api/v1/query_exemplars", constant([]struct{}{}))
	v.get("/api/v1/rules", constant(map[string]any{"groups": []struct{}{}}))
	v.get("/api/v1/alerts", constant(map[string]any{"alerts": []struct{}{}}))
}

// result is an answer as Prometheus gives it.
type result struct {
	Status   string   `json:"status"`
	Data     any      `json:"data"`
	Warnings []string `json:"warnings,omitempty"`
}

func constant(data any) respond {
	return func(*http.Request) (any, error) { return result{"success", data, nil}, nil }
}

func (h queryAPI) query(r *http.Request) (any, error) {
	p, err := form(r)
	if err != nil {
		return nil, err
	}
	o := p.queryOptions()
	at := p.time("time", clock.Now())
	if p.err != nil {
		return nil, p.err
	}
	return evaluated(h.engine.Query(r.Context(), p.text("query"), at, o))
}

func (h queryAPI) queryRange(r *http.Request) (any, error) {
	p, err := form(r)
	if err != nil {
		return nil, err
	}
	o := p.queryOptions()
	from, to := p.needTime("start"), p.needTime("end")
	step, err := series.ParseDuration(p.text("step"))
	if err != nil {
		p.wrong("step", err)
	}
	if p.err != nil {
		return nil, p.err
	}
	return evaluated(h.engine.QueryRange(r.Context(), p.text("query"), from, to, step, o))
}

func (p *params) queryOptions() series.QueryOptions {
	return series.QueryOptions{
		Limit: p.limit("limit", 0), Timeout: p.span("timeout", 0),
		Lookback: p.span("lookback_delta", 0),
	}
}

// evaluated writes the value of an expression without a detour over other values: it may be megabytes.
func evaluated(a series.Answer, err error) (any, error) {
	if err != nil {
		return nil, err
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
	return written{body: append(b, '}')}, nil
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

// browsed is what the lists of series are asked for.
type browsed struct {
	selectors []string
	from, to  time.Time
	limit     int
}

func browse(r *http.Request) (b browsed, err error) {
	p, err := form(r)
	if err != nil {
		return b, err
	}
	b = browsed{r.Form["match[]"], p.time("start", time.Time{}), p.time("end", time.Time{}), p.listed()}
	return b, p.err
}

// listing is an answer with a list that may be cut.
func listing(data any, cut bool) result {
	x := result{"success", data, nil}
	if cut {
		x.Warnings = []string{"results truncated due to limit"}
	}
	return x
}

func (h queryAPI) series(r *http.Request) (any, error) {
	b, err := browse(r)
	if err != nil {
		return nil, err
	}
	l, err := h.engine.Matching(r.Context(), b.selectors, b.from, b.to, b.limit)
	out := make([]map[string]string, len(l.Items))
	for i, ls := range l.Items {
		out[i] = object(ls)
	}
	return listing(out, l.Cut), err
}

// object makes labels a JSON object.
func object(ls metric.Labels) map[string]string {
	m := make(map[string]string, len(ls))
	for _, l := range ls {
		m[l.Name] = l.Value
	}
	return m
}

func (h queryAPI) labels(r *http.Request) (any, error) {
	b, err := browse(r)
	if err != nil {
		return nil, err
	}
	l, err := h.engine.LabelNames(r.Context(), b.selectors, b.from, b.to, b.limit)
	return listing(list(l.Items), l.Cut), err
}

func (h queryAPI) labelValues(r *http.Request) (any, error) {
	b, err := browse(r)
	if err != nil {
		return nil, err
	}
	l, err := h.engine.LabelValues(r.Context(), r.PathValue("name"), b.selectors, b.from, b.to, b.limit)
	return listing(list(l.Items), l.Cut), err
}

func (h queryAPI) metadata(r *http.Request) (any, error) {
	p, err := form(r)
	if err != nil {
		return nil, err
	}
	limit, per := p.listed(), p.limit("limit_per_metric", 0)
	if p.err != nil {
		return nil, p.err
	}
	m, err := h.engine.Metadata(r.Context(), p.text("metric"), limit)
	for name, all := range m {
		if per > 0 && len(all) > per {
			m[name] = all[:per]
		}
	}
	return result{"success", m, nil}, err
}

// buildInfo tells the version of Prometheus whose language is spoken, for that is what Grafana chooses its features by.
func (h queryAPI) buildInfo(*http.Request) (any, error) {
	return result{"success", map[string]string{
		"application": "dyno", "dynoVersion": h.version,
		"version": series.PrometheusVersion, "revision": "", "branch": "", "buildUser": "", "buildDate": "",
		"goVersion": runtime.Version(),
	}, nil}, nil
}
