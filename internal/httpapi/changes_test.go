package httpapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/apply"
	"github.com/dyno-perf/dyno/internal/capture"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/task"
)

// book is a service with one diagnosis and one action; asked is the last call that would change something.
type book struct {
	asked string
	empty bool
}

func (b *book) Verdicts(_ context.Context, target string, n int) ([]app.Verdict, error) {
	b.asked = fmt.Sprint("verdicts ", target, " ", n)
	switch {
	case b.empty:
		return nil, nil
	case target != "" && target != "shop":
		return nil, ErrNotFound
	}
	return []app.Verdict{{
		ID: "d-1", Target: "shop", At: noon, Count: 1, Worst: "A table is read whole",
		Severity: finding.Warning, Share: 0.4,
	}}, nil
}

func (b *book) Judged(_ context.Context, id string) (service.Judged, error) {
	if id != "d-1" {
		return service.Judged{}, ErrNotFound
	}
	return service.Judged{
		Verdict:  app.Verdict{ID: "d-1", Target: "shop"},
		Findings: []finding.Finding{{ID: "missing-index-1"}},
	}, nil
}

func (b *book) Diagnose(_ context.Context, target, by string, o capture.Options) (task.Task, error) {
	b.asked = fmt.Sprint("diagnose ", target, " by ", by, " ", o.Window, " ", o.Redact)
	if target == "busy" {
		return task.Task{}, fmt.Errorf("%w: it is looked at already", task.ErrBusy)
	}
	return task.Task{ID: "t-1", State: task.Running}, nil
}

func (b *book) FindingsOf(context.Context, string) (service.Findings, error) {
	if b.empty {
		return service.Findings{}, nil
	}
	return service.Findings{Diagnoses: 3, Open: []service.OpenFinding{{
		Finding:   finding.Finding{ID: "missing-index-1"},
		Diagnosis: "d-1", Life: service.Life{First: noon, Last: noon, Seen: 2, Of: 3},
	}}}, nil
}

func (b *book) IgnoreFinding(_ context.Context, target, id, by string, d time.Duration) (ledger.Ignored, error) {
	b.asked = fmt.Sprint("ignore ", target, " ", id, " by ", by, " ", d)
	switch {
	case id != "missing-index-1":
		return ledger.Ignored{}, ErrNotFound
	case d > 0 && d < time.Minute:
		return ledger.Ignored{}, service.ErrIgnoreFor
	}
	return ledger.Ignored{Target: target, Finding: id, Until: noon.Add(d), By: by}, nil
}

func (b *book) JudgedEvery() time.Duration { return 10 * time.Minute }

func (b *book) Journal(_ context.Context, target string, n int) ([]service.JournalAction, error) {
	b.asked = fmt.Sprint("journal ", target, " ", n)
	if b.empty {
		return nil, nil
	}
	return []service.JournalAction{{
		Entry: journal.Entry{ID: "a-1", Target: "shop", State: journal.Done, By: "ann"},
		Text:  "index i added",
	}}, nil
}

func (b *book) ChangeOf(_ context.Context, id string) (service.ChangeDetail, error) {
	if id != "a-1" {
		return service.ChangeDetail{}, ErrNotFound
	}
	return service.ChangeDetail{JournalAction: service.JournalAction{Entry: journal.Entry{ID: id}}}, nil
}

func (b *book) Report(_ context.Context, id string) (*report.Document, error) {
	if id != "d-1" {
		return nil, ErrNotFound
	}
	return &report.Document{Kind: report.Diagnosis, ID: id, Title: "Diagnosis of <script>alert(1)</script>", At: noon},
		nil
}

// waits tells of options that let writers wait.
func waits(o apply.Options) string {
	if o.Blocking {
		return ", writers wait"
	}
	return ""
}

func (b *book) PreviewChange(_ context.Context, target, id string, o apply.Options) (app.Intent, error) {
	b.asked = "preview " + target + " " + id + waits(o)
	return app.Intent{
		Finding: finding.Finding{ID: id}, Diagnosis: "d-1",
		Preview: apply.Preview{
			Words:  "Would add an index.",
			Action: finding.Action{SQL: "ALTER TABLE t ADD KEY i (a)"},
		},
	}, nil
}

func (b *book) ApplyChange(_ context.Context, target, id, confirm, by string, o apply.Options) (task.Task, error) {
	b.asked = "apply " + target + " " + id + " " + confirm + " by " + by + waits(o)
	if confirm != "ALTER TABLE t ADD KEY i (a)" {
		return task.Task{}, fmt.Errorf("%w: %w", ErrConflict, service.ErrPreviewChanged)
	}
	return task.Task{ID: "t-2"}, nil
}

