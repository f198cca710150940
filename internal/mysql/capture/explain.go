package capture

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// Explainer asks a server how it would execute statements, one at a time, and never executes one: there is no EXPLAIN
// ANALYZE here. EXPLAIN itself evaluates constants, and with them stored functions that a statement or a view calls, in
// this session and often with its privileges. So that nothing of a tenant of the server runs here, a plan is asked for
// only if
//
//   - the statement calls nothing but functions without side effects (sqlshape.Explainable) that are this server's own:
//     any other name may
//     be that of somebody's stored function;
//   - the account may not execute stored routines in any schema that the statement names, nor in its default one;
//   - all names are those of tables, not views, and stay so until the plan is there.
//
// In schemas that the target's Spec trusts by name the account may execute routines, and views are read before: what
// they hold must be as harmless as the statement. A SELECT that takes no locks is asked in a READ ONLY transaction. No
// question lasts longer than two seconds, and none waits longer than one for a row's lock.
type Explainer struct {
	t    *target.Target
	conn *sql.Conn
	db   string // the connection's default database
	lost bool   // this program stopped waiting for an answer on it
	// words before a parenthesis, as sqlshape.Calls has them: whether this server runs no stored function for them
	own map[string]bool
}

// NewExplainer takes a connection of the target's pool, which Close ends.
func NewExplainer(ctx context.Context, t *target.Target) (*Explainer, error) {
	conn, err := target.Limited(ctx, t, questionTime)
	if err != nil {
		return nil, err
	}
	return &Explainer{t: t, conn: conn, db: t.Spec().Database, own: map[string]bool{}}, nil
}

// Close ends the connection: with its limits of time and its default database it is of no use to others.
func (x *Explainer) Close() error {
	return target.Discard(x.conn)
}

func (x *Explainer) exec(ctx context.Context, q string) error {
	_, err := x.conn.ExecContext(ctx, sqltext.Tagged("explain", "", q))
	return err
}

// Explain returns the plan of a statement with its literals in a default database, "" for none. A plan that was not
// asked for or that the server refused says why in its Error; an error means that the connection is lost or ctx ended.
func (x *Explainer) Explain(ctx context.Context, id, db, stmt string) (explain.Plan, error) {
	outer := ctx
	if x.lost {
		_ = target.Discard(x.conn)
		conn, err := target.Limited(ctx, x.t, questionTime)
		if err != nil {
			return explain.Plan{Class: id}, err
		}
		x.conn, x.db, x.lost, x.own = conn, x.t.Spec().Database, false, map[string]bool{}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*questionTime) // the server keeps its own limit first
	defer cancel()
	p := explain.Plan{Class: id}
	refused := func(err error) (explain.Plan, error) {
		if cerr := outer.Err(); cerr != nil {
			return p, cerr
		}
		if ctx.Err() != nil {
			x.lost = true
			p.Error = fmt.Sprintf("the server did not answer within %v", 2*questionTime)
			return p, nil //nolint:nilerr // the plan says why there is none
		}
		if target.KindOf(err) == endpoint.Gone || errors.Is(err, sql.ErrConnDone) {
			return p, err
		}
		p.Error, p.Denied = err.Error(), target.KindOf(err) == endpoint.Denied
		return p, nil
	}
	if err := sqlshape.Explainable(stmt); err != nil {
		p.Error = "not run: " + err.Error()
		return p, nil
	}
	names, err := sqlshape.Opened(stmt)
	if err != nil {
		return refused(err)
	}
	if db == "" && slices.ContainsFunc(names, func(r shape.TableRef) bool { return r.Schema == "" }) {
		p.Error = "not run: the statement's default database is unknown"
		return p, nil
	}
	db = cmp.Or(db, safest) // of no use to the statement
	for i := range names {
		names[i].Schema = cmp.Or(names[i].Schema, db)
	}
	if why, err := x.stranger(ctx, stmt); err != nil {
		return refused(err)
	} else if why != "" {
		p.Error = "not run: " + why
		return p, nil
	}
	if why, err := x.executes(ctx, db, names); err != nil {
		return refused(err)
	} else if why != "" {
		p.Error, p.Denied = "not run: "+why, true
		return p, nil
	}
	begin := "START TRANSACTION READ ONLY"
	if !sqlshape.Reads(stmt) { // servers plan a change only where it might be made
		begin = "START TRANSACTION READ WRITE"
	}
	if err := x.exec(ctx, begin); err != nil {
		return refused(err)
	}
	defer x.rollBack(ctx)
	if why, err := x.views(ctx, names); err != nil {
		return refused(err)
	} else if why != "" {
		p.Error = "not run: " + why
		return p, nil
	}
	if err := x.use(ctx, db); err != nil {
		return refused(err)
	}
	cols, rows, err := texts(ctx, x.conn, sqltext.Tagged("explain", id, "EXPLAIN FORMAT=TRADITIONAL "+stmt))
	if err != nil {
		return refused(err)
	}
	raw := tabbed(cols, rows)
	if len(rows) > mostSteps || len(raw) > longestPlan {
		p.Error = fmt.Sprintf("its plan has %d steps in %d bytes: more than %d steps or %d bytes are not stored",
			len(rows), len(raw), mostSteps, longestPlan)
		return p, nil
	}
	p = explain.Tabular(cols, rows)
	p.Class, p.Raw = id, raw
	return p, nil
}

