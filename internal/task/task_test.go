package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/progress"
)

// ended waits until a task is over.
func ended(t *testing.T, s *List, id string) Task {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if x, ok := s.Find(id); ok && x.State != Running {
			return x
		}
	}
	t.Fatalf("task %s does not end: %+v", id, s.All())
	return Task{}
}

func untilCancelled(ctx context.Context, _ progress.Sink, _ func(string)) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestTaskTellsHowItWent(t *testing.T) {
	s := &List{}
	defer s.End()
	var mu sync.Mutex
	var heard []Task
	s.Follow(func(x Task) { mu.Lock(); heard = append(heard, x); mu.Unlock() })
	half := make(chan struct{})
	x, err := s.Start(Task{
		ID: "mine", Kind: "diagnose", Title: "Look at shop" + strings.Repeat(" ", mostText),
		Target: "shop", By: "ann",
	},
		func(ctx context.Context, sink progress.Sink, note func(string)) (string, error) {
			t0 := time.Now()
			sink(progress.Progress{
				Step: "looking", Done: 5, Total: 10, Unit: "s", Started: t0.Add(-5 * time.Second),
				At: t0,
			})
			for i := range maxNotes + 7 {
				note(fmt.Sprint("note ", i, strings.Repeat(" ", mostText)))
			}
			<-half
			return "d-1", nil
		})
	if err != nil || x.ID == "" || x.ID == "mine" || x.State != Running || x.By != "ann" || len(x.Title) != mostText {
		t.Fatalf("%+v %v", x, err)
	}
	for deadline := time.Now().Add(2 * time.Minute); len(x.Notes) == 0 ||
		strings.TrimSpace(x.Notes[len(x.Notes)-1].Text) != fmt.Sprint("note ", maxNotes+6); x, _ = s.Find(x.ID) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", x)
		}
	}
	f, _ := x.Fraction.Get()
	left, ok := x.Left.Get()
	if x.Step != "looking" || f != 0.5 || !ok || left < 4.9 || left > 5.1 || len(x.Notes) != maxNotes ||
		len(x.Notes[0].Text) != mostText || strings.TrimSpace(x.Notes[0].Text) != "note 7" {
		t.Fatalf("%+v", x)
	}
	close(half)
	if x = ended(t, s, x.ID); x.State != Done || x.Result != "d-1" || x.Ended.Before(x.Started) || !x.Left.IsZero() {
		t.Fatalf("%+v", x)
	}
	mu.Lock()
	defer mu.Unlock()
	if first, last := heard[0], heard[len(heard)-1]; first.State != Running ||
		last.State != Done || last.Result != "d-1" {
		t.Fatalf("the listener heard %+v … %+v", first, last)
	}
}

func TestTaskFails(t *testing.T) {
	s := &List{}
	defer s.End()
	f := func(w Work, want State, text string) {
		t.Helper()
		x, err := s.Start(Task{Kind: "apply", Target: "shop"}, w)
		if err != nil {
			t.Fatal(err)
		}
		if want == Cancelled {
			if err := s.Cancel(x.ID); err != nil {
				t.Fatal(err)
			}
		}
		if x = ended(t, s, x.ID); x.State != want || !strings.Contains(x.Error, text) {
			t.Fatalf("%+v", x)
		}
	}
	f(func(context.Context, progress.Sink, func(string)) (string, error) { return "", errors.New("no room") }, Failed,
		"no room")
	f(untilCancelled, Cancelled, "canceled")
	f(func(context.Context, progress.Sink, func(string)) (string, error) { panic("a slip") }, Failed, "a slip")
	f(func(context.Context, progress.Sink, func(string)) (string, error) { return "", nil }, Done, "")
	if err := s.Cancel("t-none"); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
}

func TestTasksKeepOutOfEachOthersWay(t *testing.T) {
	s := &List{}
	defer s.End()
	f := func(kind, target string, busy bool) {
		t.Helper()
		_, err := s.Start(Task{Kind: kind, Title: kind + " on " + target, Target: target}, untilCancelled)
		if errors.Is(err, ErrBusy) != busy || busy && !strings.Contains(err.Error(), " on "+target) || !busy &&
			err != nil {
			t.Fatalf("%s %s: %v", kind, target, err)
		}
	}
	f("apply", "shop", false)
	f("apply", "shop", true)
	f("undo", "shop", true)
	f("diagnose", "shop", false) // it only reads
	f("diagnose", "shop", true)
	f("undo", "blog", false)
	f("recipe", "", false)
	f("experiment", "", true)
	for i := range maxRunning - 4 {
		f("apply", fmt.Sprint("more", i), false)
	}
	if _, err := s.Start(Task{Kind: "apply", Target: "one too many"}, untilCancelled); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
}

func TestTasksAreForgotten(t *testing.T) {
	s := &List{}
	long, err := s.Start(Task{Kind: "recipe"}, untilCancelled)
	if err != nil {
		t.Fatal(err)
	}
	var last Task
	for range maxTasks + 5 {
		if last, err = s.Start(Task{Kind: "apply", Target: "shop"}, func(context.Context, progress.Sink,
			func(string),
		) (string, error) {
			return "", nil
		}); err != nil {
			t.Fatal(err)
		}
		ended(t, s, last.ID)
	}
	all := s.All()
	if len(all) != maxTasks || all[0].ID != last.ID || all[len(all)-1].ID != long.ID {
		t.Fatalf("%d tasks, from %s to %s", len(all), all[0].ID, all[len(all)-1].ID)
	}
	s.End() // waits for the one that runs
	if x, _ := s.Find(long.ID); x.State != Cancelled {
		t.Fatalf("%+v", x)
	}
	if _, err := s.Start(Task{Kind: "apply"}, untilCancelled); err == nil {
		t.Fatal("a task started after the end")
	}
}

// TestTheEndWaitsNotForEver: a server that goes on answering may hold up a task that was cancelled.
func TestTheEndWaitsNotForEver(t *testing.T) {
	b := &List{patience: time.Millisecond}
	held := make(chan struct{})
	defer close(held)
	_, err := b.Start(Task{Kind: "apply", Target: "x"},
		func(context.Context, progress.Sink, func(string)) (string, error) { <-held; return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	b.End()
	if _, err := b.Start(Task{Kind: "diagnose", Target: "x"}, nil); err == nil {
		t.Error("it takes more")
	}
}
