// Package capture does all I/O that a diagnosis of a PostgreSQL server needs, and returns one snapshot, as
// internal/mysql/capture does for the MySQL family. It only reads, and it evaluates nothing: packages diagnose and
// advise do.
//
// It sees the statements and tables of the one database that the target names.
package capture

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/guard"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/postgres/sources"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Server is what a capture asks of a target; conn.Target is one.
type Server interface {
	Spec() endpoint.Spec
	Facts() conn.Facts
	Conn(ctx context.Context) (*pgx.Conn, error) // a session for reading
	End(c *pgx.Conn)
}

// there is a Server that is found on the machine that it is reached through.
type there interface {
	Claim(ctx context.Context) (host.Claim, error)
	There(ctx context.Context, f host.FS) (pid int, err error)
}

// Scraper reads the server's metrics and sessions over a window; scrape.Scraper is one.
type Scraper interface {
	Window(ctx context.Context, every, length time.Duration, sink func(reading.Reading)) error
}

// Options says how long to look and how deep.
type Options struct {
	Window time.Duration // MinWindow to 10 min; counters need some seconds to become rates
	// Top is how many classes are explained; 0 means those with 1 % of the time or more, at most 30.
	Top      int
	Redact   bool // leave out what may hold values of users
	Progress progress.Sink
	// Scraper gives Series and Moments; nil: there are none, and the sources of them are missing.
	Scraper Scraper
	PID     int    // of the postmaster when it runs on this machine, for what the kernel says of it; 0 else
	Home    string // where Dyno keeps things, for what it takes from the server's disk; "" where that does not matter
}

const (
	// MinWindow is the shortest window that gives rates.
	MinWindow = 3 * time.Second
	// afterTime bounds what is asked before and after the window.
	afterTime = 60 * time.Second
	component = "capture"
	least     = 0.01 // share of the statement time from which a class is explained
	mostAsked = 30
)

// Sources names the sources of metrics that judgement draws on: all but those whose facts the snapshot holds in another
// form.
func Sources() (names []string) {
	for _, x := range sources.List() {
		if !x.Asked && x.Name != source.Variables && x.Name != source.Sizes {
			names = append(names, string(x.Name))
		}
	}
	return names
}

// sourceTime is how long a source may take at the begin and at the end of the window: servers that are overloaded are
// the ones looked at.
const sourceTime = 8 * time.Second

// Observe is Take with a scraper of the server and, when it runs on this machine, its process.
func Observe(ctx context.Context, t *conn.Target, o Options) (*snapshot.Snapshot, error) {
	scraper, err := sources.New(t, scrape.Options{Sources: Sources(), Timeout: sourceTime})
	if err != nil {
		return nil, err
	}
	defer scraper.Close()
	o.Scraper = scraper
	if pid, ok := t.LocalPID(ctx); ok {
		o.PID = pid
	}
	return Take(ctx, t, o)
}

// Take looks at the server for the window and returns what it saw. A source that gives nothing is listed in the
// snapshot; an error means that there is no snapshot: the window was cut short or the server went away.
func Take(ctx context.Context, t Server, o Options) (s *snapshot.Snapshot, err error) {
	if o.Window < MinWindow {
		return nil, fmt.Errorf("observe %s: a window of %v is too short, the minimum is %v", t.Spec().Name, o.Window,
			MinWindow)
	}
	ctx, leave := context.WithTimeoutCause(ctx, o.Window+afterTime,
		fmt.Errorf("the server did not answer within %v", o.Window+afterTime))
	defer leave()
	err = guard.Shaped(func() error { s, err = observe(ctx, t, o); return err })
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("observe %s: stopped, too early for a diagnosis: %w", t.Spec().Name, context.Cause(ctx))
	}
	return nil, fmt.Errorf("observe %s: %w", t.Spec().Name, wrap(t, err))
}

// wrap gives an error of a session its kind, which callers that know no PostgreSQL go by, where the target can.
func wrap(t Server, err error) error {
	if x, ok := t.(interface {
		Wrap(op string, err error) error
	}); ok {
		return x.Wrap("read", err)
	}
	return err
}

