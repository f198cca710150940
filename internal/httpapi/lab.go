package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/task"
)

// Lab gives experiments and recipes, carries them out, and gives the runs and reports that are on record.
type Lab interface {
	Experiments
	Recipes
	Records
}

// Experiments are comparisons of variants. For an unknown id the error wraps ErrNotFound.
type Experiments interface {
	// Experiments lists them, newest first.
	Experiments(ctx context.Context) ([]lab.Line, error)
	Experiment(ctx context.Context, id string) (lab.Experiment, error)
	// SideBySide sets two against each other. What cannot be compared is ErrConflict.
	SideBySide(ctx context.Context, id, with string) (lab.Experiment, error)
	// Resume goes on with one that was interrupted.
	Resume(ctx context.Context, id, by string) (task.Task, error)
}

// Recipes are experiments that ship with Dyno.
type Recipes interface {
	Recipes(ctx context.Context) ([]lab.Recipe, error)
	// Recipe tells what running one would mean; it starts nothing.
	Recipe(ctx context.Context, name, scale string, set map[string]string) (lab.DryRun, error)
	RunRecipe(ctx context.Context, name, scale string, set map[string]string, by string) (task.Task, error)
}

// Records are the runs of loads and the reports that were kept.
type Records interface {
	// Runs lists the latest on a target, on all with "", newest first.
	Runs(ctx context.Context, target string, limit int) ([]lab.Run, error)
	Run(ctx context.Context, id string) (lab.RunDetail, error)
	// Documents lists reports of demos and proofs.
	Documents(ctx context.Context, limit int) ([]lab.Document, error)
}

// Bounds of lists.
const (
	usualRecords = 100
	mostRecords  = 1000
)

func (v *Server) labRoutes() {
	v.handle("GET /api/dyno/v1/experiments", v.lab(func(r *http.Request, l Lab, p *params) (any, error) {
		x, err := l.Experiments(r.Context())
		return map[string]any{"experiments": x[:min(len(x), mostRecords)]}, err
	}))
	v.handle("GET /api/dyno/v1/experiment", v.lab(func(r *http.Request, l Lab, p *params) (any, error) {
		id, with := p.need("id"), p.text("with")
		switch {
		case p.err != nil:
			return nil, p.err
		case with != "":
			return l.SideBySide(r.Context(), id, with)
		}
		return l.Experiment(r.Context(), id)
	}))
	v.handle("GET /api/dyno/v1/recipes", v.lab(func(r *http.Request, l Lab, p *params) (any, error) {
		x, err := l.Recipes(r.Context())
		return map[string]any{"recipes": x}, err
	}))
	v.handle("GET /api/dyno/v1/recipe", v.lab(func(r *http.Request, l Lab, p *params) (any, error) {
		name, scale := p.need("name"), p.text("scale")
		if scale == "" {
			scale = "small"
		}
		if p.err != nil {
			return nil, p.err
		}
		return l.Recipe(r.Context(), name, scale, nil)
	}))
	v.handle("GET /api/dyno/v1/runs", v.lab(func(r *http.Request, l Lab, p *params) (any, error) {
		limit := p.records()
		if p.err != nil {
			return nil, p.err
		}
		x, err := l.Runs(r.Context(), p.text("target"), limit)
		return map[string]any{"runs": x}, err
	}))
	v.handle("GET /api/dyno/v1/run", v.lab(func(r *http.Request, l Lab, p *params) (any, error) {
		id := p.need("id")
		if p.err != nil {
			return nil, p.err
		}
		return l.Run(r.Context(), id)
	}))
	v.handle("GET /api/dyno/v1/documents", v.lab(func(r *http.Request, l Lab, p *params) (any, error) {
		limit := p.records()
		if p.err != nil {
			return nil, p.err
		}
		x, err := l.Documents(r.Context(), limit)
		return map[string]any{"documents": x}, err
	}))
	v.change("POST /api/dyno/v1/recipe/run", v.runRecipe)
	v.change("POST /api/dyno/v1/experiment/resume", v.resumeExperiment)
}

// records is the parameter limit of a list of records, at least 1.
func (p *params) records() int {
	n := p.limit("limit", usualRecords)
	if p.err == nil && (n < 1 || n > mostRecords) {
		p.wrong("limit", errors.New("it is from 1 to 1000"))
	}
	return n
}

// lab answers from the Lab; errors of parameters are the caller's.
func (v *Server) lab(f func(*http.Request, Lab, *params) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := params{values: r.URL.Query()}
		if v.service.Lab == nil {
			absent(w)
			return
		}
		x, err := f(r, v.service.Lab, &p)
		switch {
		case p.err != nil:
			refuse(w, p.err)
		case err != nil:
			v.fail(w, r, err)
		default:
			respondJSON(w, http.StatusOK, x)
		}
	}
}

func (v *Server) runRecipe(w http.ResponseWriter, r *http.Request) {
	if v.service.Lab == nil {
		absent(w)
		return
	}
	var x struct {
		Name  string            `json:"name"`
		Scale string            `json:"scale"`
		Set   map[string]string `json:"set"`
	}
	if err := decodeJSON(r, &x); err != nil {
		v.fail(w, r, err)
		return
	}
	if x.Scale == "" {
		x.Scale = "small"
	}
	t, err := v.service.Lab.RunRecipe(r.Context(), x.Name, x.Scale, x.Set, userOf(r.Context()))
	v.started(w, r, t, err)
}

func (v *Server) resumeExperiment(w http.ResponseWriter, r *http.Request) {
	if v.service.Lab == nil {
		absent(w)
		return
	}
	var x struct {
		ID string `json:"id"`
	}
	if err := decodeJSON(r, &x); err != nil {
		v.fail(w, r, err)
		return
	}
	t, err := v.service.Lab.Resume(r.Context(), x.ID, userOf(r.Context()))
	v.started(w, r, t, err)
}
