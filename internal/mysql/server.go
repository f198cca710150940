package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/apply"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/digestsource"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// Server is a server of the family: it implements family.Server and all tasks of that package.
type Server struct {
	*target.Target
	real *examples // of a server whose statements are redacted
}

var (
	_ family.Server     = Server{}
	_ family.Classifier = Server{}
	_ family.Planner    = Server{}
	_ family.Looker     = Server{}
	_ family.Asker      = Server{}
	_ family.Digester   = Server{}
	_ family.Limited    = Server{}
)

// Target returns what a server of the family is reached by; the error of another family's says that it cannot yet do
// the task.
func Target(s family.Server, task string) (*target.Target, error) {
	x, ok := s.(Server)
	if !ok {
		return nil, family.Lacks(s, task)
	}
	return x.Target, nil
}

// Family implements family.Server.
func (Server) Family() family.Family { return Family{} }

// About implements family.Server.
func (s Server) About() family.Facts {
	f := s.Facts()
	return family.Facts{
		Flavor: f.Flavor, Version: f.Version.String(), Server: f.Server, User: f.User, TLS: f.TLS, Port: f.Port,
		Trust: f.Trust,
	}
}

// Judged implements family.Server.
func (Server) Judged() []string { return capture.Sources() }

// Scraper implements family.Server.
func (s Server) Scraper(o scrape.Options) (*scrape.Scraper, error) { return sources.New(s.Target, o) }

// Classes implements family.Classifier.
func (s Server) Classes(ctx context.Context, closely bool) (family.Classes, error) {
	o := digestsource.Options{Interval: time.Second, Distributions: time.Minute}
	switch {
	case closely:
		o.Interval, o.Distributions = 0, 0 // the usual
	case !s.Has(target.HasStatementDigests):
		o.Interval = 250 * time.Millisecond // looking is all there is
	}
	c, err := digestsource.Open(ctx, s.Target, o)
	if err != nil || !s.Spec().Redact {
		return c, err
	}
	return redactedClasses{c, s.real}, nil
}

// Plans implements family.Planner.
func (s Server) Plans(ctx context.Context) (family.Plans, error) {
	x, err := capture.NewExplainer(ctx, s.Target)
	if err != nil || !s.Spec().Redact {
		return x, err
	}
	return redactedPlans{x, s.real}, nil
}

// Explainable implements family.Planner.
func (Server) Explainable(statement string) error { return sqlshape.Explainable(statement) }

// Changer returns how the server is changed.
func (s Server) Changer() change.Changer { return apply.On(s.Target) }

// Load returns the server as what can be loaded.
func (s Server) Load() load.Server { return loader.Server{T: s.Target} }

// Look implements family.Looker.
func (s Server) Look(ctx context.Context, o family.Look) (*snapshot.Snapshot, error) {
	kept, _ := o.Memory.(*catalog.Cache)
	return capture.Take(ctx, s.Target, capture.Options{
		Window: o.Window, Top: o.Top, Redact: o.Redact || s.Spec().Redact, Progress: o.Progress, Catalog: kept,
		Home: o.Home,
	})
}

// Ask implements family.Asker.
func (s Server) Ask(ctx context.Context, x *snapshot.Snapshot, o family.Look) error {
	kept, _ := o.Memory.(*catalog.Cache)
	return capture.Ask(ctx, s.Target, x, capture.Options{
		Top: o.Top, Redact: o.Redact || s.Spec().Redact, Catalog: kept, Home: o.Home,
	})
}

// Digest implements family.Digester.
func (s Server) Digest(ctx context.Context, o family.Listen) (digest.Report, []source.Source, error) {
	var l digestsource.LiveOptions
	l.Window, l.Progress, l.Limit, l.OrderBy = o.Window, o.Progress, o.Limit, o.OrderBy
	l.Redact = o.Redact || s.Spec().Redact
	r, sources, err := digestsource.Live(ctx, s.Target, l)
	if err == nil && o.Explain && ctx.Err() == nil {
		err = s.ExplainDigest(ctx, &r)
	}
	return r, sources, err
}

// ExplainDigest asks for the plans of a report's worst samples where EXPLAIN is proven to be harmless.
func (s Server) ExplainDigest(ctx context.Context, r *digest.Report) error {
	return capture.ExplainReport(ctx, s.Target, r, len(r.Classes))
}

// Privileges implements family.Limited.
func (s Server) Privileges(ctx context.Context) ([]string, error) {
	conn, err := s.ReadingConn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return target.Privileges(ctx, conn)
}

// Unseen implements family.Limited: the server's dictionary leaves out without a word what the account may not see, and
// the list of its files, which PROCESS shows, does not.
func (s Server) Unseen(ctx context.Context, samples []metric.Sample) (x source.Source, ok bool) {
	const mostName = 256         // bytes; names have 64 characters
	names := map[string]string{} // by themselves in small letters
	for _, m := range samples {
		schema, _, ok := strings.Cut(m.Labels.Get("tablespace_name"), "/")
		// Older servers write names as those of files, with an @ before what is no letter.
		if ok && m.Name == "mysql_info_schema_innodb_tablespace_file_size_bytes" &&
			!strings.Contains(schema, "@") && len(schema) <= mostName {
			names[strings.ToLower(schema)] = schema
		}
	}
	rows, err := s.Reading().QueryContext(ctx, sqltext.Tagged("check", "",
		"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA"))
	if err != nil {
		return x, false // other sources tell
	}
	defer rows.Close()
	for rows.Next() {
		var schema string
		if err := rows.Scan(&schema); err != nil {
			return x, false
		}
		if len(schema) <= mostName {
			delete(names, strings.ToLower(schema))
		}
	}
	hidden := slices.Sorted(maps.Values(names))
	if rows.Err() != nil || len(hidden) == 0 {
		return x, false
	}
	const most = 5 // grants that anybody reads
	more := ""
	if len(hidden) > most {
		more, hidden = fmt.Sprintf(" and %d more schemas", len(hidden)-most), hidden[:most]
	}
	return source.Source{
		Name: source.Tables, State: source.Denied, Reason: "the account sees no table of " +
			strings.Join(hidden, ", ") + more,
		Fix: s.Facts().ExplainFix(hidden),
	}, true
}

// TooMighty implements family.Limited: an account that may execute routines everywhere, as root may, could execute one
// in an EXPLAIN.
func (s Server) TooMighty(ctx context.Context) (reason, fix string) {
	why, err := target.Mighty(ctx, s.Target)
	if why == "" || err != nil { // what cannot be asked now is refused when a plan is wanted
		return "", ""
	}
	f := s.Facts()
	return fmt.Sprintf("Dyno is logged in as %s: %s. It watches with it, but does not run EXPLAIN", f.User, why),
		"create a separate account: `dyno target grants --flavor " + string(f.Flavor) + " --task explain --schema " +
			"SCHEMA` prints the GRANT statements"
}
