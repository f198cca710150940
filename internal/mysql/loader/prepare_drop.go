package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/workload"
)

// existing returns the tables of the plan that are there, apart those whose columns differ.
func existing(ctx context.Context, t *target.Target, plan *workload.Plan) (ours, foreign []schema.Table, err error) {
	refs := make([]schema.Ref, len(plan.Tables))
	for i, tb := range plan.Tables {
		refs[i] = schema.Ref{Schema: plan.Schema, Table: tb.Name}
	}
	there, err := catalog.Tables(ctx, t.DB(), refs)
	if err != nil {
		return nil, nil, t.Wrap("look for tables on", err)
	}
	for _, have := range there {
		for _, want := range plan.Tables {
			if !strings.EqualFold(have.Table, want.Name) {
				continue
			}
			if !have.View && sameColumns(have.Columns, want.Columns) {
				ours = append(ours, have)
			} else {
				foreign = append(foreign, have)
			}
			break
		}
	}
	return ours, foreign, nil
}

func sameColumns(have []schema.Column, want []string) bool {
	if len(have) != len(want) {
		return false
	}
	for i := range have {
		if !strings.EqualFold(have[i].Name, want[i]) {
			return false
		}
	}
	return true
}

// undoTime is how long prepare may take to drop what it made.
const undoTime = time.Minute

// undo drops what was made when no rows are in it, and adds to the cause what became of it.
func (p *preparation) undo(ctx context.Context, cause error) error {
	if n := p.loaded.Load(); n > 0 {
		return fmt.Errorf("%w; %d rows are in: the same prepare resumes from there, cleanup removes them", cause, n)
	}
	if len(p.created) == 0 && !p.createdSchema {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	err := drop(ctx, p.t, p.created)
	for n, ok := target.ServerErrorNumber(err); ok && n == lockTimeout && ctx.Err() == nil; n,
		ok = target.ServerErrorNumber(err) {
		err = drop(ctx, p.t, p.created) // a killed statement is still being undone
	}
	if err == nil && len(p.recorded) > 0 {
		err = forget(ctx, p.t, p.plan.Schema, p.recorded)
	}
	if err != nil {
		return fmt.Errorf("%w; tables are left in database %s: the same prepare resumes with them, cleanup removes "+
			"them: %w", cause, p.plan.Schema, err)
	}
	if p.createdSchema {
		// Somebody else may have put a table into it meanwhile.
		var n int
		if err := p.t.DB().QueryRowContext(ctx, sqltext.Tagged("prepare", "",
			"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?"), p.plan.Schema).
			Scan(&n); err == nil && n == 0 {
			_, err = p.t.DB().ExecContext(ctx, sqltext.Tagged("prepare", "", "DROP DATABASE "+
				ddl.Quote(p.plan.Schema)))
			if err != nil {
				return fmt.Errorf("%w; the empty database %s is left: %w", cause, p.plan.Schema, err)
			}
		}
	}
	return fmt.Errorf("%w; the tables made so far were dropped again", cause)
}

// Cleanup drops the tables of a workload, also those of a prepare that did not come to its end. A table of the same
// name with other columns stays, and is an *ExistsError after all others have been dropped. It returns the names of
// those dropped; the database stays.
func (s Server) Cleanup(ctx context.Context, d load.Data) ([]schema.Ref, error) {
	plan, err := d.Plan("cleanup")
	if err != nil {
		return nil, err
	}
	ours, foreign, err := existing(ctx, s.T, plan)
	if err != nil {
		return nil, fmt.Errorf("cleanup %s: %w", plan.Workload, err)
	}
	dropped := refs(ours)
	if err := drop(ctx, s.T, dropped); err != nil {
		return nil, fmt.Errorf("cleanup %s: %w", plan.Workload, err)
	}
	unfinished, err := marks(ctx, s.T, plan.Schema)
	if err == nil {
		var gone []string
		for _, tb := range plan.Tables {
			if unfinished[tb.Name] != nil && !slices.ContainsFunc(foreign, func(f schema.Table) bool {
				return f.Table == tb.Name
			}) {
				gone = append(gone, tb.Name)
			}
		}
		if len(gone) > 0 {
			err = forget(ctx, s.T, plan.Schema, gone)
		}
	}
	if err != nil {
		return dropped, fmt.Errorf("cleanup %s: %w", plan.Workload, err)
	}
	if len(foreign) > 0 {
		return dropped, fmt.Errorf("cleanup %s: %w", plan.Workload,
			&load.ExistsError{Tables: names(refs(foreign)), Foreign: true})
	}
	return dropped, nil
}

// drop drops tables, those that others refer to after the others.
func drop(ctx context.Context, t *target.Target, refs []schema.Ref) error {
	for len(refs) > 0 {
		var later []schema.Ref
		var cause error
		for _, r := range refs {
			_, err := t.DB().ExecContext(ctx, sqltext.Tagged("prepare", "", "DROP TABLE IF EXISTS "+ddl.Name(r)))
			switch n, _ := target.ServerErrorNumber(err); {
			case n == rowReferenced || n == rowReferenced2 || n == parentOfForeignKey:
				later, cause = append(later, r), t.Wrap("drop table "+r.String()+" on", err)
			case err != nil:
				return t.Wrap("drop table "+r.String()+" on", err)
			}
		}
		if len(later) == len(refs) {
			return cause
		}
		refs = later
	}
	return nil
}

func refs(tables []schema.Table) []schema.Ref {
	list := make([]schema.Ref, len(tables))
	for i, tb := range tables {
		list[i] = tb.Ref
	}
	return list
}

func names(refs []schema.Ref) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.String()
	}
	return out
}
