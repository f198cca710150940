package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestMetricsHaveTheirTarget(t *testing.T) {
	v := watched(t)
	f := func(path, accept, typ string, want ...string) {
		t.Helper()
		w := request(v, "GET", path, "", "Accept", accept)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), typ) {
			t.Fatalf("%s: got %d %v %s", path, w.Code, w.Header(), w.Body)
		}
		for _, line := range want {
			if !strings.Contains("\n"+w.Body.String(), "\n"+line+"\n") {
				t.Errorf("%s has no line %s:\n%s", path, line, w.Body)
			}
		}
	}
	f("/metrics", "", "text/plain; version=0.0.4", `# TYPE mysql_up gauge`, `mysql_up{instance="shop",target="shop"} 0`,
		`mysql_up{instance="blog",target="blog"} 0`)
	f("/metrics", "application/openmetrics-text;version=1.0.0", "application/openmetrics-text",
		`mysql_up{instance="shop",target="shop"} 0`, "# EOF")
	f("/probe?target=shop", "", "text/plain; version=0.0.4", `mysql_up 0`)
	for _, path := range []string{"/probe", "/probe?target=other"} {
		if w := request(v, "GET", path, ""); w.Code/100 != 4 {
			t.Fatalf("%s: got %d", path, w.Code)
		}
	}
}

// TestPrometheusScrapes lets a real one read /metrics and /probe.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(watched(t))
	t.Cleanup(web.Close)
	address := prometheus(t, `
global: {scrape_interval: 1s}
scrape_configs:
- job_name: metrics
  static_configs: [{targets: ["`+strings.TrimPrefix(web.URL, "http://")+`"]}]
- job_name: probe
  metrics_path: /probe
  params: {target: [shop]}
  static_configs: [{targets: ["`+strings.TrimPrefix(web.URL, "http://")+`"]}]
`)
	f := func(expr string, want int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			got, _ := decode(t, ask(t, address, "/api/v1/query", url.Values{"query": {expr}}).body.Data)
			if len(got.Result) == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d series, want %d: %+v", expr, len(got.Result), want, got.Result)
			}
		}
	}
	f(`up == 1`, 2)
	f(`mysql_up{job="metrics",target="shop"} == 0`, 1)
	f(`mysql_up{job="metrics",target="blog"} == 0`, 1)
	f(`mysql_up{job="probe",target=""} == 0`, 1)
	var m map[string][]struct {
		Type string `json:"type"`
	}
	unmarshal(t, ask(t, address, "/api/v1/metadata", url.Values{}).body.Data, &m)
	if len(m["mysql_up"]) != 1 || m["mysql_up"][0].Type != "gauge" {
		t.Fatalf("kinds got lost: %+v", m)
	}
}
