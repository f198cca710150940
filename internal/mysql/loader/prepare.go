package loader

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/workload"

	"golang.org/x/sync/errgroup"
)

const (
	minSpan     = 10_000           // fewer rows are not worth a session of their own
	lostFor     = 30 * time.Second // how long a lost server is waited for
	lostPause   = 200 * time.Millisecond
	killTime    = 500 * time.Millisecond // how long it is tried to end a statement that need not finish
	lastCommits = 3                      // looks at tables of an unfinished prepare, lostPause apart
	lockTries   = 3                      // waits for the lock of a span, each as long as innodb_lock_wait_timeout
	lockTimeout = 1205                   // ER_LOCK_WAIT_TIMEOUT
	deadlock    = 1213                   // ER_LOCK_DEADLOCK
	discarded   = 1814                   // ER_TABLESPACE_DISCARDED
)

// Prepare makes the tables of a workload: all of them in parallel, and one table's rows in parallel too, then the
// secondary indexes. It creates the database when it is missing.
//
// When it fails or ctx ends after rows were loaded, they stay, with a record of them in the table dyno_prepare beside:
// the same Prepare then goes on, even if this process was killed. Before that it drops the tables it made. The error
// says which. A server that goes away and comes back within half a minute is waited for.
func (s Server) Prepare(ctx context.Context, d load.Data, sink progress.Sink) error {
	p, err := newPreparation(s.T, d, sink)
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
	parts   []*part
	threads int
	seed    uint64
	force   bool
	cache   *cache
	report  *load.Reporter

	createdSchema bool
	recorded      []string     // tables whose lines of the record this process wrote
	loaded        atomic.Int64 // rows that are in and on record
	mu            sync.Mutex
	created       []schema.Ref
}

// part is a table of the plan on its way.
type part struct {
	*workload.Table
	sample
	marks    []mark
	fresh    bool // not there, or nothing of it worth keeping
	complete bool
	again    atomic.Bool // work on it may have been done without being recorded
	steps    int         // statements of After that are behind it
	way      atomic.Int32
	innodb   bool
	text     string // SHOW CREATE TABLE before its rows and secondary indexes
	key      string // in the cache; "" when it cannot be there
	cached   bool   // came from the cache
}

func newPreparation(t *target.Target, d load.Data, sink progress.Sink) (*preparation, error) {
	plan, err := d.Plan("prepare")
	if err != nil {
		return nil, err
	}
	if d.Threads < 0 || d.Threads > load.MaxThreads {
		return nil, fmt.Errorf("prepare %s: threads=%d: takes 1 to %d", plan.Workload, d.Threads, load.MaxThreads)
	}
	if d.Seed == 0 {
		d.Seed = load.DefaultSeed
	}
	p := &preparation{
		t: t, plan: plan, threads: max(1, d.Threads), seed: d.Seed, force: d.Force,
		report: &load.Reporter{Sink: sink},
	}
	for i := range plan.Tables {
		tb := &plan.Tables[i]
		p.parts = append(p.parts, &part{Table: tb, sample: look(tb, d.Seed, len(plan.Tables)), fresh: true})
	}
	if d.Cache != nil {
		p.cache = newCache(*d.Cache)
	}
	return p, nil
}

