package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"dyno/internal/app"
	"dyno/internal/exposition"
	"dyno/internal/httpapi"
	"dyno/internal/reading"
	"dyno/internal/remotewrite"
	"dyno/internal/store/reserve"
	"dyno/internal/store/series"
	"dyno/internal/unit"
	"dyno/internal/web"
)

// defaultListen is where `dyno serve` answers.
const defaultListen = "127.0.0.1:8306"

func (e *env) serve() *cobra.Command {
	var o app.Serving
	door := doorFlags{mode: 0o600}
	size := amount{kind: "bytes"}
	var write remotewrite.Options
	c := &cobra.Command{
		Use:   "serve [TARGET...]",
		Short: "watch every target of the inventory, keep what is seen, answer over HTTP",
		Long: `Reads every target once a second, keeps series, states and query classes, and answers over HTTP on this machine:
  /api/v1/…        Prometheus' query API: add it to Grafana as a Prometheus data source
  /metrics         for a Prometheus that scrapes, under mysqld_exporter's names
  /api/dyno/v1/…   targets, states at any past second, query classes, events, costs; a stream of what happens
docs/api.md describes them. Without TARGET it follows the inventory as it changes. A server that is down is looked for until it
is back. As long as there are no users (dyno user add) only root and Dyno's own account of this machine are let in, and the browser
in which the link is opened that is printed at the start; docs/access.md tells how to open it to others. Ctrl-C ends it; nothing that was kept is lost.`,
		Example: "  dyno serve\n  dyno serve shop --listen 127.0.0.1:9000",
		Args:    cobra.ArbitraryArgs,
	}
	f := c.Flags()
	door.add(f)
	f.DurationVar(&o.Every, "every", time.Second, "time between two readings of a target")
	f.StringSliceVar(&o.Scrape.Also, "also", nil, "sources to read that are not read by themselves, see dyno target check")
	f.StringSliceVar(&o.Scrape.Sources, "sources", nil, "read these sources only")
	daysVar(f, &o.Series.Retention, "keep", series.Retention, "how long series are kept second by second, as in 15d")
	daysVar(f, &o.Series.MinuteRetention, "keep-minutes", series.MinuteRetention, "how long they are kept minute by minute, as in 400d")
	f.Var(&size, "max-size", "the series take no more than this on disk, or none for no bound; the oldest go first (default 10G)")
	keepFree := f.String("reserve", "", "space on the disk that Dyno leaves to others, a size or a part: 4G, 10%; with less free it stores nothing (default 5%, at least 2G or 20%, whichever is less)")
	daysVar(f, &o.History.StateAge, "keep-states", 0, "how long states are kept, each second of them (default 3d)")
	daysVar(f, &o.History.ClassAge, "keep-classes", 0, "how long query classes are kept, ever more summed up (default 400d)")
	f.DurationVar(&o.Judge, "judge", 10*time.Minute, "every target is judged when it is first seen and then this often, as diagnose does, for some 0.2s of the server's CPU a look; 0: only when asked")
	f.StringVar(&write.URL, "remote-write", "", "send all samples there too: Prometheus, VictoriaMetrics, Mimir")
	f.StringVar(&write.User, "remote-write-user", "", "user for it; the password is in a variable or a file, see --remote-write-password-env and --remote-write-password-file")
	f.StringVar(&write.Password.Env, "remote-write-password-env", "", "environment variable that holds the password")
	f.StringVar(&write.Password.File, "remote-write-password-file", "", "file that holds the password")
	f.StringVar(&write.Bearer.File, "remote-write-token-file", "", "file that holds a bearer token, in place of a user")
	f.BoolVar(&write.Backfill, "remote-write-backfill", false, "the first time, send all that is stored, not only what comes from now on")
	f.DurationVar(&write.Replay, "remote-write-replay", 0, "send so much once more after the receiver was away; VictoriaMetrics loses up to 5s when it is killed")
	look := f.String("discover", "true", "with an empty inventory, watch the servers found on this machine; false: do not look, also not for the page; or sockets and host:port to look at alone, with commas between")
	c.RunE = func(c *cobra.Command, targets []string) error {
		looking, bad := discovering(*look)
		if size.n > 0 && size.n < leastSeries {
			bad = cmp.Or(bad, usagef("--max-size %s: it is %s or more: the last half hour is always kept, and may take that much", &size, unit.Bytes(leastSeries)))
		}
		if *keepFree != "" {
			var err error
			if o.Reserve, err = reserve.Parse(*keepFree); err != nil {
				bad = cmp.Or(bad, usagef("--reserve: %v", err))
			}
		}
		if err := cmp.Or(watchable(o.Watching), door.check(), servable(f), bad); err != nil {
			return err
		}
		o.Targets, o.Looking = targets, looking
		f.Visit(func(x *pflag.Flag) { o.Fixed = append(o.Fixed, x.Name) })
		if o.Series.MaxBytes = int64(size.n); !f.Changed("max-size") {
			o.Series.MaxBytes = 10 << 30
		}
		if write.URL != "" {
			o.Writes = []remotewrite.Options{write}
		}
		return e.serveUntil(c.Context(), o, door)
	}
	return c
}

