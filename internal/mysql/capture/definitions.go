package capture

import (
	"cmp"
	"context"

	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
)

// mostDefined bounds the tables of a statement whose definitions are stored with its plan.
const mostDefined = 8

// Tables implements family.Definer.
func (x *Explainer) Tables(ctx context.Context, db, stmt string) ([]schema.Table, error) {
	touched, err := sqlshape.Touches(stmt)
	if err != nil && len(touched) == 0 {
		return nil, nil // what cannot be parsed names nothing
	}
	ctx, cancel := context.WithTimeout(ctx, 2*questionTime)
	defer cancel()
	var refs []schema.Ref
	for _, r := range touched {
		ref := schema.Ref{Schema: cmp.Or(r.Schema, db), Table: r.Name}
		if ref.Schema != "" && !ddl.System(ref.Schema) && len(refs) < mostDefined {
			refs = append(refs, ref)
		}
	}
	return catalog.Tables(ctx, x.conn, refs)
}
