package httpapi

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/task"
)

// tasks is a service that knows one task.
type tasks struct {
	one    task.Task
	follow func(task.Task)
}

func (x *tasks) All() []task.Task { return []task.Task{x.one} }

func (x *tasks) Find(id string) (task.Task, bool) { return x.one, id == x.one.ID }

func (x *tasks) Cancel(id string) error {
	if id != x.one.ID {
		return fmt.Errorf("cancel: %w", task.ErrUnknown)
	}
	x.one.State = task.Cancelled
	return nil
}

func (x *tasks) Follow(f func(task.Task)) { x.follow = f }

func TestTasks(t *testing.T) {
	x := &tasks{one: task.Task{
		ID: "t-1", Kind: "apply", Title: "Add an index", Target: "shop", By: "ann",
		State: task.Running, Started: noon,
	}}
	h := New(Service{Tasks: x}, Options{})
	f := func(method, url, body string, code int, want string) {
		t.Helper()
		w := request(h, method, url, body, "Content-Type", "application/json")
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Fatalf("%s %s: %d %s, want %d %s", method, url, w.Code, w.Body, code, want)
		}
	}
	f("GET", "/api/dyno/v1/tasks", "", 200,
		`{"tasks":[{"id":"t-1","kind":"apply","title":"Add an index","target":"shop","by":"ann","state":"running"`)
	f("GET", "/api/dyno/v1/task?id=t-1", "", 200, `"id":"t-1"`)
	f("GET", "/api/dyno/v1/task?id=t-2", "", 404, `not_found`)
	f("GET", "/api/dyno/v1/task", "", 400, `bad_data`)
	f("POST", "/api/dyno/v1/task/cancel", `{"id":"t-2"}`, 404, `not_found`)
	f("POST", "/api/dyno/v1/task/cancel", `{"id":"t-1","now":true}`, 400, `bad_data`)
	f("POST", "/api/dyno/v1/task/cancel", `{"id":"t-1"}`, 200, `"cancelled"`)
	f("GET", "/api/dyno/v1/task/cancel", "", 405, `bad_data`)
	h = New(Service{}, Options{})
	f("GET", "/api/dyno/v1/tasks", "", 501, `unavailable`)
	f("POST", "/api/dyno/v1/task/cancel", `{"id":"t-1"}`, 501, `unavailable`)
}

// TestTasksInTheStream follows one target: its tasks and those of none come, others' do not.
func TestTasksInTheStream(t *testing.T) {
	x := &tasks{}
	server := httptest.NewServer(New(Service{Tasks: x}, Options{}))
	defer server.Close()
	res, err := http.Get(server.URL + "/api/dyno/v1/stream?target=shop") //nolint:bodyclose // closed below; the goroutine hides it
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	notes := make([]journal.Note, 3*notesInStream)
	for i := range notes {
		notes[i].Text = fmt.Sprint("note ", i, ".")
	}
	x.follow(task.Task{ID: "t-1", Target: "blog"})
	x.follow(task.Task{ID: "t-2", Target: "shop", Notes: notes})
	x.follow(task.Task{ID: "t-3"})
	var got []string
	for end := time.After(10 * time.Second); len(got) < 2; {
		select {
		case l, ok := <-lines:
			if !ok {
				t.Fatal("the stream ended")
			}
			if l == "event: task" {
				got = append(got, <-lines)
			}
		case <-end:
			t.Fatalf("only %q came", got)
		}
	}
	if !strings.Contains(got[0], `"t-2"`) || strings.Count(got[0], "note ") != notesInStream ||
		!strings.Contains(got[0], "note 29.") || !strings.Contains(got[1], `"t-3"`) {
		t.Fatalf("%q", got)
	}
}
