package httpapi

import (
	"context"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// Service is what the handler needs. A nil part is answered with 501.
type Service struct {
	Querier Querier // *series.Engine
	Browser Browser // *series.Engine
	Fleet   Fleet
	States  States
	Classes Classes
	Events  Events

	Graphs   Graphs
	Periods  Periods
	Tasks    Tasks
	Findings Findings
	Changes  Changes
	Lab      Lab
	Settings Settings
	Access   Access
}

// Querier answers PromQL; its errors are *series.QueryError.
type Querier interface {
	Query(ctx context.Context, expr string, at time.Time, o series.QueryOptions) (series.Answer, error)
	QueryRange(ctx context.Context, expr string, from, to time.Time, step time.Duration,
		o series.QueryOptions) (series.Answer, error)
}

// Browser tells which series there are.
type Browser interface {
	Matching(
		ctx context.Context, selectors []string, from, to time.Time, limit int,
	) (series.Listing[metric.Labels], error)
	LabelNames(ctx context.Context, selectors []string, from, to time.Time, limit int) (series.Listing[string], error)
	LabelValues(ctx context.Context, label string, selectors []string, from, to time.Time,
		limit int) (series.Listing[string], error)
	Metadata(ctx context.Context, name string, limit int) (map[string][]series.Metadata, error)
}

// Fleet is what is watched now. For a target that it does not know each method returns an error that wraps ErrNotFound.
type Fleet interface {
	// Targets returns every target of the inventory in order of name.
	Targets(ctx context.Context) ([]Target, error)
	// Latest returns the newest sample of every live series of a target, of all targets with "" (each Latest is one
	// target). A source that is read every ten minutes has its last samples in it until the next reading; a series that
	// is gone, and everything of a server that is down but what tells so, is not. The samples carry no label target.
	Latest(ctx context.Context, target string) ([]Latest, error)
	// Sources returns what Dyno reads of a target, those that give nothing too.
	Sources(ctx context.Context, target string) ([]Source, error)
	// Health returns what is wrong with Dyno itself now, the worst first.
	Health(ctx context.Context) ([]service.Trouble, error)
	// Price returns what watching the target costs, as means over the last span.
	Price(ctx context.Context, target string, span time.Duration) (service.Price, error)
}

// States gives what a server was doing. For an unknown target or a time of which nothing is kept: ErrNotFound.
type States interface {
	// StateAt returns the newest state at or before a moment (zero: now), not older than the store's reach.
	StateAt(ctx context.Context, target string, at time.Time) (*state.State, error)
	// StateTimes returns at most limit moments from from to to at which a state is kept, evenly thinned out when there
	// are more.
	StateTimes(ctx context.Context, target string, from, to time.Time, limit int) ([]time.Time, error)
}

// Classes gives the query classes of a window. For an unknown target or class: ErrNotFound.
type Classes interface {
	// Classes returns the n classes with the most time, and how much of the window was observed; with a search, of
	// those that have all of its words in their statement, id, tables or default database.
	Classes(ctx context.Context, target string, from, to time.Time, search string, n int) (ClassList, error)
	// Class returns one class over the window: its sum, its course and its plans.
	Class(ctx context.Context, target, id string, from, to time.Time) (ClassDetail, error)
}

// Events keeps marks on the timeline.
type Events interface {
	// Events returns, in order of time, the newest n of those that lie in or reach into the window; target "" means
	// all, and no kinds all.
	Events(ctx context.Context, target string, kinds []string, from, to time.Time, n int) ([]event.Event, error)
	// Annotate stores a person's note and returns it with its id. An unknown target: ErrNotFound.
	Annotate(ctx context.Context, e event.Event) (event.Event, error)
}

// Target is one server of the inventory.
type Target struct {
	Name    string `json:"name"`
	Address string `json:"address,omitzero"` // host:port or socket; never with a user's password
	Server  string `json:"server,omitzero"`  // "mariadb 10.11.19", as of the last answer
	// unknown until it was tried, and while it is not configured or refuses the login
	Up     known.Value[bool] `json:"up,omitzero"`
	Reason string            `json:"reason,omitzero"` // why it is not up
	Fix    string            `json:"fix,omitzero"`    // how to fix it
	At     time.Time         `json:"at,omitzero"`     // of the newest reading
	Labels metric.Labels     `json:"-"`               // of the inventory; written as an object
	// NotConfigured says that Dyno cannot ask: something that the login needs is not set, see Reason.
	NotConfigured bool `json:"not_configured,omitzero"`
	// LoginRefused says that the server answers and does not let Dyno in, see Reason.
	LoginRefused bool `json:"login_refused,omitzero"`
	// Incidents are the ongoing ones, in order of their start.
	Incidents []service.Incident `json:"incidents,omitempty"`
	// Denied is what the account may not see of what Dyno needs, and the GRANTs that change it; absent when it may see
	// all.
	Denied *diagnose.Denial `json:"denied,omitzero"`
	// Account is name@host, as the server took Dyno for at the last login.
	Account string `json:"account,omitzero"`
}

// Latest is the newest samples of one target; with Target "" of Dyno itself.
type Latest struct {
	Target  string
	Labels  metric.Labels // added to each sample beside target, as in the store
	Samples []metric.Sample
}

// Source is one place that figures come from.
type Source struct {
	snapshot.Source
	Cost  string  `json:"cost,omitzero"`          // "free", "light", "heavy"
	Every float64 `json:"every_seconds,omitzero"` // cadence now, seconds
	Usual float64 `json:"usual_seconds,omitzero"` // cadence when it is within its budget
	// Budget is the time of the server's that it may take, in seconds a second; it is read less often when it takes
	// more.
	Budget float64 `json:"budget_seconds_per_second,omitzero"`
	Asked  bool    `json:"asked,omitzero"` // read only when asked for
	Grant  string  `json:"grant,omitzero"` // the privilege it needs
	About  string  `json:"about,omitzero"` // what it tells
}

// Coverage is how much of a window was observed.
type Coverage struct {
	// of what was observed; not before the window's begin, except for the rounding of roll-ups
	From    time.Time `json:"from,omitzero"`
	To      time.Time `json:"to,omitzero"`
	Seconds float64   `json:"observed_seconds"`      // within the window
	Step    float64   `json:"step_seconds,omitzero"` // width of the coarsest roll-up in it
	Source  string    `json:"origin,omitzero"`       // class.Origin, "" when they differ
	// classes of the server that did not fit into its table, where known
	Lost uint64 `json:"lost_classes,omitempty"`
	// Of all classes of the window, those that a list leaves out too.
	Classes int     `json:"classes,omitzero"`
	Count   uint64  `json:"count,omitzero"`    // statements
	TimeSec float64 `json:"time_sec,omitzero"` // of statements
	// Rate is how many statements a second the server counted, in classes or not: the figure that graphs and headlines
	// show.
	Rate known.Value[float64] `json:"statements_per_second,omitzero"`
}

// ClassList is the classes of a window.
type ClassList struct {
	Classes []class.Class `json:"classes"`
	// of a search: how many classes have it, those that the list leaves out too
	Found    known.Value[int] `json:"found,omitzero"`
	Coverage Coverage         `json:"coverage"`
}

// ClassDetail is one class over a window.
type ClassDetail struct {
	Class    class.Class `json:"class"`
	Coverage Coverage    `json:"coverage"`
	Buckets  []Bucket    `json:"buckets"`
	Plans    []Plan      `json:"plans,omitempty"` // newest first
}

// Bucket is what a class did in a part of the window. A part that was not observed has none.
type Bucket struct {
	From  time.Time   `json:"from"`
	To    time.Time   `json:"to"`
	Class class.Class `json:"class"` // without text and examples
}

// Plan is an execution plan that a class was seen with.
type Plan struct {
	Hash      string    `json:"hash"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	SQL       string    `json:"sql,omitzero"` // the statement that was explained
	Text      string    `json:"plan"`         // as the server gave it
}
