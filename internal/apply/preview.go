package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/alter"
	"github.com/dyno-perf/dyno/internal/catalog"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/target"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Preview is what an action would do on a server as it is now.
type Preview struct {
	Target  string         `json:"target"`
	Server  string         `json:"server"` // identity, see target.Facts
	Finding string         `json:"finding,omitzero"`
	Action  finding.Action `json:"action"` // with the statements as they would be sent
	Words   string         `json:"words"`  // what would be done, in a sentence

	Rows       known.Value[uint64]  `json:"rows,omitzero"`
	TableBytes known.Value[uint64]  `json:"table_bytes,omitzero"`
	Bytes      known.Value[float64] `json:"bytes,omitzero"`        // estimate of what it adds on disk
	SecondsLo  known.Value[float64] `json:"seconds_low,omitzero"`  // estimate of the time it takes, on a quick disk …
	SecondsHi  known.Value[float64] `json:"seconds_high,omitzero"` // … and on a slow one

	Warnings []string `json:"warnings,omitempty"` // warnings to read first
	Blockers []string `json:"blockers,omitempty"` // it is blocked while one of them holds
}

// OK reports whether nothing stands against the action.
func (p Preview) OK() bool { return len(p.Blockers) == 0 }

// Text returns the preview as lines for people.
func (p Preview) Text() []string {
	out := []string{p.Words, "", "  " + p.Action.SQL, ""}
	if p.Action.Undo != "" {
		out = append(out, "To undo:", "  "+p.Action.Undo, "")
	}
	var size []string
	if n, ok := p.Rows.Get(); ok {
		size = append(size, "about "+unit.Count(float64(n))+" rows")
	}
	if n, ok := p.TableBytes.Get(); ok {
		size = append(size, "table "+unit.Bytes(float64(n)))
	}
	if n, ok := p.Bytes.Get(); ok {
		size = append(size, "the change adds at most about "+unit.Bytes(n))
	}
	if lo, ok := p.SecondsLo.Get(); ok {
		if hi, ok := p.SecondsHi.Get(); ok {
			if hi < 1 {
				size = append(size, "takes less than a second")
			} else {
				size = append(size, "takes roughly "+unit.Seconds(max(lo, 0.1))+" to "+unit.Seconds(hi))
			}
		}
	}
	if len(size) > 0 {
		out = append(out, "Size: "+strings.Join(size, "; ")+".")
	}
	for _, w := range p.Warnings {
		out = append(out, "Note: "+w)
	}
	for _, b := range p.Blockers {
		out = append(out, "Blocked: "+b)
	}
	return out
}

// BlockedError is the answer to an action that must not be done now.
type BlockedError struct{ Blockers []string }

func (e *BlockedError) Error() string {
	return "nothing was changed: " + strings.Join(e.Blockers, "; ")
}

// longTransaction is the age from which an open transaction on the table is worth a warning, seconds.
const longTransaction = 5

// PreviewChange asks the server what carrying out the finding's action would mean. It only reads. What stands against
// it is in Preview.Blockers; an error means that the question could not be answered.
func PreviewChange(ctx context.Context, t *target.Target, f finding.Finding, o Options) (Preview, error) {
	if f.Action == nil {
		return Preview{}, errors.New("plan action: the finding suggests none")
	}
	p, _, err := previewChange(ctx, t, *f.Action, o)
	p.Finding = f.ID
	return p, err
}

// Options say how an action may be carried out, or taken back.
type Options struct {
	// Blocking lets a change to a table that the server cannot make online stop the table's writers until it is made.
	Blocking bool
	// Host is where the kernel shows its settings; the zero value is this machine.
	Host host.FS
	// Agreed is the statement that was shown and agreed to: Apply and Undo send no other one, see ErrPreviewChanged.
	// Empty: the one that fits to the server as it is now.
	Agreed string
	// Journal tells PreviewChange of earlier actions that rest on an index which the action takes away; Apply and Undo
	// ask their own.
	Journal Reader
	// By is the user of the web UI who requests an undo, for the journal; empty for the command line.
	By string
}

// ErrPreviewChanged is the answer to a change that would now be another one than the one that was agreed to.
var ErrPreviewChanged = errors.New("the change differs from the one that was shown")

// agreed refuses a statement that nobody agreed to.
func (o Options) agreed(sql string) error {
	if o.Agreed == "" || o.Agreed == sql {
		return nil
	}
	return fmt.Errorf("%w: it would be %s; review it again", ErrPreviewChanged, sql)
}

// previewChange asks on a target that is pinned: what the server was asked, it is changed by, and it is looked at
// afterwards.
func previewChange(ctx context.Context, t *target.Target, a finding.Action, opt Options) (Preview, change, error) {
	if err := t.Pin(ctx); err != nil {
		return Preview{}, nil, err
	}
	c, err := changeOf(a, opt)
	if err != nil {
		return Preview{}, nil, fmt.Errorf("plan action: %w", err)
	}
	p := Preview{Target: t.String(), Server: t.Facts().Server, Action: a}
	if err = c.check(ctx, t, &p, objections{&p}); err == nil {
		err = checkDropped(ctx, t, opt.Journal, a, objections{&p})
	}
	if err != nil {
		return p, nil, err
	}
	c, err = changeOf(p.Action, opt)
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
	ctx context.Context, t *target.Target, ref schema.Ref, p *Preview, o objections,
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
