package screen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"dyno/internal/event"
	"dyno/internal/state"
)

// stubborn is a source that does not care that its context has ended.
type stubborn struct{ called chan struct{} }

func (s stubborn) Next(ctx context.Context) (Update, error) {
	select {
	case s.called <- struct{}{}:
	default:
	}
	select {}
}
func (s stubborn) At(context.Context, time.Time) (*state.State, error) { select {} }
func (s stubborn) Times(context.Context, time.Time, time.Time, int) ([]time.Time, error) {
	select {}
}
func (s stubborn) Events(context.Context, time.Time, time.Time) ([]event.Event, error) { select {} }

// run runs a screen without a terminal and returns what it ended with.
func run(ctx context.Context, t *testing.T, src Source) error {
	t.Helper()
	done := make(chan error, 1)
	in, w := io.Pipe()
	defer w.Close()
	go func() { done <- Run(ctx, src, Options{In: in, Out: new(bytes.Buffer), Env: []string{"TERM=dumb"}}) }()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Minute):
		t.Fatal("does not end")
		return nil
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := stubborn{make(chan struct{}, 1)}
	go func() { <-s.called; cancel() }()
	if err := run(ctx, t, s); err != nil {
		t.Error(err)
	}
	cancel()
	if err := run(ctx, t, &kept{}); err != nil { // one that has ended before
		t.Error(err)
	}
}

func TestCallsAreWaitedFor(t *testing.T) {
	c := newCalls()
	for range 2 {
		if !c.begin() {
			t.Fatal("refused")
		}
	}
	if c.wait(time.Millisecond) {
		t.Error("did not wait")
	}
	if c.begin() {
		t.Error("a call began after the end")
	}
	c = newCalls()
	c.begin()
	go c.end()
	if !c.wait(time.Minute) {
		t.Error("an ended call was not seen")
	}
	if !newCalls().wait(0) {
		t.Error("waited for nothing")
	}
}

func TestFollow(t *testing.T) {
	k := &kept{next: make(chan Update, 2)}
	k.next <- Update{State: calm(noon)}
	close(k.next)
	var got []any
	follow(t.Context(), k, func(m tea.Msg) { got = append(got, m) })
	if len(got) != 2 || got[0].(updateMsg).State == nil || got[1].(endMsg).err != nil {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	follow(ctx, &kept{}, func(tea.Msg) { t.Error("news after the end") })
	fails := errors.New("gone")
	follow(t.Context(), failing{fails}, func(m tea.Msg) {
		if !errors.Is(m.(endMsg).err, fails) {
			t.Errorf("got %v", m)
		}
	})
}

type failing struct{ err error }

func (f failing) Next(context.Context) (Update, error)                { return Update{}, f.err }
func (f failing) At(context.Context, time.Time) (*state.State, error) { return nil, f.err }
func (f failing) Events(context.Context, time.Time, time.Time) ([]event.Event, error) {
	return nil, f.err
}

func (f failing) Times(context.Context, time.Time, time.Time, int) ([]time.Time, error) {
	return nil, f.err
}

func TestNoColourByConvention(t *testing.T) {
	f := func(want []string, env ...string) {
		t.Helper()
		if got := environ(env); !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", env, got, want)
		}
	}
	f([]string{"A=1", "NO_COLOR=1"}, "A=1", "NO_COLOR=yes")
	f([]string{"NO_COLOR=", "A=1"}, "NO_COLOR=", "A=1") // empty: not set
	f([]string{"A=1"}, "A=1")
}
