package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/task"
)

// bench is a lab that knows x-1, the recipe threads and the run r-1, and records what it is asked.
type bench struct{ asked []string }

func (b *bench) know(ok bool, format string, args ...any) error {
	b.asked = append(b.asked, fmt.Sprintf(format, args...))
	if !ok {
		return fmt.Errorf("%w: nobody knows it", ErrNotFound)
	}
	return nil
}

func (b *bench) Experiments(context.Context) ([]lab.Line, error) {
	return []lab.Line{{ID: "x-1", State: lab.Damaged, Problem: "it cannot be read", Tally: []report.LaidTally{}}},
		b.know(true, "experiments")
}

func (b *bench) Experiment(_ context.Context, id string) (lab.Experiment, error) {
	return lab.Experiment{Line: lab.Line{ID: id, State: lab.Finished}}, b.know(id == "x-1", "experiment %s", id)
}

func (b *bench) SideBySide(_ context.Context, id, with string) (lab.Experiment, error) {
	if id == with {
		return lab.Experiment{}, fmt.Errorf("%w: both are %s", ErrConflict, id)
	}
	return lab.Experiment{}, b.know(true, "beside %s %s", id, with)
}

func (b *bench) Resume(_ context.Context, id, by string) (task.Task, error) {
	return task.Task{ID: "t-1"}, b.know(id == "x-1", "resume %s by %s", id, by)
}

func (b *bench) Recipes(context.Context) ([]lab.Recipe, error) {
	return []lab.Recipe{{Name: "threads"}}, b.know(true, "recipes")
}

func (b *bench) Recipe(_ context.Context, name, scale string, set map[string]string) (lab.DryRun, error) {
	return lab.DryRun{}, b.know(name == "threads", "recipe %s %s %d", name, scale, len(set))
}

func (b *bench) RunRecipe(_ context.Context, name, scale string, set map[string]string, by string) (task.Task, error) {
	if scale == "full" {
		return task.Task{}, fmt.Errorf("%w: experiment x-1 runs", task.ErrBusy)
	}
	return task.Task{ID: "t-1", Kind: "recipe"}, b.know(name == "threads", "run %s %s %v by %s", name, scale, set, by)
}

func (b *bench) Runs(_ context.Context, target string, limit int) ([]lab.Run, error) {
	return []lab.Run{}, b.know(true, "runs %q %d", target, limit)
}

func (b *bench) Run(_ context.Context, id string) (lab.RunDetail, error) {
	return lab.RunDetail{}, b.know(id == "r-1", "run %s", id)
}

func (b *bench) Documents(_ context.Context, limit int) ([]lab.Document, error) {
	return []lab.Document{}, b.know(true, "documents %d", limit)
}

func TestLabAnswers(t *testing.T) {
	l := &bench{}
	h := New(Service{Lab: l}, Options{})
	f := func(path string, code int, asked string) {
		t.Helper()
		l.asked = nil
		w := request(h, "GET", "/api/dyno/v1/"+path, "")
		if w.Code != code || strings.Join(l.asked, ";") != asked {
			t.Errorf("%s: %d %s, asked %q", path, w.Code, w.Body, l.asked)
		}
		if code >= 400 {
			told(t, w)
		}
	}
	f("experiments", 200, "experiments")
	f("experiment?id=x-1", 200, "experiment x-1")
	f("experiment?id=x-2", 404, "experiment x-2")
	f("experiment", 400, "")
	f("experiment?with=x-1", 400, "")
	f("experiment?id=x-1&with=x-2", 200, "beside x-1 x-2")
	f("experiment?id=x-1&with=x-1", 409, "")
	f("recipes", 200, "recipes")
	f("recipe?name=threads", 200, "recipe threads small 0")
	f("recipe?name=threads&scale=full", 200, "recipe threads full 0")
	f("recipe?name=nothing", 404, "recipe nothing small 0")
	f("recipe", 400, "")
	f("runs", 200, `runs "" 100`)
	f("runs?target=shop&limit=7", 200, `runs "shop" 7`)
	f("runs?limit=0", 400, "")
	f("runs?limit=1000000", 400, "")
	f("run?id=r-1", 200, "run r-1")
	f("run?id=r-2", 404, "run r-2")
	f("run", 400, "")
	f("documents?limit=3", 200, "documents 3")
	f("documents?limit=x", 400, "")
	if w := request(New(Service{}, Options{}), "GET", "/api/dyno/v1/experiments",
		""); w.Code != http.StatusNotImplemented {
		t.Errorf("without a lab: %d", w.Code)
	}
}

func TestLabChanges(t *testing.T) {
	l := &bench{}
	h := New(Service{Lab: l}, Options{})
	f := func(path, body string, code int, asked string) {
		t.Helper()
		l.asked = nil
		w := request(h, "POST", "/api/dyno/v1/"+path, body, "Content-Type", "application/json",
			"Sec-Fetch-Site", "same-origin")
		if w.Code != code || strings.Join(l.asked, ";") != asked {
			t.Errorf("%s %s: %d %s, asked %q", path, body, w.Code, w.Body, l.asked)
		}
		if code >= 400 {
			told(t, w)
		}
	}
	f("recipe/run", `{"name":"threads"}`, 202, "run threads small map[] by local")
	f("recipe/run", `{"name":"threads","scale":"medium","set":{"trials.time":"1s"}}`, 202,
		"run threads medium map[trials.time:1s] by local")
	f("recipe/run", `{"name":"threads","scale":"full"}`, 409, "")
	f("recipe/run", `{"name":"nothing"}`, 404, "run nothing small map[] by local")
	f("recipe/run", `{"name":"threads","install":true}`, 400, "")
	f("recipe/run", `{`, 400, "")
	f("experiment/resume", `{"id":"x-1"}`, 202, "resume x-1 by local")
	f("experiment/resume", `{"id":"x-2"}`, 404, "resume x-2 by local")
	for _, path := range []string{"recipe/run", "experiment/resume"} {
		l.asked = nil
		if w := request(h, "POST", "/api/dyno/v1/"+path, `{"name":"threads","id":"x-1"}`); w.Code !=
			http.StatusUnsupportedMediaType || len(l.asked) > 0 {
			t.Errorf("%s without its type: %d, asked %q", path, w.Code, l.asked)
		}
		if w := request(h, "POST", "/api/dyno/v1/"+path, `{"id":"x-1"}`, "Content-Type", "application/json",
			"Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden || len(l.asked) > 0 {
			t.Errorf("%s from elsewhere: %d, asked %q", path, w.Code, l.asked)
		}
	}
}
