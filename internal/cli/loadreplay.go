package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/unit"
)

// newLoadReplayCommand is `dyno load replay`.
func newLoadReplayCommand(e *env) *cobra.Command {
	var o loadFlags
	o.threads = listValue[int]{typ: "N", parse: threadCount}
	o.percentiles = listValue[float64]{typ: "list", parse: percentileNumber}
	_ = o.threads.Set("100")
	o.percentile, o.interval = 95, secondsValue(time.Second)
	var speed string
	var writes, dry bool
	var choice logChoice
	c := &cobra.Command{
		Use:   load.ReplayName + " LOG...",
		Short: "replay the statements of slow logs or general logs",
		Long: `Replays the statements of logs: every session of the log over its own connection, in its order, with the original concurrency and
timing. Reads what "dyno digest" reads: slow logs and general logs, plain, gzip or zstd, - for standard input.
If a log has only whole seconds, as MariaDB's do, the pauses within a second are lost. Statements that a log leaves out because
they were fast are not sent: have the server log all of them for a true copy of a load.

Only statements that are proven to read are sent, in read-only sessions, so that the server refuses what hides in functions and views.
--writes sends the others too: use it on a copy of the data, never on production. Statements that would change the server itself,
accounts or other sessions are never sent. All use the account of the target and the databases that the log names.

Statements are sent once; errors are counted by number, and late statements are counted. Ctrl-C stops cleanly and prints the figures
so far.`,
		Example: "  dyno load replay slow.log --target sandbox:mariadb\n" +
			"  dyno load replay slow.log.2.gz slow.log.1 --target sandbox:mariadb --speed 10 --writes\n" +
			"  dyno load replay general.log --target sandbox:mysql --speed max --threads 32\n" +
			"  dyno load replay slow.log --since '2026-11-21 14:00:00' --filter 'db == \"shop\"' --dry-run",
		Args: args(1, math.MaxInt),
	}
	f := c.Flags()
	f.SetNormalizeFunc(normalName)
	f.SortFlags = false
	o.loadTarget.flags(f)
	f.StringVar(&speed, "speed", "1", "speed: 1 as logged, 10 ten times as fast, max without pauses")
	f.BoolVar(&writes, "writes", false, "also send statements that write or may write")
	choice.flags(f, "send")
	f.BoolVar(&dry, "dry-run", false, "show what would be sent, and send nothing; needs no server")
	f.Var(&o.threads, "threads", "maximum number of connections; pausing sessions lend theirs to others")
	f.Var(&o.time, "time", "end after this time, 0 for the whole log")
	f.Var(&o.interval, "report-interval", "seconds between lines, 0 for none")
	f.Var(&o.percentile, "percentile", "percentile of the latency in lines and summary, 0 for none")
	f.Var(&o.percentiles, "percentiles", "percentiles in the latency table, such as 50,99,99.99")
	e.loginFlags(c)
	c.SetFlagErrorFunc(loadFlagError)
	c.RunE = func(c *cobra.Command, logs []string) error {
		cfg := load.ReplayConfig{Writes: writes, Threads: o.threads.list[0], Time: time.Duration(o.time)}
		if len(o.threads.list) > 1 {
			return usagef("--threads %s: a replay takes one number", o.threads.given)
		}
		if cfg.Speed = math.Inf(1); speed != "max" {
			v, err := strconv.ParseFloat(strings.TrimSuffix(speed, "x"), 64)
			if err != nil || !(v >= 0.001 && v <= 1e6) {
				return usagef("--speed %s: it takes a number from 0.001 to 1000000, 1 being as fast as logged, or max",
					speed)
			}
			cfg.Speed = v
		}
		from := digest.Logs{Paths: logs, Stdin: e.In}
		if _, err := choice.into(&from.Config, time.Now()); err != nil {
			return err
		}
		if dry {
			x, err := app.Runs{App: e.app}.PreviewReplay(c.Context(), cfg, from)
			if err != nil {
				return err
			}
			return errors.Join(replayPreview(e, logs, &x), replayCode(&x))
		}
		text, err := o.text(f)
		if err != nil {
			return err
		}
		server, err := e.app.Open(c.Context(), text, e.login)
		if err != nil {
			return err
		}
		defer server.Close()
		if err := app.CanReplay(server); err != nil {
			return err
		}
		replayHeader(e, logs, cfg, server.Spec().String())
		p := newTickPrinter(e, &o)
		x, err := app.Runs{App: e.app}.Replay(c.Context(), server, cfg, from, p.tick)
		p.end()
		if x.Run.Elapsed == 0 || err != nil && x.Run.Total.Operations() == 0 {
			if err == nil && c.Context().Err() != nil {
				e.remark("Stopped before anything was measured.")
			}
			return err
		}
		return errors.Join(replayEnd(e, &x, &o), err, replayCode(&x))
	}
	return c
}

