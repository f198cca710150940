// Package indextrial tries the indexes that findings would add on a private server with a copy of the data.
package indextrial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/apply"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	tryRows   = 200_000
	tryBytes  = 256 << 20 // of a table that are copied, about
	tryAll    = 2 << 30   // of all tables together: statements name as many as their authors like
	tryRead   = 30 * time.Second
	tryBatch  = 1 << 20 // bytes of a statement that brings rows
	tryPairs  = 6
	tryChunks = 50 // places of a large table that rows are taken from
	tryTime   = 1500 * time.Millisecond
	tryMargin = 0.10
	// trySettle is how long the load runs in a new state before it counts.
	trySettle = 500 * time.Millisecond
	// tryStatements is how many statements with values of their own stand for a class.
	tryStatements = 64
)

// Try tries the indexes that findings would add on a private server of the same kind: it gets the tables' definitions,
// rows taken from all over them, and the captured classes as its load, with values from those rows. The lab compares
// the load with the index and without. The outcome stands in each finding's Tested. The target is only read, with a
// limit of time for each statement; the rows are gone with the private server, before Try returns. The server gets the
// name, and is of a build that the yard finds.
//
// A finding that cannot be tried says why in Tested.Text; an error means that nothing could be.
func Try(ctx context.Context, t *target.Target, yard *sandbox.Yard, name string, seen *snapshot.Snapshot,
	findings []*finding.Finding, o family.Try,
) (err error) {
	o.Rows, o.Pairs = cmp.Or(o.Rows, tryRows), cmp.Or(o.Pairs, tryPairs)
	srv, note, err := alike(ctx, yard, t.Facts())
	if err != nil {
		return fmt.Errorf("try the advice: %w", err)
	}
	box, err := yard.Up(ctx, sandbox.Config{Name: name, Server: srv, Owner: true, Settings: map[string]string{
		"innodb_buffer_pool_size": "512M", "innodb_flush_log_at_trx_commit": "2", "performance_schema": "OFF",
		"loose_innodb_log_file_size":     "256M",
		"loose_innodb_redo_log_capacity": "512M",
	}}, o.Progress)
	if err != nil {
		return fmt.Errorf("try the advice: %w", err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, yard.Remove(end, box.Name))
	}()
	private, err := target.Open(ctx, box.Spec())
	if err != nil {
		return err
	}
	defer private.Close()
	roomy := t.Spec()
	roomy.MaxAnswer = 4 * tryBytes // a table's rows come in one answer
	from, err := target.Open(ctx, roomy)
	if err != nil {
		return err
	}
	defer from.Close()
	w := &trying{o: o, from: from, to: private, snap: seen, note: note, copied: map[schema.Ref]*copied{}}
	for _, f := range findings {
		if err := w.try(ctx, f); err != nil {
			return fmt.Errorf("try the advice of %s: %w", f.ID, err)
		}
	}
	return nil
}

// alike finds a build of the server's own version, or else the nearest of its kind, with a remark then.
func alike(ctx context.Context, y *sandbox.Yard, f target.Facts) (srv, note string, err error) {
	flavor := string(f.Flavor.Kin())
	full := f.Version.String()
	short := full
	if parts := strings.Split(full, "."); len(parts) > 2 {
		short = parts[0] + "." + parts[1]
	}
	for _, want := range []string{flavor + "@" + full, flavor + "@" + short, flavor} {
		got, rerr := y.Resolve(ctx, want)
		if rerr != nil {
			err = rerr
			continue
		}
		if have := got.Version; !strings.HasPrefix(have, short) {
			note = fmt.Sprintf("tested on %s %s, the target is %s %s", got.Flavor, have, f.Flavor, full)
		}
		return want, note, nil
	}
	return "", "", err
}

// trying is a series of trials on one private server.
type trying struct {
	o      family.Try
	from   *target.Target
	to     *target.Target
	snap   *snapshot.Snapshot
	note   string
	copied map[schema.Ref]*copied
	bytes  int // of all of them
}

