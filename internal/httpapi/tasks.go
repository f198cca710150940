package httpapi

import (
	"fmt"
	"net/http"

	"dyno/internal/app"
)

// Tasks is the long work that this process does for its users.
type Tasks interface {
	// Tasks returns them, newest first.
	Tasks() []app.Task
	Task(id string) (app.Task, bool)
	// CancelTask asks one to stop. Errors: app.ErrNoTask.
	CancelTask(id string) error
	// FollowTasks hands every change of a task to f.
	FollowTasks(f func(app.Task))
}

// notesInStream is how many notes of a task are sent with each of its changes; GET task has all.
const notesInStream = 10

func (v *Server) taskRoutes() {
	v.handle("GET /api/dyno/v1/tasks", v.tasks)
	v.handle("GET /api/dyno/v1/task", v.task)
	v.change("POST /api/dyno/v1/task/cancel", v.cancelTask)
	if v.service.Tasks != nil {
		v.service.Tasks.FollowTasks(v.PublishTask)
	}
}

// PublishTask hands a task as it is now to everybody who follows the stream. Like Publish it never waits for a client.
func (v *Server) PublishTask(t app.Task) {
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
	respondJSON(w, http.StatusOK, map[string]any{"tasks": list(v.service.Tasks.Tasks())})
}

func (v *Server) task(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	id := p.need("id")
	if v.service.Tasks == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	t, ok := v.service.Tasks.Task(id)
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
	if err := v.service.Tasks.CancelTask(x.ID); err != nil {
		v.fail(w, r, noTask(x.ID))
		return
	}
	t, _ := v.service.Tasks.Task(x.ID)
	respondJSON(w, http.StatusOK, t)
}

func noTask(id string) error {
	return fmt.Errorf("%w: this process has no task %q; those before it was started are not remembered", ErrNotFound, id)
}

// started answers with a task that was just started, or with why it was not.
func (v *Server) started(w http.ResponseWriter, r *http.Request, t app.Task, err error) {
	if err != nil {
		v.fail(w, r, err)
		return
	}
	respondJSON(w, http.StatusAccepted, t)
}