// replayHeader prints what is to be done.
func replayHeader(e *env, logs []string, cfg load.ReplayConfig, to string) {
	if e.json() || e.quiet {
		return
	}
	speed, what := "as fast as the server answers", "reads only"
	if !math.IsInf(cfg.Speed, 1) {
		speed = fmt.Sprintf("at speed %g", cfg.Speed)
	}
	if cfg.Writes {
		what = "reads and writes"
	}
	fmt.Fprintf(e.Out, "dyno %s\n\nReplaying %s on %s, %s, %s, over at most %d connections.\n\n", e.app.Version,
		strings.Join(logs, ", "), to, speed, what, cfg.Threads)
}

// replayPreview prints what a replay would do.
func replayPreview(e *env, logs []string, x *app.Replay) error {
	if e.json() {
		return e.writeJSON(struct {
			Message  string        `json:"message"`
			Replayed load.Replayed `json:"replayed"`
			Skips    uint64        `json:"skipped_parts,omitzero"`
		}{"dry run", x.Of, x.Skips})
	}
	r := &x.Of
	fmt.Fprintf(e.Out, "Dry run of %s: nothing was sent.\n\n", strings.Join(logs, ", "))
	fmt.Fprintf(e.Out, "%-12s %d entries of %s over %s\n", "Log:", r.Entries, unit.Plural(int(r.Sessions), "session",
		"sessions"), unit.Duration(r.Span))
	fmt.Fprintf(e.Out, "%-12s %s\n", "Would send:", unit.Plural(int(r.Sent), "statement", "statements"))
	for _, why := range slices.Sorted(maps.Keys(r.Skipped)) {
		fmt.Fprintf(e.Out, "%-12s %s: %s\n", "Not sent:", unit.Plural(int(r.Skipped[why]), "entry", "entries"), why)
	}
	return nil
}

// replayEnd prints the figures of a replay.
func replayEnd(e *env, x *app.Replay, o *loadFlags) error {
	r := &x.Run
	if e.json() {
		return e.writeJSON(struct {
			Message string `json:"message"`
			figures
			loadresult.Run
			Replayed load.Replayed `json:"replayed"`
			Skips    uint64        `json:"skipped_parts,omitzero"`
		}{"summary", figuresOf(&r.Total, r), *r, x.Of, x.Skips})
	}
	e.mu.Lock()
	fmt.Fprintln(e.Out)
	sysbenchBlock(e.Out, r.Total, r.Elapsed, nil, int(o.percentile))
	width := math.MaxInt
	if isTerminal(e.Out) {
		width = e.width()
	}
	ownBlock(e.Out, r, o.percentiles.list, width)
	replayBlock(e.Out, &x.Of)
	e.mu.Unlock()
	if r.ID != "" {
		e.remark("Stored as %s: `dyno report %[1]s` shows it.", r.ID)
	}
	return nil
}

// replayBlock prints what became of the log.
func replayBlock(w io.Writer, x *load.Replayed) {
	line := func(name, format string, a ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name+":", fmt.Sprintf(format, a...))
	}
	line("Log", "%d entries of %d sessions over %s", x.Entries, x.Sessions, unit.Duration(x.Span))
	line("Sent", "%d statements over %d connections; %d late, by at most %s", x.Sent, x.Connections, x.Late,
		unit.Duration(x.MaxLag))
	if x.Left > 0 {
		line("Left", "%d statements that had been read were not sent", x.Left)
	}
	if x.Logged > 0 {
		line("Query time", "%s total in the log, %s now (%s)", unit.Duration(x.Logged), unit.Duration(x.Took),
			unit.Ratio(x.Took.Seconds()/x.Logged.Seconds()))
	}
}

// replayCode is the error, for the exit code, of a replay that does not tell of the whole log or not of the server.
func replayCode(x *app.Replay) error {
	if err := invalid([]loadresult.Run{x.Run}); err != nil {
		return err
	}
	if x.Skips == 0 {
		return nil
	}
	s := x.Skipped[0]
	at := fmt.Sprintf("at byte %d: %s", s.Offset, s.Reason)
	if s.File != "" {
		at = s.File + " " + at
	}
	return &exitError{exitSkipped, fmt.Errorf("%d parts of the log were skipped, the first %s", x.Skips, at)}
}