func (p *preparation) run(ctx context.Context) (err error) {
	defer p.cache.close()
	if err := p.survey(ctx); err != nil {
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
	p.spans()
	if err := p.recordFresh(ctx); err != nil {
		return err
	}
	if err := p.each(ctx, which(p.parts, func(x *part) bool { return x.fresh }), false, p.create); err != nil {
		return err
	}
	if p.cache != nil {
		if err := p.restore(ctx); err != nil {
			return err
		}
	}
	if err := p.loadAll(ctx); err != nil {
		return err
	}
	rest := which(p.parts, func(x *part) bool { return !x.complete })
	p.report.Begin("building indexes and statistics", "tables", len(rest))
	if err := p.each(ctx, rest, true, p.finish); err != nil {
		return err
	}
	p.report.End()
	if p.cache != nil {
		if err := p.keep(ctx); err != nil {
			return err
		}
	}
	var all []string
	for _, x := range p.parts {
		all = append(all, x.Name)
	}
	if err := forget(ctx, p.t, p.plan.Schema, all); err != nil {
		return err
	}
	return nil
}

// which returns the parts that fit.
func which(parts []*part, fits func(*part) bool) []*part {
	var list []*part
	for _, x := range parts {
		if fits(x) {
			list = append(list, x)
		}
	}
	return list
}

// survey looks at what is there: what an unfinished prepare left is taken up, anything else must not be in the way.
func (p *preparation) survey(ctx context.Context) error {
	ours, foreign, err := existing(ctx, p.t, p.plan)
	if err != nil {
		return err
	}
	unfinished, err := marks(ctx, p.t, p.plan.Schema)
	if err != nil {
		return err
	}
	if p.force {
		var stale []string
		for _, x := range p.parts {
			if unfinished[x.Name] != nil {
				stale = append(stale, x.Name)
			}
		}
		if err := drop(ctx, p.t, append(refs(ours), refs(foreign)...)); err != nil {
			return err
		}
		if len(stale) == 0 {
			return nil
		}
		return forget(ctx, p.t, p.plan.Schema, stale)
	}
	if len(foreign) > 0 {
		return &load.ExistsError{Tables: names(refs(foreign)), Foreign: true}
	}
	var inTheWay []schema.Table
	var others []string
	var again []*part // to be dropped and made anew
	var stale []string
	for _, x := range p.parts {
		at := slices.IndexFunc(ours, func(h schema.Table) bool { return strings.EqualFold(h.Table, x.Name) })
		x.marks = unfinished[x.Name]
		switch {
		case at < 0 && x.marks == nil:
		case at < 0:
			stale = append(stale, x.Name)
		case x.marks == nil:
			inTheWay = append(inTheWay, ours[at])
		case x.marks[0].what != x.What:
			others = append(others, ours[at].String())
		default:
			x.innodb = strings.EqualFold(ours[at].Engine, "InnoDB")
			keep, err := p.takeUp(ctx, x)
			if err != nil {
				return err
			}
			if keep {
				continue
			}
			stale, again = append(stale, x.Name), append(again, x)
		}
		x.marks = nil
	}
	switch {
	case len(inTheWay) > 0:
		return &load.ExistsError{Tables: names(refs(inTheWay)), Detail: differs(ctx, p.plan, p.t, inTheWay[0])}
	case len(others) > 0:
		return &load.UnfinishedError{Tables: others}
	}
	var remade []schema.Ref
	for _, x := range again {
		remade = append(remade, schema.Ref{Schema: p.plan.Schema, Table: x.Name})
	}
	if err := drop(ctx, p.t, remade); err != nil {
		return err
	}
	if p.cache != nil && len(remade) > 0 && p.cache.locate(ctx, p.t, p.plan.Schema) == "" {
		p.cache.sweep(remade)
	}
	if len(stale) == 0 {
		return nil
	}
	return forget(ctx, p.t, p.plan.Schema, stale)
}

// takeUp decides whether an unfinished table is gone on with. Only InnoDB's rows come and go with the record of them:
// other engines' tables are either complete or made anew.
func (p *preparation) takeUp(ctx context.Context, x *part) (bool, error) {
	x.steps = x.marks[0].steps
	if x.steps == restoring {
		return false, nil
	}
	want, begun, full := sumUp(x.marks)
	if !x.innodb && (!full || !begun) {
		return false, nil
	}
	for tries := 1; x.innodb; tries++ {
		var have int
		ref := schema.Ref{Schema: p.plan.Schema, Table: x.Name}
		err := p.t.DB().QueryRowContext(ctx, sqltext.Tagged("prepare", "", "SELECT COUNT(*) FROM "+ddl.Name(ref))).
			Scan(&have)
		if n, ok := target.ServerErrorNumber(err); ok && n == discarded {
			return false, nil
		}
		if err != nil {
			return false, p.t.Wrap("count the rows of "+ref.String()+" on", err)
		}
		if have == want {
			break
		}
		if tries == lastCommits {
			return false, fmt.Errorf("table %s has %d rows, but the unfinished prepare left %d: it was changed "+
				"since; clean up first, or use force to replace", ref, have, want)
		}
		// A COMMIT that was on its way when the earlier prepare ended may have come between the record and the count.
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(lostPause):
		}
		now, err := marks(ctx, p.t, p.plan.Schema)
		if err != nil {
			return false, err
		}
		if x.marks = now[x.Name]; x.marks == nil {
			return false, fmt.Errorf("the record in %s has lost the table %s: another prepare or a cleanup is running",
				recordTable, ref)
		}
		want, _, full = sumUp(x.marks)
	}
	p.loaded.Add(int64(want))
	x.fresh = false
	x.again.Store(true)
	x.complete = full && x.steps > len(x.After)
	return true, nil
}