// try fills in f.Tested.
func (w *trying) try(ctx context.Context, f *finding.Finding) error {
	f.Tested = &finding.Tested{On: string(w.to.Facts().Flavor) + " " + w.to.Facts().Version.String()}
	not := func(format string, args ...any) error {
		f.Tested.Text = "Not tested: " + fmt.Sprintf(format, args...) + "."
		return nil
	}
	if !w.to.Has(target.HasInvisibleIndex) && !w.to.Has(target.HasIgnoredIndex) {
		return not("the private server cannot hide an index, which the comparison needs")
	}
	load := captured{schema: f.Action.Table.Schema}
	for _, id := range f.Subject.Classes {
		c, ok := w.snap.ClassIn(load.schema, id)
		if !ok { // a statement that names its database, or whose default one is not known
			c, ok = w.snap.Class(id)
		}
		if !ok {
			continue
		}
		text, why := w.statement(c, load.schema)
		if why != "" {
			continue
		}
		if sqlshape.Explainable(text) != nil { // it is run again and again here: no INTO OUTFILE, no SLEEP
			continue
		}
		sh, err := sqlshape.Parse(text)
		if err != nil || sh.Kind != shape.Select && sh.Kind != shape.Update {
			continue
		}
		usable := true
		for _, r := range sh.Tables {
			got, err := w.copy(ctx, schema.Ref{Schema: cmp.Or(r.Schema, load.schema), Table: r.Name})
			if err != nil {
				return err
			}
			usable = usable && got.why == ""
		}
		if usable {
			load.add(c, sh, w.statements(text, sh, load.schema))
		}
	}
	if len(load.classes) == 0 {
		return not("none of its statements has enough detail to run it elsewhere")
	}
	got, err := w.copy(ctx, f.Action.Table)
	if err != nil {
		return err
	}
	if got.why != "" {
		return not("%s", got.why)
	}
	if _, err := w.to.DB().ExecContext(ctx, sqltext.Tagged("try", "", ddl.AddIndexSQL(f.Action.Table,
		f.Action.Index))); err != nil {
		return not("the private server refuses the index: %v", err)
	}
	drop := ddl.DropIndexSQL(f.Action.Table, f.Action.Index.Name) // a verdict may take the action away
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // the server is a private one
		defer cancel()
		_, _ = w.to.DB().ExecContext(ctx, sqltext.Tagged("try", "", drop))
	}()
	if _, err := w.to.DB().ExecContext(ctx, sqltext.Tagged("try", "", "ANALYZE TABLE "+
		ddl.Name(f.Action.Table))); err != nil {
		return not("its statistics could not be collected: %v", err)
	}
	v, err := w.compare(ctx, f, load)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		return not("%v", err)
	}
	if v == nil {
		return not("no pair of trials could be compared")
	}
	w.tell(f, *v, got, load)
	return nil
}

// statement returns a class's statement with a ? for every literal, or why it cannot be run elsewhere.
func (w *trying) statement(c class.Class, def string) (text, why string) {
	if c.Schema != "" && !strings.EqualFold(c.Schema, def) {
		return "", "its default database is different"
	}
	if c.Example != "" {
		return string(mytext.Redact(nil, []byte(c.Example))), ""
	}
	return c.Fingerprint, ""
}

// statements fills in values of rows that the private server has.
func (w *trying) statements(text string, sh shape.Shape, def string) (out []string) {
	r := rand.New(rand.NewPCG(1, 1))
	for range tryStatements {
		filled, err := sqlshape.Fill(text, func(table, column string) string {
			for _, ref := range sh.Tables {
				if table != "" && !strings.EqualFold(table, ref.Alias) && !strings.EqualFold(table, ref.Name) {
					continue
				}
				got := w.copied[schema.Ref{Schema: cmp.Or(ref.Schema, def), Table: ref.Name}]
				if got == nil {
					continue
				}
				if vs := got.columns[strings.ToLower(column)]; len(vs) > 0 {
					return vs[r.IntN(len(vs))]
				}
			}
			return "1"
		})
		if err != nil {
			return nil
		}
		out = append(out, filled)
	}
	return out
}

// compare has the lab run the load with the index and without, in turn.
func (w *trying) compare(ctx context.Context, f *finding.Finding, load captured) (*stat.Verdict, error) {
	p := plan.Plan{
		Name: "try", Title: f.Title, Baseline: map[string]string{"index": "without"},
		Axes:  []plan.Axis{{Name: "index", Levels: []plan.Level{{Name: "without"}, {Name: "with"}}}},
		Table: plan.Table{Rows: []string{"index"}, Show: []string{"qps"}},
		Trials: plan.Trials{
			Time: plan.Duration(tryTime), WarmMin: plan.Duration(trySettle), WarmMax: plan.Duration(trySettle),
			Min: w.o.Pairs, Max: w.o.Pairs, Margin: tryMargin, Conf: 0.95, Seed: 1, Fresh: plan.FreshNone,
		},
	}
	vs, err := p.Variants()
	if err != nil {
		return nil, err
	}
	x, err := experiment.Compare(ctx, p, vs, nil, &tryBench{w, f.Action, load}, nil,
		experiment.Observer{Progress: w.o.Progress})
	if err != nil {
		return nil, err
	}
	for _, c := range x.Cells {
		if c.Verdict != nil {
			return c.Verdict, nil
		}
	}
	return nil, nil
}

