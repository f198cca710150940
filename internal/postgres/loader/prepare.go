package loader

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"

	"golang.org/x/sync/errgroup"
)

const (
	minSpan  = 10_000      // fewer rows are not worth a session of their own
	undoTime = time.Minute // how long prepare may take to drop what it made
)

// Prepare makes the tables of a workload in parallel: the rows by COPY, one table's in parallel too, then the
// indexes, then VACUUM ANALYZE, so that no run pays for what loading left. It creates the database when it is missing.
//
// When it fails or ctx ends it drops what it made; unlike that of the MySQL family it does not resume, and does not
// wait for a server that goes away. Tables of a process that was killed stay until Cleanup.
func (s Server) Prepare(ctx context.Context, d load.Data, sink progress.Sink) error {
	plan, err := s.plan("prepare", d)
	if err != nil {
		return err
	}
	if d.Seed == 0 {
		d.Seed = load.DefaultSeed
	}
	if d.Cache != nil && d.Cache.Remark != nil {
		d.Cache.Remark("tables of PostgreSQL are not kept as files yet")
	}
	p := &preparation{
		t: s.T, plan: plan, threads: max(1, d.Threads), seed: d.Seed, force: d.Force, report: load.Reporter{Sink: sink},
	}
	if err := p.run(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // not what the broken connections said
		}
		return fmt.Errorf("prepare %s: %w", plan.Workload, p.undo(ctx, err))
	}
	return nil
}

type preparation struct {
	t       *conn.Target
	plan    *workload.Plan
	threads int
	seed    uint64
	force   bool
	report  load.Reporter

	createdDB bool
	mu        sync.Mutex
	created   []schema.Ref
}

// span is some rows of a table.
type span struct {
	*workload.Table
	first, last int
}

func (p *preparation) run(ctx context.Context) error {
	if err := p.survey(ctx); err != nil {
		return err
	}
	tables := make([]*workload.Table, len(p.plan.Tables))
	var spans []span
	total := 0
	for i := range p.plan.Tables {
		tb := &p.plan.Tables[i]
		tables[i] = tb
		pieces := (p.threads + len(tables) - 1) / len(tables)
		each := max(minSpan, (tb.Rows+pieces-1)/pieces)
		for first := 1; first <= tb.Rows; first += each {
			spans = append(spans, span{tb, first, min(tb.Rows, first+each-1)})
		}
		total += tb.Rows
	}
	if err := each(ctx, p, tables, p.create); err != nil {
		return err
	}
	p.report.Begin("loading rows", "rows", total)
	if err := each(ctx, p, spans, p.copy); err != nil {
		return err
	}
	p.report.End()
	p.report.Begin("building indexes and statistics", "tables", len(tables))
	if err := each(ctx, p, tables, p.finish); err != nil {
		return err
	}
	p.report.End()
	return nil
}

// survey creates the database when it is missing, and looks for tables that are in the way.
func (p *preparation) survey(ctx context.Context) error {
	c, err := p.session(ctx)
	if conn.KindOf(err) == endpoint.NoSuchDatabase {
		if err := p.createDatabase(ctx); err != nil {
			return err
		}
		c, err = p.session(ctx)
	}
	if err != nil {
		return err
	}
	defer p.t.End(c)
	ours, foreign, err := existing(ctx, p.t, c, p.plan)
	switch {
	case err != nil:
		return err
	case p.force:
		return drop(ctx, p.t, c, slices.Concat(ours, foreign))
	case len(foreign) > 0:
		return &load.ExistsError{Tables: names(foreign), Foreign: true}
	case len(ours) > 0:
		at := slices.IndexFunc(p.plan.Tables, func(w workload.Table) bool { return w.Name == ours[0].Table })
		return &load.ExistsError{Tables: names(ours), Detail: size(ctx, c, &p.plan.Tables[at])}
	}
	return nil
}