// sumUp adds up what the record says of a table: its rows, whether any are in, whether all are.
func sumUp(list []mark) (rows int, begun, full bool) {
	full = true
	for _, m := range list {
		rows += m.rows
		begun = begun || m.done >= m.first
		full = full && m.done == m.last
	}
	return rows, begun, full
}

// differs says what is known of a table's size against the one asked for.
func differs(ctx context.Context, plan *workload.Plan, t *target.Target, have schema.Table) string {
	at := slices.IndexFunc(plan.Tables, func(w workload.Table) bool { return strings.EqualFold(w.Name, have.Table) })
	if at < 0 || plan.Tables[at].Key == "" {
		return ""
	}
	want := plan.Tables[at]
	var largest sql.NullInt64
	err := t.DB().QueryRowContext(ctx, sqltext.Tagged("prepare", "", "SELECT MAX("+ddl.Quote(want.Key)+") FROM "+
		ddl.Name(have.Ref))).Scan(&largest)
	switch {
	case err != nil:
		return ""
	case largest.Int64 == int64(want.Rows):
		return fmt.Sprintf("with the %d rows asked for", want.Rows)
	}
	return fmt.Sprintf("with %d rows, %d are asked for", largest.Int64, want.Rows)
}

func (p *preparation) createSchema(ctx context.Context) error {
	var n int
	err := p.t.DB().QueryRowContext(ctx, sqltext.Tagged("prepare", "",
		"SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?"), p.plan.Schema).Scan(&n)
	if err != nil {
		return p.t.Wrap("look for a database on", err)
	}
	if n > 0 {
		return nil
	}
	if _, err := p.t.DB().ExecContext(ctx, sqltext.Tagged("prepare", "", "CREATE DATABASE "+
		ddl.Quote(p.plan.Schema))); err != nil {
		return p.t.Wrap("create database "+p.plan.Schema+" on", err)
	}
	p.createdSchema = true
	return nil
}

// spans cuts the fresh tables into as few pieces as keep all sessions busy, a table into as many as its share of all
// bytes: where two sessions write into the same part of a table its pages fill less well than sysbench's, and the table
// is no longer comparable.
func (p *preparation) spans() {
	var all float64
	weight := func(x *part) float64 { return float64(x.Rows) * x.sample.Rows * max(1, x.bytes) }
	for _, x := range p.parts {
		all += weight(x)
	}
	for _, x := range p.parts {
		if !x.fresh {
			continue
		}
		x.marks = nil
		n := 1
		if all > 0 {
			n = max(1, int(math.Ceil(float64(p.threads)*weight(x)/all-1e-6)))
		}
		least := int(math.Ceil(minSpan / max(1, x.sample.Rows)))
		size := max(1, least, (x.Rows+n-1)/n)
		for first := 1; first == 1 || first <= x.Rows; first += size {
			x.marks = append(x.marks, mark{span: span{
				table: x.Name, first: first, last: min(x.Rows, first+size-1),
				done: first - 1,
			}, what: x.What})
		}
	}
}

func (p *preparation) recordFresh(ctx context.Context) error {
	var list []mark
	for _, x := range p.parts {
		if x.fresh {
			list = append(list, x.marks...)
			p.recorded = append(p.recorded, x.Name)
		}
	}
	return p.record(ctx, list)
}

// settings of the sessions: quoting of values, the meaning of 0 and the end of a transaction must not depend on how the
// server is set up.
func settings() map[string]string {
	return map[string]string{
		"sql_mode":  "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		"time_zone": "'+00:00'", "autocommit": "1",
	}
}

