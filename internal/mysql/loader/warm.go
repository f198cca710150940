package loader

import (
	"context"
	"fmt"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"

	"golang.org/x/sync/errgroup"
)

// warmers bounds the connections: they are those of the target's pool.
const warmers = 4

// Warm reads the tables of a workload, each index of each table from one end to the other, on up to d.Threads
// connections, so that the server has in memory what fits there. It changes nothing. Columns that InnoDB keeps outside
// of the index stay where they are.
func (s Server) Warm(ctx context.Context, d load.Data, sink progress.Sink) ([]load.WarmTable, error) {
	plan, err := d.Plan("warm up")
	if err != nil {
		return nil, err
	}
	if len(plan.Tables) == 0 {
		return nil, fmt.Errorf("warm up %s: this workload makes no tables, so there are none to read", plan.Workload)
	}
	wrap := func(err error) error {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("warm up %s: %w", plan.Workload, explain(err, plan))
	}
	out := make([]load.WarmTable, len(plan.Tables))
	type scan struct {
		table int
		sql   string
	}
	var scans []scan
	for i := range plan.Tables {
		ref := schema.Ref{Schema: plan.Schema, Table: plan.Tables[i].Name}
		out[i].Table = ref
		names, err := trees(ctx, s.T, ref)
		if err != nil {
			return nil, wrap(err)
		}
		out[i].Indexes = len(names)
		if len(names) == 0 { // not there, which the scan tells, or without an index
			scans = append(scans, scan{i, "SELECT COUNT(*) FROM " + ddl.Name(ref)})
		}
		for _, n := range names {
			scans = append(scans, scan{i, "SELECT COUNT(*) FROM " + ddl.Name(ref) + " FORCE INDEX (" +
				ddl.Quote(n) + ")"})
		}
	}
	report := &load.Reporter{Sink: sink}
	report.Begin("reading tables", "indexes", len(scans))
	rows := make([]uint64, len(scans))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(min(max(1, d.Threads), warmers))
	for i, x := range scans {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			if err := s.T.DB().QueryRowContext(gctx, sqltext.Tagged("load", "", x.sql)).Scan(&rows[i]); err != nil {
				return s.T.Wrap("read", err)
			}
			report.Add(1)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, wrap(err)
	}
	report.End()
	for i, x := range scans {
		out[x.table].Rows = rows[i]
	}
	return out, nil
}

// trees lists the indexes of a table that can be read in their order.
func trees(ctx context.Context, t *target.Target, ref schema.Ref) ([]string, error) {
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("load", "",
		"SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND "+
			"INDEX_TYPE = 'BTREE' AND SEQ_IN_INDEX = 1 ORDER BY INDEX_NAME"),
		ref.Schema, ref.Table)
	if err != nil {
		return nil, t.Wrap("ask", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, t.Wrap("ask", err)
		}
		names = append(names, n)
	}
	return names, t.Wrap("ask", rows.Err())
}
