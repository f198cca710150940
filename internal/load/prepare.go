package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dyno/internal/catalog"
	"dyno/internal/progress"
	"dyno/internal/schema"
	"dyno/internal/sqltext"
	"dyno/internal/target"
	"dyno/internal/workload"

	"golang.org/x/sync/errgroup"
)

// Data says which tables to make or to drop, and how.
type Data struct {
	Workload workload.Workload
	Options  map[string]string // of the workload; absent ones have their defaults
	Threads  int               // sessions that load rows at the same time, also into one table; 0 means 1
	Seed     uint64            // 0 draws one; the same seed gives the same rows whatever Threads is
	// Force drops tables of an earlier prepare before it makes new ones. Tables with other columns are never dropped.
	Force bool
}

// ExistsError tells that prepare would have to write over tables.
type ExistsError struct {
	Tables  []string
	Foreign bool // they have other columns than the workload's tables
}

func (e *ExistsError) Error() string {
	list := brief(e.Tables)
	if e.Foreign {
		return fmt.Sprintf("%s exists with other columns than this workload's: it is not Dyno's to drop, use another database", list)
	}
	return list + " exists: clean up first, or use force to replace"
}

const (
	batchRows       = 1000      // of one INSERT; more gains nothing
	batchBytes      = 512 << 10 // of one INSERT; half of the smallest max_allowed_packet that servers come with
	transactionRows = 10_000
	minSpan         = 10_000 // fewer rows are not worth a session of their own
)

// Prepare makes the tables of a workload: all of them in parallel, and one table's rows in parallel too, then the secondary indexes.
// It creates the database when it is missing. When it fails or ctx ends it drops the tables it made, and the error says so or says
// what is left.
func Prepare(ctx context.Context, t *target.Target, d Data, sink progress.Sink) error {
	p, err := newPreparation(t, d, sink)
	if err != nil {
		return err
	}
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("prepare %s: %w", p.plan.Workload, err)
	}
	return nil
}

type preparation struct {
	t       *target.Target
	plan    *workload.Plan
	threads int
	seed    uint64
	force   bool
	report  *reporter

	createdSchema bool
	mu            sync.Mutex
	created       []schema.Ref
}

func newPreparation(t *target.Target, d Data, sink progress.Sink) (*preparation, error) {
	if d.Workload == nil {
		return nil, errors.New("prepare: no workload given")
	}
	plan, err := d.Workload.Build(d.Options)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", d.Workload.Name(), err)
	}
	if d.Threads < 0 || d.Threads > maxThreads {
		return nil, fmt.Errorf("prepare %s: threads=%d: takes 1 to %d", plan.Workload, d.Threads, maxThreads)
	}
	if d.Seed == 0 {
		d.Seed = rand.Uint64()
	}
	return &preparation{t: t, plan: plan, threads: max(1, d.Threads), seed: d.Seed, force: d.Force, report: &reporter{sink: sink}}, nil
}

func (p *preparation) run(ctx context.Context) (err error) {
	if err := p.clear(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = p.undo(ctx, err)
		}
	}()
	if err := p.createSchema(ctx); err != nil {
		return err
	}
	if err := p.each(ctx, len(p.plan.Tables), p.create); err != nil {
		return err
	}
	spans, rows := p.spans()
	p.report.begin("loading rows", "rows", rows)
	if err := p.each(ctx, len(spans), func(ctx context.Context, s *target.Session, i int) error { return p.load(ctx, s, spans[i]) }); err != nil {
		return err
	}
	p.report.end()
	p.report.begin("building indexes and statistics", "tables", len(p.plan.Tables))
	if err := p.each(ctx, len(p.plan.Tables), p.finish); err != nil {
		return err
	}
	p.report.end()
	return nil
}

// clear sees to it that no table is in the way.
func (p *preparation) clear(ctx context.Context) error {
	ours, foreign, err := existing(ctx, p.t, p.plan)
	if err != nil {
		return err
	}
	switch {
	case len(foreign) > 0:
		return &ExistsError{names(foreign), true}
	case len(ours) > 0 && !p.force:
		return &ExistsError{names(ours), false}
	}
	return drop(ctx, p.t, ours)
}

