package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// feedBytes bounds the states that a Feed remembers, encoded: about an hour of a busy server.
const feedBytes = 64 << 20

// Feed is one target as a screen wants it: each second as it comes, and the past for as long as it is remembered here
// or kept in the history. Its methods may be called at the same time.
type Feed struct {
	name    string
	history *history.History // nil when there is none
	marks   func(ctx context.Context, from, to time.Time) ([]event.Event, error)

	mu     sync.Mutex
	news   chan struct{} // closed when there is something new
	ended  error
	queue  []FeedUpdate
	past   []remembered
	bytes  int
	events []event.Event
}

// FeedUpdate is what is new.
type FeedUpdate struct {
	State  *state.State // nil when there are only events
	Events []event.Event
}

type remembered struct {
	at  time.Time
	doc []byte
}

// maxQueue is how many seconds may wait for a screen that does not ask; the oldest go first, they can still be looked
// at by At.
const maxQueue = 10

// feedEvents is how many events are kept; the oldest go first.
const feedEvents = 1000

// Watch watches a target until ctx ends. With record every state is kept in the history too.
func Watch(ctx context.Context, a *app.App, name string, login app.Login, o Watching, record bool) (*Feed, error) {
	if _, err := a.Resolve(ctx, name, login); err != nil {
		// a slip of the pen is told now, not shown as a server that is down
		return nil, err
	}
	f, err := pastFeed(ctx, a, name, record)
	if err != nil {
		return nil, err
	}
	f.ended = nil
	w := newWatcher(a, name, login, o, func(r reading.Reading) { f.put(r, record) }, nil)
	if record {
		go func() { _ = f.history.Run(ctx, func(err error) { f.end(fmt.Errorf("store the states: %w", err)) }) }()
	}
	go func() {
		w.run(ctx)
		f.end(io.EOF)
	}()
	return f, nil
}

// Past returns the kept states of a target without watching it.
func Past(ctx context.Context, a *app.App, name string) (*Feed, error) {
	return pastFeed(ctx, a, name, false)
}

func pastFeed(ctx context.Context, a *app.App, name string, record bool) (*Feed, error) {
	f := &Feed{name: name, news: make(chan struct{}), ended: io.EOF}
	f.marks = func(ctx context.Context, from, to time.Time) ([]event.Event, error) {
		return app.Actions{App: a}.Events(ctx, name, from, to)
	}
	if _, err := os.Stat(a.HistoryPath()); record || err == nil { // looking leaves no trace
		h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
		if err != nil {
			return nil, err
		}
		f.history = h
	}
	return f, nil
}

// Close ends the use of the history, once the context of Watch has ended and nobody asks any more.
func (f *Feed) Close() error {
	if f.history == nil {
		return nil
	}
	return f.history.Close()
}

func (f *Feed) put(r reading.Reading, record bool) {
	doc, err := state.Encode(r.State)
	f.mu.Lock()
	if err == nil {
		f.past = append(f.past, remembered{r.At, doc})
		f.bytes += len(doc)
		for f.bytes > feedBytes && len(f.past) > 1 {
			f.bytes -= len(f.past[0].doc)
			f.past = f.past[1:]
		}
	}
	f.events = append(f.events, r.Events...)
	if n := len(f.events) - feedEvents; n > 0 {
		f.events = slices.Delete(f.events, 0, n)
	}
	f.queue = append(f.queue, FeedUpdate{r.State, r.Events})
	if n := len(f.queue) - maxQueue; n > 0 {
		f.queue = slices.Delete(f.queue, 0, n)
	}
	f.wake()
	f.mu.Unlock()
	if record && f.history != nil {
		_ = f.history.PutState(r.State) // Run writes it, and tells what fails
	}
}

// wake is called with the lock held.
func (f *Feed) wake() {
	close(f.news)
	f.news = make(chan struct{})
}

func (f *Feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		f.ended = err
		f.wake()
	}
}

// Next waits for the next update; io.EOF says that there will be none.
func (f *Feed) Next(ctx context.Context) (FeedUpdate, error) {
	for {
		f.mu.Lock()
		if len(f.queue) > 0 {
			u := f.queue[0]
			f.queue = f.queue[1:]
			f.mu.Unlock()
			return u, nil
		}
		ended, news := f.ended, f.news
		f.mu.Unlock()
		if ended != nil {
			return FeedUpdate{}, ended
		}
		select {
		case <-ctx.Done():
			return FeedUpdate{}, ctx.Err()
		case <-news:
		}
	}
}

// At returns the newest state at or before t.
func (f *Feed) At(ctx context.Context, t time.Time) (*state.State, error) {
	f.mu.Lock()
	i := sort.Search(len(f.past), func(i int) bool { return f.past[i].at.After(t) })
	var doc []byte
	if i > 0 {
		doc = f.past[i-1].doc
	}
	f.mu.Unlock()
	if doc != nil {
		return state.Decode(doc)
	}
	if f.history == nil {
		return nil, errors.New("no data for that time: `dyno serve` and `dyno watch --record` store states")
	}
	return f.history.StateAt(ctx, f.name, t)
}

// Times returns moments from from to to that have a state, oldest first, thinned evenly when there are more than most.
func (f *Feed) Times(ctx context.Context, from, to time.Time, most int) ([]time.Time, error) {
	var all []time.Time
	f.mu.Lock()
	for _, r := range f.past {
		if !r.at.Before(from) && !r.at.After(to) {
			all = append(all, r.at)
		}
	}
	end := to
	if len(f.past) > 0 && f.past[0].at.Before(end) {
		end = f.past[0].at.Add(-time.Nanosecond)
	}
	f.mu.Unlock()
	if f.history != nil && end.After(from) {
		kept, err := f.history.StateTimes(ctx, f.name, from, end, most)
		if err != nil {
			return nil, err
		}
		all = append(kept, all...)
	}
	if most > 0 && len(all) > most {
		thin := make([]time.Time, most)
		for i := range thin {
			thin[i] = all[i*len(all)/most]
		}
		all = thin
	}
	return all, nil
}

// Events returns those that touch a time.
func (f *Feed) Events(ctx context.Context, from, to time.Time) ([]event.Event, error) {
	all, err := f.marks(ctx, from, to)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		end := e.At
		if e.Until.After(end) {
			end = e.Until
		}
		if !end.Before(from) && !e.At.After(to) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b event.Event) int { return a.At.Compare(b.At) })
	return all, nil
}
