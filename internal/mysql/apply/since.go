package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/unit"
)

// checkAdded looks for what an index that an undo would drop is needed for by now: later actions that took another
// index away because of it, keys, statements.
func checkAdded(ctx context.Context, t *target.Target, j change.Reader, e journal.Entry, o objections) error {
	if e.Action.Kind != finding.AddIndex {
		return nil
	}
	x := e.Action.Index
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{e.Action.Table})
	if err != nil || len(tables) == 0 {
		return t.Wrap("look for table "+e.Action.Table.String(), err)
	}
	left := slices.DeleteFunc(tables[0].Indexes, func(have schema.Index) bool {
		return strings.EqualFold(have.Name, x.Name)
	})
	if err := standsIn(ctx, j, e, []schema.Index{x}, left, o); err != nil {
		return err
	}
	for _, k := range tables[0].Foreign {
		if leads(x, k.Columns) && !slices.ContainsFunc(left, func(have schema.Index) bool {
			return leads(have, k.Columns)
		}) {
			o.block("the foreign key %s needs the index %s", k.Name, x.Name)
		}
	}
	if n := reads(ctx, t, e.Action.Table, x.Name); n > 0 {
		o.warn("statements use the index %s: %s rows were read by it since the server began to count; they will need "+
			"another plan", x.Name, unit.Count(float64(n)))
	}
	return nil
}

// standsIn looks for actions since e that took an index away for which one of those that are to go serves by now, and
// none of those that are left.
func standsIn(ctx context.Context, j change.Reader, e journal.Entry, going, left []schema.Index, o objections) error {
	all, err := j.Entries(ctx, "", 0)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	for _, later := range all { // the newest first, which is the order to take them back in
		a := later.Action
		if later.ID == e.ID || later.Server != e.Server || a.Table != e.Action.Table ||
			later.Planned.Before(e.Planned) ||
			later.State != journal.Done && later.State != journal.Running {
			continue
		}
		for _, gone := range removed(a) {
			served := func(have schema.Index) bool { return schema.Serves(have, gone) }
			there := func(have schema.Index) bool { return !have.Hidden && strings.EqualFold(have.Name, gone.Name) }
			if len(gone.Parts) == 0 || slices.ContainsFunc(left, served) || slices.ContainsFunc(left, there) {
				continue
			}
			for _, x := range going {
				if schema.Serves(x, gone) && !strings.EqualFold(x.Name, gone.Name) {
					o.block("action %s removed index %s (%s), which %s serves for: undo that first: dyno undo %s",
						later.ID, gone.Name, ddl.PartsSQL(gone.Parts), x.Name, later.ID)
				}
			}
		}
	}
	return nil
}

// checkDropped judges advice to take an index away again, on the server as it is now: the advice, and other advice that
// was followed since, may have rested on each other's indexes.
func checkDropped(ctx context.Context, t *target.Target, j change.Reader, a finding.Action, o objections) error {
	names := taken(a)
	if len(names) == 0 {
		return nil
	}
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{a.Table})
	if err != nil || len(tables) == 0 {
		return t.Wrap("look for table "+a.Table.String(), err)
	}
	var going, left []schema.Index
	for _, x := range tables[0].Indexes {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, x.Name) }) {
			x.Hidden = false
			going = append(going, x)
		} else {
			left = append(left, x)
		}
	}
	for _, c := range a.Changes {
		if c.Kind == schema.AddKey {
			left = append(left, c.Index)
		}
	}
	for _, x := range going {
		if a.Instead != "" && !slices.ContainsFunc(left, func(have schema.Index) bool {
			return schema.Serves(have, x)
		}) {
			o.block("the advice is outdated: %s was to serve instead of %s, and it is gone or hidden", a.Instead,
				x.Name)
		}
		if n := reads(ctx, t, a.Table, x.Name); a.Unread && n > 0 {
			o.block("the advice is outdated: %s rows were read by the index %s since the server began to count",
				unit.Count(float64(n)), x.Name)
		}
	}
	if j == nil {
		return nil
	}
	return standsIn(ctx, j, journal.Entry{Server: t.Facts().Server, Action: a}, going, left, o)
}

// taken returns the names of the indexes that an action would take from the optimiser.
func taken(a finding.Action) (names []string) {
	if a.Kind == finding.DropIndex || a.Kind == finding.HideIndex {
		names = append(names, a.Index.Name)
	}
	for _, c := range a.Changes {
		if c.Kind == schema.DropKey {
			names = append(names, c.Index.Name)
		}
	}
	return names
}

// removed returns the indexes that an action takes from the optimiser. They have no mark of being hidden.
func removed(a finding.Action) (out []schema.Index) {
	switch a.Kind {
	case finding.DropIndex, finding.HideIndex:
		out = append(out, a.Index)
	case finding.AlterTable:
		for _, c := range a.Reverse { // the changes themselves name an index that they drop, and no more
			if c.Kind == schema.AddKey {
				out = append(out, c.Index)
			}
		}
	case finding.AddIndex, finding.SetVariable, finding.SetKernel, finding.KillSession:
	}
	return out
}

// reads returns how many rows were read by way of an index since the server began to count, 0 where it does not or may
// not be asked.
func reads(ctx context.Context, t *target.Target, table schema.Ref, index string) (n uint64) {
	q := "SELECT COUNT_READ FROM performance_schema.table_io_waits_summary_by_index_usage WHERE OBJECT_TYPE = " +
		"'TABLE' AND OBJECT_SCHEMA = ? AND OBJECT_NAME = ? AND INDEX_NAME = ?"
	if !t.Has(target.HasPerformanceSchema) {
		if v, _ := t.Variable("userstat"); v != "ON" {
			return 0
		}
		q = "SELECT ROWS_READ FROM information_schema.INDEX_STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND " +
			"INDEX_NAME = ?"
	}
	if err := t.DB().QueryRowContext(ctx, sqltext.Tagged("apply", "", q), table.Schema, table.Table,
		index).Scan(&n); err != nil {
		return 0 // no row, or no privilege: the warning is one that may be missing
	}
	return n
}
