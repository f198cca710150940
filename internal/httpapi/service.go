package httpapi

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// Services are what the handlers answer from.
type Services struct {
	*service.Service
	Engine *series.Engine
	Lab    *lab.Lab
	// Access tells who may do what; without it nobody is let in but root and Dyno's own account of this machine,
	// and logins and users must not be asked for.
	Access *access.Store
}

// knows returns an error that wraps errNotFound unless a target is watched or was once.
func knows(ctx context.Context, f *service.Fleet, name string) error {
	if ok, err := f.Known(ctx, name); err != nil || ok {
		return err
	}
	return unknownTarget(name)
}

func unknownTarget(name string) error {
	return fmt.Errorf("%w: no target is called %q; GET /api/dyno/v1/targets lists them", errNotFound, name)
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
	// NotConfigured says that Dyno cannot ask: something that the login needs is not set, see Reason.
	NotConfigured bool `json:"not_configured,omitzero"`
	// LoginRefused says that the server answers and does not let Dyno in, see Reason.
	LoginRefused bool `json:"login_refused,omitzero"`
	// Incidents are the conditions that go on, in order of their start.
	Incidents []service.Ongoing `json:"incidents,omitempty"`
	// Denied is what the account may not see of what Dyno needs, and the GRANTs that change it; absent when it may see
	// all.
	Denied *diagnose.Denial `json:"denied,omitzero"`
	// Account is name@host, as the server took Dyno for at the last login.
	Account string `json:"account,omitzero"`
}

// Source is one place that figures come from.
type Source struct {
	source.Source
	Cost  string  `json:"cost,omitzero"`          // "free", "light", "heavy"
	Every float64 `json:"every_seconds,omitzero"` // cadence now, seconds
	Usual float64 `json:"usual_seconds,omitzero"` // cadence when it is within its budget
	// Budget is the time of the server's that it may take, in seconds a second; it is read less often when it takes
	// more.
	Budget float64 `json:"budget_seconds_per_second,omitzero"`
	Asked  bool    `json:"asked,omitzero"` // read only when asked for
	Grant  string  `json:"grant,omitzero"` // the privilege it needs
	About  string  `json:"about,omitzero"` // what it shows
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

// Bucket is what a class did in a part of the window. A part that was not observed has none.
type Bucket struct {
	From  time.Time   `json:"from"`
	To    time.Time   `json:"to"`
	Class class.Class `json:"class"` // without text and examples
}
