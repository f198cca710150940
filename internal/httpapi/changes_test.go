package httpapi

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// judged has a diagnosis of shop with one finding, and an action that was done about it.
func judged(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, Options{})
	good(t, w.ledger.Diagnoses.Put(t.Context(), ledger.Diagnosis{
		ID: "d-1", Target: "shop", At: noon, Findings: []finding.Finding{{
			ID: "missing-index-1", Title: "A table <script>alert(1)</script> is read whole", Severity: finding.Warning,
			Share: 0.4,
		}},
	}))
	good(t, w.ledger.PutEntry(t.Context(), journal.Entry{
		ID: "a-1", Target: "shop", Finding: "missing-index-1", Before: "d-1", State: journal.Undone, By: "ann",
		Planned: noon,
	}))
	b, err := report.Encode(&report.Document{
		Kind: report.Demo, ID: "m-1", Title: "Demo <script>alert(1)</script>", At: noon,
	})
	good(t, err)
	good(t, w.ledger.Documents.Put(t.Context(), string(report.Demo), "m-1", "", "", b))
	return w
}

func TestFindingsAndChanges(t *testing.T) {
	h := judged(t)
	f := func(method, url, body string, code int, want string) {
		t.Helper()
		w := request(h, method, "/api/dyno/v1/"+url, body, "Content-Type", "application/json")
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s %s: %d %s, want %d %s", method, url, w.Code, w.Body, code, want)
		}
	}
	f("POST", "kill", `{"target": "shop", "session": 7, "user": "app", "confirm": "KILL 7"}`, 503, "unavailable")
	f("POST", "kill", `{"target": "shop", "session": 7, "user": "app", "confirm": "KILL 8"}`, 400, "KILL 7")
	f("POST", "kill", `{"target": "shop", "session": 7, "confirm": "KILL 7"}`, 400, "are needed")
	f("GET", "findings?target=shop", "", 200, `"diagnosis":{"id":"d-1"`)
	f("GET", "findings?target=shop&limit=9999", "", 200, `"history":[{"id":"d-1"`)
	f("GET", "findings?target=shop", "", 200, `"diagnosis":"d-1","first_seen":"2026-11-03T12:00:00Z",`+
		`"last_seen":"2026-11-03T12:00:00Z","seen_in":1,"of_diagnoses":1}`)
	f("GET", "findings?target=blog", "", 200,
		`{"target":"blog","history":[],"diagnoses":0,"open":[],"ignored":[],"resolved":[]}`)
	f("GET", "findings?target=other", "", 404, "no target is called")
	f("GET", "findings", "", 400, "bad_data")
	f("GET", "findings?target=shop&limit=0", "", 400, "it is from 1 to 200")
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1","seconds":604800}`, 200, `"by":"local"`)
	f("GET", "findings?target=shop", "", 200, `"open":[],"ignored":[{`)
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1"}`, 200, `"by":"local"`)
	f("POST", "finding/ignore", `{"target":"shop","finding":"x","seconds":60}`, 404, "not_found")
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1","seconds":1}`, 400,
		"1 minute to 366 days")
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1","seconds":-1}`, 400, "seconds from 0")
	f("POST", "finding/ignore", `{"target":"shop"}`, 400, "finding are needed")
	f("GET", "diagnoses", "", 200, `{"diagnoses":[]}`) // of targets that are watched
	f("GET", "diagnosis?id=d-1", "", 200, `"missing-index-1"`)
	f("GET", "diagnosis?id=d-2", "", 404, "not_found")
	f("POST", "diagnose", `{"target":"shop","window":2}`, 400, "3 to 600")
	f("POST", "diagnose", `{"target":"shop","window":-1e300}`, 400, "3 to 600")
	f("POST", "diagnose", `{}`, 400, "target is missing")
	f("POST", "diagnose", `{"target":"other"}`, 404, "not_found")
	f("POST", "diagnose", `{"target":"shop","window":5.5,"redact":true}`, 202, `"kind":"diagnose"`)
	f("GET", "changes", "", 200, `{"changes":[{"id":"a-1"`)
	f("GET", "changes?target=shop&limit=5", "", 200, `"by":"ann"`)
	f("GET", "changes?target=blog", "", 200, `{"changes":[]}`)
	f("GET", "changes?limit=9999", "", 200, `"by":"ann"`)
	f("GET", "changes?limit=0", "", 400, "it is from 1 to 1000")
	f("GET", "changes?limit=-1", "", 400, "limit")
	f("GET", "change?id=a-1", "", 200, `"id":"a-1"`)
	f("GET", "change?id=a-2", "", 404, "not_found")
	f("POST", "apply", `{"target":"other","finding":"x"}`, 404, "not_found")
	f("POST", "apply", `{"target":"shop","finding":"missing-index-1"}`, 503, "unavailable")
	f("POST", "apply", `{"target":"shop","finding":"x","execute":true}`, 400, "confirm")
	f("POST", "apply", `{"target":"shop"}`, 400, "bad_data")
	f("POST", "undo", `{"id":"a-2"}`, 404, "not_found")
	f("POST", "undo", `{"id":"a-1","execute":true}`, 400, "confirm")
	f("POST", "prove", `{"id":"a-1","window":3}`, 409, "conflict with the present state: ")
	f("POST", "prove", `{"window":3}`, 400, "id is missing")
	f("GET", "report?id=m-1", "", 200, `"kind": "demo"`)
	f("GET", "report?id=m-2", "", 404, "not_found")
}

// TestReportPage holds that a report has no more rights than it needs, whatever a server put into it.
func TestReportPage(t *testing.T) {
	w := request(judged(t), "GET", "/api/dyno/v1/report.html?id=m-1", "")
	csp := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "style-src 'sha256-", "script-src 'sha256-",
		"frame-ancestors 'none'", "sandbox allow-scripts",
	} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy %q lacks %s", csp, want)
		}
	}
	if strings.Contains(csp, "allow-same-origin") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q allows too much", csp)
	}
	if body := w.Body.String(); w.Code != 200 || !strings.HasPrefix(body, "<!") ||
		strings.Contains(body, "<script>alert") {
		t.Fatalf("%d %.200s", w.Code, body)
	}
	if ct := w.Header().Get("Content-Type"); ct != "text/html; charset=utf-8" {
		t.Error(ct)
	}
}
