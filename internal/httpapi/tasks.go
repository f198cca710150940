package httpapi

import (
	"fmt"
	"net/http"

	"github.com/dyno-perf/dyno/internal/task"
)

// taskAPI is the long work that this process does for its users.
type taskAPI struct{ tasks *task.List }

// notesInStream is how many notes of a task are sent with each of its changes; GET task has all.
const notesInStream = 10

func (h taskAPI) routes(v *Server) {
	v.get("/api/dyno/v1/tasks", h.all)
	v.get("/api/dyno/v1/task", h.one)
	v.post("/api/dyno/v1/task/cancel", h.cancel)
	h.tasks.Follow(v.publishTask)
}

// publishTask hands a task as it is now to everybody who follows the stream. Like Publish it never waits for a client.
func (v *Server) publishTask(t task.Task) {
	if n := len(t.Notes); n > notesInStream {
		t.Notes = t.Notes[n-notesInStream:]
	}
	v.hub.add(update{target: t.Target, task: &t})
}

func (h taskAPI) all(*http.Request) (any, error) {
	return map[string]any{"tasks": list(h.tasks.All())}, nil
}

func (h taskAPI) one(r *http.Request) (any, error) {
	p := query(r)
	id := p.need("id")
	if p.err != nil {
		return nil, p.err
	}
	return h.find(id)
}

func (h taskAPI) cancel(r *http.Request) (any, error) {
	var x struct {
		ID string `json:"id"`
	}
	if err := decodeJSON(r, &x); err != nil {
		return nil, err
	}
	_ = h.tasks.Cancel(x.ID) // an unknown one is not found below
	return h.find(x.ID)
}

func (h taskAPI) find(id string) (any, error) {
	t, ok := h.tasks.Find(id)
	if !ok {
		return nil, fmt.Errorf("%w: this process has no task %q; those before it was started are not remembered",
			errNotFound, id)
	}
	return t, nil
}
