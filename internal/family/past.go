package family

import (
	"context"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Asker is a Looker that can do without observing: it adds to a snapshot of a window that others observed what must be
// asked of the server, which is newer than the window. The Window of o is not used.
type Asker interface {
	Ask(ctx context.Context, s *snapshot.Snapshot, o Look) error
}

// Tidier is a Family whose looks change what the sources of metrics gave. Tidy does that with the series of a window
// that were stored; those of other families are only made small.
type Tidier interface {
	Tidy(series []metric.Series) []metric.Series
}

// ClassSourced is a Family whose query classes come from more than source.Digests. ClassSources names all of them, in
// the order in which the windows of classes list them.
type ClassSourced interface {
	ClassSources() []source.Name
}

// Completer is a Family whose query classes have parts that are not stored. Complete works them out of the rest.
type Completer interface {
	Complete(c *class.Class)
}

// Redacter is a Family whose snapshots may hold values of users. Redact takes them out, as Look does where it is asked
// to.
type Redacter interface {
	Redact(s *snapshot.Snapshot)
}

// Definer is what Plans can be, too: Tables returns the definitions of the tables that a statement names, in its
// default database, at most some. It runs nothing of the statement.
type Definer interface {
	Tables(ctx context.Context, database, statement string) ([]schema.Table, error)
}