func (b *book) PreviewUndo(_ context.Context, id string, o apply.Options) (app.UndoPreview, error) {
	b.asked = "preview undo " + id + waits(o)
	return app.UndoPreview{SQL: "ALTER TABLE t DROP KEY i"}, nil
}

func (b *book) UndoChange(_ context.Context, id, confirm, by string, o apply.Options) (task.Task, error) {
	b.asked = "undo " + id + " " + confirm + " by " + by + waits(o)
	return task.Task{ID: "t-3"}, nil
}

func (b *book) ProveChange(_ context.Context, id, by string, o capture.Options) (task.Task, error) {
	b.asked = fmt.Sprint("prove ", id, " by ", by, " ", o.Window)
	return task.Task{ID: "t-4"}, nil
}

func (b *book) KillSession(_ context.Context, target string, session uint64, user, by string) (journal.Entry, error) {
	b.asked = fmt.Sprint("kill ", session, " of ", user, " on ", target, " by ", by)
	return journal.Entry{ID: "a-2"}, nil
}

func TestFindingsAndChanges(t *testing.T) {
	b := &book{}
	h := New(Service{Findings: b, Changes: b}, Options{})
	f := func(method, url, body string, code int, want, asked string) {
		t.Helper()
		b.asked = ""
		w := request(h, method, "/api/dyno/v1/"+url, body, "Content-Type", "application/json")
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Fatalf("%s %s: %d %s, want %d %s", method, url, w.Code, w.Body, code, want)
		}
		if b.asked != asked {
			t.Fatalf("%s %s %s: asked %q, want %q", method, url, body, b.asked, asked)
		}
	}
	f("POST", "kill", `{"target": "shop", "session": 7, "user": "app", "confirm": "KILL 7"}`, 200, `"id":"a-2"`,
		"kill 7 of app on shop by local")
	f("POST", "kill", `{"target": "shop", "session": 7, "user": "app", "confirm": "KILL 8"}`, 400, "KILL 7", "")
	f("POST", "kill", `{"target": "shop", "session": 7, "confirm": "KILL 7"}`, 400, "are needed", "")
	f("GET", "findings?target=shop", "", 200, `"every_seconds":600,"diagnosis":{"id":"d-1"`, "verdicts shop 50")
	f("GET", "findings?target=shop&limit=9999", "", 200, `"history":[{"id":"d-1"`, "verdicts shop 200")
	f("GET", "findings?target=other", "", 404, "not_found", "verdicts other 50")
	f("GET", "findings", "", 400, "bad_data", "")
	f("GET", "findings?target=shop&limit=0", "", 400, "it is from 1 to 200", "")
	f("GET", "findings?target=shop", "", 200,
		`"diagnosis":"d-1","first_seen":"2026-11-03T12:00:00Z","last_seen":"2026-11-03T12:00:00Z","seen_in":2,"of_diagnoses":3}`, "verdicts shop 50")
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1","seconds":604800}`, 200,
		`"until":"2026-11-10T12:00:00Z","by":"local"`, "ignore shop missing-index-1 by local 168h0m0s")
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1"}`, 200, `"by":"local"`,
		"ignore shop missing-index-1 by local 0s")
	f("POST", "finding/ignore", `{"target":"shop","finding":"x","seconds":60}`, 404, "not_found",
		"ignore shop x by local 1m0s")
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1","seconds":1}`, 400,
		"1 minute to 366 days", "ignore shop missing-index-1 by local 1s")
	f("POST", "finding/ignore", `{"target":"shop","finding":"missing-index-1","seconds":-1}`, 400, "seconds from 0", "")
	f("POST", "finding/ignore", `{"target":"shop"}`, 400, "finding are needed", "")
	f("GET", "verdicts", "", 200, `"worst":"A table is read whole","severity":"warning","share":0.4`, "verdicts  0")
	f("GET", "diagnosis?id=d-1", "", 200, `"missing-index-1"`, "")
	f("GET", "diagnosis?id=d-2", "", 404, "not_found", "")
	f("POST", "diagnose", `{"target":"shop","window":5.5,"redact":true}`, 202, `"t-1"`,
		"diagnose shop by local 5.5s true")
	f("POST", "diagnose", `{"target":"shop"}`, 202, `"t-1"`, "diagnose shop by local 0s false")
	f("POST", "diagnose", `{"target":"shop","window":2}`, 400, "3 to 600", "")
	f("POST", "diagnose", `{"target":"shop","window":-1e300}`, 400, "3 to 600", "")
	f("POST", "diagnose", `{}`, 400, "target is missing", "")
	f("POST", "diagnose", `{"target":"busy"}`, 409, "conflict", "diagnose busy by local 0s false")
	f("GET", "changes", "", 200, `{"changes":[{"id":"a-1"`, "journal  100")
	f("GET", "changes?target=shop&limit=5", "", 200, `"by":"ann"`, "journal shop 5")
	f("GET", "changes?limit=9999", "", 200, `"by":"ann"`, "journal  1000")
	f("GET", "changes?limit=0", "", 400, "it is from 1 to 1000", "")
	f("GET", "changes?limit=-1", "", 400, "limit", "")
	f("GET", "change?id=a-1", "", 200, `"id":"a-1"`, "")
	f("GET", "change?id=a-2", "", 404, "not_found", "")
	f("POST", "apply", `{"target":"shop","finding":"x"}`, 200, `"execute":false,"preview":{`, "preview shop x")
	f("POST", "apply", `{"target":"shop","finding":"x","execute":true}`, 400, "confirm", "")
	f("POST", "apply", `{"target":"shop","finding":"x","execute":true,"confirm":"DROP TABLE t"}`, 409, "conflict",
		"apply shop x DROP TABLE t by local")
	f("POST", "apply", `{"target":"shop","finding":"x","execute":true,"confirm":"ALTER TABLE t ADD KEY i (a)"}`, 202,
		`"t-2"`, "apply shop x ALTER TABLE t ADD KEY i (a) by local")
	f("POST", "apply", `{"target":"shop"}`, 400, "bad_data", "")
	f("POST", "undo", `{"id":"a-1"}`, 200, `"sql":"ALTER TABLE t DROP KEY i"`, "preview undo a-1")
	f("POST", "undo", `{"id":"a-1","execute":true}`, 400, "confirm", "")
	f("POST", "undo", `{"id":"a-1","execute":true,"confirm":"x"}`, 202, `"t-3"`, "undo a-1 x by local")
	// What is shown is what would be done in the same way.
	f("POST", "apply", `{"target":"shop","finding":"x","blocking":true}`, 200, `"preview"`,
		"preview shop x, writers wait")
	f("POST", "apply",
		`{"target":"shop","finding":"x","blocking":true,"execute":true,"confirm":"ALTER TABLE t ADD KEY i (a)"}`, 202,
		`"t-2"`, "apply shop x ALTER TABLE t ADD KEY i (a) by local, writers wait")
	f("POST", "undo", `{"id":"a-1","blocking":true}`, 200, `"sql"`, "preview undo a-1, writers wait")
	f("POST", "undo", `{"id":"a-1","blocking":true,"execute":true,"confirm":"x"}`, 202, `"t-3"`,
		"undo a-1 x by local, writers wait")
	f("POST", "prove", `{"id":"a-1","window":3}`, 202, `"t-4"`, "prove a-1 by local 3s")
	f("POST", "prove", `{"window":3}`, 400, "id is missing", "")
	f("GET", "report?id=d-1", "", 200, `"kind": "diagnosis"`, "")
	f("GET", "report?id=x", "", 404, "not_found", "")
	b.empty = true // lists are never null, and nothing is made up of what was not judged
	f("GET", "findings?target=shop", "", 200,
		`{"target":"shop","every_seconds":600,"history":[],"diagnoses":0,"open":[],"ignored":[],"resolved":[]}`,
		"verdicts shop 50")
	f("GET", "changes", "", 200, `{"changes":[]}`, "journal  100")
	f("GET", "verdicts", "", 200, `{"verdicts":[]}`, "verdicts  0")
	h = New(Service{}, Options{})
	for _, x := range []string{
		"findings?target=shop", "verdicts", "diagnosis?id=d", "changes", "change?id=a",
		"report?id=d", "report.html?id=d",
	} {
		f("GET", x, "", 501, "unavailable", "")
	}
	for _, x := range []string{"diagnose", "apply", "undo", "prove"} {
		f("POST", x, "{}", 501, "unavailable", "")
	}
}

// TestReportPage holds that a report has no more rights than it needs, whatever a server put into it.
func TestReportPage(t *testing.T) {
	w := request(New(Service{Changes: &book{}}, Options{}), "GET", "/api/dyno/v1/report.html?id=d-1", "")
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
