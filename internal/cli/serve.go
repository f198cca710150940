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

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/remotewrite"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/reserve"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/web"
)

// defaultListen is where `dyno serve` answers.
const defaultListen = "127.0.0.1:8306"

func newServeCommand(e *env) *cobra.Command {
	var o service.Options
	door := doorFlags{mode: 0o600}
	size := amount{kind: "bytes"}
	var write remotewrite.Options
	c := &cobra.Command{
		Use:   "serve [TARGET...]",
		Short: "watch every target of the inventory, store what is observed, serve the web UI and the HTTP API",
		Long: `Scrapes every target once a second, stores series, states and query classes, and serves the web UI and, over HTTP on this machine:
  /api/v1/…        Prometheus' query API: add it to Grafana as a Prometheus data source
  /metrics         for a Prometheus that scrapes, under mysqld_exporter's names
  /api/dyno/v1/…   targets, states at any past second, query classes, events, overhead; a stream of events
docs/api.md describes them. Without TARGET it follows the inventory as it changes. A server that is down is retried until it
is back. Without users (dyno user add) only root and Dyno's own account on this machine have access, and the browser that opens
the link printed at the start; docs/access.md describes how to give others access. Ctrl-C ends it; stored data is not lost.`,
		Example: "  dyno serve\n  dyno serve shop --listen 127.0.0.1:9000",
		Args:    cobra.ArbitraryArgs,
	}
	f := c.Flags()
	door.add(f)
	f.DurationVar(&o.Every, "every", time.Second, "time between two scrapes of a target")
	f.StringSliceVar(&o.Scrape.Also, "also", nil, "sources to read that are off by default, see dyno target check")
	f.StringSliceVar(&o.Scrape.Sources, "sources", nil, "read only these sources")
	daysVar(f, &o.Series.Retention, "keep", series.Retention, "retention of series at a resolution of one second, "+
		"such as 15d")
	daysVar(f, &o.Series.MinuteRetention, "keep-minutes", series.MinuteRetention,
		"retention of series at a resolution of one minute, such as 400d")
	f.Var(&size, "max-size", "maximum size of series on disk, or none for no limit; the oldest are removed first "+
		"(default 10G)")
	keepFree := f.String("reserve", "", "disk space that Dyno leaves free, a size or a share: 4G, 10%; with less "+
		"free it stores nothing (default 5%, at least 2G or 20%, whichever is less)")
	daysVar(f, &o.History.StateAge, "keep-states", 0, "retention of states, one per second (default 3d)")
	daysVar(f, &o.History.ClassAge, "keep-classes", 0, "retention of query classes, aggregated further with age "+
		"(default 400d)")
	f.DurationVar(&o.LockWait, "lock-wait", time.Second, "store lock waits of at least this long, see dyno locks")
	redact := f.Bool("redact", false, "redact the literals of all targets' statements: none are stored, shown or "+
		"sent; dyno target redact does it for one")
	f.DurationVar(&o.Judge, "judge", 10*time.Minute, "run a diagnosis of every target when it is first seen and then "+
		"this often (about 0.2s of server CPU each); 0: only on request")
	f.StringVar(&write.URL, "remote-write", "", "also send all samples to this URL: Prometheus, VictoriaMetrics, Mimir")
	f.StringVar(&write.User, "remote-write-user", "", "user of --remote-write; for the password see "+
		"--remote-write-password-env and --remote-write-password-file")
	f.StringVar(&write.Password.Env, "remote-write-password-env", "", "environment variable that holds the password")
	f.StringVar(&write.Password.File, "remote-write-password-file", "", "file that holds the password")
	f.StringVar(&write.Bearer.File, "remote-write-token-file", "", "file that holds a bearer token, instead of a user")
	f.BoolVar(&write.Backfill, "remote-write-backfill", false, "the first time, send all stored samples, not only "+
		"new ones")
	f.DurationVar(&write.Replay, "remote-write-replay", 0, "send this much again after the receiver was unavailable; "+
		"VictoriaMetrics loses up to 5s when it is killed")
	look := f.String("discover", "true", "with an empty inventory, watch the servers found on this machine; false: "+
		"do not search, not in the web UI either; or a comma-separated list of sockets and host:port to try")
	c.RunE = func(c *cobra.Command, targets []string) error {
		looking, bad := discovering(*look)
		if size.n > 0 && size.n < leastSeries {
			bad = cmp.Or(bad, usagef("--max-size %s: must be %s or more: the last half hour is always kept, and may "+
				"take that much", &size, unit.Bytes(leastSeries)))
		}
		if *keepFree != "" {
			var err error
			if o.Reserve, err = reserve.Parse(*keepFree); err != nil {
				bad = cmp.Or(bad, usagef("--reserve: %v", err))
			}
		}
		sources := app.SourceNames(app.Families()...)
		if err := cmp.Or(watchable(o.Watching, sources), door.check(), servable(f), bad); err != nil {
			return err
		}
		o.Targets, o.Looking, e.app.Redact = targets, looking, *redact
		f.Visit(func(x *pflag.Flag) { o.Fixed = append(o.Fixed, x.Name) })
		if o.Series.MaxBytes = int64(size.n); !f.Changed("max-size") {
			o.Series.MaxBytes = service.SeriesBytes
		}
		if write.URL != "" {
			o.Writes = []remotewrite.Options{write}
		}
		return serveUntil(c.Context(), e, o, door)
	}
	return c
}