// existing returns the tables of the plan that are there, apart those whose columns differ.
func existing(ctx context.Context, t *target.Target, plan *workload.Plan) (ours, foreign []schema.Ref, err error) {
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
				ours = append(ours, have.Ref)
			} else {
				foreign = append(foreign, have.Ref)
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

func (p *preparation) createSchema(ctx context.Context) error {
	var n int
	err := p.t.DB().QueryRowContext(ctx, sqltext.Tagged("prepare", "", "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?"), p.plan.Schema).Scan(&n)
	if err != nil {
		return p.t.Wrap("look for a database on", err)
	}
	if n > 0 {
		return nil
	}
	if _, err := p.t.DB().ExecContext(ctx, sqltext.Tagged("prepare", "", "CREATE DATABASE "+schema.Quote(p.plan.Schema))); err != nil {
		return p.t.Wrap("create database "+p.plan.Schema+" on", err)
	}
	p.createdSchema = true
	return nil
}

// each deals out n pieces of work to sessions; the first error ends all of them.
func (p *preparation) each(ctx context.Context, n int, do func(ctx context.Context, s *target.Session, i int) error) error {
	var next atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	for range min(p.threads, n) {
		g.Go(func() error {
			// Quoting of values and the meaning of 0 must not depend on how the server is set up.
			s, err := p.t.Session(gctx, target.SessionOptions{Database: p.plan.Schema, Settings: map[string]string{"sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"}})
			if err != nil {
				return err
			}
			defer func() {
				s.Close()
				if gctx.Err() != nil { // the server would go on with what it is at, and keep the table locked
					kctx, cancel := context.WithTimeout(context.WithoutCancel(gctx), grace)
					defer cancel()
					kill(kctx, p.t, s.ID())
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := gctx.Err(); err != nil {
					return err
				}
				if err := do(gctx, s, i); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // not what the broken connections said
		}
		return err
	}
	return nil
}

func (p *preparation) create(ctx context.Context, s *target.Session, i int) error {
	tb := p.plan.Tables[i]
	// Listed before it is there: a statement whose answer is lost may have been carried out.
	p.mu.Lock()
	p.created = append(p.created, schema.Ref{Schema: p.plan.Schema, Table: tb.Name})
	p.mu.Unlock()
	if _, err := s.Exec(ctx, tb.Create); err != nil {
		if n, ok := target.ServerErrorNumber(err); ok && n == tableExists {
			p.mu.Lock() // somebody else was faster: it is theirs
			p.created = slices.DeleteFunc(p.created, func(r schema.Ref) bool { return r.Table == tb.Name })
			p.mu.Unlock()
		}
		return fmt.Errorf("create table %s: %w", tb.Name, err)
	}
	return nil
}

// tableExists is ER_TABLE_EXISTS_ERROR.
const tableExists = 1050

// span is a piece of a table's rows that one session loads in order.
type span struct{ table, from, to int }

// spans cuts the tables into as few pieces as keep all sessions busy: where two sessions write into the same part of a table its
// pages fill less well than sysbench's, and the table is no longer comparable.
func (p *preparation) spans() (list []span, rows int) {
	for i, tb := range p.plan.Tables {
		n := (p.threads + len(p.plan.Tables) - 1) / len(p.plan.Tables)
		size := max(minSpan, (tb.Rows+n-1)/n)
		for from := 1; from <= tb.Rows; from += size {
			list = append(list, span{i, from, min(tb.Rows, from+size-1)})
		}
		rows += tb.Rows
	}
	return list, rows
}

// load writes a span, some rows at a time.
func (p *preparation) load(ctx context.Context, s *target.Session, x span) error {
	tb := &p.plan.Tables[x.table]
	for from := x.from; from <= x.to; {
		to := min(x.to, from+transactionRows-1)
		err := p.transaction(ctx, s, tb, from, to)
		if n, ok := target.ServerErrorNumber(err); ok && (n == 1213 || n == 1205) {
			if _, err := s.Exec(ctx, "ROLLBACK"); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("insert into %s: %w", tb.Name, err)
		}
		p.report.add(to - from + 1)
		from = to + 1
	}
	return nil
}

func (p *preparation) transaction(ctx context.Context, s *target.Session, tb *workload.Table, from, to int) error {
	if _, err := s.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := p.insert(ctx, s, tb, from, to); err != nil {
		return err
	}
	_, err := s.Exec(ctx, "COMMIT")
	return err
}

func (p *preparation) insert(ctx context.Context, s *target.Session, tb *workload.Table, from, to int) error {
	values := tb.Values(p.seed)
	sql := append(make([]byte, 0, batchBytes), tb.Insert...)
	rows := 0
	for n := from; n <= to; n++ {
		if rows > 0 {
			sql = append(sql, ',')
		}
		sql = values(sql, n)
		rows++
		if rows < batchRows && len(sql) < batchBytes && n < to {
			continue
		}
		if _, err := s.Exec(ctx, string(sql)); err != nil {
			return err
		}
		sql, rows = sql[:len(tb.Insert)], 0
	}
	return nil
}

// finish makes the indexes of a table and refreshes its statistics.
func (p *preparation) finish(ctx context.Context, s *target.Session, i int) error {
	tb := p.plan.Tables[i]
	for _, q := range tb.After {
		if _, err := s.Exec(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	if _, err := s.Query(ctx, "ANALYZE TABLE "+schema.Quote(tb.Name), nil); err != nil {
		return fmt.Errorf("analyze table %s: %w", tb.Name, err)
	}
	p.report.add(1)
	return nil
}

// undoTime is how long prepare may take to drop what it made.
const undoTime = time.Minute

// undo drops what was made and adds to the cause what became of it.
func (p *preparation) undo(ctx context.Context, cause error) error {
	if len(p.created) == 0 && !p.createdSchema {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	err := drop(ctx, p.t, p.created)
	for n, ok := target.ServerErrorNumber(err); ok && n == 1205 && ctx.Err() == nil; n, ok = target.ServerErrorNumber(err) {
		err = drop(ctx, p.t, p.created) // a killed statement is still being undone
	}
	if err != nil {
		return fmt.Errorf("%w; tables are left in database %s, cleanup removes them: %w", cause, p.plan.Schema, err)
	}
	if p.createdSchema {
		// Somebody else may have put a table into it meanwhile.
		var n int
		if err := p.t.DB().QueryRowContext(ctx, sqltext.Tagged("prepare", "", "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?"), p.plan.Schema).Scan(&n); err == nil && n == 0 {
			_, err = p.t.DB().ExecContext(ctx, sqltext.Tagged("prepare", "", "DROP DATABASE "+schema.Quote(p.plan.Schema)))
			if err != nil {
				return fmt.Errorf("%w; the empty database %s is left: %w", cause, p.plan.Schema, err)
			}
		}
	}
	return fmt.Errorf("%w; the tables made so far were dropped again", cause)
}

// Cleanup drops the tables of a workload. A table of the same name with other columns stays, and is an *ExistsError after all others
// have been dropped. It returns the names of those dropped; the database stays.
func Cleanup(ctx context.Context, t *target.Target, d Data) ([]schema.Ref, error) {
	if d.Workload == nil {
		return nil, errors.New("cleanup: no workload given")
	}
	plan, err := d.Workload.Build(d.Options)
	if err != nil {
		return nil, fmt.Errorf("cleanup %s: %w", d.Workload.Name(), err)
	}
	ours, foreign, err := existing(ctx, t, plan)
	if err != nil {
		return nil, fmt.Errorf("cleanup %s: %w", plan.Workload, err)
	}
	if err := drop(ctx, t, ours); err != nil {
		return nil, fmt.Errorf("cleanup %s: %w", plan.Workload, err)
	}
	if len(foreign) > 0 {
		return ours, fmt.Errorf("cleanup %s: %w", plan.Workload, &ExistsError{names(foreign), true})
	}
	return ours, nil
}

func drop(ctx context.Context, t *target.Target, refs []schema.Ref) error {
	for _, r := range refs {
		if _, err := t.DB().ExecContext(ctx, sqltext.Tagged("prepare", "", "DROP TABLE IF EXISTS "+r.SQL())); err != nil {
			return t.Wrap("drop table "+r.String()+" on", err)
		}
	}
	return nil
}

func names(refs []schema.Ref) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.String()
	}
	return out
}

// brief lists the first few names.
func brief(list []string) string {
	switch n := len(list); {
	case n == 1:
		return "table " + list[0]
	case n > 3:
		return fmt.Sprintf("table %s and %d more", list[0], n-1)
	}
	return "table " + strings.Join(list, ", ")
}

// reporter hands progress from several goroutines to one sink, a few times a second.
type reporter struct {
	sink progress.Sink
	mu   sync.Mutex
	p    progress.Progress
}

const reportEvery = 100 * time.Millisecond

func (r *reporter) begin(step, unit string, total int) {
	now := time.Now()
	r.p = progress.Progress{Step: step, Unit: unit, Total: float64(total), Started: now, At: now}
	r.sink.Report(r.p)
}

func (r *reporter) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p.Done += float64(n)
	if now := time.Now(); now.Sub(r.p.At) >= reportEvery {
		r.p.At = now
		r.sink.Report(r.p)
	}
}

func (r *reporter) end() {
	r.p.At, r.p.End = time.Now(), true
	r.sink.Report(r.p)
}
