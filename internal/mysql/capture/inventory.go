package capture

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// inventoryTime bounds how long the server works on reading all tables.
const inventoryTime = 2 * time.Second

// inventory adds all tables that there is time for to those of the snapshot, and how often each index was used. What it
// could not read it says in a source, as it does of missed, what could not be asked of the tables of the top classes;
// an error means that the server went away.
func (q questioner) inventory(ctx context.Context, missed error) error {
	conn, err := target.Limited(ctx, q.t, inventoryTime)
	if err != nil {
		return err
	}
	defer func() { _ = target.Discard(conn) }()
	began := time.Now()
	src := source.Source{Name: source.Tables, State: source.OK, Reads: 1}
	var have []schema.Ref
	for _, t := range q.s.Tables {
		have = append(have, t.Ref)
	}
	inv, err := catalog.All(ctx, conn, q.kept.Of(q.t.Facts().Server), snapshot.MaxTables-len(have), inventoryTime, have)
	src.Took = time.Since(began).Seconds() * 1000
	switch {
	case err != nil && gone(ctx, err):
		return err
	case err != nil:
		src.State, src.Reason, src.Reads = source.Failed, err.Error(), 0
		if errors.Is(err, context.DeadlineExceeded) {
			src.State = source.Slow
		}
	default:
		q.s.Tables = append(q.s.Tables, inv.Tables...)
		q.s.TablesLeft, src.Reason = inv.Left, inv.Why
		if inv.Over {
			src.State = source.Failed
		}
		if missed != nil {
			src.State, src.Reason = source.Failed, strings.TrimSuffix(missed.Error()+"; "+src.Reason, "; ")
		}
	}
	q.s.Sources = append(q.s.Sources, src)
	if q.s.Source(source.TableIO).State == source.OK && len(q.s.Tables) > 0 {
		if err := q.uses(ctx); err != nil && gone(ctx, err) {
			return err
		}
	}
	return nil
}

// uses fills in how many rows each index has handled since the server began to count.
func (q questioner) uses(ctx context.Context) error {
	conn, err := target.Limited(ctx, q.t, questionTime) // another one: the one before may have been lost to its limit
	if err != nil {
		return err
	}
	defer func() { _ = target.Discard(conn) }()
	use, err := catalog.IndexUse(ctx, conn, 5*snapshot.MaxTables)
	if err != nil {
		return err
	}
	for i := range q.s.Tables {
		t := &q.s.Tables[i]
		for j := range t.Indexes {
			x := &t.Indexes[j]
			if n, ok := use[catalog.IndexRef{Ref: t.Ref, Index: x.Name}]; ok {
				x.Handled = known.Of(n)
			}
		}
	}
	return nil
}

// gone reports whether an error means that there is nobody to ask any more.
func gone(ctx context.Context, err error) bool {
	return ctx.Err() != nil || target.KindOf(err) == endpoint.Gone || errors.Is(err, sql.ErrConnDone)
}
