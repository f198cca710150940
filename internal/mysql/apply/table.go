package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/alter"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/unit"
)

// alterTable changes a table by several clauses in one statement. Whether it is in force is told by the table's whole
// definition before and after.
type alterTable struct {
	a        finding.Action
	blocking bool
}

func (c *alterTable) subject() string   { return "table " + c.a.Table.String() }
func (c *alterTable) table() schema.Ref { return c.a.Table }

// applied is the action with the table's definition as it has become.
func (c *alterTable) applied() finding.Action { return c.a }

func (c *alterTable) alteration(changes []schema.Clause) alter.Alteration {
	var clauses []string
	for _, x := range changes {
		clauses = append(clauses, ddl.ClauseSQL(x))
	}
	return alter.Alteration{Table: c.a.Table, SQL: strings.Join(clauses, ", "), Blocking: c.blocking}
}

// rebuilt reports whether the changes leave the definition as it is: there is nothing to take back then.
func rebuilt(changes []schema.Clause) bool {
	return !slices.ContainsFunc(changes, func(x schema.Clause) bool { return x.Kind != schema.Rebuild })
}

func (c *alterTable) check(ctx context.Context, t *target.Target, p *change.Preview, o objections) error {
	if len(c.a.Changes) == 0 || slices.ContainsFunc(c.a.Changes, wordless) {
		o.block("the action names no change to the table")
		return nil
	}
	for _, x := range c.a.Changes {
		if x.Kind == schema.DropColumn {
			o.block("column %s would be dropped with all its data, which cannot be undone: do it by hand", x.Column)
		}
	}
	p.Action.SQL = c.alteration(c.a.Changes).Statement()
	p.Words = fmt.Sprintf("Change table %s on %s online (without blocking its users).", c.a.Table, t)
	if c.blocking {
		p.Words = fmt.Sprintf("Change table %s on %s. Writes to it wait until it is done.", c.a.Table, t)
	}
	tab, ok, err := tableFor(ctx, t, c.a.Table, p, o)
	if err != nil || !ok || tab.View {
		return err
	}
	def, err := definition(ctx, t, c.a.Table)
	if err != nil {
		return err
	}
	p.Action.Was = strings.Join(def.lines, "\n")
	p.Action.Changes = slices.Clone(c.a.Changes)
	for i, x := range p.Action.Changes {
		if x.Kind != schema.ModifyColumn {
			continue
		}
		whole, why := carried(x.Definition, def.columns[strings.ToLower(x.Column)])
		if why != "" {
			o.block("column %s %s: change it by hand", x.Column, why)
		}
		p.Action.Changes[i].Definition = whole
		if err := checkTexts(ctx, t, tab, p.Action.Changes[i], o); err != nil {
			return err
		}
	}
	c.a.Changes = p.Action.Changes
	p.Action.SQL = c.alteration(c.a.Changes).Statement()
	if !rebuilt(c.a.Changes) {
		reverse, why := def.reverse(tab, c.a.Changes)
		if why != "" {
			o.block("%s", why)
		}
		if slices.ContainsFunc(reverse, wordless) {
			o.block("its undo statement cannot be written: change table %s by hand", c.a.Table)
		}
		p.Action.Reverse = reverse
		p.Action.Undo = c.alteration(reverse).Statement()
		if !c.blocking && slices.ContainsFunc(reverse, func(x schema.Clause) bool {
			return x.Kind == schema.ModifyColumn
		}) {
			o.warn("the server may refuse to change the column's type back online: use dyno undo --blocking then")
		}
	}
	if n, ok := tab.DataBytes.Get(); ok {
		size := float64(n) + float64(tab.IndexBytes.Or(0))
		p.SecondsLo, p.SecondsHi = known.Of(2*size/quick), known.Of(2*size/slow)
		space(ctx, t, size, o.block, o.warn)
		o.warn("the server may rebuild the whole table, up to %s in addition to the old one", unit.Bytes(size))
	}
	if err := checkWaits(ctx, t, c.a.Table, o); err != nil {
		return err
	}
	warnReplicas(t, o)
	return nil
}