func observe(ctx context.Context, t Server, o Options) (*snapshot.Snapshot, error) {
	c, err := t.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { t.End(c) }()
	f := t.Facts()
	stmts := statements{facts: f.Statements, user: f.User}
	unread, err := tolerate(source.Digests, stmts.begin(ctx, c))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	var buf metric.Buffer
	var seen snapshot.Gather
	var scraped []source.Source
	if err := window(ctx, t, o, start, func(r reading.Reading) {
		buf.Add(r.Samples...)
		scraped = r.Sources
		seen.Add(r.State)
	}); err != nil {
		return nil, err
	}
	_ = c.Ping(ctx) // a pooler or the server may have ended what was idle for the window
	if c, err = again(ctx, t, c); err != nil {
		return nil, err
	}
	var classes []class.Class
	var other left
	src := unread
	if src.State == "" {
		if classes, other, src, err = stmts.end(ctx, c); err != nil {
			if src, err = failed(source.Digests, err); err != nil {
				return nil, err
			}
		}
	}
	end := time.Now()
	s := &snapshot.Snapshot{
		Format: snapshot.Format, From: start.UTC(), To: end.UTC(), Target: describe(t, o),
		Sources: append(scraped, src),
		Series:  snapshot.Lean(buf.Series(start.UnixMilli(), end.UnixMilli())),
		Classes: classes, Rest: snapshot.Rest{Classes: other.classes, TimeSec: other.sec},
		Moments: seen.Pick(),
	}
	// What the target learned when it was opened may be of long ago.
	s.Target.UptimeSec += int64(time.Since(start).Seconds())
	if up, ok := s.Find("dyno_uptime_seconds"); ok && len(up.Points) > 0 {
		s.Target.UptimeSec = int64(up.Points[len(up.Points)-1].Value)
	}
	if c, err = ask(ctx, t, c, s, o, stmts.sql); err != nil {
		return nil, err
	}
	machine(ctx, t, s, o)
	bound(s, buf.Lost())
	if o.Redact {
		Redact(s)
	}
	o.Progress.Report(progress.Progress{
		Step: "observing " + t.Spec().Name, Unit: "s", Started: start, At: time.Now(), Done: 1, Total: 1, End: true,
	})
	return s, nil
}

// Ask adds to a snapshot of a window, which others have observed, what must be asked of the server: which one it is,
// its settings, its tables, the plans of the classes with the most time, the machine. It is newer than the window. An
// error means that the server went away.
func Ask(ctx context.Context, t Server, s *snapshot.Snapshot, o Options) error {
	ctx, leave := context.WithTimeoutCause(ctx, afterTime, fmt.Errorf("the server did not answer within %v", afterTime))
	defer leave()
	err := guard.Shaped(func() error {
		c, err := t.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { t.End(c) }()
		up := s.Target.UptimeSec
		s.Target = describe(t, o)
		s.Target.UptimeSec = cmp.Or(up, s.Target.UptimeSec)
		stmts := statements{facts: t.Facts().Statements, user: t.Facts().User}
		sql, err := stmts.texted(ctx, c, explained(s, o.Top))
		if err != nil {
			src, err := failed(source.Plans, err)
			if err != nil {
				return err
			}
			s.Sources = append(s.Sources, src)
		}
		if c, err = again(ctx, t, c); err != nil {
			return err
		}
		if c, err = ask(ctx, t, c, s, o, sql); err != nil {
			return err
		}
		machine(ctx, t, s, o)
		if o.Redact {
			Redact(s)
		}
		return nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("diagnose %s: stopped: %w", t.Spec().Name, context.Cause(ctx))
	}
	return fmt.Errorf("diagnose %s: %w", t.Spec().Name, wrap(t, err))
}

func describe(t Server, o Options) snapshot.Target {
	f := t.Facts()
	return snapshot.Target{
		Name: t.Spec().Name, Server: f.Server, Flavor: dbms.Postgres, Version: f.Version, Local: o.PID != 0,
		UptimeSec: int64(f.Uptime.Seconds()), ReadOnly: f.ReadOnly, Replica: f.Replica,
	}
}

// machine fills in what is known of the machine that the server runs on.
func machine(ctx context.Context, t Server, s *snapshot.Snapshot, o Options) {
	where := host.Server{
		Local: func(context.Context) (int, bool) { return o.PID, o.PID != 0 }, Datadir: t.Facts().Datadir, Home: o.Home,
	}
	if x, ok := t.(there); ok {
		spec := t.Spec()
		where.Remote, where.There = spec.Machine(), x.There
	}
	var err error
	if o.PID != 0 || where.Remote != nil {
		s.Host, _, err = host.Of(ctx, where)
	}
	if x, ok := t.(there); ok && !s.Host.CPUs.OK() && t.Spec().NodeExporter != "" {
		s.Host, err = scrape.HostFacts(ctx, t.Spec().NodeExporter, x.Claim, t.Facts().Datadir)
	}
	if err != nil {
		s.Sources = append(s.Sources, source.Source{
			Name: source.HostFacts, State: source.Failed, Reason: err.Error(),
		})
	}
}

// tolerate says in a source what the server refused; it is the zero source where there was no error.
func tolerate(name source.Name, err error) (source.Source, error) {
	if err == nil {
		return source.Source{}, nil
	}
	return failed(name, err)
}

// window lets the time pass, with a scraper reading meanwhile where there is one.
func window(ctx context.Context, t Server, o Options, start time.Time, sink func(reading.Reading)) error {
	tell := func() {
		o.Progress.Report(progress.Progress{
			Step: "observing " + t.Spec().Name, Unit: "s", Started: start, At: time.Now(),
			Done: min(time.Since(start), o.Window).Seconds(), Total: o.Window.Seconds(),
		})
	}
	if o.Scraper != nil {
		err := o.Scraper.Window(ctx, time.Second, o.Window, func(r reading.Reading) { sink(r); tell() })
		return cmp.Or(err, ctx.Err())
	}
	over := time.NewTimer(o.Window)
	defer over.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			tell()
		case <-over.C:
			return nil
		}
	}
}

