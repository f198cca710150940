package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/alter"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/unit"
)

// ofIndex is what all changes of one index share.
type ofIndex struct{ a finding.Action }

func (c *ofIndex) subject() string   { return "index " + c.a.Index.Name }
func (c *ofIndex) table() schema.Ref { return c.a.Table }

func (c *ofIndex) addition() alter.Alteration {
	return alter.Alteration{Table: c.a.Table, SQL: ddl.AddIndexClause(c.a.Index)}
}

func (c *ofIndex) removal() alter.Alteration {
	return alter.Alteration{Table: c.a.Table, SQL: ddl.DropIndexClause(c.a.Index.Name)}
}

func (c *ofIndex) checkRevert(ctx context.Context, t *target.Target, o objections) error {
	return checkRevertOn(ctx, t, c.a.Table, o)
}

// addIndex adds a secondary index.
type addIndex struct{ ofIndex }

func (c *addIndex) check(ctx context.Context, t *target.Target, p *change.Preview, o objections) error {
	x := c.a.Index
	p.Action.SQL, p.Action.Undo = c.addition().Statement(), c.removal().Statement()
	p.Words = fmt.Sprintf("Add index %s (%s) to table %s on %s online (without blocking its users).", x.Name,
		ddl.PartsSQL(x.Parts), c.a.Table, t)
	tab, ok, err := tableFor(ctx, t, c.a.Table, p, o)
	if err != nil || !ok {
		return err
	}
	checkTable(tab, x, o.block)
	for _, have := range tab.Indexes {
		switch {
		case have.Hidden && !x.Unique && schema.SameKey(have, x):
			o.block("the index %s has the same columns and is hidden from the optimizer: make it visible instead",
				have.Name)
		case schema.Serves(have, x):
			o.block("the index %s already serves the same purpose", have.Name)
		case strings.EqualFold(have.Name, x.Name):
			o.block("another index is already called %s", have.Name)
		case !have.Unique && !have.Primary() && schema.Serves(x, have):
			o.warn("the new index makes %s superfluous: it can be dropped later", have.Name)
		}
	}
	if x.Unique {
		o.warn("the index is unique: it fails if there are duplicates, and refuses them from then on")
	}
	p.Bytes = tab.SizeOf(x)
	p.SecondsLo, p.SecondsHi = buildSeconds(tab, p.Bytes)
	if n, ok := p.Bytes.Get(); ok {
		space(ctx, t, n, o.block, o.warn)
	}
	if err := checkWaits(ctx, t, c.a.Table, o); err != nil {
		return err
	}
	warnReplicas(t, o)
	return nil
}

