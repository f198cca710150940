package capture

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
)

// plansTime bounds all questions for plans: on a server whose tables are locked each waits up to lock_timeout.
const plansTime = 10 * time.Second

// explainer asks how the server would execute statements whose parameters are not known. It never executes one: EXPLAIN
// without ANALYZE, in a read-only transaction that is rolled back. But planning evaluates functions that are declared
// immutable, whoever wrote them: with an account that may do too much for that it asks nothing, see conn.Mighty.
//
// What it gets is the generic plan, the one for any value of the parameters; the server may run a better one for some
// values.
type explainer struct {
	conn *pgx.Conn
	why  string // nothing is asked; "" when it is
	path string // search_path of the account
	rows map[schema.Ref]float64
	// unique are the schemas of tables whose name no other schema has
	unique map[string]string
}

func newExplainer(ctx context.Context, s endpoint.Spec, c *pgx.Conn, tables []schema.Table) (*explainer, error) {
	why, err := conn.Mighty(ctx, s, c)
	x := &explainer{conn: c, why: why, rows: map[schema.Ref]float64{}, unique: map[string]string{}}
	if why != "" || err != nil {
		return x, err
	}
	for _, t := range tables {
		if n, ok := t.Rows.Get(); ok {
			x.rows[t.Ref] = float64(n)
		}
		if _, twice := x.unique[t.Table]; twice {
			x.unique[t.Table] = ""
		} else {
			x.unique[t.Table] = t.Schema
		}
	}
	// Dyno's own sessions have a search_path of their own: what other sessions of the account have is asked for.
	err = c.QueryRow(ctx, pgtext.Tagged(component, `SELECT coalesce((SELECT substr(s, 13) FROM
		pg_db_role_setting, unnest(setconfig) s WHERE s LIKE 'search\_path=%' AND
		setrole IN (0, current_user::regrole) AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE
		datname = current_database())) ORDER BY setrole <> 0 DESC, setdatabase <> 0 DESC LIMIT 1),
		(SELECT boot_val FROM pg_settings WHERE name = 'search_path'))`)).Scan(&x.path)
	return x, err
}

// plan returns the plan of a class, or in its Error why there is none. An error is one of the connection.
func (x *explainer) plan(ctx context.Context, c class.Class, sql string) (explain.Plan, error) {
	p := explain.Plan{Class: c.ID, Schema: c.Schema}
	if x.why != "" {
		p.Error, p.Denied = "not run: "+x.why, true
		return p, nil
	}
	raw, err := x.ask(ctx, sql, "FORMAT JSON, VERBOSE")
	if err != nil {
		if code, answered := conn.SQLState(err); answered {
			p.Error, p.Denied = strings.TrimPrefix(err.Error(), "ERROR: "), code == "42501"
			return p, nil
		}
		return p, err
	}
	steps, err := x.steps(raw)
	if p.Steps, p.Raw = steps, raw; err != nil {
		p.Error = err.Error()
	}
	return p, nil
}

// ask sends EXPLAIN. Parameters without values take a prepared statement: it has a generic plan when the server is told
// to make one (EXPLAIN's own GENERIC_PLAN, from 16 on, asks for values in the extended protocol).
func (x *explainer) ask(ctx context.Context, sql, options string) (raw string, err error) {
	sql, params := pgtext.Explainable(sql)
	if _, err := x.send(ctx, pgtext.Tagged(component, "BEGIN READ ONLY")); err != nil {
		return "", err
	}
	const name = "dyno_explained"
	prepared := false
	defer func() { // nothing has changed; what was prepared would outlive the transaction
		_, _ = x.send(ctx, pgtext.Tagged(component, "ROLLBACK"))
		if prepared {
			_, _ = x.send(ctx, pgtext.Tagged(component, "DEALLOCATE "+name))
		}
	}()
	path := x.path
	for _, name := range pgtext.Names(sql) {
		if s := x.unique[name]; s != "" && !strings.Contains(path, conn.Quote(s)) && s != "public" {
			path += ", " + conn.Quote(s)
		}
	}
	// The path is text that the owner of a database stored: it comes as a value, never as part of a statement.
	set := pgtext.Tagged(component, "SELECT set_config('search_path', $1, true)")
	if _, err := x.send(ctx, set, strings.TrimPrefix(path, ", ")); err != nil {
		return "", err
	}
	if params == 0 {
		return x.send(ctx, pgtext.Tagged(component, "EXPLAIN ("+options+") "+sql))
	}
	for _, s := range []string{
		pgtext.Tagged(component, "SET LOCAL plan_cache_mode = force_generic_plan"),
		pgtext.Tagged(component, "PREPARE "+name+" AS "+sql),
	} {
		if _, err := x.send(ctx, s); err != nil {
			return "", err
		}
	}
	prepared = true
	return x.send(ctx, pgtext.Tagged(component, "EXPLAIN ("+options+") EXECUTE "+name+" ("+
		strings.TrimSuffix(strings.Repeat("NULL, ", params), ", ")+")"))
}

