package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/task"
)

func TestTasks(t *testing.T) {
	s := bare()
	t.Cleanup(s.Tasks.End)
	x, err := s.Tasks.Start(task.Task{Kind: "apply", Title: "Add an index", Target: "shop", By: "ann"},
		func(ctx context.Context, _ progress.Sink, _ func(string)) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
	good(t, err)
	h := New(s, Options{})
	f := func(method, url, body string, code int, want string) {
		t.Helper()
		w := request(h, method, url, body, "Content-Type", "application/json")
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Fatalf("%s %s: %d %s, want %d %s", method, url, w.Code, w.Body, code, want)
		}
	}
	f("GET", "/api/dyno/v1/tasks", "", 200,
		`{"tasks":[{"id":"`+x.ID+`","kind":"apply","title":"Add an index","target":"shop","by":"ann","state":"running"`)
	f("GET", "/api/dyno/v1/task?id="+x.ID, "", 200, `"id":"`+x.ID+`"`)
	f("GET", "/api/dyno/v1/task?id=t-0", "", 404, `not_found`)
	f("GET", "/api/dyno/v1/task", "", 400, `bad_data`)
	f("POST", "/api/dyno/v1/task/cancel", `{"id":"t-0"}`, 404, `not_found`)
	f("POST", "/api/dyno/v1/task/cancel", `{"id":"t-1","now":true}`, 400, `bad_data`)
	f("POST", "/api/dyno/v1/task/cancel", `{"id":"`+x.ID+`"}`, 200, `"id":"`+x.ID+`"`)
	f("GET", "/api/dyno/v1/task/cancel", "", 405, `bad_data`)
}

// TestTasksInTheStream follows one target: its tasks and those of none come, others' do not.
func TestTasksInTheStream(t *testing.T) {
	v := New(bare(), Options{})
	server := httptest.NewServer(v)
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
	v.publishTask(task.Task{ID: "t-1", Target: "blog"})
	v.publishTask(task.Task{ID: "t-2", Target: "shop", Notes: notes})
	v.publishTask(task.Task{ID: "t-3"})
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
