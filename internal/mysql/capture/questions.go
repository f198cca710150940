package capture

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// questionTime bounds each question about a class, plansTime all those for plans: on a server whose tables are locked
// each of them waits.
const (
	questionTime = 2 * time.Second
	plansTime    = 10 * time.Second
)

// tablesTime bounds all questions about the tables that the top classes name, mostTables those that are asked about:
// whoever may run statements chooses how many they name.
const (
	tablesTime = 2 * inventoryTime
	mostTables = 300
)

// questioner asks the server about the classes that matter: which tables they touch and how it would execute them.
type questioner struct {
	t    *target.Target
	s    *snapshot.Snapshot
	kept *catalog.Cache
}

// least is the share of the statement time from which on a class is asked about, and mostAsked how many at most.
const (
	least     = 0.01
	mostAsked = 30
)

// top returns the classes that are asked about: the first n, or with n 0 those that take a share worth asking for.
func (q questioner) top(n int) []class.Class {
	if n > 0 {
		return q.s.Classes[:min(n, len(q.s.Classes))]
	}
	total := q.s.TotalTime()
	for i, c := range q.s.Classes {
		if i == mostAsked || c.TimeSec < least*total {
			return q.s.Classes[:i]
		}
	}
	return q.s.Classes
}

// ask fills Tables and Plans of the snapshot: the tables that the classes with the most time touch first, then all that
// there is time for. What cannot be asked is said in the plan, or in a source; an error means that the server went
// away.
func (q questioner) ask(ctx context.Context, n int) error {
	conn, err := q.t.ReadingConn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	limited, cancel := context.WithTimeout(ctx, tablesTime)
	defer cancel()
	lost := func(err error) bool { return gone(ctx, err) && (ctx.Err() != nil || limited.Err() == nil) }
	shapes := map[string]shape.Shape{}
	names := map[shape.TableRef][]schema.Ref{} // what they can mean, as far as it was asked
	known := map[schema.Ref]bool{}
	var refs []schema.Ref
	var looked wanted
	var missed error // why tables of the top classes may not be known
	var large []string
	top := q.top(n)
	for _, c := range top {
		sh, touched, err := shapeOf(c)
		if errors.Is(err, sqlshape.ErrTooLarge) {
			large = append(large, c.ID)
		}
		if err != nil {
			continue
		}
		shapes[c.ID] = sh
		located := map[shape.TableRef]schema.Ref{}
		for _, r := range touched {
			name := shape.TableRef{Schema: cmp.Or(r.Schema, c.Schema), Name: r.Name}
			found, asked := names[name]
			if !asked {
				if len(names) == mostTables || limited.Err() != nil {
					missed = errTooManyTables
					continue
				}
				found, err = q.locate(limited, conn, r, c.Schema)
				switch {
				case err != nil && lost(err):
					return err
				case err != nil: // the server has a limit of time for it
					missed = err
				}
				names[name] = found
			}
			if len(found) == 1 {
				located[shape.TableRef{Schema: r.Schema, Name: r.Name}] = found[0]
			}
			for _, ref := range found {
				switch {
				case ddl.System(ref.Schema) || known[ref]:
				case len(refs) == mostTables:
					missed = errTooManyTables
				default:
					known[ref] = true
					refs = append(refs, ref)
				}
			}
		}
		looked.add(sh, func(r shape.TableRef) (schema.Ref, bool) {
			ref, ok := located[shape.TableRef{Schema: r.Schema, Name: r.Name}]
			return ref, ok
		})
	}
	if len(refs) > 0 {
		if q.s.Tables, err = catalog.Tables(limited, conn, refs); err != nil {
			if lost(err) {
				return err
			}
			missed = err // the first of them may be there
			if limited.Err() != nil {
				missed = errTooManyTables
			}
		}
	}
	if err := q.inventory(ctx, missed); err != nil {
		return err
	}
	q.unseen(refs)
	x, err := NewExplainer(ctx, q.t)
	if err != nil {
		return err
	}
	defer x.Close()
	total, end := q.s.TotalTime(), time.Now().Add(plansTime)
	for _, c := range top {
		sh, parsed := shapes[c.ID]
		if c.TimeSec < least*total || !parsed || dictionary(sh, c.Schema) || sh.Kind == shape.Other ||
			sh.Kind == shape.Insert && len(sh.Parts) == 0 {
			continue
		}
		if time.Now().After(end) {
			q.s.Plans = append(q.s.Plans, explain.Plan{
				Class: c.ID, Schema: c.Schema,
				Error: fmt.Sprintf("not run: the answers for other classes took more than %v", plansTime),
			})
			continue
		}
		p, err := q.plan(ctx, x, c, sh)
		if err != nil {
			return err
		}
		q.s.Plans = append(q.s.Plans, p)
	}
	q.unplanned()
	if len(large) > 0 {
		q.s.Sources = append(q.s.Sources, source.Source{
			Name: source.Statements, State: source.Failed,
			Reason: fmt.Sprintf("not examined: the statements of %s are longer than the limit",
				strings.Join(large, ", ")),
		})
	}
	return q.sample(ctx, looked)
}

