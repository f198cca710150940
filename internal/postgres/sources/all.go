package sources

import (
	"context"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/scrape"
)

// New returns a scraper of t. It connects when it first reads.
func New(t *conn.Target, o scrape.Options) (*scrape.Scraper, error) { return scrape.New(partsOf(t), o) }

// Measure returns what reading each source of t costs, see scrape.Measure.
func Measure(ctx context.Context, t *conn.Target, o scrape.Options, rounds int) ([]scrape.Price, error) {
	open := func(o scrape.Options) (*scrape.Scraper, error) { return New(t, o) }
	return scrape.Measure(ctx, open, o, rounds)
}

// partsOf makes what a scraper needs of a server.
func partsOf(t *conn.Target) scrape.Parts {
	light, heavy := newLink(t), newLink(t)
	spec := t.Spec()
	where := scrape.Where{
		Local: t.LocalPID, Remote: spec.Machine(), There: t.There, Children: true,
		NodeExporter: spec.NodeExporter, Claim: t.Claim,
	}
	p := scrape.Parts{
		Entries: entries(t, where, light, heavy), Light: light, Heavy: heavy, Errors: meanings{}, Remote: where.Remote,
	}
	if spec.Redact {
		p.Redact = redact
	}
	return p
}

// meanings says what the errors of a target's sessions mean.
type meanings struct{}

func (meanings) Kind(err error) endpoint.Kind { return conn.KindOf(err) }
func (meanings) Hint(err error) string        { return conn.HintOf(err) }
func (meanings) Refused(err error) bool       { return conn.Refused(err) }
func (meanings) Answered(err error) bool      { return conn.Answered(err) }

// monitor is the role that sees all that Dyno reads, as GRANT takes it.
const monitor = "pg_monitor"

// entries lists the sources in the order in which they are read: those that cost no question first. Their names alone
// are known without a server too.
func entries(t *conn.Target, where scrape.Where, l, heavy *link) []scrape.Entry {
	const sec = time.Second
	f, seen := t.Facts(), new(moment)
	entry := func(
		cost scrape.Cost, every time.Duration, budget float64, grant, about string, s scrape.Source,
	) scrape.Entry {
		return scrape.Entry{Source: s, Traits: scrape.Traits{
			Cost: cost, Every: every, Budget: budget, Grant: grant, About: about,
		}}
	}
	totals := entry(scrape.Light, 0, 0.2, "", "pg_stat_database, and restarts", newDatabase(l, func() uint64 {
		return l.flushed.Load() + heavy.flushed.Load()
	}, f, mostDatabases))
	totals.Totals = true
	sent := func() uint64 { return l.succeeded.Load() + heavy.succeeded.Load() }
	who := newSessions(l, t, seen)
	return scrape.WithMachine(where, f.Datadir, []scrape.Entry{
		totals,
		entry(scrape.Light, 0, 0, "", "the write-ahead log", newWAL(l, f)),
		entry(scrape.Light, 0, 0.1, monitor, "sessions and open transactions", who),
		entry(scrape.Light, 0, 0.1, monitor, "lock waits and blockers", newLocks(l, t, seen, who)),
		entry(scrape.Light, 0, 0.05, monitor, "statements in all, of pg_stat_statements", newStatements(l, t, sent)),
		entry(scrape.Light, 5*sec, 0, "", "checkpoints and the background writer", newCheckpoints(l, f)),
		entry(scrape.Light, 5*sec, 0, "", "input and output by kind of process", newIO(l, f)),
		entry(scrape.Light, 0, 0, monitor, "standbys, slots, and how far a standby is", newReplication(l, f)),
		entry(scrape.Light, 10*sec, 0, "", "pg_settings, and what changes in them", newSettings(l, f)),
		entry(scrape.Heavy, 10*sec, 0, "", "locks by mode", newLockCounts(heavy, f)),
		entry(scrape.Heavy, 30*sec, 0, "", "what tables and indexes are used for", newTableIO(heavy, f)),
		entry(scrape.Heavy, 10*time.Minute, 0, monitor, "sizes of databases and tables", newSizes(heavy, f)),
	})
}

// Names lists the names of all sources in the order in which they are read.
func Names() []string {
	var names []string
	for _, s := range List() {
		names = append(names, string(s.Name))
	}
	return names
}

// List lists all sources in the order in which they are read.
func List() []scrape.Info {
	var all []scrape.Info
	for _, e := range entries(&conn.Target{}, scrape.Where{Children: true}, nil, nil) {
		all = append(all, scrape.Info{Name: e.Source.Name(), Traits: e.Traits})
	}
	return all
}
