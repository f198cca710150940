package act

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dyno/internal/alter"
	"dyno/internal/catalog"
	"dyno/internal/finding"
	"dyno/internal/known"
	"dyno/internal/schema"
	"dyno/internal/target"
	"dyno/internal/unit"
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

	Warnings []string `json:"warnings,omitempty"` // worth knowing before
	Blockers []string `json:"blockers,omitempty"` // it would not be done while one of them holds
}

// OK reports whether nothing stands against the action.
func (p Preview) OK() bool { return len(p.Blockers) == 0 }

// Text returns the preview as lines for people.
func (p Preview) Text() []string {
	out := []string{p.Words, "", "  " + p.Action.SQL, "", "To take it back:", "  " + p.Action.Undo, ""}
	var size []string
	if n, ok := p.Rows.Get(); ok {
		size = append(size, "about "+unit.Count(float64(n))+" rows")
	}
	if n, ok := p.TableBytes.Get(); ok {
		size = append(size, "table "+unit.Bytes(float64(n)))
	}
	if n, ok := p.Bytes.Get(); ok {
		size = append(size, "the change adds about "+unit.Bytes(n))
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
		out = append(out, "Against it: "+b)
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

// Plan asks the server what carrying out the finding's action would mean. It only reads. What stands against it is in Preview.Blockers;
// an error means that the question could not be answered.
func Plan(ctx context.Context, t *target.Target, f finding.Finding) (Preview, error) {
	if f.Action == nil {
		return Preview{}, errors.New("plan action: the finding suggests none")
	}
	p, err := plan(ctx, t, *f.Action)
	p.Finding = f.ID
	return p, err
}

func plan(ctx context.Context, t *target.Target, a finding.Action) (Preview, error) {
	if a.Kind != finding.AddIndex {
		return Preview{}, fmt.Errorf("plan action: unknown kind %q: this version of dyno carries out %s", a.Kind, finding.AddIndex)
	}
	// The statements are made here from the action's parts: text that came with a snapshot or a file is never sent.
	a.SQL, a.Undo = addition(a).Statement(), removal(a).Statement()
	p := Preview{
		Target: t.String(), Server: t.Facts().Server, Action: a,
		Words: fmt.Sprintf("Add index %s (%s) to table %s on %s, while its users go on.", a.Index.Name, schema.PartsSQL(a.Index.Parts), a.Table, t),
	}
	block := func(format string, args ...any) { p.Blockers = append(p.Blockers, fmt.Sprintf(format, args...)) }
	warn := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }

	if err := server(ctx, t, a.Table, block, warn); err != nil {
		return p, err
	}
	tables, err := catalog.Tables(ctx, t.DB(), []schema.Ref{a.Table})
	if err != nil {
		return p, t.Wrap("plan action", err)
	}
	if len(tables) == 0 {
		block("there is no table %s, or the account may not see it", a.Table)
		return p, nil
	}
	tab := tables[0]
	if tab.Ref != a.Table {
		block("there is no table %s, but one called %s", a.Table, tab.Ref)
		return p, nil
	}
	p.Rows, p.TableBytes = tab.Rows, tab.DataBytes
	checkTable(tab, a.Index, block)
	for _, x := range tab.Indexes {
		switch {
		case x.Hidden && !a.Index.Unique && schema.SameKey(x, a.Index):
			block("the index %s has the same columns and is hidden from the optimiser: make it visible instead", x.Name)
		case schema.Serves(x, a.Index):
			block("the index %s serves the same purpose already", x.Name)
		case strings.EqualFold(x.Name, a.Index.Name):
			block("another index is called %s already", x.Name)
		case !x.Unique && !x.Primary() && schema.Serves(a.Index, x):
			warn("the new index makes %s superfluous: it can be dropped later", x.Name)
		}
	}
	if a.Index.Unique {
		warn("the index is unique: it fails if there are equal values, and refuses them from then on")
	}
	p.Bytes = indexBytes(tab, a.Index)
	p.SecondsLo, p.SecondsHi = buildSeconds(tab, p.Bytes)
	if n, ok := p.Bytes.Get(); ok {
		space(ctx, t, n, block, warn)
	}
	holders, err := alter.Holders(ctx, t, a.Table, longTransaction)
	switch {
	case target.KindOf(err) == target.Denied:
		warn("long transactions on the table were not looked for: %s", target.HintOf(err))
	case err != nil:
		return p, err
	}
	for i, h := range holders {
		if i == 3 {
			warn("and %d more such transactions", len(holders)-i)
			break
		}
		warn("the change has to wait for %s", h)
	}
	if v, _ := t.Variable("log_bin"); v == "ON" {
		warn("replicas make the same change after this server has, and may lag behind for as long")
	}
	return p, nil
}

// server checks what does not depend on the index: that the server takes changes, and that the account may make them.
func server(ctx context.Context, t *target.Target, table schema.Ref, block, warn func(string, ...any)) error {
	f := t.Facts()
	if f.ReadOnly {
		block("the server is read-only: make the change where it replicates from")
	}
	if f.Replica {
		warn("the server is a replica: the change will not be on the server it replicates from")
	}
	if v, _ := t.Variable("wsrep_on"); v == "ON" {
		block("the server belongs to a Galera cluster, all of which an ALTER TABLE would stop")
	}
	if !t.Has(target.HasInplaceDDL) {
		block("this server has no online ALTER TABLE: it would stop all writers")
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

// checkTable looks for what the server would refuse.
func checkTable(t schema.Table, x schema.Index, block func(string, ...any)) {
	switch {
	case t.View:
		block("%s is a view", t.Ref)
		return
	case t.Engine != "InnoDB":
		block("%s is a table of engine %s, which cannot be changed while it is written", t.Ref, t.Engine)
	}
	if x.Name == "" || x.Primary() || len(x.Parts) == 0 {
		block("the action names no index to add")
	}
	if x.Type != "" && x.Type != "BTREE" {
		block("an index of type %s cannot be added while the table is written", x.Type)
	}
	secondary := len(t.Indexes)
	if _, ok := t.PrimaryKey(); ok {
		secondary--
	}
	if secondary >= maxIndexes {
		block("the table has %d secondary indexes, and %d is the most", secondary, maxIndexes)
	}
	if len(x.Parts) > maxParts {
		block("the index has %d parts, and %d is the most", len(x.Parts), maxParts)
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
		case p.Prefix == 0 && (strings.HasSuffix(c.DataType, "text") || strings.HasSuffix(c.DataType, "blob") || c.DataType == "json"):
			block("column %s is of type %s: the index needs a prefix of it", c.Name, c.DataType)
		case p.Prefix == 0 && c.Bytes > part:
			block("column %s takes up to %d bytes, and %d is the most that the table's row format %s allows in an index", c.Name, c.Bytes, part, t.RowFormat)
		case p.Prefix == 0:
			sum += c.Bytes
		}
	}
	if sum > keyLimit {
		block("the columns of the index take up to %d bytes, and %d is the most", sum, keyLimit)
	}
}

func addition(a finding.Action) alter.Change {
	return alter.Change{Table: a.Table, SQL: schema.AddIndexClause(a.Index)}
}

func removal(a finding.Action) alter.Change {
	return alter.Change{Table: a.Table, SQL: schema.DropIndexClause(a.Index.Name)}
}