// explainReport fills in the plans of a report's classes, of which sql has a statement each.
func explainReport(
	ctx context.Context, s endpoint.Spec, c *pgx.Conn, r *digest.Report, sql map[string]string,
) error {
	inv, err := readTables(ctx, c, nil)
	if err != nil {
		return err
	}
	x, err := newExplainer(ctx, s, c, inv.tables)
	if err != nil {
		return err
	}
	for i := range r.Classes {
		k := &r.Classes[i]
		if !explainable(k.Fingerprint) {
			k.Plan = []string{"not run: only statements that read or change rows have a plan"}
			continue
		}
		if x.why != "" {
			k.Plan = []string{"not run: " + x.why, "Fix: " + conn.SeparateAccount}
			continue
		}
		text, err := x.ask(ctx, sql[k.ID], "FORMAT TEXT")
		if _, answered := conn.SQLState(err); err != nil && !answered {
			return err
		} else if err != nil {
			text = err.Error()
		}
		k.Plan = strings.Split(text, "\n")
	}
	return nil
}

// send sends one statement that is taken as it is: without values, a $1 in it is no parameter of Dyno's. It is refused
// when it holds a second one.
func (x *explainer) send(ctx context.Context, sql string, values ...string) (string, error) {
	params := make([][]byte, len(values))
	for i, v := range values {
		params[i] = []byte(v)
	}
	r := x.conn.PgConn().ExecParams(ctx, sql, params, nil, nil, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	var lines []string
	for _, row := range r.Rows {
		lines = append(lines, string(row[0]))
	}
	return strings.Join(lines, "\n"), nil
}

// node is one step of a plan as EXPLAIN (FORMAT JSON) writes it.
type node struct {
	Type   string  `json:"Node Type"`
	Table  string  `json:"Relation Name"`
	Schema string  `json:"Schema"`
	Alias  string  `json:"Alias"`
	Index  string  `json:"Index Name"`
	Rows   float64 `json:"Plan Rows"`
	Filter string  `json:"Filter"`
	Cond   string  `json:"Index Cond"`
	Plans  []node  `json:"Plans"`
}

// steps returns the accesses to tables in the order of execution.
func (x *explainer) steps(raw string) ([]explain.Step, error) {
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(raw), &plans); err != nil || len(plans) != 1 {
		return nil, fmt.Errorf("the server's answer to EXPLAIN is no plan: %w", err)
	}
	var out []explain.Step
	var walk func(n node, sorted bool)
	walk = func(n node, sorted bool) {
		sorted = sorted || n.Type == "Sort" || n.Type == "Incremental Sort"
		if n.Table != "" && n.Type != "ModifyTable" {
			s := explain.Step{Table: cmp.Or(n.Alias, n.Table), Access: n.Type, Key: n.Index, Rows: n.Rows}
			all := x.rows[schema.Ref{Schema: n.Schema, Table: n.Table}]
			if n.Type == explain.SeqScan && all > 0 {
				// The plan tells the rows that are left; a parallel one those of each worker.
				s.Rows, s.Filtered = all, min(100, 100*n.Rows/all)
			}
			if n.Type == "Bitmap Heap Scan" {
				s.Key = strings.Join(bitmaps(n.Plans), ",")
				n.Plans = nil
			}
			for _, e := range []struct {
				is   bool
				word string
			}{
				{n.Cond != "" || s.Key != "" && n.Type == "Bitmap Heap Scan", "Index Cond"},
				{n.Filter != "", "Filter"},
				{sorted, "Sort"},
			} {
				if e.is {
					s.Extra = append(s.Extra, e.word)
				}
			}
			out = append(out, s)
		}
		for _, sub := range n.Plans {
			walk(sub, sorted)
		}
	}
	walk(plans[0].Plan, false)
	return out, nil
}

// bitmaps returns the indexes below a bitmap scan.
func bitmaps(ns []node) (out []string) {
	for _, n := range ns {
		if n.Index != "" && !slices.Contains(out, n.Index) {
			out = append(out, n.Index)
		}
		out = append(out, bitmaps(n.Plans)...)
	}
	return out
}

// dictionary reports whether a plan reads the server's own tables only.
func dictionary(raw string) bool {
	return strings.Contains(raw, `"Relation Name"`) && strings.Count(raw, `"Relation Name"`) ==
		strings.Count(raw, `"Schema": "pg_catalog"`)+strings.Count(raw, `"Schema": "information_schema"`)
}

// unplanned says in a source that the account may explain nothing.
func (x *explainer) unplanned(plans []explain.Plan) []source.Source {
	src := source.Source{Name: source.Plans, State: source.Denied, Reason: x.why, Fix: conn.SeparateAccount}
	switch {
	case x.why != "":
	case len(plans) == 0 || slices.ContainsFunc(plans, func(p explain.Plan) bool { return !p.Denied }):
		return nil
	default:
		src.Reason, src.Fix = "no statement may be explained with this account", conn.ExplainGrants
	}
	return []source.Source{src}
}
