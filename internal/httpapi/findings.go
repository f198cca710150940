package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/capture"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/task"
)

// Findings gives what was judged of a target.
type Findings interface {
	// Verdicts returns the diagnoses that are kept of a target in short, newest first, at most n; of each target its
	// newest with target "". For an unknown target: ErrNotFound.
	Verdicts(ctx context.Context, target string, n int) ([]app.Verdict, error)
	// Judged returns one diagnosis with all that was thought about it.
	Judged(ctx context.Context, id string) (service.Judged, error)
	// Diagnose looks at a target in a task whose result is the id of a diagnosis.
	Diagnose(ctx context.Context, target, by string, o capture.Options) (task.Task, error)
	// FindingsOf returns the findings of a target that are open, ignored and resolved, whichever diagnosis saw them.
	FindingsOf(ctx context.Context, target string) (service.Findings, error)
	// IgnoreFinding takes a finding from those that are open, for a time; 0 shows it again. For an unknown one:
	// ErrNotFound.
	IgnoreFinding(ctx context.Context, target, finding, by string, d time.Duration) (ledger.Ignored, error)
	// JudgedEvery is the time between two looks that nobody asks for; 0: there are none.
	JudgedEvery() time.Duration
}

const (
	maxVerdicts = 200              // in a history
	maxLook     = 10 * time.Minute // the longest window of a diagnosis
)

func (v *Server) findingRoutes() {
	v.handle("GET /api/dyno/v1/findings", v.findings)
	v.handle("GET /api/dyno/v1/verdicts", v.verdicts)
	v.handle("GET /api/dyno/v1/diagnosis", v.diagnosis)
	v.change("POST /api/dyno/v1/diagnose", v.diagnose)
	v.change("POST /api/dyno/v1/finding/ignore", v.ignoreFinding)
}

// findings answers with what was found on a target, its newest diagnosis and the history of its diagnoses.
func (v *Server) findings(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	name := p.need("target")
	limit := p.most(50, maxVerdicts)
	if v.service.Findings == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	x := struct {
		Target    string          `json:"target"`
		Every     float64         `json:"every_seconds,omitzero"`
		Diagnosis *service.Judged `json:"diagnosis,omitempty"`
		History   []app.Verdict   `json:"history"`
		service.Findings
	}{Target: name, Every: v.service.Findings.JudgedEvery().Seconds()}
	history, err := v.service.Findings.Verdicts(r.Context(), name, limit)
	x.History = list(history)
	if err == nil && len(history) > 0 {
		var d service.Judged
		d, err = v.service.Findings.Judged(r.Context(), history[0].ID)
		x.Diagnosis = &d
	}
	if err == nil {
		x.Findings, err = v.service.Findings.FindingsOf(r.Context(), name)
		x.Open, x.Ignored, x.Resolved = list(x.Open), list(x.Ignored), list(x.Resolved)
	}
	v.reply(w, r, x, err)
}

func (v *Server) verdicts(w http.ResponseWriter, r *http.Request) {
	if v.service.Findings == nil {
		absent(w)
		return
	}
	all, err := v.service.Findings.Verdicts(r.Context(), "", 0)
	v.reply(w, r, map[string]any{"verdicts": list(all)}, err)
}

func (v *Server) diagnosis(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	id := p.need("id")
	if v.service.Findings == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	d, err := v.service.Findings.Judged(r.Context(), id)
	v.reply(w, r, d, err)
}

func (v *Server) diagnose(w http.ResponseWriter, r *http.Request) {
	if v.service.Findings == nil {
		absent(w)
		return
	}
	var x struct {
		Target string  `json:"target"`
		Window float64 `json:"window"` // seconds; 0 is the usual ten
		Redact bool    `json:"redact"`
	}
	if err := decodeJSON(r, &x); err != nil {
		v.fail(w, r, err)
		return
	}
	window, err := lookFor(x.Window)
	if err == nil && x.Target == "" {
		err = fmt.Errorf("%w: target is missing", ErrBadRequest)
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	t, err := v.service.Findings.Diagnose(r.Context(), x.Target, userOf(r.Context()),
		capture.Options{Window: window, Redact: x.Redact})
	v.started(w, r, t, err)
}

// lookFor reads how long to look, in seconds; 0 is left to those who look.
func lookFor(seconds float64) (time.Duration, error) {
	if seconds == 0 {
		return 0, nil
	}
	if !(seconds >= capture.MinWindow.Seconds() && seconds <= maxLook.Seconds()) {
		return 0, fmt.Errorf("%w: %w", ErrBadRequest, errors.New("window takes 3 to 600 seconds"))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func (v *Server) ignoreFinding(w http.ResponseWriter, r *http.Request) {
	if v.service.Findings == nil {
		absent(w)
		return
	}
	var x struct {
		Target  string  `json:"target"`
		Finding string  `json:"finding"`
		Seconds float64 `json:"seconds"` // for how long; 0 shows it again
	}
	err := decodeJSON(r, &x)
	if err == nil && (x.Target == "" || x.Finding == "" || !(x.Seconds >= 0 && x.Seconds < 1e9)) {
		err = fmt.Errorf("%w: target and finding are needed, and seconds from 0", ErrBadRequest)
	}
	var i ledger.Ignored
	if err == nil {
		i, err = v.service.Findings.IgnoreFinding(r.Context(), x.Target, x.Finding, userOf(r.Context()),
			time.Duration(x.Seconds*float64(time.Second)))
	}
	if errors.Is(err, service.ErrIgnoreFor) {
		err = fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	v.reply(w, r, i, err)
}
