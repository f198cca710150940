package capture

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dyno/internal/digest"
	"dyno/internal/explain"
	"dyno/internal/schema"
	"dyno/internal/sqlshape"
	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// Explainer asks a server how it would execute statements, one at a time and only those that EXPLAIN is known not to harm: see
// sqlshape.Explainable for the statement itself; the views that it names must hold nothing else either. A SELECT that takes no locks is asked
// in a READ ONLY transaction besides, so that the server itself refuses whatever should write. No question lasts longer than two seconds,
// and none waits longer than one for a row's lock. It never executes a statement: there is no EXPLAIN ANALYZE here.
type Explainer struct {
	t    *target.Target
	conn *sql.Conn
	db   string // the connection's default database
	lost bool   // this program stopped waiting for an answer on it
}

// NewExplainer takes a connection of the target's pool, which Close ends.
func NewExplainer(ctx context.Context, t *target.Target) (*Explainer, error) {
	conn, err := target.Limited(ctx, t, questionTime)
	if err != nil {
		return nil, err
	}
	return &Explainer{t: t, conn: conn}, nil
}

// Close ends the connection: with its limits of time and its default database it is of no use to others.
func (x *Explainer) Close() error {
	return target.Discard(x.conn)
}

func (x *Explainer) exec(ctx context.Context, q string) error {
	_, err := x.conn.ExecContext(ctx, sqltext.Tagged("explain", "", q))
	return err
}

// Explain returns the plan of a statement with its literals in a default database, "" for none. A plan that was not asked for or that the
// server refused says why in its Error; an error means that the connection is lost or ctx ended.
func (x *Explainer) Explain(ctx context.Context, id, db, stmt string) (explain.Plan, error) {
	outer := ctx
	if x.lost {
		_ = target.Discard(x.conn)
		conn, err := target.Limited(ctx, x.t, questionTime)
		if err != nil {
			return explain.Plan{Class: id}, err
		}
		x.conn, x.db, x.lost = conn, "", false
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
		if target.KindOf(err) == target.Gone || errors.Is(err, sql.ErrConnDone) {
			return p, err
		}
		p.Error = err.Error()
		return p, nil
	}
	if err := sqlshape.Explainable(stmt); err != nil {
		p.Error = "not asked: " + err.Error()
		return p, nil
	}
	if db != "" && db != x.db {
		if err := x.exec(ctx, "USE "+schema.Quote(db)); err != nil {
			return refused(err)
		}
		x.db = db
	}
	if db == "" && x.db != "" { // names would mean what they do not mean there
		if names, err := sqlshape.Touches(stmt); err != nil || slices.ContainsFunc(names, func(r sqlshape.TableRef) bool { return r.Schema == "" }) {
			p.Error = "not asked: the statement's default database is not known"
			return p, nil
		}
	}
	if why, err := x.hidden(ctx, db, stmt, 0); err != nil {
		return refused(err)
	} else if why != "" {
		p.Error = "not asked: " + why
		return p, nil
	}
	if sqlshape.Reads(stmt) {
		if err := x.exec(ctx, "START TRANSACTION READ ONLY"); err != nil {
			return refused(err)
		}
		defer func() { _ = x.exec(context.WithoutCancel(ctx), "ROLLBACK") }() // it cannot fail but with the connection
	}
	cols, rows, err := texts(ctx, x.conn, sqltext.Tagged("explain", id, "EXPLAIN FORMAT=TRADITIONAL "+stmt))
	if err != nil {
		return refused(err)
	}
	p = explain.Tabular(cols, rows)
	p.Class, p.Raw = id, tabbed(cols, rows)
	return p, nil
}

// deepest bounds views of views.
const deepest = 8

// hidden says what harm the views that a statement names may do; "" for none.
func (x *Explainer) hidden(ctx context.Context, db, stmt string, depth int) (why string, err error) {
	names, err := sqlshape.Touches(stmt)
	if err != nil {
		return "", err
	}
	for _, r := range names {
		r.Schema = cmp.Or(r.Schema, db)
		if r.Schema == "" || system(r.Schema) {
			continue
		}
		_, rows, err := texts(ctx, x.conn, sqltext.Tagged("explain", "views",
			"SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA="+sqltext.Literal(r.Schema)+" AND TABLE_NAME="+sqltext.Literal(r.Name)))
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			def := row[0]
			switch {
			case def == "" || def == "NULL":
				return "what the view " + r.Name + " holds cannot be seen: GRANT SHOW VIEW", nil
			case depth >= deepest:
				return "its views are nested too deeply", nil
			}
			if err := sqlshape.Explainable(def); err != nil {
				return fmt.Sprintf("the view %s: %v", r.Name, err), nil
			}
			if why, err := x.hidden(ctx, r.Schema, def, depth+1); why != "" || err != nil {
				return why, err
			}
		}
	}
	return "", nil
}

// system tells the schemas whose views the server itself makes. Those of sys call stored functions and are looked at.
func system(name string) bool {
	return strings.EqualFold(name, "information_schema") || strings.EqualFold(name, "performance_schema")
}

// ExplainReport fills the plans of a report's first n classes: how the server would execute their slowest statements today. A class of which
// there is no whole statement, and what is not asked or refused, says so in place of a plan. Plans that a log brought stay.
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
			c.Plan = []string{"not asked: no statement of this class was seen"}
			continue
		case s.Cut:
			c.Plan = []string{"not asked: the end of the statement is not known"}
			continue
		case strings.Contains(s.SQL, "?") && string(sqltext.Redact(nil, []byte(s.SQL))) == s.SQL:
			c.Plan = []string{"not asked: the statement is not known with its values"}
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