// These bound a plan that is kept: a SELECT has up to 61 steps, a UNION as many SELECTs as its author likes.
const (
	mostSteps   = 512
	longestPlan = 256 << 10
)

// rollBack ends the transaction, by ending the connection if need be. The words are Dyno's alone: digests have lost the
// tag, and a class that this program sends is left out, which the users' own ROLLBACK must not be.
func (x *Explainer) rollBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTime)
	defer cancel()
	if x.exec(ctx, ddl.EndPins) != nil {
		x.lost = true
	}
}

// safest is a schema in which nobody can create anything, and which all may use.
const safest = "information_schema"

func (x *Explainer) use(ctx context.Context, db string) error {
	if db == x.db {
		return nil
	}
	x.db = "" // unknown, should it fail
	if err := x.exec(ctx, "USE "+ddl.Quote(db)); err != nil {
		return err
	}
	x.db = db
	return nil
}

// stranger says which function of the statement is none of this server's own; "" when all are. Each word is asked for
// once, where there can be no stored function: what is one, or nothing, is then not found or not allowed.
func (x *Explainer) stranger(ctx context.Context, stmt string) (why string, err error) {
	words, err := sqlshape.Calls(stmt)
	if err != nil {
		return "", err
	}
	for _, w := range words {
		own, asked := x.own[w]
		if !asked {
			if err := x.use(ctx, safest); err != nil {
				return "", err
			}
			_, _, err := texts(ctx, x.conn, sqltext.Tagged("explain", "names", "SELECT "+w+"()"))
			if target.KindOf(err) == endpoint.Gone || ctx.Err() != nil {
				return "", err
			}
			own = target.IsOwnFunction(err)
			x.own[w] = own
		}
		if !own {
			return "it calls " + strings.TrimSpace(w) + ", which is not a built-in function when written like that", nil
		}
	}
	return "", nil
}

// executes says in which of the schemas that a statement means stored routines could run; "" for none that is not
// trusted.
func (x *Explainer) executes(ctx context.Context, db string, names []shape.TableRef) (why string, err error) {
	var ask []string
	for _, s := range append([]string{db}, schemas(names)...) {
		if !system(s) && !x.t.Spec().Trusts(s) && !slices.Contains(ask, s) {
			ask = append(ask, s)
		}
	}
	if len(ask) == 0 {
		return "", nil
	}
	why, err = target.MayExecute(ctx, x.t, x.conn, ask)
	if why != "" {
		why += "; Fix: use an account with the grants that `" + target.ExplainCommand(ask) + "` prints, or " +
			trusting(ask)
	}
	return why, err
}

// trusting says how to do without the rules for tenants.
func trusting(list []string) string {
	return "trust all users who can create routines and views there, with " + target.TrustParameter(list) +
		" in the URL or as a flag"
}

func schemas(names []shape.TableRef) (list []string) {
	for _, r := range names {
		list = append(list, r.Schema)
	}
	return list
}

