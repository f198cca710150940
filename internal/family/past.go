package family

import (
	"context"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Tidier is a Family whose looks change what the sources of metrics gave. Tidy does that with the series of a window
// that were stored; those of other families are only made small.
type Tidier interface {
	Tidy(series []metric.Series) []metric.Series
}

// Definer is what Plans can be, too: Tables returns the definitions of the tables that a statement names, in its default
// database, at most some. It runs nothing of the statement.
type Definer interface {
	Tables(ctx context.Context, database, statement string) ([]schema.Table, error)
}
