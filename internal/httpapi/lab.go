package httpapi

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/dyno-perf/dyno/internal/lab"
)

// labAPI is experiments and recipes, and the runs and reports that are on record.
type labAPI struct{ lab *lab.Lab }

// Bounds of lists.
const (
	usualRecords = 100
	mostRecords  = 1000
	usualScale   = "small"
)

func (h labAPI) routes(v *Server) {
	v.get("/api/dyno/v1/experiments", h.experiments)
	v.get("/api/dyno/v1/experiment", h.experiment)
	v.get("/api/dyno/v1/recipes", h.recipes)
	v.get("/api/dyno/v1/recipe", h.recipe)
	v.get("/api/dyno/v1/runs", h.runs)
	v.get("/api/dyno/v1/run", h.run)
	v.get("/api/dyno/v1/documents", h.documents)
	v.post("/api/dyno/v1/recipe/run", h.runRecipe)
	v.post("/api/dyno/v1/experiment/resume", h.resume)
}

// records is the parameter limit of a list of records, at least 1.
func (p *params) records() int {
	n := p.limit("limit", usualRecords)
	if p.err == nil && (n < 1 || n > mostRecords) {
		p.wrong("limit", errors.New("it is from 1 to 1000"))
	}
	return n
}

func (h labAPI) experiments(r *http.Request) (any, error) {
	x, err := h.lab.Experiments(r.Context())
	return map[string]any{"experiments": x[:min(len(x), mostRecords)]}, err
}

func (h labAPI) experiment(r *http.Request) (any, error) {
	p := query(r)
	id, with := p.need("id"), p.text("with")
	switch {
	case p.err != nil:
		return nil, p.err
	case with != "":
		return h.lab.SideBySide(r.Context(), id, with)
	}
	return h.lab.Experiment(r.Context(), id)
}

func (h labAPI) recipes(r *http.Request) (any, error) {
	x, err := h.lab.Recipes(r.Context())
	return map[string]any{"recipes": x}, err
}

func (h labAPI) recipe(r *http.Request) (any, error) {
	p := query(r)
	name, scale := p.need("name"), cmp.Or(p.text("scale"), usualScale)
	if p.err != nil {
		return nil, p.err
	}
	return h.lab.Recipe(r.Context(), name, scale, nil)
}

func (h labAPI) runs(r *http.Request) (any, error) {
	p := query(r)
	limit := p.records()
	if p.err != nil {
		return nil, p.err
	}
	x, err := h.lab.Runs(r.Context(), p.text("target"), limit)
	return map[string]any{"runs": x}, err
}

func (h labAPI) run(r *http.Request) (any, error) {
	p := query(r)
	id := p.need("id")
	if p.err != nil {
		return nil, p.err
	}
	return h.lab.Run(r.Context(), id)
}

func (h labAPI) documents(r *http.Request) (any, error) {
	p := query(r)
	limit := p.records()
	if p.err != nil {
		return nil, p.err
	}
	x, err := h.lab.Documents(r.Context(), limit)
	return map[string]any{"documents": x}, err
}

func (h labAPI) runRecipe(r *http.Request) (any, error) {
	var x struct {
		Name  string            `json:"name"`
		Scale string            `json:"scale"`
		Set   map[string]string `json:"set"`
	}
	if err := decodeJSON(r, &x); err != nil {
		return nil, err
	}
	return started(h.lab.RunRecipe(r.Context(), x.Name, cmp.Or(x.Scale, usualScale), x.Set, userOf(r.Context())))
}

func (h labAPI) resume(r *http.Request) (any, error) {
	var x struct {
		ID string `json:"id"`
	}
	if err := decodeJSON(r, &x); err != nil {
		return nil, err
	}
	return started(h.lab.Resume(r.Context(), x.ID, userOf(r.Context())))
}
