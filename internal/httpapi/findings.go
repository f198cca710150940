package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/service"
)

// findingAPI is what was judged of targets.
type findingAPI struct {
	diagnoses *service.Diagnoses
	fleet     *service.Fleet
}

const (
	maxDiagnoses = 200              // in a history
	maxLook      = 10 * time.Minute // the longest window of a diagnosis
)

func (h findingAPI) routes(v *Server) {
	v.get("/api/dyno/v1/findings", h.findings)
	v.get("/api/dyno/v1/diagnoses", h.summaries)
	v.get("/api/dyno/v1/diagnosis", h.diagnosis)
	v.post("/api/dyno/v1/diagnose", h.diagnose)
	v.post("/api/dyno/v1/finding/ignore", h.ignore)
}

// findings answers with what was found on a target, its newest diagnosis and the history of its diagnoses.
func (h findingAPI) findings(r *http.Request) (any, error) {
	p := query(r)
	name := p.need("target")
	limit := p.most(50, maxDiagnoses)
	if p.err != nil {
		return nil, p.err
	}
	if err := knows(r.Context(), h.fleet, name); err != nil {
		return nil, err
	}
	x := struct {
		Target    string                   `json:"target"`
		Every     float64                  `json:"every_seconds,omitzero"`
		Diagnosis *service.DiagnosisDetail `json:"diagnosis,omitempty"`
		History   []app.DiagnosisSummary   `json:"history"`
		service.Findings
	}{Target: name, Every: h.diagnoses.JudgedEvery().Seconds()}
	history, err := h.diagnoses.Summaries(r.Context(), name, limit)
	x.History = list(history)
	if err == nil && len(history) > 0 {
		var d service.DiagnosisDetail
		d, err = h.diagnoses.Detail(r.Context(), history[0].ID)
		x.Diagnosis = &d
	}
	if err == nil {
		x.Findings, err = h.diagnoses.FindingsOf(r.Context(), name)
	}
	return x, err
}

func (h findingAPI) summaries(r *http.Request) (any, error) {
	all, err := h.diagnoses.Summaries(r.Context(), "", 0)
	return map[string]any{"diagnoses": list(all)}, err
}

func (h findingAPI) diagnosis(r *http.Request) (any, error) {
	p := query(r)
	id := p.need("id")
	if p.err != nil {
		return nil, p.err
	}
	return h.diagnoses.Detail(r.Context(), id)
}

func (h findingAPI) diagnose(r *http.Request) (any, error) {
	var x struct {
		Target string    `json:"target"`
		Window float64   `json:"window"` // seconds to observe; 0: what the watcher read last is diagnosed
		Redact bool      `json:"redact"`
		From   time.Time `json:"from"` // with to: a window that is over, diagnosed from stored data
		To     time.Time `json:"to"`
	}
	if err := decodeJSON(r, &x); err != nil {
		return nil, err
	}
	window, err := lookFor(x.Window)
	if err == nil && x.Target == "" {
		err = fmt.Errorf("%w: target is missing", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	if !x.From.IsZero() || !x.To.IsZero() {
		if x.From.IsZero() || x.To.IsZero() || x.Window != 0 {
			return nil, fmt.Errorf("%w: from and to go together, without window", errBadRequest)
		}
		return started(h.diagnoses.Past(r.Context(), x.Target, userOf(r.Context()), x.From, x.To, x.Redact))
	}
	return started(h.diagnoses.Diagnose(r.Context(), x.Target, userOf(r.Context()),
		family.Look{Window: window, Redact: x.Redact}))
}

// lookFor reads how long to look, in seconds; 0 is left to those who look.
func lookFor(seconds float64) (time.Duration, error) {
	if seconds == 0 {
		return 0, nil
	}
	if !(seconds >= family.MinWindow.Seconds() && seconds <= maxLook.Seconds()) {
		return 0, fmt.Errorf("%w: window takes 3 to 600 seconds", errBadRequest)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func (h findingAPI) ignore(r *http.Request) (any, error) {
	var x struct {
		Target  string  `json:"target"`
		Finding string  `json:"finding"`
		Seconds float64 `json:"seconds"` // for how long; 0 shows it again
	}
	err := decodeJSON(r, &x)
	if err == nil && (x.Target == "" || x.Finding == "" || !(x.Seconds >= 0 && x.Seconds < 1e9)) {
		err = fmt.Errorf("%w: target and finding are needed, and seconds from 0", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	return h.diagnoses.IgnoreFinding(r.Context(), x.Target, x.Finding, userOf(r.Context()),
		time.Duration(x.Seconds*float64(time.Second)))
}
