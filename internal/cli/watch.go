package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/screen"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/state"
	nearest "github.com/dyno-perf/dyno/internal/suggest"
)

func newWatchCommand(e *env) *cobra.Command {
	var o service.Watching
	var at string
	var record bool
	var count int
	var deltas time.Duration
	c := &cobra.Command{
		Use:   "watch TARGET",
		Short: "live terminal view of a server, every second: throughput, CPU, I/O, engine, locks, classes, sessions",
		Long: `Shows what a server does, second by second, and who waits for whom: the session at the root of a pile-up is at the top.
Keys: ? explains them; arrows go back in time, l returns to now. What could not be observed is shown as –, never as zero.
While the view is open you can step back through the last hour; with --record, or while dyno serve watches the server, it is
stored and --at shows any past second. Without a terminal, and with --output json, it writes a state every second.
With --deltas it prints how much each counter grew, as mysqladmin -r extended does, out of what dyno serve stored: in the
time up to now, or in the time that begins at --at. Over more than an hour, a reset is seen only if the counter is lower at
the end.`,
		Example: "  dyno watch shop\n  dyno watch shop --at '2026-11-21 03:12:40'\n  dyno watch shop --deltas 10s\n" +
			"  dyno watch sandbox:demo --output json --count 10",
		Args: args(1, 1),
	}
	f := c.Flags()
	f.StringVar(&at, "at", "", "start at this time: "+momentForms)
	f.BoolVar(&record, "record", false, "store every state, so that --at finds it later")
	f.DurationVar(&o.Every, "every", time.Second, "time between two scrapes")
	f.IntVar(&count, "count", 0, "end after this many states; not in the terminal view")
	f.DurationVar(&deltas, "deltas", 0,
		"print how much each stored counter grew in this time, up to now or from --at on")
	f.StringSliceVar(&o.Scrape.Also, "also", nil, "sources to read that are off by default, see dyno target check")
	e.loginFlags(c)
	e.explainFlag(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		names := app.SourceNames(app.Families()...) // what is wrong with the target is told when it is opened
		if f, err := (app.Inspection{App: e.app}).Family(c.Context(), a[0]); err == nil {
			names = app.SourceNames(f)
		}
		if err := watchable(o, names); err != nil {
			return err
		}
		if count < 0 {
			return usagef("--count %d: it takes a number of states, or 0 for no end", count)
		}
		var moment time.Time
		if at != "" {
			var err error
			if moment, err = parseMoment(at, time.Now()); err != nil {
				return usagef("--at %s: %v", at, err)
			}
		}
		if f.Changed("deltas") {
			from, to := time.Now().Add(-deltas), time.Now()
			if at != "" {
				from, to = moment, moment.Add(deltas)
			}
			switch {
			case deltas < time.Second:
				return usagef("--deltas %s: it takes 1s or more", deltas)
			case record || count > 0:
				return usagef("--deltas prints what is stored: without --record and --count")
			case to.After(time.Now()):
				return usagef("--deltas %s from --at %s on is not over yet", deltas, at)
			}
			return printDeltas(c.Context(), e, a[0], from, to)
		}
		if e.json() || !isTerminal(e.Out) || e.app.Environ("TERM") == "dumb" || count > 0 {
			return watchPlain(c.Context(), e, a[0], o, moment, record, count)
		}
		return watchScreen(c.Context(), e, a[0], o, moment, record)
	}
	return c
}

// watchable checks what was asked of a watcher before anything is opened. names are those of all sources.
func watchable(o service.Watching, names []string) error {
	if o.Every < 100*time.Millisecond {
		return usagef("--every %s: the shortest is 100ms", o.Every)
	}
	for _, n := range append(slices.Clone(o.Scrape.Sources), o.Scrape.Also...) {
		if !slices.Contains(names, n) {
			meant := nearest.Name(n, names, 3)
			if meant != "" {
				meant = ", did you mean " + meant + "?"
			}
			return usagef("no source is called %q%s; there are %s", n, meant, strings.Join(names, ", "))
		}
	}
	return nil
}

// watchScreen ends when the user leaves the screen.
func watchScreen(ctx context.Context, e *env, name string, o service.Watching, at time.Time, record bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f, err := service.Watch(ctx, e.app, name, e.login, o, record)
	if err != nil {
		return err
	}
	kin, err := app.Inspection{App: e.app}.Family(ctx, name)
	if err != nil {
		kin = app.Families()[0]
	}
	err = screen.Run(ctx, feed{f}, screen.Options{
		In: e.In, Out: raw(e.Out), Target: name, At: at, Status: kin.Names().Status,
		Explain: func(ctx context.Context, sql, db string) (string, error) {
			return app.Inspection{App: e.app}.ExplainText(ctx, name, e.login, sql, db)
		},
	})
	stop()
	return errors.Join(err, f.Close())
}

// watchPlain writes states one after the other, or the one of a moment.
func watchPlain(ctx context.Context, e *env, name string, o service.Watching, at time.Time,
	record bool, count int,
) error {
	write := func(st *state.State) error {
		if e.json() {
			return screen.JSON(e.Out, st)
		}
		return screen.Plain(e.Out, st, e.width())
	}
	if !at.IsZero() {
		f, err := service.Past(ctx, e.app, name)
		if err != nil {
			return err
		}
		st, err := f.At(ctx, at)
		if err == nil {
			err = write(st)
		}
		return errors.Join(err, f.Close())
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	f, err := service.Watch(run, e.app, name, e.login, o, record)
	if err != nil {
		return err
	}
	for n := 0; count == 0 || n < count; n++ {
		u, nerr := f.Next(ctx)
		if nerr != nil {
			if ctx.Err() == nil && !errors.Is(nerr, io.EOF) { // Ctrl-C is its ordinary end
				err = nerr
			}
			break
		}
		if err = write(u.State); err != nil {
			break
		}
	}
	stop()
	return errors.Join(err, f.Close())
}

// feed gives screen what it asks for out of an app.Feed.
type feed struct{ f *service.Feed }

func (x feed) Next(ctx context.Context) (screen.Update, error) {
	u, err := x.f.Next(ctx)
	return screen.Update{State: u.State, Events: u.Events}, err
}

func (x feed) At(ctx context.Context, t time.Time) (*state.State, error) { return x.f.At(ctx, t) }

func (x feed) Times(ctx context.Context, from, to time.Time, most int) ([]time.Time, error) {
	return x.f.Times(ctx, from, to, most)
}

func (x feed) Events(ctx context.Context, from, to time.Time) ([]event.Event, error) {
	return x.f.Events(ctx, from, to)
}
