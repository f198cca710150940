package change

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/unit"
)

// addIndex adds an index.
type addIndex struct {
	ofIndex
	left uint32 // the invalid index that an interrupted action left, which is dropped first
}

func (k *addIndex) addition() string {
	unique := ""
	if k.a.Index.Unique {
		unique = "UNIQUE "
	}
	return "CREATE " + unique + "INDEX CONCURRENTLY " + conn.Quote(k.a.Index.Name) + " ON " +
		conn.Quote(k.a.Table.Schema, k.a.Table.Table) + " (" + columns(k.a.Index.Parts) + ")"
}

func (k *addIndex) check(ctx context.Context, s session, p *change.Preview, j change.Reader) error {
	x := k.a.Index
	k.a.Was, k.a.Now = "", ""
	k.a.SQL, k.a.Undo = k.addition(), k.removal()
	p.Action = k.a
	p.Words = fmt.Sprintf("Add index %s (%s) to table %s on %s concurrently (without blocking its users).", x.Name,
		columns(x.Parts), k.a.Table, k.t)
	t, found, err := k.checkTable(ctx, s, p)
	if err != nil || !found {
		return err
	}
	if !t.create {
		p.Block("a privilege is missing: GRANT CREATE ON SCHEMA %s TO %s", conn.Quote(k.a.Table.Schema),
			conn.Quote(k.t.Facts().User))
	}
	if err := k.checkParts(ctx, s, t, p); err != nil {
		return err
	}
	all, err := s.indexes(ctx, t.oid)
	if err != nil {
		return err
	}
	for _, have := range all {
		switch {
		case have.Name == x.Name && !have.valid:
			err = k.checkLeftover(ctx, s, have, p, j)
		case have.Name == x.Name:
			p.Block("another index is already called %s", have.Name)
		case !have.valid || !have.plain:
		case serves(have.Index, x):
			p.Block("the index %s already serves the same purpose", have.Name)
		case !have.Unique && !have.constraint && serves(x, have.Index):
			p.Warn("the new index makes %s superfluous: it can be dropped later", have.Name)
		}
		if err != nil {
			return err
		}
	}
	var taken bool
	const q = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 LEFT JOIN pg_index i ON i.indexrelid = c.oid
 WHERE n.nspname = $1 AND c.relname = $2 AND i.indrelid IS DISTINCT FROM $3)`
	if _, err := s.ask(ctx, "look for the name", q, []any{k.a.Table.Schema, x.Name, t.oid}, &taken); err != nil {
		return err
	}
	if taken {
		p.Block("something else in the schema %s is already called %s", k.a.Table.Schema, x.Name)
	}
	if x.Unique {
		p.Warn("the index is unique: it fails if there are duplicates, and refuses them from then on")
	}
	if err := k.estimate(ctx, s, t, p); err != nil {
		return err
	}
	return checkWaits(ctx, s, t.oid, true, p)
}

// checkParts looks for what the server would refuse, and for what is not there yet.
func (k *addIndex) checkParts(ctx context.Context, s session, t table, p *change.Preview) error {
	x := k.a.Index
	if len(x.Parts) == 0 || len(x.Parts) > mostParts {
		p.Block("an index has 1 to %d columns, and the action names %d", mostParts, len(x.Parts))
	}
	if x.Type != "" && !strings.EqualFold(x.Type, "btree") {
		p.Block("indexes of type %s are not there for PostgreSQL yet", x.Type)
	}
	for _, part := range x.Parts {
		column := part.Column
		if _, of, ok := callOf(part.Expr); ok {
			column = of
		} else if part.Expr != "" || part.Prefix > 0 {
			p.Block("indexes over a prefix, or an expression that is not one function of one column, are not there " +
				"for PostgreSQL yet")
			continue
		}
		var there bool
		const q = `SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = $1 AND attname = $2 AND attnum > 0 AND
 NOT attisdropped)`
		_, err := s.ask(ctx, "look for column "+column, q, []any{t.oid, column}, &there)
		switch {
		case err != nil:
			return err
		case !there:
			p.Block("table %s has no column %s", k.a.Table, column)
		}
	}
	return nil
}

// checkLeftover looks at an invalid index of the name: one that an action of Dyno's own left half-way is dropped before
// the new one is built.
func (k *addIndex) checkLeftover(
	ctx context.Context, s session, x index, p *change.Preview, j change.Reader,
) error {
	built, err := s.built(ctx, x.oid)
	if err != nil {
		return err
	}
	if built != 0 {
		p.Block("the session %d is building the index %s now", built, x.Name)
		return nil
	}
	id, err := k.leftBy(ctx, j)
	switch {
	case err != nil:
		return err
	case id == "":
		p.Block("an invalid index is called %s, and no action of Dyno's journal left it: if it is not being built, "+
			"drop it: %s", x.Name, k.removal())
	default:
		k.left = x.oid
		p.Warn("the action %s was interrupted and left an invalid index %s, which is dropped first", id, x.Name)
	}
	return nil
}

func (k *addIndex) step() change.Step {
	s := k.stepOf(k.compare, k.addition(), k.removal())
	s.Apply, s.Revert, s.CheckRevert = k.apply, k.revert, k.checkRevert
	s.Applied = func() finding.Action { return k.a }
	return s
}

func (k *addIndex) apply(ctx context.Context, report progress.Sink, note func(string)) error {
	if k.left != 0 {
		if err := k.clear(ctx, k.left, report, note); err != nil {
			return err
		}
	}
	err := k.build(ctx, k.addition(), report, note)
	var x index
	if err == nil {
		look, cancel := change.Afterwards(ctx)
		defer cancel()
		err = looking(look, k.t, func(s session) (err error) { x, _, err = s.index(look, k.a); return err })
		if err != nil || x.valid {
			k.a.Now = x.def
			return nil // whoever verifies it asks once more
		}
		err = errors.New("the server reported success, but the index is invalid")
	}
	return k.cleaned(ctx, err, k.addition(), report, note)
}

func (k *addIndex) revert(ctx context.Context, report progress.Sink, note func(string)) error {
	return k.drop(ctx, report, note)
}

func (k *addIndex) compare(ctx context.Context) (is change.Standing, now string, err error) {
	is = change.AsBefore
	err = looking(ctx, k.t, func(s session) error {
		x, found, err := s.index(ctx, k.a)
		switch same := x.is(k.a.Index) || x.def == k.a.Now && x.def != ""; {
		case !found || err != nil:
		case same && x.valid:
			is = change.InEffect
		case same:
			is, now = change.HalfDone, "invalid"
		default:
			is, now = change.Different, x.def
		}
		return err
	})
	return is, now, err
}

// checkRevert looks for what needs the index by now.
func (k *addIndex) checkRevert(ctx context.Context, j change.Reader, e journal.Entry, p *change.Preview) error {
	return looking(ctx, k.t, func(s session) error {
		t, found, err := k.checkTable(ctx, s, p)
		if err != nil || !found {
			return err
		}
		x, found, err := s.index(ctx, k.a)
		if err != nil || !found {
			return err
		}
		built, err := s.built(ctx, x.oid)
		switch {
		case err != nil:
			return err
		case built != 0:
			p.Block("the session %d is building the index %s now", built, x.Name)
		}
		x.blockDrop(p)
		if x.scans > 0 {
			p.Warn("statements use the index %s: %s scans since the server began to count; they will need another plan",
				x.Name, unit.Count(float64(x.scans)))
		}
		all, err := j.Entries(ctx, "", 0)
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		for _, later := range all {
			a := later.Action
			if later.ID == e.ID || later.Server != e.Server || a.Table != k.a.Table ||
				later.Planned.Before(e.Planned) ||
				later.State != journal.Done && later.State != journal.Running {
				continue
			}
			switch {
			case a.Kind == finding.DropIndex && a.Instead == x.Name:
				p.Block("action %s removed index %s, which %s serves for: undo that first: dyno undo %s", later.ID,
					a.Index.Name, x.Name, later.ID)
			case a.Kind == finding.AddIndex && a.Index.Name == x.Name:
				p.Block("the index %s is the one that action %s made after this one: dyno undo %s", x.Name, later.ID,
					later.ID)
			}
		}
		return checkWaits(ctx, s, t.oid, false, p)
	})
}