var errTooManyTables = fmt.Errorf("statements name more tables than are asked about: %d, for %v",
	mostTables, tablesTime)

// unseen says of the source of tables that it is denied when statements that run now name schemas of which the account
// sees nothing at all: a server shows its dictionary without those, and without a word.
func (q questioner) unseen(refs []schema.Ref) {
	seen := map[string]bool{}
	for _, t := range q.s.Tables {
		seen[t.Schema] = true
	}
	var hidden []string
	for _, r := range refs {
		if !seen[r.Schema] {
			seen[r.Schema] = true
			hidden = append(hidden, r.Schema)
		}
	}
	i := slices.IndexFunc(q.s.Sources, func(x source.Source) bool { return x.Name == source.Tables })
	if i < 0 || q.s.Sources[i].State != source.OK {
		return
	}
	x := &q.s.Sources[i]
	sessions := q.s.Source(source.Processlist)
	switch {
	case len(hidden) == 0 && len(q.s.Tables) == 0 && sessions.State == source.Denied:
		// statements would name the schemas
		x.State, x.Reason, x.Fix = source.Denied, "the account sees no table, and not which ones statements use",
			sessions.Fix
		return
	case len(hidden) == 0:
		return
	}
	x.State, x.Reason = source.Denied, "the account sees no table of "+strings.Join(hidden, ", ")+
		", which statements that run now use"
	x.Fix = q.t.Facts().ExplainFix(hidden)
}

// unplanned says in a source that the account may ask for no plan, when all were refused for what it may not do, or
// may.
func (q questioner) unplanned() {
	var hidden []string
	fix := ""
	for _, p := range q.s.Plans {
		if p.Error == "" {
			return
		}
		if p.Denied && p.Schema != "" && !slices.Contains(hidden, p.Schema) {
			hidden = append(hidden, p.Schema)
			_, own, _ := strings.Cut(p.Error, "; Fix: ")
			fix = cmp.Or(fix, own)
		}
	}
	if len(hidden) == 0 {
		return
	}
	q.s.Sources = append(q.s.Sources, source.Source{
		Name: source.Plans, State: source.Denied, Reason: "no statement on " + strings.Join(hidden, ", ") +
			" may be explained with this account", Fix: cmp.Or(fix, q.t.Facts().ExplainFix(hidden)),
	})
}

// shapeOf parses a class: its example where there is one, for fingerprints have lost the digits of names. touched are
// the tables that are named anywhere in it, in sub-queries too.
func shapeOf(c class.Class) (sh shape.Shape, touched []shape.TableRef, err error) {
	text := c.Example
	if text != "" {
		sh, err = sqlshape.Parse(text)
	}
	if text == "" || err != nil {
		text = c.Fingerprint
		if sh, err = sqlshape.Parse(text); err != nil {
			return sh, nil, err
		}
	}
	if touched, err = sqlshape.Touches(text); err != nil && len(touched) == 0 {
		touched = sh.Tables
	}
	return sh, touched, nil
}

// mostMatches bounds the tables that a name without its digits may stand for.
const mostMatches = 8

// locate returns the tables that a statement's name can mean, in the schema that the class ran in.
func (q questioner) locate(ctx context.Context, conn *sql.Conn, r shape.TableRef, def string) ([]schema.Ref, error) {
	db := r.Schema
	if db == "" {
		db = def
	}
	switch {
	case db == "" && strings.Contains(r.Name, "?"):
		return nil, nil // any choice would be a guess
	case db == "":
		found, err := catalog.Find(ctx, conn, r.Name)
		if len(found) != 1 { // likewise
			return nil, err
		}
		return found, err
	case !strings.Contains(r.Name, "?"):
		return []schema.Ref{{Schema: db, Table: r.Name}}, nil
	}
	names, err := catalog.Names(ctx, conn, db)
	if err != nil {
		return nil, err
	}
	var refs []schema.Ref
	for _, n := range names {
		if shape.Match(r.Name, n) && len(refs) < mostMatches {
			refs = append(refs, schema.Ref{Schema: db, Table: n})
		}
	}
	return refs, nil
}

// dictionary reports whether a statement reads the server's own tables only: no plan of it can be changed.
func dictionary(sh shape.Shape, def string) bool {
	return len(sh.Tables) > 0 && !slices.ContainsFunc(sh.Tables, func(r shape.TableRef) bool {
		return !ddl.System(cmp.Or(r.Schema, def))
	})
}

