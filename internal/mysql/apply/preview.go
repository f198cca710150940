package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/alter"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
)

// longTransaction is the age from which an open transaction on the table is worth a warning, seconds.
const longTransaction = 5

// previewChange asks on a target that is pinned: what the server was asked, it is changed by, and it is looked at
// afterwards.
func previewChange(
	ctx context.Context, t *target.Target, a finding.Action, opt change.Options,
) (change.Preview, kind, error) {
	if err := t.Pin(ctx); err != nil {
		return change.Preview{}, nil, err
	}
	c, err := kindOf(a, opt)
	if err != nil {
		return change.Preview{}, nil, fmt.Errorf("plan action: %w", err)
	}
	p := change.Preview{Target: t.String(), Server: t.Facts().Server, Action: a}
	if err = c.check(ctx, t, &p, objections{&p}); err == nil {
		err = checkDropped(ctx, t, opt.Journal, a, objections{&p})
	}
	if err != nil {
		return p, nil, err
	}
	c, err = kindOf(p.Action, opt)
	return p, c, err
}

// checkServer checks what does not depend on the change to a table: that the server takes changes, and that the account
// may make them.
func checkServer(ctx context.Context, t *target.Target, table schema.Ref, o objections) error {
	block, warn := o.block, o.warn
	f := t.Facts()
	if f.ReadOnly {
		block("the server is read-only: make the change where it replicates from")
	}
	if f.Replica {
		warn("the server is a replica: the change will not be on the server it replicates from%s", errant(t))
	}
	if v, _ := t.Variable("wsrep_on"); v == "ON" {
		block("the server belongs to a Galera cluster, all of which an ALTER TABLE would block")
	}
	if err := checkGroup(ctx, t, o); err != nil {
		return err
	}
	if err := checkBackups(ctx, t, o); err != nil {
		return err
	}
	if !t.Has(target.HasInplaceDDL) {
		block("this server has no online ALTER TABLE: it would block all writes")
	}
	grant, err := missing(ctx, t, "ALTER", table)
	if err != nil {
		return err
	}
	if grant != "" {
		block("a privilege is missing: %s", grant)
	}
	return nil
}

// checkRevertOn looks for what stands against changing a table back, and for who would hold that up.
func checkRevertOn(ctx context.Context, t *target.Target, table schema.Ref, o objections) error {
	if err := checkServer(ctx, t, table, o); err != nil {
		return err
	}
	return checkWaits(ctx, t, table, o)
}

// tableFor returns the table that an action is about, and whether it can be changed at all. The preview gets its size
// and who holds it.
func tableFor(
	ctx context.Context, t *target.Target, ref schema.Ref, p *change.Preview, o objections,
) (tab schema.Table, ok bool, err error) {
	if err := checkServer(ctx, t, ref, o); err != nil {
		return tab, false, err
	}
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{ref})
	switch {
	case err != nil:
		return tab, false, t.Wrap("plan action", err)
	case len(tables) == 0:
		o.block("there is no table %s, or the account may not see it", ref)
		return tab, false, nil
	case tables[0].Ref != ref:
		o.block("there is no table %s, but one called %s", ref, tables[0].Ref)
		return tab, false, nil
	}
	tab = tables[0]
	switch {
	case tab.View:
		o.block("%s is a view", tab.Ref)
	case tab.Engine != "InnoDB":
		o.block("%s is a table of engine %s, which cannot be changed online", tab.Ref, tab.Engine)
	}
	p.Rows, p.TableBytes = tab.Rows, tab.DataBytes
	return tab, true, nil
}

// checkWaits tells of transactions that the change would have to wait for.
func checkWaits(ctx context.Context, t *target.Target, ref schema.Ref, o objections) error {
	holders, err := alter.Holders(ctx, t, ref, longTransaction)
	switch {
	case target.KindOf(err) == endpoint.Denied:
		o.warn("long transactions on the table were not checked: %s", target.HintOf(err))
	case err != nil:
		return err
	}
	for i, h := range holders {
		if i == 3 {
			o.warn("and %d more such transactions", len(holders)-i)
			break
		}
		o.warn("the change has to wait for %s", h)
	}
	return nil
}

// warnReplicas warns that they make the same change.
func warnReplicas(t *target.Target, o objections) {
	if v, _ := t.Variable("log_bin"); v == "ON" {
		o.warn("replicas make the same change after this server has, and may lag for as long")
	}
}

// checkTable looks for what the server would refuse.
func checkTable(t schema.Table, x schema.Index, block func(string, ...any)) {
	if t.View {
		return
	}
	if x.Name == "" || x.Primary() || len(x.Parts) == 0 {
		block("the action names no index to add")
	}
	if x.Type != "" && x.Type != "BTREE" {
		block("an index of type %s cannot be added online", x.Type)
	}
	secondary := len(t.Indexes)
	if _, ok := t.PrimaryKey(); ok {
		secondary--
	}
	if secondary >= maxIndexes {
		block("the table has %d secondary indexes, and the maximum is %d", secondary, maxIndexes)
	}
	if len(x.Parts) > maxParts {
		block("the index has %d parts, and the maximum is %d", len(x.Parts), maxParts)
	}
	part := keyLimit
	if strings.EqualFold(t.RowFormat, "Compact") || strings.EqualFold(t.RowFormat, "Redundant") {
		part = oldPartLimit
	}
	sum := 0
	for _, p := range x.Parts {
		if p.Expr != "" {
			continue
		}
		c, ok := t.Column(p.Column)
		switch {
		case !ok:
			block("table %s has no column %s", t.Ref, p.Column)
		case p.Prefix == 0 && (strings.HasSuffix(c.DataType, "text") || strings.HasSuffix(c.DataType, "blob") ||
			c.DataType == "json"):
			block("column %s is of type %s: the index needs a prefix of it", c.Name, c.DataType)
		case p.Prefix == 0 && c.Bytes > part:
			block("column %s takes up to %d bytes, and the maximum is %d for an index of the table's row format %s",
				c.Name, c.Bytes, part, t.RowFormat)
		case p.Prefix == 0:
			sum += c.Bytes
		}
	}
	if sum > keyLimit {
		block("the columns of the index take up to %d bytes, and the maximum is %d", sum, keyLimit)
	}
}
