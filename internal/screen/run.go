package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// leaveWithin is how long Run waits for calls of the source to end when the screen has been closed: who leaves does not
// wait for a server that hangs.
const leaveWithin = 2 * time.Second

// Run shows the screen until the user leaves it (no error), ctx ends (no error: whoever ended it knows), or the
// terminal fails. The terminal is as it was before when it returns. No goroutine of its own outlives it, unless the
// source ignores the end of its ctx.
func Run(ctx context.Context, src Source, o Options) error {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, src, o, time.Now())

	opts := []tea.ProgramOption{tea.WithoutSignalHandler(), tea.WithFPS(20), tea.WithEnvironment(environ(o.Env))}
	if o.In != nil && o.In != os.Stdin {
		// left to itself, keys come from the terminal even when standard input is something else
		opts = append(opts, tea.WithInput(o.In))
	}
	if o.Out != nil {
		opts = append(opts, tea.WithOutput(o.Out))
	}
	p := tea.NewProgram(m, opts...)

	m.calls.begin()
	go func() {
		defer m.calls.end()
		follow(ctx, src, p.Send)
	}()
	m.calls.begin()
	go func() {
		defer m.calls.end()
		<-ctx.Done()
		p.Quit() // leaves as the key does; nothing when the program has ended
	}()
	_, err := p.Run()
	cancel()
	m.calls.wait(leaveWithin)
	if err != nil {
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	return nil
}

// follow hands the source's updates to the screen until there are no more.
func follow(ctx context.Context, src Source, send func(tea.Msg)) {
	for {
		u, err := src.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			send(endMsg{err})
			return
		}
		send(updateMsg{u, time.Now()})
	}
}

// environ makes any value of NO_COLOR mean what its convention says: set and not empty is no colour.
func environ(env []string) []string {
	if !noColour(env) {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "NO_COLOR=") })
	return append(env, "NO_COLOR=1")
}

func noColour(env []string) bool {
	no := false
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "NO_COLOR="); ok {
			no = v != ""
		}
	}
	return no
}
