package postgres

import (
	"context"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/capture"
	pgchange "github.com/dyno-perf/dyno/internal/postgres/change"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/loader"
	"github.com/dyno-perf/dyno/internal/postgres/sources"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Server is a server of the family: it implements family.Server, and the tasks of that package that are there for
// PostgreSQL.
type Server struct {
	*conn.Target
	rights *rights
	family Family
}

var (
	_ family.Server     = Server{}
	_ family.Looker     = Server{}
	_ family.Asker      = Server{}
	_ family.Classifier = Server{}
	_ family.Digester   = Server{}
)

// Family implements family.Server.
func (s Server) Family() family.Family { return s.family }

// About implements family.Server.
func (s Server) About() family.Facts {
	f := s.Facts()
	x := family.Facts{
		Flavor: dbms.Postgres, Version: f.Version, Server: f.Server, User: f.User, Port: f.Port, Trust: f.Trust,
	}
	if f.TLS {
		x.TLS = "TLS"
	}
	return x
}

// Judged implements family.Server.
func (Server) Judged() []string { return capture.Sources() }

// Scraper implements family.Server.
func (s Server) Scraper(o scrape.Options) (*scrape.Scraper, error) { return sources.New(s.Target, o) }

// Load returns the server as what can be loaded.
func (s Server) Load() load.Server { return loader.Server{T: s.Target, Database: s.Spec().Database} }

// Classes implements family.Classifier.
func (s Server) Classes(context.Context, bool) (family.Classes, error) {
	return capture.OpenClasses(s.Target), nil
}

// Digest implements family.Digester. pg_stat_statements keeps no literals: there is nothing to redact.
func (s Server) Digest(ctx context.Context, o family.Listen) (digest.Report, []source.Source, error) {
	return capture.Digest(ctx, s.Target, capture.DigestOptions{
		Window: o.Window, Limit: o.Limit, OrderBy: o.OrderBy, Explain: o.Explain, Progress: o.Progress,
	})
}

// Changer returns how the server is changed.
func (s Server) Changer() change.Changer { return pgchange.On(s.Target) }

// Look implements family.Looker.
func (s Server) Look(ctx context.Context, o family.Look) (*snapshot.Snapshot, error) {
	return capture.Observe(ctx, s.Target, capture.Options{
		Window: o.Window, Top: o.Top, Redact: o.Redact || s.Spec().Redact, Progress: o.Progress, Home: o.Home,
	})
}

// Ask implements family.Asker.
func (s Server) Ask(ctx context.Context, x *snapshot.Snapshot, o family.Look) error {
	pid, _ := s.LocalPID(ctx)
	return capture.Ask(ctx, s.Target, x, capture.Options{
		Top: o.Top, Redact: o.Redact || s.Spec().Redact, Home: o.Home, PID: pid,
	})
}

// Complete implements family.Completer.
func (Family) Complete(c *class.Class) { capture.Complete(c) }

// Redact implements family.Redacter.
func (Family) Redact(s *snapshot.Snapshot) { capture.Redact(s) }
