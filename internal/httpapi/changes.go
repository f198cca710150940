package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"net/http"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/apply"
	"github.com/dyno-perf/dyno/internal/capture"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/pattern"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/task"
)

// Changes carries out and takes back what findings suggest.
type Changes interface {
	Book
	Acts
}

// Book tells what was done. For an unknown id: ErrNotFound.
type Book interface {
	// Journal returns the actions on a target, of all with "", newest first, at most n.
	Journal(ctx context.Context, target string, n int) ([]service.JournalAction, error)
	ChangeOf(ctx context.Context, id string) (service.ChangeDetail, error)
	// Report returns the document of a diagnosis, proof, run, demo or comparison.
	Report(ctx context.Context, id string) (*report.Document, error)
}

// Acts changes servers. Each works in a task; what stands against it is ErrConflict.
type Acts interface {
	PreviewChange(ctx context.Context, target, finding string, o apply.Options) (app.Intent, error)
	// KillSession ends a session if it is still of that user: else ErrConflict.
	KillSession(ctx context.Context, target string, session uint64, user, by string) (journal.Entry, error)
	// ApplyChange does it if confirm is the SQL of the preview.
	ApplyChange(ctx context.Context, target, finding, confirm, by string, o apply.Options) (task.Task, error)
	PreviewUndo(ctx context.Context, id string, o apply.Options) (app.UndoPreview, error)
	// UndoChange does it if confirm is the SQL of the preview with the same options.
	UndoChange(ctx context.Context, id, confirm, by string, o apply.Options) (task.Task, error)
	ProveChange(ctx context.Context, id, by string, o capture.Options) (task.Task, error)
}

const maxEntries = 1000

const reportPagePath = "/api/dyno/v1/report.html"

func (v *Server) changeRoutes() {
	v.handle("GET /api/dyno/v1/changes", v.changes)
	v.handle("GET /api/dyno/v1/change", v.oneChange)
	v.handle("GET /api/dyno/v1/report", v.report)
	v.handle("GET "+reportPagePath, v.reportPage)
	v.change("POST /api/dyno/v1/apply", v.apply)
	v.change("POST /api/dyno/v1/undo", v.undo)
	v.change("POST /api/dyno/v1/prove", v.prove)
	v.change("POST /api/dyno/v1/kill", v.kill)
}

func (v *Server) changes(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	limit := p.most(100, maxEntries)
	if v.service.Changes == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	all, err := v.service.Changes.Journal(r.Context(), p.text("target"), limit)
	v.reply(w, r, map[string]any{"changes": list(all)}, err)
}

func (v *Server) oneChange(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	id := p.need("id")
	if v.service.Changes == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	x, err := v.service.Changes.ChangeOf(r.Context(), id)
	v.reply(w, r, x, err)
}

func (v *Server) document(w http.ResponseWriter, r *http.Request) (*report.Document, bool) {
	p := params{values: r.URL.Query()}
	id := p.need("id")
	if v.service.Changes == nil || p.err != nil {
		refuse(w, p.err)
		return nil, false
	}
	d, err := v.service.Changes.Report(r.Context(), id)
	if err != nil {
		v.fail(w, r, err)
		return nil, false
	}
	return d, true
}

func (v *Server) report(w http.ResponseWriter, r *http.Request) {
	d, ok := v.document(w, r)
	if !ok {
		return
	}
	b, err := report.Encode(d)
	if err != nil {
		v.fail(w, r, err)
		return
	}
	respondBytes(w, http.StatusOK, bytes.TrimSuffix(b, []byte("\n")))
}

// policy finds the policy that a report says of itself: it names its own style and script by their hashes.
var policy = pattern.New(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)

// reportPage serves a report as the self-contained page that it is. It is drawn of statements and notes of servers, so
// it gets no origin (sandbox) and only what its own policy names: whatever slipped through it could neither ask this
// server anything nor send anything away.
func (v *Server) reportPage(w http.ResponseWriter, r *http.Request) {
	d, ok := v.document(w, r)
	if !ok {
		return
	}
	var b bytes.Buffer
	if err := report.HTML(&b, d); err != nil {
		v.fail(w, r, err)
		return
	}
	csp := "default-src 'none'"
	if m := policy.FindSubmatch(b.Bytes()); m != nil {
		csp = html.UnescapeString(string(m[1]))
	}
	h := w.Header()
	h.Set("Content-Security-Policy", csp+"; frame-ancestors 'none'; sandbox allow-scripts")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

func (v *Server) apply(w http.ResponseWriter, r *http.Request) {
	if v.service.Changes == nil {
		absent(w)
		return
	}
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
		err = fmt.Errorf("%w: target and finding are needed", ErrBadRequest)
	case x.Execute && x.Confirm == "":
		err = fmt.Errorf("%w: to execute, send the statement of the preview as confirm", ErrBadRequest)
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	o := apply.Options{Blocking: x.Blocking}
	if x.Execute {
		t, err := v.service.Changes.ApplyChange(r.Context(), x.Target, x.Finding, x.Confirm, userOf(r.Context()), o)
		v.started(w, r, t, err)
		return
	}
	in, err := v.service.Changes.PreviewChange(r.Context(), x.Target, x.Finding, o)
	v.reply(w, r, struct {
		Finding   string        `json:"finding"`
		Diagnosis string        `json:"diagnosis"`
		Execute   bool          `json:"execute"`
		Preview   apply.Preview `json:"preview"`
		Text      []string      `json:"text"`
	}{in.Finding.ID, in.Diagnosis, false, in.Preview, list(in.Preview.Text())}, err)
}

func (v *Server) kill(w http.ResponseWriter, r *http.Request) {
	if v.service.Changes == nil {
		absent(w)
		return
	}
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
		err = fmt.Errorf("%w: target, session and user are needed", ErrBadRequest)
	case x.Confirm != fmt.Sprintf("KILL %d", x.Session):
		err = fmt.Errorf("%w: to execute, send the statement KILL %d as confirm", ErrBadRequest, x.Session)
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	e, err := v.service.Changes.KillSession(r.Context(), x.Target, x.Session, x.User, userOf(r.Context()))
	v.reply(w, r, e, err)
}

func (v *Server) undo(w http.ResponseWriter, r *http.Request) {
	if v.service.Changes == nil {
		absent(w)
		return
	}
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
		err = fmt.Errorf("%w: id is missing", ErrBadRequest)
	case x.Execute && x.Confirm == "":
		err = fmt.Errorf("%w: to execute, send the statement of the preview as confirm", ErrBadRequest)
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	o := apply.Options{Blocking: x.Blocking}
	if x.Execute {
		t, err := v.service.Changes.UndoChange(r.Context(), x.ID, x.Confirm, userOf(r.Context()), o)
		v.started(w, r, t, err)
		return
	}
	p, err := v.service.Changes.PreviewUndo(r.Context(), x.ID, o)
	v.reply(w, r, p, err)
}

func (v *Server) prove(w http.ResponseWriter, r *http.Request) {
	if v.service.Changes == nil {
		absent(w)
		return
	}
	var x struct {
		ID     string  `json:"id"`
		Window float64 `json:"window"` // seconds; 0 is the usual ten
	}
	err := decodeJSON(r, &x)
	if err == nil && x.ID == "" {
		err = fmt.Errorf("%w: id is missing", ErrBadRequest)
	}
	window, werr := lookFor(x.Window)
	if err == nil {
		err = werr
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	t, err := v.service.Changes.ProveChange(r.Context(), x.ID, userOf(r.Context()), capture.Options{Window: window})
	v.started(w, r, t, err)
}
