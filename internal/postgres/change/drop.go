package change

import (
	"context"
	"fmt"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/unit"
)

// dropIndex drops an index. Its undo builds it again from the definition that the server had.
type dropIndex struct{ ofIndex }

var createIndex = lazyregexp.New(`^CREATE (UNIQUE )?INDEX `)

// addition builds the index again; Was is the definition, as the server wrote it before the drop.
func (k *dropIndex) addition() string {
	return createIndex.ReplaceAllString(k.a.Was, "CREATE ${1}INDEX CONCURRENTLY ")
}

func (k *dropIndex) check(ctx context.Context, s session, p *change.Preview, _ change.Reader) error {
	k.a.Was, k.a.Now, k.a.SQL, k.a.Undo = "", "", k.removal(), ""
	p.Action = k.a
	p.Words = fmt.Sprintf("Drop index %s of table %s on %s concurrently (without blocking its users).", k.a.Index.Name,
		k.a.Table, k.t)
	t, found, err := k.checkTable(ctx, s, p)
	if err != nil || !found {
		return err
	}
	all, err := s.indexes(ctx, t.oid)
	if err != nil {
		return err
	}
	var x, instead index
	for _, have := range all {
		switch have.Name {
		case k.a.Index.Name:
			x = have
		case k.a.Instead:
			instead = have
		}
	}
	if x.oid == 0 {
		p.Block("table %s has no index %s", k.a.Table, k.a.Index.Name)
		return nil
	}
	built, err := s.built(ctx, x.oid)
	if err != nil {
		return err
	}
	if built != 0 {
		p.Block("the session %d is building the index %s now", built, x.Name)
	}
	if len(k.a.Index.Parts) > 0 && !x.like(k.a.Index) {
		p.Block("the index %s is different now: %s", x.Name, x.def)
	}
	x.blockDrop(p)
	switch {
	case x.constraint:
	case x.Unique:
		p.Block("the index %s is unique: without it the table accepts duplicates", x.Name)
	case x.elsewhere:
		p.Block("the index %s has a tablespace of its own, where an undo would not put it", x.Name)
	case !createIndex.MatchString(x.def):
		p.Block("the definition of the index %s cannot be read back: %s", x.Name, x.def)
	}
	if k.a.Instead != "" && !(instead.valid && instead.plain && serves(instead.Index, x.Index)) {
		p.Block("the advice is outdated: %s was to serve instead of %s, and it is gone, invalid or different",
			k.a.Instead, x.Name)
	}
	if k.a.Unread && x.scans > 0 {
		p.Block("the advice is outdated: the index %s was scanned %s times since the server began to count", x.Name,
			unit.Count(float64(x.scans)))
	}
	if x.comment || x.clustered {
		p.Warn("an undo does not bring back the comment on the index, nor that CLUSTER uses it")
	}
	if !x.valid {
		p.Warn("the index is invalid: no statement can use it; an undo would build it as a valid one")
	}
	k.a.Index, k.a.Was = x.Index, x.def
	k.a.Undo = k.addition()
	p.Action = k.a
	p.Words = fmt.Sprintf("Drop index %s (%s) of table %s on %s concurrently (without blocking its users).", x.Name,
		columns(x.Parts), k.a.Table, k.t)
	p.Warn("an undo rebuilds the index, which writes about %s", unit.Bytes(x.bytes))
	return checkWaits(ctx, s, t.oid, false, p)
}

func (k *dropIndex) step() change.Step {
	s := k.stepOf(k.compare, k.removal(), k.addition())
	s.Apply, s.Revert, s.CheckRevert = k.apply, k.revert, k.checkRevert
	return s
}

func (k *dropIndex) apply(ctx context.Context, report progress.Sink, note func(string)) error {
	return k.drop(ctx, report, note)
}

// revert builds the index again. What an interrupted drop or build left of it is dropped first.
func (k *dropIndex) revert(ctx context.Context, report progress.Sink, note func(string)) error {
	if err := k.clear(ctx, 0, report, note); err != nil {
		return err
	}
	if err := k.build(ctx, k.addition(), report, note); err != nil {
		return k.cleaned(ctx, err, k.addition(), report, note)
	}
	return nil
}

func (k *dropIndex) compare(ctx context.Context) (is change.Standing, now string, err error) {
	err = looking(ctx, k.t, func(s session) error {
		t, found, err := s.table(ctx, k.a.Table)
		if err != nil || !found {
			is = change.Missing
			return err
		}
		is = change.InEffect
		all, err := s.indexes(ctx, t.oid)
		for _, x := range all {
			switch {
			case x.Name != k.a.Index.Name:
			case x.def != k.a.Was:
				is, now = change.Different, x.def
			case x.valid:
				is = change.AsBefore
			default:
				is, now = change.HalfDone, "invalid"
			}
		}
		return err
	})
	return is, now, err
}

func (k *dropIndex) checkRevert(ctx context.Context, _ change.Reader, _ journal.Entry, p *change.Preview) error {
	return looking(ctx, k.t, func(s session) error {
		t, found, err := k.checkTable(ctx, s, p)
		if err != nil || !found {
			return err
		}
		x, found, err := s.index(ctx, k.a)
		if err != nil {
			return err
		}
		if found {
			built, err := s.built(ctx, x.oid)
			if err != nil {
				return err
			}
			if built != 0 {
				p.Block("the session %d is building the index %s now", built, x.Name)
			}
		}
		if !createIndex.MatchString(k.a.Was) {
			p.Block("the journal has no definition of the index %s", k.a.Index.Name)
		}
		return checkWaits(ctx, s, t.oid, true, p)
	})
}
