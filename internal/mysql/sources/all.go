package sources

import (
	"context"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
)

// New returns a scraper of t. It connects when it first reads.
func New(t *target.Target, o scrape.Options) (*scrape.Scraper, error) {
	return scrape.New(partsOf(t), o)
}

// Measure returns what reading each source of t costs, see scrape.Measure.
func Measure(ctx context.Context, t *target.Target, o scrape.Options, rounds int) ([]scrape.Price, error) {
	open := func(o scrape.Options) (*scrape.Scraper, error) { return New(t, o) }
	return scrape.Measure(ctx, open, o, rounds)
}

// partsOf makes what a scraper needs of a server.
func partsOf(t *target.Target) scrape.Parts {
	light, heavy := newLink(t), newLink(t)
	spec := t.Spec()
	where := scrape.Where{
		Local: t.LocalPID, Remote: spec.Machine(), There: target.There(t),
		NodeExporter: spec.NodeExporter, Claim: target.Claim(t),
	}
	p := scrape.Parts{
		Entries: entries(t, where, light, heavy), Light: light, Heavy: heavy, Errors: meanings{}, Remote: where.Remote,
	}
	if spec.Redact {
		p.Redact = redact
	}
	return p
}

// meanings tells what the errors of a target's connections mean.
type meanings struct{}

func (meanings) Kind(err error) endpoint.Kind { return target.KindOf(err) }
func (meanings) Hint(err error) string        { return target.HintOf(err) }
func (meanings) Refused(err error) bool       { return target.LoginRefused(err) }
func (meanings) Answered(err error) bool      { _, ok := target.ServerErrorNumber(err); return ok }

const (
	process     = "PROCESS ON *.*"
	replicating = "REPLICATION CLIENT ON *.*"
)

// entries lists the sources in the order in which they are read: those that cost no question first. Their names alone
// are known without a server too.
func entries(t *target.Target, where scrape.Where, l, heavy *link) []scrape.Entry {
	seen := new(moment) // by the sources of this list
	light := func(every time.Duration, budget float64, grant, about string, s scrape.Source) scrape.Entry {
		return scrape.Entry{Source: s, Traits: scrape.Traits{
			Cost: scrape.Light, Every: every, Budget: budget, Grant: grant, About: about,
		}}
	}
	weighty := func(every time.Duration, grant, about string, s scrape.Source) scrape.Entry {
		return scrape.Entry{Source: s, Traits: scrape.Traits{
			Cost: scrape.Heavy, Every: every, Grant: grant, About: about,
		}}
	}
	asked := func(e scrape.Entry) scrape.Entry { e.Asked = true; return e }
	totals := func(e scrape.Entry) scrape.Entry { e.Totals = true; return e }
	const sec = time.Second
	return scrape.WithMachine(where, t.Facts().Datadir, []scrape.Entry{
		totals(light(0, 0.2, "", "SHOW GLOBAL STATUS", newGlobalStatus(l, l, t, t.Facts().Flavor.IsMariaDB()))),
		light(0, 0.1, process, "counters of InnoDB", newInnodbMetrics(l, t, seen)),
		light(0, 0.1, process, "open transactions", newTransactions(l, t, seen)),
		light(0, 0.1, process, "sessions, and connections by command and state", newProcesslist(l, t, seen)),
		light(0, 0.1, process, "lock waits and blockers", newLocks(l, t, seen)),
		light(0, 0.05, process, "deadlocks, when the server has counted one", newDeadlocks(l, t, seen, t.OpenFile)),
		light(10*sec, 0, "", "SHOW GLOBAL VARIABLES, and what changes in them", newVariables(l, t)),
		weighty(5*sec, process, "SHOW ENGINE INNODB STATUS", newInnodbStatus(heavy, t)),
		light(10*sec, 0, pfsPrivilege, "what threads waited for", newWaits(l, t)),
		light(10*sec, 0, pfsPrivilege, "percentiles of statement times", newLatency(l, t)),
		light(10*sec, 0, pfsPrivilege, "input and output by kind of file", newFileIO(l, t)),
		weighty(30*sec, pfsPrivilege, "rows handled by table and index", newTableIO(heavy, t)),
		weighty(10*sec, pfsPrivilege, "memory of the server by what it is for", newMemory(heavy, t)),
		weighty(60*sec, pfsPrivilege, "memory of the server by user", newMemoryUsers(heavy, t)),
		asked(light(10*sec, 0, pfsPrivilege, "stages of statements", newStages(l, t))),
		light(10*sec, 0, process, "InnoDB's page compression", newCompression(l, t)),
		weighty(0, replicating, "channels of a replica and their appliers", newReplication(heavy, t)),
		light(0, 0, pfsPrivilege, "members of MySQL's group replication", newGroupReplication(l, t)),
		weighty(10*sec, process, "MariaDB's user statistics", newUserstat(heavy, t)),
		weighty(10*time.Minute, process, "sizes of tables and indexes", newSizes(heavy, t)),
		light(30*sec, 0, replicating, "room that the binary logs take", newBinlog(l, t)),
		weighty(60*sec, pfsPrivilege, "input and output of single files", newFiles(heavy, t)),
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
	for _, e := range entries(&target.Target{}, scrape.Where{}, nil, nil) {
		all = append(all, scrape.Info{Name: e.Source.Name(), Traits: e.Traits})
	}
	return all
}