func (p *preparation) createDatabase(ctx context.Context) error {
	c, err := p.t.ConnTo(ctx, conn.ForChanges, maintenance)
	if err != nil {
		return fmt.Errorf("create database %s: %w", p.plan.Schema, err)
	}
	defer p.t.End(c)
	_, err = c.Exec(ctx, "CREATE DATABASE "+conn.Quote(p.plan.Schema))
	if code, _ := conn.SQLState(err); taken(code) { // another was faster: it is theirs
		return nil
	}
	if err != nil {
		return p.t.Wrap("create database "+p.plan.Schema+" on", err)
	}
	p.createdDB = true
	return nil
}

func (p *preparation) session(ctx context.Context) (*pgx.Conn, error) {
	return p.t.ConnTo(ctx, conn.ForLoad, p.plan.Schema)
}

// each deals out pieces of work to sessions; the first error ends all of them. The driver breaks the connection of a
// session at work when the context ends.
func each[T any](ctx context.Context, p *preparation, list []T, do func(ctx context.Context, c *pgx.Conn, x T) error,
) error {
	work := make(chan T, len(list))
	for _, x := range list {
		work <- x
	}
	close(work)
	g, gctx := errgroup.WithContext(ctx)
	for range min(p.threads, len(list)) {
		g.Go(func() error {
			c, err := p.session(gctx)
			if err != nil {
				return err
			}
			defer func() {
				p.t.End(c)
				if gctx.Err() != nil { // the server would go on with what it is at, and keep the table locked
					kctx, cancel := context.WithTimeout(context.WithoutCancel(gctx), time.Second)
					defer cancel()
					sessions{p.t}.Kill(kctx, uint64(c.PgConn().PID()))
				}
			}()
			for x := range work {
				if err := do(gctx, c, x); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (p *preparation) create(ctx context.Context, c *pgx.Conn, tb *workload.Table) error {
	ref := schema.Ref{Schema: p.plan.Schema, Table: tb.Name}
	// Listed before it is there: a statement whose answer is lost may have been carried out.
	p.mu.Lock()
	p.created = append(p.created, ref)
	p.mu.Unlock()
	_, err := c.PgConn().Exec(ctx, tb.Create).ReadAll()
	if code, _ := conn.SQLState(err); taken(code) { // another was faster: it is theirs
		p.mu.Lock()
		p.created = slices.DeleteFunc(p.created, func(r schema.Ref) bool { return r == ref })
		p.mu.Unlock()
	}
	return p.t.Wrap("create table "+tb.Name+" on", err)
}

// copy loads a span.
func (p *preparation) copy(ctx context.Context, c *pgx.Conn, x span) error {
	r := &rows{fill: x.Fill(p.seed), next: x.first, last: x.last, made: p.report.Add}
	_, err := c.PgConn().CopyFrom(ctx, r, "COPY "+conn.Quote(x.Name)+" ("+quoted(x.Columns)+") FROM STDIN")
	if r.err != nil {
		return fmt.Errorf("load %s: %w", x.Name, r.err)
	}
	return p.t.Wrap("load "+x.Name+" on", err)
}

// finish makes the indexes of a table, and its statistics.
func (p *preparation) finish(ctx context.Context, c *pgx.Conn, tb *workload.Table) error {
	for _, q := range append(slices.Clone(tb.After), "VACUUM (ANALYZE) "+conn.Quote(tb.Name)) {
		if _, err := c.PgConn().Exec(ctx, q).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", q, p.t.Wrap("execute on", err))
		}
	}
	p.report.Add(1)
	return nil
}

// undo drops what was made, and adds to the cause what became of it.
func (p *preparation) undo(ctx context.Context, cause error) error {
	if len(p.created) == 0 && !p.createdDB {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	c, err := p.session(ctx)
	if err == nil {
		err = drop(ctx, p.t, c, p.created)
		p.t.End(c)
	}
	if err != nil {
		return fmt.Errorf("%w; tables are left in database %s, cleanup removes them: %w", cause, p.plan.Schema, err)
	}
	if p.createdDB {
		return fmt.Errorf("%w; the tables made so far were dropped again, the database %s stays", cause, p.plan.Schema)
	}
	return fmt.Errorf("%w; the tables made so far were dropped again", cause)
}
