package httpapi

import (
	"fmt"
	"net/http"

	"github.com/dyno-perf/dyno/internal/task"
)

// Tasks is the long work that this process does for its users.
type Tasks interface {
	// All returns them, newest first.
	All() []task.Task
	Find(id string) (task.Task, bool)
	// Cancel asks one to stop. Errors: task.ErrUnknown.
	Cancel(id string) error
	// Follow hands every change of a task to f.
	Follow(f func(task.Task))
}

// notesInStream is how many notes of a task are sent with each of its changes; GET task has all.
const notesInStream = 10

func (v *Server) taskRoutes() {
	v.handle("GET /api/dyno/v1/tasks", v.tasks)
	v.handle("GET /api/dyno/v1/task", v.task)
	v.change("POST /api/dyno/v1/task/cancel", v.cancelTask)
	if v.service.Tasks != nil {
		v.service.Tasks.Follow(v.PublishTask)
	}
}

// PublishTask hands a task as it is now to everybody who follows the stream. Like Publish it never waits for a client.
func (v *Server) PublishTask(t task.Task) {
	if n := len(t.Notes); n > notesInStream {
		t.Notes = t.Notes[n-notesInStream:]
	}
	v.hub.add(update{target: t.Target, task: &t})
}

func (v *Server) tasks(w http.ResponseWriter, r *http.Request) {
	if v.service.Tasks == nil {
		absent(w)
		return
	}
	respondJSON(w, http.StatusOK, map[string]any{"tasks": list(v.service.Tasks.All())})
}

func (v *Server) task(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	id := p.need("id")
	if v.service.Tasks == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	t, ok := v.service.Tasks.Find(id)
	if !ok {
		v.fail(w, r, noTask(id))
		return
	}
	respondJSON(w, http.StatusOK, t)
}

func (v *Server) cancelTask(w http.ResponseWriter, r *http.Request) {
	if v.service.Tasks == nil {
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
	if err := v.service.Tasks.Cancel(x.ID); err != nil {
		v.fail(w, r, noTask(x.ID))
		return
	}
	t, _ := v.service.Tasks.Find(x.ID)
	respondJSON(w, http.StatusOK, t)
}

func noTask(id string) error {
	return fmt.Errorf("%w: this process has no task %q; those before it was started are not remembered", ErrNotFound,
		id)
}

// started answers with a task that was just started, or with why it was not.
func (v *Server) started(w http.ResponseWriter, r *http.Request, t task.Task, err error) {
	if err != nil {
		v.fail(w, r, err)
		return
	}
	respondJSON(w, http.StatusAccepted, t)
}