// again returns the session, or a new one in the place of one that was closed: the driver closes it when the time for a
// question is over.
func again(ctx context.Context, t Server, c *pgx.Conn) (*pgx.Conn, error) {
	if !c.IsClosed() {
		return c, nil
	}
	t.End(c)
	fresh, err := t.Conn(ctx)
	if err != nil {
		return c, err
	}
	return fresh, nil
}

// ask fills in settings, tables and plans, and returns the session that is to be ended. What the server refuses is said
// in a source; an error is one of the connection.
func ask(ctx context.Context, t Server, c *pgx.Conn, s *snapshot.Snapshot, o Options, sql map[string]string,
) (*pgx.Conn, error) {
	var err error
	if s.Variables, err = settings(ctx, c); err != nil {
		src, err := failed(source.Variables, err)
		if err != nil {
			return c, err
		}
		s.Sources = append(s.Sources, src)
	}
	top := explained(s, o.Top)
	first := map[string]bool{}
	for _, x := range top {
		for _, name := range pgtext.Names(x.Fingerprint) {
			first[name] = true
		}
	}
	inv, err := readTables(ctx, c, first)
	if err != nil {
		return c, err
	}
	if c, err = again(ctx, t, c); err != nil {
		return c, err
	}
	s.Tables, s.TablesLeft, s.Sources = inv.tables, inv.left, append(s.Sources, inv.source)
	x, err := newExplainer(ctx, t.Spec(), c, s.Tables)
	if err != nil {
		src, err := failed(source.Plans, err)
		s.Sources = append(s.Sources, src)
		return c, err
	}
	until := time.Now().Add(plansTime)
	for _, k := range top {
		if time.Now().After(until) {
			s.Plans = append(s.Plans, explain.Plan{
				Class: k.ID, Schema: k.Schema,
				Error: fmt.Sprintf("not run: the answers for other classes took more than %v", plansTime),
			})
			continue
		}
		text, ok := sql[k.ID]
		if !ok {
			s.Plans = append(s.Plans, explain.Plan{
				Class: k.ID, Schema: k.Schema, Error: "not run: its text is gone from pg_stat_statements",
			})
			continue
		}
		p, err := x.plan(ctx, k, text)
		if err != nil {
			return c, err
		}
		if !dictionary(p.Raw) {
			s.Plans = append(s.Plans, p)
		}
	}
	s.Sources = append(s.Sources, x.unplanned(s.Plans)...)
	return c, nil
}

// explained returns the classes to explain.
func explained(s *snapshot.Snapshot, n int) (out []class.Class) {
	total := s.TotalTime()
	for i, c := range s.Classes {
		if n > 0 && i >= n || n == 0 && (len(out) == mostAsked || c.TimeSec < least*total) {
			break
		}
		if explainable(c.Fingerprint) {
			out = append(out, c)
		}
	}
	return out
}

// explainable reports whether statements of a fingerprint have a plan.
func explainable(fingerprint string) bool {
	verb, _, _ := strings.Cut(strings.TrimLeft(fingerprint, "( "), " ")
	return slices.Contains([]string{"select", "with", "insert", "update", "delete", "merge", "values", "table"}, verb)
}

// settings returns the server's settings in the units of pg_settings, without values that may hold a secret.
func settings(ctx context.Context, c *pgx.Conn) (map[string]string, error) {
	rows, err := c.Query(ctx, pgtext.Tagged(component, "SELECT lower(name), coalesce(reset_val, '') FROM pg_settings "+
		"LIMIT 5000"))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if value != "" && sources.Secret(name) {
			value = "(withheld)"
		}
		all[name] = value
	}
	return all, rows.Err()
}

// bound leaves out what the snapshot has no room for. What it says of classes that exceed the limit is about those of
// this database.
func bound(s *snapshot.Snapshot, lost int) {
	rest := s.Rest
	s.Rest = snapshot.Rest{}
	snapshot.Bound(s, lost)
	s.Rest.Classes += rest.Classes
	s.Rest.TimeSec += rest.TimeSec
}

// Redact takes out what may hold values of users: fingerprints hold none.
func Redact(s *snapshot.Snapshot) {
	for i := range s.Plans {
		s.Plans[i].Raw = ""
		if s.Plans[i].Error != "" { // the server quotes the statement
			s.Plans[i].Error = "the server refused to explain it"
		}
	}
	for i := range s.Moments {
		sources.Redact(&s.Moments[i])
	}
}