// each deals out pieces of work to sessions; the first error ends all of them. When again is set a session that was
// lost is replaced, and its piece begun anew.
func each[T any](ctx context.Context, p *preparation, list []T, again bool, do func(ctx context.Context,
	s *target.Session, x T) error,
) error {
	var next atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	for range min(p.threads, len(list)) {
		g.Go(func() error {
			s, err := sessionFor(gctx, p.plan, p.t)
			if err != nil {
				return err
			}
			defer func() {
				s.Close()
				if gctx.Err() != nil { // the server would go on with what it is at, and keep the table locked
					kctx, cancel := context.WithTimeout(context.WithoutCancel(gctx), killTime)
					defer cancel()
					kill(kctx, p.t, s.ID())
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return nil
				}
				for {
					if err := gctx.Err(); err != nil {
						return err
					}
					err := do(gctx, s, list[i])
					if err == nil {
						break
					}
					if !again || !serverGone(err) || gctx.Err() != nil {
						return err
					}
					if s, err = p.reopen(gctx, s, err); err != nil {
						return err
					}
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

func (p *preparation) each(ctx context.Context, list []*part, again bool, do func(ctx context.Context,
	s *target.Session, x *part) error,
) error {
	return each(ctx, p, list, again, do)
}

func sessionFor(ctx context.Context, plan *workload.Plan, t *target.Target) (*target.Session, error) {
	return t.Session(ctx, target.SessionOptions{Database: plan.Schema, Settings: settings()})
}

// serverGone reports whether the server may come back.
func serverGone(err error) bool {
	switch target.KindOf(err) {
	case endpoint.Gone, endpoint.Refused, endpoint.Timeout:
		return true
	}
	return false
}

// reopen replaces a session whose server went away. s is closed, and returned when there is no other.
func (p *preparation) reopen(ctx context.Context, s *target.Session, cause error) (*target.Session, error) {
	s.Close()
	for end := time.Now().Add(lostFor); ; {
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(lostPause):
		}
		n, err := sessionFor(ctx, p.plan, p.t)
		switch {
		case err == nil:
			return n, nil
		case !serverGone(err) || time.Now().After(end):
			return s, fmt.Errorf("%w, and the server did not come back: %w", cause, err)
		}
	}
}

var engineOf = lazyregexp.New(`\) ENGINE=(\w+)`)

func (p *preparation) create(ctx context.Context, s *target.Session, x *part) error {
	// Listed before it is there: a statement whose answer is lost may have been carried out.
	p.mu.Lock()
	p.created = append(p.created, schema.Ref{Schema: p.plan.Schema, Table: x.Name})
	p.mu.Unlock()
	if _, err := s.Exec(ctx, x.Create); err != nil {
		if n, ok := target.ServerErrorNumber(err); ok && n == tableExists {
			p.mu.Lock() // somebody else was faster: it is theirs
			p.created = slices.DeleteFunc(p.created, func(r schema.Ref) bool { return r.Table == x.Name })
			p.mu.Unlock()
		}
		return fmt.Errorf("create table %s: %w", x.Name, err)
	}
	text, err := showCreate(ctx, s, x.Name)
	if err != nil {
		return err
	}
	x.text = text
	if m := engineOf.FindStringSubmatch(text); m != nil {
		x.innodb = strings.EqualFold(m[1], "InnoDB")
	}
	return nil
}

// loadAll loads the rows that are missing.
func (p *preparation) loadAll(ctx context.Context) error {
	type piece struct {
		*part
		*mark
		weight float64
	}
	var list []piece
	rows := 0.0
	for _, x := range p.parts {
		if x.complete {
			continue
		}
		x.way.Store(int32(firstWay(p.t, x)))
		for i := range x.marks {
			m := &x.marks[i]
			if m.done < m.last {
				n := float64(m.last-m.done) * x.sample.Rows
				rows += n
				list = append(list, piece{x, m, n * max(1, x.bytes)})
			}
		}
	}
	// The largest first, so that no session is left alone with one at the end.
	slices.SortStableFunc(list, func(a, b piece) int {
		switch {
		case a.weight > 1.01*b.weight:
			return -1
		case b.weight > 1.01*a.weight:
			return 1
		}
		return 0
	})
	p.report.Begin("loading rows", "rows", int(math.Round(rows)))
	err := each(ctx, p, list, true, func(ctx context.Context, s *target.Session, x piece) error {
		return p.load(ctx, s, x.part, x.mark)
	})
	if err == nil {
		p.report.End()
	}
	return err
}

// firstWay tells how the rows of a table are sent, until one of them or the server does not agree.
func firstWay(t *target.Target, x *part) bulkWay {
	on, _ := t.Variable("local_infile")
	locks, _ := t.Variable("innodb_autoinc_lock_mode")
	switch {
	case on != "ON" && on != "1", odd.MatchString(x.Create), !x.innodb:
		return inserts
	case len(x.marks) > 2 && locks != "2" && strings.Contains(strings.ToUpper(x.Create), "AUTO_INCREMENT"):
		// Below 2 each LOAD DATA holds the lock of the counter to its end: they would take turns, and INSERTs do not.
		return inserts
	}
	return streamASCII
}

// load writes a span, some rows at a time.
func (p *preparation) load(ctx context.Context, s *target.Session, x *part, m *mark) error {
	b := newBulk(s, x.Table, p.seed)
	tries := 0
	for m.done < m.last {
		w := bulkWay(x.way.Load())
		err := p.transaction(ctx, b, x, m, w)
		if err == nil {
			tries = 0
			continue
		}
		if serverGone(err) {
			x.again.Store(true)
			return fmt.Errorf("load %s: %w", x.Name, err)
		}
		var unfit *unfitError
		next := w
		n, _ := target.ServerErrorNumber(err)
		switch {
		case errors.Is(err, errNotASCII):
			next = streamUTF8
		case errors.As(err, &unfit), target.NoLoadData(err):
			next = inserts
		case n == deadlock:
		case n == lockTimeout && tries < lockTries:
			tries++
		default:
			return fmt.Errorf("load %s: %w", x.Name, err)
		}
		if _, err := s.Exec(ctx, "ROLLBACK"); err != nil {
			return err
		}
		x.way.CompareAndSwap(int32(w), int32(next))
	}
	return nil
}

// transaction writes a part of a span and the record of it.
func (p *preparation) transaction(ctx context.Context, b *bulk, x *part, m *mark, w bulkWay) error {
	s := b.session
	if x.innodb { // of other engines the server may refuse to mix them with InnoDB's record
		if _, err := s.Exec(ctx, "BEGIN"); err != nil {
			return err
		}
	}
	where := fmt.Sprintf(" WHERE name = %s AND first = %d", literal(m.table), m.first)
	lock := "SELECT done, loaded FROM " + recordRef(p.plan) + where
	if x.innodb {
		lock += " FOR UPDATE"
	}
	got, err := askNumbers(ctx, s, lock, 2)
	if err != nil {
		return err
	}
	switch {
	case got == nil:
		return fmt.Errorf("the record in %s has lost the table: another prepare or a cleanup is running", recordTable)
	case got[0] == m.done:
	case x.again.Load() && got[0] > m.done && got[0] <= m.last: // the answer to a COMMIT was lost, not the COMMIT
		p.add(got[1] - m.rows)
		m.done, m.rows = got[0], got[1]
		_, err := s.Exec(ctx, "ROLLBACK")
		return err
	default:
		return errors.New("another prepare is loading the same rows: leave it to that one")
	}
	end, rows, err := b.write(ctx, w, m.done+1, m.last)
	if err != nil {
		return err
	}
	if _, err := s.Exec(ctx, fmt.Sprintf("UPDATE %s SET done = %d, loaded = %d%s", recordRef(p.plan), end,
		m.rows+rows, where)); err != nil {
		return err
	}
	if x.innodb {
		if _, err := s.Exec(ctx, "COMMIT"); err != nil {
			return err
		}
	}
	m.done = end
	m.rows += rows
	p.add(rows)
	return nil
}

func (p *preparation) add(rows int) {
	p.loaded.Add(int64(rows))
	p.report.Add(rows)
}

var sets = lazyregexp.New(`(?i)^SET\s`)

// finish makes the indexes of a table and refreshes its statistics.
func (p *preparation) finish(ctx context.Context, s *target.Session, x *part) error {
	for _, q := range x.After[:min(x.steps, len(x.After))] {
		if sets.MatchString(q) { // it was for a session that is no more
			if _, err := s.Exec(ctx, q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
	}
	tries := 0
	for x.steps < len(x.After) {
		q := x.After[x.steps]
		_, err := s.Exec(ctx, q)
		if n, _ := target.ServerErrorNumber(err); (n == deadlock || n == lockTimeout) && tries < lockTries {
			tries++ // foreign keys lock other tables too
			continue
		}
		if x.again.Load() && isThere(err) {
			err = nil // it was made, and the record of it was lost
		}
		if serverGone(err) {
			x.again.Store(true)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		if err := p.step(ctx, s, x.Name, x.steps+1); err != nil {
			x.again.Store(true)
			return err
		}
		x.steps++
	}
	if err := p.analyze(ctx, s, x); err != nil {
		return err
	}
	p.report.Add(1)
	return nil
}

// analyze refreshes the statistics of a table, and it is complete.
func (p *preparation) analyze(ctx context.Context, s *target.Session, x *part) error {
	if _, err := s.Query(ctx, "ANALYZE TABLE "+ddl.Quote(x.Name), nil); err != nil {
		return fmt.Errorf("analyze table %s: %w", x.Name, err)
	}
	if err := p.step(ctx, s, x.Name, len(x.After)+1); err != nil {
		return err
	}
	x.steps, x.complete = len(x.After)+1, true
	return nil
}