func (c *alterTable) apply(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error {
	if err := alter.Native(ctx, t, c.alteration(c.a.Changes), report, note); err != nil {
		return err
	}
	ctx, cancel := change.Afterwards(ctx)
	defer cancel()
	def, err := definition(ctx, t, c.a.Table)
	if err != nil {
		return err
	}
	c.a.Now = strings.Join(def.lines, "\n")
	return nil
}

func (c *alterTable) revert(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error {
	return alter.Native(ctx, t, c.alteration(c.a.Reverse), report, note)
}

func (c *alterTable) checkRevert(ctx context.Context, t *target.Target, o objections) error {
	return checkRevertOn(ctx, t, c.a.Table, o)
}

// reverse is the statement that takes it back: it may be allowed to stop writers where the change itself was not, and
// the other way round.
func (c *alterTable) reverse() string { return c.alteration(c.a.Reverse).Statement() }

func (c *alterTable) compare(ctx context.Context, t *target.Target) (standing, string, error) {
	def, err := definition(ctx, t, c.a.Table)
	if err != nil {
		if n, ok := target.ServerErrorNumber(err); ok && n == 1146 {
			return nowhere, "", nil
		}
		return "", "", err
	}
	now := strings.Join(def.lines, "\n")
	switch {
	case rebuilt(c.a.Changes): // it leaves no mark
		return inForce, "", nil
	case c.a.Now != "" && now == c.a.Now:
		return inForce, "", nil
	case now == c.a.Was:
		return asWas, "", nil
	case c.a.Now == "" && c.a.Was != "" && made(c.a.Changes, parseLines(c.a.Was), def):
		// interrupted before its end was seen
		return inForce, "", nil
	}
	return other, "not as it was left", nil
}

// shows reports whether each of the changes shows in the table as it is, whatever else was changed since.
func (c *alterTable) shows(ctx context.Context, t *target.Target) (bool, error) {
	def, err := definition(ctx, t, c.a.Table)
	return err == nil && made(c.a.Changes, parseLines(c.a.Was), def), err
}

// written is the definition of a table as SHOW CREATE TABLE writes it.
type written struct {
	// of columns and keys, sorted: servers list keys in the order of their making; then of the rest, without what
	// changes by itself
	lines   []string
	columns map[string]string // definitions of columns by name in lower case; empty for a name that is there twice
	options string            // what follows the closing bracket
}

// mostDefinition is the longest definition of a table that is kept for an undo, bytes: InnoDB has at most 1017 columns.
const mostDefinition = 1 << 20

// definition reads the table's definition.
func definition(ctx context.Context, t *target.Target, ref schema.Ref) (written, error) {
	text, err := catalog.Definition(ctx, t.DB(), ref)
	if err != nil {
		return written{}, t.Wrap("read the definition of "+ref.String(), err)
	}
	if len(text) > mostDefinition {
		return written{}, fmt.Errorf("read the definition of %s: it has %d bytes; at most %d are kept", ref, len(text),
			mostDefinition)
	}
	return parseDefinition(text), nil
}

func parseDefinition(text string) written {
	_, lines, _ := strings.Cut(text, "\n") // the first is CREATE TABLE `name` (
	return parseLines(lines)
}

// parseLines reads a definition line by line. A line ends where no quote is open: comments and defaults hold what they
// like. So do the partitions, in which servers do not even double quotes: what follows the table's options is kept to
// be compared, and not read.
func parseLines(text string) written {
	d := written{columns: map[string]string{}}
	all := ddl.Lines(text)
	for len(all) > 0 {
		line := all[0]
		all = all[1:]
		if strings.HasPrefix(line, ")") {
			d.options = withoutAutoIncrement(strings.TrimPrefix(line, ")"))
			break
		}
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		if strings.HasPrefix(line, "`") {
			if n, def := mytext.CutName(line); n != "" {
				n = strings.ToLower(n)
				if _, twice := d.columns[n]; twice {
					def = ""
				}
				d.columns[n] = strings.TrimSpace(def)
			}
		}
		d.lines = append(d.lines, line)
	}
	slices.Sort(d.lines)
	d.lines = append(append(d.lines, ")"+d.options), all...)
	return d
}

// withoutAutoIncrement cuts the counter off: every insert changes it.
func withoutAutoIncrement(options string) string {
	const word = " AUTO_INCREMENT="
	bare, _ := ddl.Bare(options)
	i := strings.Index(bare, word)
	if i < 0 {
		return options
	}
	rest := strings.TrimLeft(options[i+len(word):], "0123456789")
	return options[:i] + rest
}

// option returns the value of a table's option, as written; "" when it is not written.
func (d written) option(name string) string {
	bare, _ := ddl.Bare(d.options) // a comment is no option
	for _, f := range strings.Fields(bare) {
		if k, v, ok := strings.Cut(f, "="); ok && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// key returns the line of an index, of the primary key with an empty name; "" when there is none.
func (d written) key(name string) string {
	for _, l := range d.lines {
		word := "PRIMARY KEY "
		if name != "" {
			word = "KEY " + ddl.Quote(name) + " "
		}
		if i := strings.Index(strings.ToLower(l), strings.ToLower(word)); i >= 0 && !strings.HasPrefix(l, "`") &&
			!strings.ContainsAny(l[:i], "`(") {
			return l
		}
	}
	return ""
}

// made reports whether each of the changes shows between two definitions. A table that differs, but not in all of them,
// was changed by somebody else: the server makes all clauses of an ALTER TABLE or none.
func made(changes []schema.Clause, was, now written) bool {
	for _, c := range changes {
		column := strings.ToLower(c.Column)
		shows := true
		switch c.Kind {
		case schema.ModifyColumn, schema.AddColumn:
			shows = now.columns[column] != "" && now.columns[column] != was.columns[column]
		case schema.DropColumn:
			shows = now.columns[column] == ""
		case schema.AddKey:
			shows = now.key(c.Index.Name) != "" && now.key(c.Index.Name) != was.key(c.Index.Name)
		case schema.DropKey:
			shows = now.key(c.Index.Name) != was.key(c.Index.Name) // another change may have made one of its name
		case schema.PrimaryKey:
			shows = now.key("") != was.key("")
		case schema.TableOption:
			shows = now.option(c.Option) != was.option(c.Option)
		case schema.Rebuild:
		}
		if !shows {
			return false
		}
	}
	return true
}

// reverse returns the changes that take others back, or why there are none.
func (d written) reverse(t schema.Table, changes []schema.Clause) (back []schema.Clause, why string) {
	index := func(name string) (schema.Index, bool) {
		for _, x := range t.Indexes {
			if strings.EqualFold(x.Name, name) {
				return x, true
			}
		}
		return schema.Index{}, false
	}
	for _, c := range slices.Backward(changes) {
		switch c.Kind {
		case schema.ModifyColumn:
			def, ok := d.columns[strings.ToLower(c.Column)]
			if !ok {
				return nil, fmt.Sprintf("table %s has no column %s", t.Ref, c.Column)
			}
			back = append(back, schema.Clause{Kind: schema.ModifyColumn, Column: c.Column, Definition: def})
		case schema.AddColumn:
			if _, ok := d.columns[strings.ToLower(c.Column)]; ok {
				return nil, fmt.Sprintf("table %s already has a column %s", t.Ref, c.Column)
			}
			back = append(back, schema.Clause{Kind: schema.DropColumn, Column: c.Column})
		case schema.AddKey:
			if _, ok := index(c.Index.Name); ok {
				return nil, "another index is called " + c.Index.Name + " already"
			}
			back = append(back, schema.Clause{Kind: schema.DropKey, Index: schema.Index{Name: c.Index.Name}})
		case schema.DropKey:
			x, ok := index(c.Index.Name)
			if !ok {
				return nil, fmt.Sprintf("table %s has no index %s", t.Ref, c.Index.Name)
			}
			back = append(back, schema.Clause{Kind: schema.AddKey, Index: x})
		case schema.PrimaryKey:
			pk, ok := t.PrimaryKey()
			if len(c.Index.Parts) == 0 {
				return nil, "the primary key would be dropped, and no other would replace it: do it by hand"
			}
			if !ok {
				return nil, fmt.Sprintf("table %s has no primary key", t.Ref)
			}
			back = append(back, schema.Clause{Kind: schema.PrimaryKey, Index: pk})
		case schema.TableOption:
			v := d.option(c.Option)
			if v == "" {
				if v = unwritten(c.Option); v == "" {
					return nil, "what the option " + c.Option + " is now is unknown"
				}
			}
			back = append(back, schema.Clause{Kind: schema.TableOption, Option: c.Option, Value: v})
		case schema.DropColumn, schema.Rebuild:
		}
	}
	return back, ""
}

var ( // for text that ddl.Bare has gone over; what they do not know is not carried over
	defaultClause = lazyregexp.New(` DEFAULT (\(|(\w*'x*'|[-+.\w]+(\(\d*\))?)( |$))`)
	updateClause  = lazyregexp.New(` ON UPDATE (\w+(\(\d*\))?)( |$)`)
	commentClause = lazyregexp.New(` COMMENT ('x*')( |$)`)
)

// more are parts of a column that MODIFY COLUMN drops when they are not written again, and that carried does not write.
var more = []string{" CHECK (", " INVISIBLE", " COMPRESSED", " SRID ", " COLUMN_FORMAT ", " STORAGE "}

// carried adds to a column's new definition what it does not say and the old one does: default, counter, comment.
// MODIFY COLUMN would drop them. It says why when that cannot be done.
func carried(definition, old string) (whole, why string) {
	hidden, closed := ddl.Bare(old)
	mine, _ := ddl.Bare(definition)
	upper, was := strings.ToUpper(mine), strings.ToUpper(hidden)
	if old == "" || !closed {
		return definition, "is not found in the table's definition, or twice"
	}
	clause := func(r *lazyregexp.Pattern) string {
		if at := r.FindStringIndex(hidden); at != nil {
			return strings.TrimSuffix(old[at[0]:at[1]], " ")
		}
		return ""
	}
	for word, r := range map[string]*lazyregexp.Pattern{
		" DEFAULT ": defaultClause, " ON UPDATE ": updateClause,
		" COMMENT ": commentClause,
	} {
		if strings.Count(was, word) > 1 || strings.Contains(was, word) && clause(r) == "" {
			return definition, "has a clause that Dyno cannot parse (" + strings.TrimSpace(word) + ")"
		}
	}
	if strings.Contains(was, " GENERATED ALWAYS ") || strings.Contains(was, " AS (") {
		return definition, "is generated from others"
	}
	for _, m := range more {
		if strings.Contains(was, m) && !strings.Contains(upper, m) {
			return definition, "has attributes that a change of its type would lose (" + strings.Trim(m, " (") + ")"
		}
	}
	if m := clause(defaultClause); m != "" && !strings.Contains(upper, " DEFAULT ") {
		if strings.HasSuffix(m, "(") {
			return definition, "has an expression as its default"
		}
		if !(strings.EqualFold(m, " DEFAULT NULL") && strings.Contains(upper, " NOT NULL")) {
			definition += m
		}
	}
	if m := clause(updateClause); m != "" && !strings.Contains(upper, " ON UPDATE ") {
		definition += m
	}
	if strings.Contains(was, " AUTO_INCREMENT") && !strings.Contains(upper, " AUTO_INCREMENT") {
		definition += " AUTO_INCREMENT"
	}
	if m := clause(commentClause); m != "" && !strings.Contains(upper, " COMMENT ") {
		definition += m
	}
	return definition, ""
}

// unwritten returns what stands for an option that is not written.
func unwritten(option string) string {
	switch strings.ToUpper(option) {
	case "ROW_FORMAT":
		return "DEFAULT"
	case "KEY_BLOCK_SIZE", "STATS_SAMPLE_PAGES":
		return "0"
	}
	return ""
}

// wordless reports whether a clause has no words in SQL, for a part of it does not hold together.
func wordless(x schema.Clause) bool { return ddl.ClauseSQL(x) == "" }