// views says which name of a statement is, or may be, that of a view that is not trusted; "" for none. It leaves
// metadata locks on the others until the transaction ends: by an index hint, which servers refuse for views when they
// open them, before they evaluate anything.
func (x *Explainer) views(ctx context.Context, names []shape.TableRef) (why string, err error) {
	var tables []schema.Ref
	for _, r := range names {
		switch {
		case system(r.Schema):
		case x.t.Spec().Trusts(r.Schema):
			if why, err := x.hidden(ctx, r, 0); why != "" || err != nil {
				return why, err
			}
		default:
			tables = append(tables, schema.Ref{Schema: r.Schema, Table: r.Name})
		}
	}
	if len(tables) == 0 {
		return "", nil
	}
	_, _, err = texts(ctx, x.conn, sqltext.Tagged("explain", "tables", ddl.PinSQL(tables, true)))
	if n, ok := target.ServerErrorNumber(err); ok && n == noSuchIndex {
		return "it names a view, which may call stored functions; Fix: " +
			trusting(slices.Compact(slices.Sorted(slices.Values(schemas(names))))), nil
	}
	return "", err
}

// noSuchIndex is what a server answers to a hint of an index for a view.
const noSuchIndex = 1176

// deepest bounds views of views.
const deepest = 8

// hidden says what harm a name may do if it is a view's; "" for none.
func (x *Explainer) hidden(ctx context.Context, r shape.TableRef, depth int) (why string, err error) {
	switch {
	case system(r.Schema):
		return "", nil
	case !x.t.Spec().Trusts(r.Schema):
		return "its views lead to schema " + r.Schema + ", which explain-schemas does not name", nil
	}
	_, rows, err := texts(ctx, x.conn, sqltext.Tagged("explain", "views",
		"SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA="+mytext.Literal(r.Schema)+
			" AND TABLE_NAME="+mytext.Literal(r.Name)))
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		def := row[0]
		switch {
		case def == "" || def == "NULL":
			return "what the view " + r.Name + " contains is not visible: GRANT SHOW VIEW", nil
		case depth >= deepest:
			return "its views are nested too deeply", nil
		}
		if err := sqlshape.Explainable(def); err != nil {
			return fmt.Sprintf("the view %s: %v", r.Name, err), nil
		}
		if why, err := x.stranger(ctx, def); why != "" || err != nil {
			return why, err
		}
		names, err := sqlshape.Opened(def)
		if err != nil {
			return "", err
		}
		for _, n := range names {
			n.Schema = cmp.Or(n.Schema, r.Schema)
			if why, err := x.hidden(ctx, n, depth+1); why != "" || err != nil {
				return why, err
			}
		}
	}
	return "", nil
}

// system tells the schemas whose views the server itself makes, and in which nobody else can. Those of sys call stored
// functions and are looked at. A server may tell performance_schema from PERFORMANCE_SCHEMA, which then is somebody's.
func system(name string) bool {
	return strings.EqualFold(name, safest) || name == "performance_schema"
}

// ExplainReport fills the plans of a report's first n classes: how the server would execute their slowest statements
// today. A class of which there is no whole statement, and what is not asked or refused, says so in place of a plan.
// Plans that a log brought stay.
func ExplainReport(ctx context.Context, t *target.Target, rep *digest.Report, n int) error {
	x, err := NewExplainer(ctx, t)
	if err != nil {
		return err
	}
	defer x.Close()
	for i := range rep.Classes[:min(n, len(rep.Classes))] {
		c := &rep.Classes[i]
		if len(c.Plan) > 0 {
			continue
		}
		s := c.Worst
		if t := c.Typical; t != nil && t.SQL != "" && !t.Cut && (s == nil || s.SQL == "" || s.Cut) {
			s = t
		}
		switch {
		case s == nil || s.SQL == "":
			c.Plan = []string{"not run: no statement of this class was observed"}
			continue
		case s.Cut:
			c.Plan = []string{"not run: the end of the statement is unknown"}
			continue
		case strings.Contains(s.SQL, "?") && string(mytext.Redact(nil, []byte(s.SQL))) == s.SQL:
			c.Plan = []string{"not run: the values of the statement are unknown"}
			continue
		}
		db := s.DB
		if db == "" && len(c.Databases) > 0 {
			db = c.Databases[0].Name
		}
		p, err := x.Explain(ctx, c.ID, db, s.SQL)
		if err != nil {
			return t.Wrap("explain statements on", err)
		}
		if p.Error != "" {
			c.Plan = []string{p.Error}
			continue
		}
		c.Plan = strings.Split(p.Raw, "\n")
	}
	return nil
}