// leastSeries is the least bound, in bytes, on what the series take: below it nothing but the last half hour would ever
// be kept.
const leastSeries = 100 << 20

// servable refuses what would be passed over: times below nothing, and how to reach a receiver that is not named.
func servable(f *pflag.FlagSet) (err error) {
	f.Visit(func(x *pflag.Flag) {
		d, _ := f.GetDuration(x.Name) // of another type it is 0
		switch {
		case err != nil:
		case strings.HasPrefix(x.Name, "keep") && d <= 0:
			err = usagef("--%s %v: must be a time above 0", x.Name, d)
		case d < 0:
			err = usagef("--%s %v: must be a time, or 0", x.Name, d)
		case strings.HasPrefix(x.Name, "remote-write-") && f.Lookup("remote-write").Value.String() == "":
			err = usagef("--%s needs --remote-write", x.Name)
		}
	})
	if err == nil && f.Changed("remote-write-password-env") && f.Changed("remote-write-password-file") {
		err = usagef("--remote-write-password-env and --remote-write-password-file both say where the password is: " +
			"use one of them")
	}
	return err
}

func serveUntil(ctx context.Context, e *env, o service.Options, way doorFlags) error {
	log := slog.New(slog.NewTextHandler(e.Err, nil))
	if e.quiet {
		log = slog.New(slog.DiscardHandler)
	}
	d, err := openDoor(ctx, e, way, log)
	if err != nil {
		return err
	}
	var h *httpapi.Server
	o.Log = log
	o.Publish = func(r reading.Reading) { h.Publish(r) } // h is made from the service that this is an option of
	s, err := service.New(ctx, e.app, o)
	if errors.Is(err, remotewrite.ErrOptions) {
		err = &exitError{exitUsage, err}
	}
	if err != nil {
		return errors.Join(err, d.close())
	}
	d.letIn(ctx, e)
	h = httpapi.New(httpapi.Services{
		Service: s, Engine: series.NewEngine(s.Series, app.Help, series.Limits{}), Access: d.users,
		Lab: lab.New(e.app, &s.Tasks, func() (all []ledger.Target) {
			for _, m := range s.Fleet.All() {
				all = append(all, m.Entry)
			}
			return all
		}),
	}, httpapi.Options{
		Version: e.app.Version, Every: s.Fleet.Every(), Log: log, Listen: d.l.Addr().String(),
		Page: web.Handler(e.app.Environ("DYNO_PAGE_DIR")), PagePaths: web.Paths(), Guarding: d.guarding,
	})
	e.remark("Dyno answers on %s. Ctrl-C ends it.", d.url)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	if len(o.Targets) == 0 {
		g.Go(func() error {
			greet(ctx, e, s, !o.Looking.None)
			return nil
		})
	}
	g.Go(func() error { return d.keepLink(ctx, e, log) })
	g.Go(func() error {
		s.Fleet.Ready(ctx)
		return httpapi.Serve(ctx, d.l, h, log)
	})
	return errors.Join(g.Wait(), s.Close(), d.users.Close())
}
