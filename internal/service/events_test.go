package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/reading"
)

// TestMarksAreBounded floods the queue while nothing can be stored: what does not fit is told once, as one event.
func TestMarksAreBounded(t *testing.T) {
	q := newMarks()
	at := time.Unix(1000, 0)
	for i := range maxMarks + 50 {
		q.add(event.Event{At: at.Add(time.Duration(i) * time.Second), Kind: event.DDL, Text: fmt.Sprint(i)})
	}
	full := errors.New("full")
	if err := q.flush(func([]event.Event) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	var kept []event.Event
	puts := 0
	if err := q.flush(func(es []event.Event) error {
		puts++
		kept = append(kept, es...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	last := kept[len(kept)-1]
	if len(kept) != maxMarks+1 || kept[0].Text != "0" || puts > maxMarks/marksAtOnce+1 {
		t.Errorf("%d events in %d transactions", len(kept), puts)
	}
	if last.Kind != event.Gap || !strings.HasPrefix(last.Text, "50 events were dropped") ||
		!last.At.Equal(at.Add(maxMarks*time.Second)) || !last.Until.Equal(at.Add((maxMarks+49)*time.Second)) {
		t.Errorf("%+v", last)
	}
}

// TestEventsOfTwoTargets: two servers see the same session change a table in the same millisecond.
func TestEventsOfTwoTargets(t *testing.T) {
	ids := map[string]bool{}
	for _, name := range []string{"shop", "store"} {
		w := &watcher{name: name, read: func(r reading.Reading) {
			for _, e := range r.Events {
				ids[e.ID] = true
			}
		}}
		w.round(reading.Reading{
			At:     time.Unix(1000, 0),
			Events: []event.Event{{ID: "ddl-7-1000000", At: time.Unix(1000, 0), Kind: event.DDL}},
		})
	}
	if len(ids) != 2 {
		t.Errorf("%v", ids)
	}
}
