// Package family declares what Dyno asks of a family of servers, such as MySQL with MariaDB, or PostgreSQL. A family
// implements Family and Server; what else its servers can do it says by implementing the interfaces of one task each,
// see Need. Only package app knows which families there are.
package family

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Family is one family of servers.
type Family interface {
	// Name is what people call it: "MySQL".
	Name() string
	// Has reports whether servers of a flavor are of it.
	Has(f dbms.Flavor) bool
	// Resolve completes a spec out of the files and the environment that its clients read: what the spec says itself
	// wins. file is read instead of the usual ones; os.DevNull reads none.
	Resolve(s endpoint.Spec, file string, getenv func(string) string) (endpoint.Spec, error)
	// PasswordFile is a file, as Resolve takes it, with the password of one server.
	PasswordFile(s endpoint.Spec, password string) string
	// Open logs in and asks what the server is.
	Open(ctx context.Context, s endpoint.Spec) (Server, error)
	// Trust logs in whatever certificate the server shows and whoever runs it, and remembers that in place of what was
	// remembered, or with add beside it. With proof the server must prove that it knows the password.
	Trust(ctx context.Context, s endpoint.Spec, add, proof bool) (endpoint.Accepted, error)
	// Sources lists what its servers are read by, in that order.
	Sources() []scrape.Info
	// Panels lists the graphs of its servers, in the order they are shown. The slice is the caller's.
	Panels() []panel.Panel
	// Up names the series that is 1 while the server answers and 0 while it does not.
	Up() string
	Figures
	Accounts
	Logins
	Errors
}

// Accounts are how a family makes an account and gives it what a task needs.
type Accounts interface {
	// Grants returns the statements that give an account what a task needs; a task that is not known is an error.
	Grants(flavor dbms.Flavor, task, user string, schemas []string) ([]string, error)
	// CreateAccount returns the statement that makes an account, unless it is there, that nobody can log in as, and the
	// one that gives it a password.
	CreateAccount(user string) (create, unlock string, err error)
	// NewAccount returns the statements that make an account of this machine for Dyno with what watching needs, for a
	// person to run. socket says that it is reached over one, and systemUser who Dyno is for the system.
	NewAccount(flavor dbms.Flavor, socket bool, systemUser string) []string
}

// Logins tell whom a server takes Dyno for, and what it is.
type Logins interface {
	// Account returns the account that a server let in as Grants and CreateAccount take it.
	Account(f Facts) (user string, err error)
	// Refused returns the account that a server did not let in, by its error. What the error does not tell is assumed,
	// which sure denies.
	Refused(s endpoint.Spec, err error) (user string, sure bool)
	// Greeting returns what a server says of itself before a login; "" where it says nothing.
	Greeting(ctx context.Context, s endpoint.Spec) (flavor dbms.Flavor, version string)
}

// Facts is what a server says about itself, as far as every family knows it. Text that it does not tell is empty.
type Facts struct {
	Flavor  dbms.Flavor
	Version string // "10.11.19"
	Server  string // tells this server from any other, copies of its data on other machines included
	User    string // the account that the server took us for
	TLS     string // cipher of the connection
	Port    int    // on which it listens; 0 where it does not tell
	Trust   endpoint.Trust
}

// Server is a server that Dyno has reached. It is safe for concurrent use.
type Server interface {
	Family() Family
	Spec() endpoint.Spec
	About() Facts
	// Judged names the sources of metrics that judgement draws on.
	Judged() []string
	// Scraper returns one that connects when it first reads.
	Scraper(o scrape.Options) (*scrape.Scraper, error)
	Close() error
}

// Classifier tells which query classes a server executes.
type Classifier interface {
	// Classes returns a reader for who watches all the time, or closely for who looks for a moment.
	Classes(ctx context.Context, closely bool) (Classes, error)
}

// Classes reads the classes of one window after the other. Its methods are called from one goroutine at a time; Run
// runs beside them.
type Classes interface {
	Begin(ctx context.Context) error
	// Run looks at what runs until ctx ends.
	Run(ctx context.Context) error
	// Turn ends a window and begins the next one. Classes come with the most time first.
	Turn(ctx context.Context) ([]class.Class, []source.Source, error)
	// End is Turn without another window.
	End(ctx context.Context) ([]class.Class, []source.Source, error)
	// Lost returns how much is missing from the beginning of the window that was closed last.
	Lost() time.Duration
	// Distributions returns how times were distributed in the minute that ended with the window that was closed last;
	// nothing is read of it while a minute goes on.
	Distributions() class.Distributions
	Close() error
}

// Planner asks for plans.
type Planner interface {
	Plans(ctx context.Context) (Plans, error)
	// Explainable says by its text alone whether the plan of a statement may be asked for; the error says why not.
	Explainable(statement string) error
}

// Plans asks for one plan after the other. Explain runs nothing and asks for no plan that could; the error is that of
// the connection, and what stands against a plan is in it.
type Plans interface {
	Explain(ctx context.Context, class, schema, statement string) (explain.Plan, error)
	Close() error
}

// Look says how long to look at a server and how deep.
type Look struct {
	Window time.Duration // MinWindow to 10 min; counters need some seconds to become rates
	// classes whose plan and tables are looked up; 0 means those with 1 % of the time or more, at most 30
	Top      int
	Redact   bool // leave examples, which hold literals, out of the snapshot
	Progress progress.Sink
	// Memory is what the family keeps of a target from one look to the next, see Memories; nil where nothing is.
	Memory any
	// Home is where Dyno keeps things, for what it takes from the server's disk; "" where that does not matter.
	Home string
}

// MinWindow is the shortest window that gives rates.
const MinWindow = 3 * time.Second

// Looker gives the one value that a diagnosis works on. A source that gives nothing is listed in it; an error means
// that there is no snapshot: the window was cut short or the server went away.
type Looker interface {
	Look(ctx context.Context, o Look) (*snapshot.Snapshot, error)
}

// Listen says how long to listen to what a server executes and what to show of it.
type Listen struct {
	Window   time.Duration // at least a second
	Limit    digest.Limit  // the zero value shows all
	OrderBy  digest.Order  // the zero value is the sum of query times
	Redact   bool          // samples have lost their literals
	Explain  bool          // with the plans of the classes that are shown
	Progress progress.Sink
}

// Digester sums up what a server executes within a window, with what each source gave. When ctx ends early, the report
// is of the time until then and says so. An error beside a report that has classes is of their plans.
type Digester interface {
	Digest(ctx context.Context, o Listen) (digest.Report, []source.Source, error)
}

// Limited tells what the account in use may not do.
type Limited interface {
	// Privileges returns what the account may do, as the server words it.
	Privileges(ctx context.Context) ([]string, error)
	// Unseen is the source of tables as denied when the server has some that the account sees nothing of. samples are
	// those of a reading.
	Unseen(ctx context.Context, samples []metric.Sample) (x source.Source, ok bool)
	// TooMighty says what the account means for plans when it may do so much that they could change something, and what
	// to do about it; "" when it may not.
	TooMighty(ctx context.Context) (reason, fix string)
}

// Need returns a server as what can do a task, such as "run a load"; the error says that its family cannot yet.
func Need[T any](s Server, task string) (T, error) {
	t, ok := s.(T)
	if !ok {
		return t, Lacks(s, task)
	}
	return t, nil
}

// Lacks is the error for a task that a server's family cannot do yet.
func Lacks(s Server, task string) error {
	return &endpoint.Error{
		Op: task + " on", Target: s.Spec().String(), Kind: endpoint.Unsupported,
		Err: fmt.Errorf("dyno cannot do that yet with %s", s.Family().Name()),
	}
}
