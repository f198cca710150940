package httpapi

import (
	"bytes"
	"fmt"
	"html"
	"net/http"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/service"
)

// changeAPI is what was done to servers, and what is to be done or taken back.
type changeAPI struct{ changes *service.Changes }

const maxEntries = 1000

const reportPagePath = "/api/dyno/v1/report.html"

func (h changeAPI) routes(v *Server) {
	v.get("/api/dyno/v1/changes", h.all)
	v.get("/api/dyno/v1/change", h.one)
	v.get("/api/dyno/v1/report", h.report)
	v.get(reportPagePath, h.reportPage)
	v.post("/api/dyno/v1/apply", h.apply)
	v.post("/api/dyno/v1/undo", h.undo)
	v.post("/api/dyno/v1/prove", h.prove)
	v.post("/api/dyno/v1/kill", h.kill)
}

func (h changeAPI) all(r *http.Request) (any, error) {
	p := query(r)
	limit := p.most(100, maxEntries)
	if p.err != nil {
		return nil, p.err
	}
	all, err := h.changes.Journal(r.Context(), p.text("target"), limit)
	return map[string]any{"changes": list(all)}, err
}

func (h changeAPI) one(r *http.Request) (any, error) {
	p := query(r)
	id := p.need("id")
	if p.err != nil {
		return nil, p.err
	}
	return h.changes.ChangeOf(r.Context(), id)
}

func (h changeAPI) document(r *http.Request) (*report.Document, error) {
	p := query(r)
	id := p.need("id")
	if p.err != nil {
		return nil, p.err
	}
	return h.changes.Report(r.Context(), id)
}

func (h changeAPI) report(r *http.Request) (any, error) {
	d, err := h.document(r)
	if err != nil {
		return nil, err
	}
	b, err := report.Encode(d)
	return written{body: bytes.TrimSuffix(b, []byte("\n"))}, err
}

// policy finds the policy that a report says of itself: it names its own style and script by their hashes.
var policy = lazyregexp.New(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)

// reportPage serves a report as the self-contained page that it is. It is drawn of statements and notes of servers, so
// it gets no origin (sandbox) and only what its own policy names: whatever slipped through it could neither ask this
// server anything nor send anything away.
func (h changeAPI) reportPage(r *http.Request) (any, error) {
	d, err := h.document(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := report.HTML(&b, d); err != nil {
		return nil, err
	}
	csp := "default-src 'none'"
	if m := policy.FindSubmatch(b.Bytes()); m != nil {
		csp = html.UnescapeString(string(m[1]))
	}
	return written{"text/html; charset=utf-8", csp + "; frame-ancestors 'none'; sandbox allow-scripts", b.Bytes()}, nil
}

func (h changeAPI) apply(r *http.Request) (any, error) {
	var x struct {
		Target   string `json:"target"`
		Finding  string `json:"finding"`
		Execute  bool   `json:"execute"`
		Confirm  string `json:"confirm"`  // the SQL as it was previewed
		Blocking bool   `json:"blocking"` // writers may wait
	}
	err := decodeJSON(r, &x)
	switch {
	case err != nil:
	case x.Target == "" || x.Finding == "":
		err = fmt.Errorf("%w: target and finding are needed", errBadRequest)
	case x.Execute && x.Confirm == "":
		err = fmt.Errorf("%w: to execute, send the statement of the preview as confirm", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	o := change.Options{Blocking: x.Blocking}
	if x.Execute {
		return started(h.changes.ApplyChange(r.Context(), x.Target, x.Finding, x.Confirm, userOf(r.Context()), o))
	}
	in, err := h.changes.PreviewChange(r.Context(), x.Target, x.Finding, o)
	return struct {
		Finding   string         `json:"finding"`
		Diagnosis string         `json:"diagnosis"`
		Execute   bool           `json:"execute"`
		Preview   change.Preview `json:"preview"`
		Text      []string       `json:"text"`
	}{in.Finding.ID, in.Diagnosis, false, in.Preview, list(in.Preview.Text())}, err
}

func (h changeAPI) kill(r *http.Request) (any, error) {
	var x struct {
		Target  string `json:"target"`
		Session uint64 `json:"session"`
		User    string `json:"user"`    // whose session it is
		Confirm string `json:"confirm"` // the statement: KILL and the session
	}
	err := decodeJSON(r, &x)
	switch {
	case err != nil:
	case x.Target == "" || x.Session == 0 || x.User == "":
		err = fmt.Errorf("%w: target, session and user are needed", errBadRequest)
	case x.Confirm != fmt.Sprintf("KILL %d", x.Session):
		err = fmt.Errorf("%w: to execute, send the statement KILL %d as confirm", errBadRequest, x.Session)
	}
	if err != nil {
		return nil, err
	}
	return h.changes.KillSession(r.Context(), x.Target, x.Session, x.User, userOf(r.Context()))
}

func (h changeAPI) undo(r *http.Request) (any, error) {
	var x struct {
		ID       string `json:"id"`
		Execute  bool   `json:"execute"`
		Confirm  string `json:"confirm"`
		Blocking bool   `json:"blocking"`
	}
	err := decodeJSON(r, &x)
	switch {
	case err != nil:
	case x.ID == "":
		err = fmt.Errorf("%w: id is missing", errBadRequest)
	case x.Execute && x.Confirm == "":
		err = fmt.Errorf("%w: to execute, send the statement of the preview as confirm", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	o := change.Options{Blocking: x.Blocking}
	if x.Execute {
		return started(h.changes.UndoChange(r.Context(), x.ID, x.Confirm, userOf(r.Context()), o))
	}
	return h.changes.PreviewUndo(r.Context(), x.ID, o)
}

func (h changeAPI) prove(r *http.Request) (any, error) {
	var x struct {
		ID     string  `json:"id"`
		Window float64 `json:"window"` // seconds, where nothing is stored of before; 0 is the usual ten
	}
	err := decodeJSON(r, &x)
	if err == nil && x.ID == "" {
		err = fmt.Errorf("%w: id is missing", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	window, err := lookFor(x.Window)
	if err != nil {
		return nil, err
	}
	return started(h.changes.ProveChange(r.Context(), x.ID, userOf(r.Context()), family.Look{Window: window}))
}