// tryBench runs one trial.
type tryBench struct {
	w      *trying
	action *finding.Action
	load   captured
}

func (b *tryBench) Trial(
	ctx context.Context, v plan.Variant, p plan.Plan, _ bool, _ progress.Sink,
) (trial.Trial, error) {
	turn := apply.Show
	if v.Key == "index=without" {
		turn = apply.Hide
	}
	if err := turn(ctx, b.w.to, b.action.Table, b.action.Index.Name); err != nil {
		return trial.Trial{}, err
	}
	from := time.Now()
	r, err := loader.Server{T: b.w.to}.Run(ctx, load.Config{
		Workload: b.load, Threads: 2, Time: time.Duration(p.Trials.Time), Warmup: time.Duration(p.Trials.WarmMin),
		Seed: p.Trials.Seed, PSMode: load.Disable,
	}, nil)
	out := trial.Trial{
		From: from, To: time.Now(), Warm: time.Duration(p.Trials.WarmMin).Seconds(),
		Values: map[string]float64{},
	}
	if err != nil {
		if ctx.Err() != nil {
			return out, err
		}
		out.Invalid = err.Error()
		return out, nil
	}
	if r.Total.Operations() == 0 {
		if v.Key == "index=with" {
			out.Invalid = "no statement ended within the trial, with the index"
			return out, nil
		}
		// Not one statement ended in the time of a trial: that is a figure too, an upper bound.
		out.Values["qps"] = 1 / time.Duration(p.Trials.Time).Seconds()
		return out, nil
	}
	out.Values["qps"] = r.Total.QPS()
	return out, nil
}

// tell writes the verdict into the finding.
func (w *trying) tell(f *finding.Finding, v stat.Verdict, c *copied, load captured) {
	r := v.Ratio
	f.Tested.Result, f.Tested.What, f.Tested.Lo, f.Tested.Center, f.Tested.Hi, f.Tested.N = string(v.Result),
		"statements per second", r.Lo, r.Center, r.Hi, r.N
	what := fmt.Sprintf("%s rows of %s", unit.Count(float64(c.rows)), f.Action.Table)
	if c.whole {
		what = fmt.Sprintf("all %s rows of %s", unit.Count(float64(c.rows)), f.Action.Table)
	}
	f.Tested.Text = fmt.Sprintf("Tested on a private %s with %s: %s, %s statements a second (95 %% interval %s to %s, "+
		"%d pairs of trials).",
		f.Tested.On, what, v.Result, unit.Ratio(r.Center), unit.Ratio(r.Lo), unit.Ratio(r.Hi), r.N)
	if w.note != "" {
		f.Tested.Text += " It was " + w.note + "."
	}
	if !c.whole {
		f.Tested.Text += " The gain on the whole table can only be measured there: a scan reads more of it."
	}
	if n := len(f.Subject.Classes) - len(load.classes); n > 0 {
		f.Tested.Text += fmt.Sprintf(" %d of its classes could not be run.", n)
	}
	switch v.Result { //nolint:exhaustive // the rest is a gain, or says nothing
	case stat.Same:
		f.Severity, f.Confidence = finding.Notice, finding.Possible
		f.Against = append(slices.Clip(f.Against), "In the trial the index brought no gain.")
	case stat.Worse: // what lost is not offered
		f.Suggestion = fmt.Sprintf("Do not add the index that these statements seem to want on %s: in the trial "+
			"statements per second were %s with it.", f.Action.Table, unit.Ratio(r.Center))
		if !c.whole || len(f.Subject.Classes) > len(load.classes) {
			f.Suggestion += " The trial was of a part, see above: only the whole table and all classes decide."
		}
		f.Falsify = "Disproved if the server itself runs these statements faster with it than without."
		f.Severity, f.Confidence, f.Action, f.Gain = finding.Notice, finding.Possible, nil, nil
		f.Against = append(slices.Clip(f.Against), "In the trial the index made its statements slower.")
	}
}