// leastSeries is the least bound, in bytes, on what the series take: below it nothing but the last half hour would ever be kept.
const leastSeries = 100 << 20

// servable refuses what would be passed over: times below nothing, and how to reach a receiver that is not named.
func servable(f *pflag.FlagSet) (err error) {
	f.Visit(func(x *pflag.Flag) {
		d, _ := f.GetDuration(x.Name) // of another type it is 0
		switch {
		case err != nil:
		case strings.HasPrefix(x.Name, "keep") && d <= 0:
			err = usagef("--%s %v: it is a time above 0", x.Name, d)
		case d < 0:
			err = usagef("--%s %v: it is a time, or 0", x.Name, d)
		case strings.HasPrefix(x.Name, "remote-write-") && f.Lookup("remote-write").Value.String() == "":
			err = usagef("--%s is for --remote-write, which names no receiver", x.Name)
		}
	})
	if err == nil && f.Changed("remote-write-password-env") && f.Changed("remote-write-password-file") {
		err = usagef("--remote-write-password-env and --remote-write-password-file both say where the password is: choose")
	}
	return err
}

func (e *env) serveUntil(ctx context.Context, o app.Serving, way doorFlags) error {
	log := slog.New(slog.NewTextHandler(e.Err, nil))
	if e.quiet {
		log = slog.New(slog.DiscardHandler)
	}
	d, err := e.openDoor(ctx, way, log)
	if err != nil {
		return err
	}
	var h *httpapi.Server
	o.Log = log
	o.Publish = func(r reading.Reading) { h.Publish(r) }
	s, err := e.app.Serve(ctx, o)
	if errors.Is(err, remotewrite.ErrOptions) {
		err = &exitError{exitUsage, err}
	}
	if err != nil {
		return errors.Join(err, d.close())
	}
	e.letIn(ctx, d)
	engine := series.NewEngine(s.Series, exposition.Help, series.Limits{})
	h = httpapi.New(httpapi.Service{
		Querier: engine, Browser: engine, Fleet: fleet{s}, States: states{s}, Classes: classes{s}, Events: marks{s},
		Graphs: e.serveGraphs(s), Periods: e.servePeriods(s), Tasks: e.serveTasks(s), Findings: e.serveFindings(s), Changes: e.serveChanges(s),
		Lab: e.serveLab(s), Settings: e.serveSettings(s, d.l.Addr().String()), Access: d.users,
	}, httpapi.Options{Version: e.app.Version, Every: s.Every(), Log: log, Page: web.Handler(e.app.Environ("DYNO_PAGE_DIR")), PagePaths: web.Paths(), Guarding: d.guarding})
	e.remark("Dyno answers on %s. Ctrl-C ends it.", d.url)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	if len(o.Targets) == 0 {
		g.Go(func() error {
			e.greet(ctx, s, !o.Looking.None)
			return nil
		})
	}
	g.Go(func() error { return e.keepLink(ctx, d, log) })
	g.Go(func() error {
		s.Ready(ctx)
		return httpapi.Serve(ctx, d.l, h, log)
	})
	return errors.Join(g.Wait(), s.Close(), d.users.Close())
}