func (c *addIndex) apply(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error {
	if err := alter.Native(ctx, t, c.addition(), report, note); err != nil {
		return err
	}
	ctx, cancel := change.Afterwards(ctx)
	defer cancel()
	is, x, err := present(ctx, t, c.a)
	if err != nil || is != changed {
		return nil // the change was made: whoever verifies it asks once more and tells
	}
	note(fmt.Sprintf("the server set (%s) instead of (%s)", ddl.PartsSQL(x.Parts), ddl.PartsSQL(c.a.Index.Parts)))
	c.a.Index = x // none of the name was there before: it is to be dropped when this is taken back
	return nil
}

// applied is the action with the index as the server made it.
func (c *addIndex) applied() finding.Action { return c.a }

// adjusted takes an index for this one's when it differs in nothing but prefixes that the server dropped, as it does
// where they are as long as the column.
func (c *addIndex) adjusted(ctx context.Context, t *target.Target) (finding.Action, bool, error) {
	is, x, err := present(ctx, t, c.a)
	if err != nil || is != changed || len(x.Parts) != len(c.a.Index.Parts) {
		return c.a, false, err
	}
	whole := c.a.Index
	whole.Parts = slices.Clone(whole.Parts)
	for i, p := range x.Parts {
		if p.Prefix == 0 {
			whole.Parts[i].Prefix = 0
		}
	}
	if !sameOn(t, x, whole) {
		return c.a, false, nil
	}
	a := c.a
	a.Index = x
	return a, true, nil
}

func (c *addIndex) revert(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error {
	return alter.Native(ctx, t, c.removal(), report, note)
}

func (c *addIndex) compare(ctx context.Context, t *target.Target) (standing, string, error) {
	is, x, err := present(ctx, t, c.a)
	switch is {
	case same:
		return inForce, "", err
	case changed:
		return other, "(" + ddl.PartsSQL(x.Parts) + ")", err
	case gone:
	}
	return asWas, "", err
}

// dropIndex drops a secondary index. Its undo builds it again.
type dropIndex struct{ ofIndex }

func (c *dropIndex) check(ctx context.Context, t *target.Target, p *change.Preview, o objections) error {
	tab, ok, err := tableFor(ctx, t, c.a.Table, p, o)
	if err != nil {
		return err
	}
	x := c.a.Index
	found := false
	for _, have := range tab.Indexes {
		if !strings.EqualFold(have.Name, x.Name) {
			continue
		}
		found = true
		if !sameOn(t, have, x) {
			o.block("the index %s is different now: (%s)", have.Name, ddl.PartsSQL(have.Parts))
		}
		x = have // with everything that an undo needs
	}
	switch {
	case ok && !found:
		o.block("table %s has no index %s", c.a.Table, x.Name)
	case x.Primary() || len(x.Parts) == 0:
		o.block("the action names no secondary index to drop")
	}
	if x.Type != "" && x.Type != "BTREE" {
		o.block("the index %s is of type %s: rebuilding it, to undo this, would block writes to the table", x.Name,
			x.Type)
	}
	if x.Hidden {
		o.warn("the index is hidden now; after an undo the optimizer would see it: hide it again then")
	}
	twin := false
	for _, have := range tab.Indexes {
		twin = twin || have.Name != x.Name && !have.Hidden && schema.Serves(have, x)
	}
	if x.Unique && !twin {
		o.block("the index %s is unique: without it the table accepts duplicates", x.Name)
	}
	for _, k := range tab.Foreign {
		if !twin && leads(x, k.Columns) {
			o.block("the foreign key %s needs the index %s", k.Name, x.Name)
		}
	}
	x.Hidden = false
	p.Action.Index = x
	c.a.Index = x
	p.Action.SQL, p.Action.Undo = c.removal().Statement(), c.addition().Statement()
	p.Words = fmt.Sprintf("Drop index %s (%s) of table %s on %s online (without blocking its users).", x.Name,
		ddl.PartsSQL(x.Parts), c.a.Table, t)
	if n, ok := tab.SizeOf(x).Get(); ok {
		o.warn("an undo rebuilds the index, which writes about %s", unit.Bytes(n))
	}
	if t.Has(target.HasInvisibleIndex) || t.Has(target.HasIgnoredIndex) {
		o.warn("statements that name the index in a hint fail from then on; hiding it first shows whether anything " +
			"needs it, and can be undone at once")
	}
	if !ok {
		return nil
	}
	if err := checkWaits(ctx, t, c.a.Table, o); err != nil {
		return err
	}
	warnReplicas(t, o)
	return nil
}

// leads reports whether the columns are the front of the index, in any order.
func leads(x schema.Index, columns []string) bool {
	if len(columns) == 0 || len(x.Parts) < len(columns) {
		return false
	}
	for _, p := range x.Parts[:len(columns)] {
		in := false
		for _, c := range columns {
			in = in || strings.EqualFold(c, p.Column)
		}
		if !in {
			return false
		}
	}
	return true
}

func (c *dropIndex) apply(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error {
	return alter.Native(ctx, t, c.removal(), report, note)
}

func (c *dropIndex) revert(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error {
	return alter.Native(ctx, t, c.addition(), report, note)
}

func (c *dropIndex) compare(ctx context.Context, t *target.Target) (standing, string, error) {
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{c.a.Table})
	if err != nil {
		return "", "", t.Wrap("look for the index", err)
	}
	if len(tables) == 0 {
		return nowhere, "", nil
	}
	switch is, x, err := present(ctx, t, c.a); is {
	case same:
		return asWas, "", err
	case changed:
		return other, "(" + ddl.PartsSQL(x.Parts) + ")", err
	default:
		return inForce, "", err
	}
}

// hideIndex hides an index from the optimiser, which undoes at once.
type hideIndex struct{ ofIndex }

func (c *hideIndex) table() schema.Ref { return schema.Ref{} }

func (c *hideIndex) check(ctx context.Context, t *target.Target, p *change.Preview, o objections) error {
	hide, show, can := visibility(t)
	named := func(name string) { // makes the statements for it
		c.a.Index.Name, p.Action.Index.Name = name, name
		if can {
			p.Action.SQL, p.Action.Undo = visible(c.a.Table, name, hide).Statement(),
				visible(c.a.Table, name, show).Statement()
		}
	}
	if named(c.a.Index.Name); !can {
		o.block("%s %s cannot hide an index: MySQL 8.0 and MariaDB 10.6 can", t.Facts().Flavor, t.Facts().Version)
	}
	p.Words = fmt.Sprintf("Hide index %s of table %s on %s from the optimizer. The server keeps it up to date.",
		c.a.Index.Name, c.a.Table, t)
	tab, ok, err := tableFor(ctx, t, c.a.Table, p, o)
	if err != nil || !ok {
		return err
	}
	found := false
	for _, have := range tab.Indexes {
		if strings.EqualFold(have.Name, c.a.Index.Name) {
			found = true
			named(have.Name) // as the server writes it
			if have.Hidden {
				o.block("the index %s is already hidden", have.Name)
			}
			if have.Primary() {
				o.block("a primary key cannot be hidden")
			}
			if len(c.a.Index.Parts) > 0 && !sameOn(t, have, c.a.Index) {
				o.block("the index %s is different now: (%s)", have.Name, ddl.PartsSQL(have.Parts))
			}
			have.Hidden = false
			p.Action.Index = have // with its parts, which tell a later undo what else serves for it
		}
	}
	if !found {
		o.block("table %s has no index %s", c.a.Table, c.a.Index.Name)
	}
	o.warn("statements that name the index in a hint fail while it is hidden")
	return checkWaits(ctx, t, c.a.Table, o)
}

func (c *hideIndex) apply(ctx context.Context, t *target.Target, _ progress.Sink, _ func(string)) error {
	return Hide(ctx, t, c.a.Table, c.a.Index.Name)
}

func (c *hideIndex) revert(ctx context.Context, t *target.Target, _ progress.Sink, _ func(string)) error {
	return Show(ctx, t, c.a.Table, c.a.Index.Name)
}

func (c *hideIndex) compare(ctx context.Context, t *target.Target) (standing, string, error) {
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{c.a.Table})
	if err != nil {
		return "", "", t.Wrap("look for the index", err)
	}
	if len(tables) == 1 {
		for _, x := range tables[0].Indexes {
			if strings.EqualFold(x.Name, c.a.Index.Name) {
				if x.Hidden {
					return inForce, "", nil
				}
				return asWas, "", nil
			}
		}
	}
	return nowhere, "", nil
}