// plan asks how the server would execute a statement of the class.
func (q questioner) plan(ctx context.Context, x *Explainer, c class.Class, sh shape.Shape) (explain.Plan, error) {
	p := explain.Plan{Class: c.ID, Schema: c.Schema}
	stmt := c.Example
	if stmt == "" || len(stmt) > sqlshape.MaxBytes || mytext.Fingerprint(stmt) != c.Fingerprint {
		stmt = c.Fingerprint
	}
	if strings.Contains(stmt, "?") { // a fingerprint, or a prepared statement as the processlist shows it
		filled, err := sqlshape.Fill(stmt, q.typical(sh, c.Schema))
		if err != nil {
			p.Error = "no statement of this class was observed with its values, and its fingerprint cannot replace " +
				"one: " + err.Error()
			return p, nil //nolint:nilerr // the plan says why there is none
		}
		p.Guess = filled != stmt
		stmt = filled
	}
	db := c.Schema
	if db == "" && len(sh.Tables) > 0 {
		db = sh.Tables[0].Schema
	}
	got, err := x.Explain(ctx, c.ID, db, stmt)
	got.Schema = c.Schema
	got.Guess = p.Guess && got.Error == ""
	return got, err
}

// typical returns what gives a literal of a column's type for a parameter whose value nobody saw.
func (q questioner) typical(sh shape.Shape, def string) func(table, column string) string {
	tables := make([][]int, len(sh.Tables)) // places of those that each name means
	for i, t := range q.s.Tables {
		for j, r := range sh.Tables {
			if s := cmp.Or(r.Schema, def); t.Table == r.Name && (s == "" || t.Schema == s) {
				tables[j] = append(tables[j], i)
			}
		}
	}
	told := map[[2]string]string{}
	return func(table, column string) string {
		k := [2]string{table, column}
		if _, ok := told[k]; !ok {
			told[k] = "1"
			for j, r := range sh.Tables {
				if table != "" && !strings.EqualFold(table, r.Alias) && !strings.EqualFold(table, r.Name) {
					continue
				}
				for _, i := range tables[j] {
					if c, ok := q.s.Tables[i].Column(column); ok {
						told[k] = literal(c.DataType)
						return told[k]
					}
				}
			}
		}
		return told[k]
	}
}

// literal returns a value of a type as SQL.
func literal(dataType string) string {
	switch strings.ToLower(dataType) {
	case "char", "varchar", "text", "tinytext", "mediumtext", "longtext", "enum", "set":
		return "'a'"
	case "date", "datetime", "timestamp":
		return "'2020-01-01'"
	case "time":
		return "'00:00:01'"
	case "binary", "varbinary", "blob", "tinyblob", "mediumblob", "longblob", "bit":
		return "0x61"
	}
	return "1"
}

// asked runs a query that is marked as Dyno's own and returns its rows as text, NULL as "NULL".
func asked(ctx context.Context, conn *sql.Conn, what, query string) (cols []string, rows [][]string, err error) {
	return texts(ctx, conn, sqltext.Tagged(what, "", query))
}

// mostTexts bounds the rows of an answer that is kept whole: a few thousand are asked for at most.
const mostTexts = 10_000

// longestTexts bounds such an answer, in bytes.
const longestTexts = 8 << 20

// texts runs a query and returns its rows as text, NULL as "NULL".
func texts(ctx context.Context, conn *sql.Conn, query string) (cols []string, rows [][]string, err error) {
	r, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if cols, err = r.Columns(); err != nil {
		return nil, nil, err
	}
	cells := make([]sql.NullString, len(cols))
	ptrs := make([]any, len(cols))
	for i := range cells {
		ptrs[i] = &cells[i]
	}
	for size := 0; r.Next(); {
		if len(rows) == mostTexts {
			return nil, nil, fmt.Errorf("the server answers with more than %d rows", mostTexts)
		}
		if err := r.Scan(ptrs...); err != nil {
			return nil, nil, fmt.Errorf("read plan: %w", err)
		}
		row := make([]string, len(cols))
		for i, c := range cells {
			row[i] = "NULL"
			if c.Valid {
				row[i] = c.String
			}
			size += len(row[i])
		}
		if size > longestTexts {
			return nil, nil, fmt.Errorf("the server answers with more than %d MB", longestTexts>>20)
		}
		rows = append(rows, row)
	}
	return cols, rows, r.Err()
}

func tabbed(cols []string, rows [][]string) string {
	var b strings.Builder
	b.WriteString(strings.Join(cols, "\t"))
	for _, r := range rows {
		b.WriteString("\n" + strings.Join(r, "\t"))
	}
	return b.String()
}
