package loader

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	triedStatements  = 64   // that are prepared on trial; those of other tables differ in a number
	checkedTables    = 1000 // whose privileges and rows are looked at
	spareConnections = 20   // that a run asks a server for besides its sessions, for Dyno and for whoever wants to look
)

// Preflight looks for what would spoil a run, the worst first: connections, missing tables, rows and privileges, and
// settings under which the figures mean something else. It only reads. Tables against memory, logs and an account's own
// settings are not looked at yet.
func (s Server) Preflight(ctx context.Context, c load.Config) ([]load.Remark, error) {
	plan, err := s.plan("start load", load.Data{Workload: c.Workload, Options: c.Options, Threads: c.Threads})
	if err != nil {
		return nil, err
	}
	p := &preflight{t: s.T, plan: plan, threads: max(1, c.Threads)}
	for i := range plan.Statements {
		p.writes = p.writes || plan.Statements[i].Kind == workload.Write
	}
	if err := p.look(ctx); err != nil {
		return nil, fmt.Errorf("check %s before the run: %w", s.T, err)
	}
	load.SortRemarks(p.remarks)
	return p.remarks, nil
}

type preflight struct {
	t       *conn.Target
	plan    *workload.Plan
	threads int
	writes  bool
	remarks []load.Remark
}

func (p *preflight) add(s load.Severity, hint, text string, args ...any) {
	p.remarks = append(p.remarks, load.Remark{Severity: s, Text: fmt.Sprintf(text, args...), Hint: hint})
}

func (p *preflight) look(ctx context.Context) error {
	// As the sessions of the run: unqualified names are looked for in the same schemas.
	c, err := p.t.ConnTo(ctx, conn.ForLoad, p.plan.Schema)
	switch kind := conn.KindOf(err); {
	case err == nil:
	case kind == endpoint.NoSuchDatabase:
		p.missing(err)
		return nil
	case kind == endpoint.Denied || kind == endpoint.TooManyConnections:
		p.add(load.Refuse, conn.HintOf(err), "no session can be opened: %v", err)
		return nil
	default:
		return err
	}
	defer p.t.End(c)
	if _, err := c.Exec(ctx, "SET default_transaction_read_only = on"); err != nil {
		return p.t.Wrap("ask", err)
	}
	for _, look := range []func(context.Context, *pgx.Conn) error{p.connections, p.statements, p.tables, p.settings} {
		if err := look(ctx, c); err != nil {
			return p.t.Wrap("ask", err)
		}
	}
	return nil
}

// missing reports tables that are not there. A workload that brings no tables along may make them as it goes.
func (p *preflight) missing(err error) {
	if len(p.plan.Tables) == 0 {
		p.add(load.Warn, "", "%v", err)
		return
	}
	p.add(load.Refuse, "prepare "+p.plan.Workload+" first, with the same options", "the tables do not exist: %v", err)
}

// connections compares the sessions with what the server, the database and the account allow.
// https://www.postgresql.org/docs/current/runtime-config-connection.html
func (p *preflight) connections(ctx context.Context, c *pgx.Conn) error {
	var limit, reserved, used, ofRole, ofDB int
	err := c.QueryRow(ctx, `SELECT current_setting('max_connections')::int,
 CASE WHEN current_setting('is_superuser') = 'on' THEN 0 ELSE current_setting('superuser_reserved_connections')::int +
  coalesce(current_setting('reserved_connections', true)::int, 0) END,
 (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database),
 (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user),
 (SELECT datconnlimit FROM pg_database WHERE datname = current_database())`).
		Scan(&limit, &reserved, &used, &ofRole, &ofDB)
	if err != nil {
		return err
	}
	used = max(0, used-1) // this one ends before the run
	n, room := p.threads, limit-reserved
	hint := fmt.Sprintf("ALTER SYSTEM SET max_connections = %d and restart, or fewer --threads",
		n+used+reserved+spareConnections)
	switch {
	case n > room:
		p.add(load.Refuse, hint, "%d sessions are more than the server takes: max_connections=%d, %d of them reserved",
			n, limit, reserved)
	case n+used > room:
		p.add(load.Warn, hint, "%d sessions find no room: max_connections=%d, %d of them reserved, and %d are in use",
			n, limit, reserved, used)
	}
	if ofRole >= 0 && n > ofRole {
		p.add(load.Refuse, fmt.Sprintf("ALTER ROLE … CONNECTION LIMIT %d, or fewer --threads", n+spareConnections),
			"%d sessions are more than the account may have at a time: %d", n, ofRole)
	}
	if ofDB >= 0 && n > ofDB {
		p.add(load.Refuse, fmt.Sprintf("ALTER DATABASE … CONNECTION LIMIT %d, or fewer --threads",
			n+spareConnections), "%d sessions are more than the database may have at a time: %d", n, ofDB)
	}
	return nil
}

// statements prepares statements as the sessions would: the server looks for their tables and columns.
func (p *preflight) statements(ctx context.Context, c *pgx.Conn) error {
	seen := map[string]bool{}
	count := 0
	for i := range p.plan.Statements {
		st := &p.plan.Statements[i]
		if st.Kind == workload.Other { // BEGIN and the like need nothing
			continue
		}
		if count++; count > triedStatements {
			break
		}
		_, err := c.PgConn().Prepare(ctx, "", st.Numbered(), nil)
		code, answered := conn.SQLState(err)
		if err != nil && !answered {
			return err
		}
		if err == nil || seen[code] { // one of each is enough
			continue
		}
		seen[code] = true
		switch {
		case code == undefinedTable:
			p.missing(err)
		case code == undefinedColumn && !st.Text:
			p.add(load.Refuse, "use another database", "tables of these names are not those of %s: %v",
				p.plan.Workload, err)
		case !st.Text:
			p.add(load.Refuse, "", "%s: %v", st.SQL, err)
		default: // it may not even be the text that is sent: Call.Text
		}
	}
	return nil
}

// tables asks for the privileges that the plan's statements need, and whether the tables have their rows.
func (p *preflight) tables(ctx context.Context, c *pgx.Conn) error {
	need := "SELECT"
	if p.writes {
		need = "SELECT, INSERT, UPDATE, DELETE"
	}
	var lack, short []string
	for i := range p.plan.Tables[:min(len(p.plan.Tables), checkedTables)] {
		tb := &p.plan.Tables[i]
		var may *bool // NULL when the table is not there
		if err := c.QueryRow(ctx, `SELECT bool_and(has_table_privilege(to_regclass($1), p)) FROM
 unnest(string_to_array($2, ', ')) p`, conn.Quote(tb.Name), need).Scan(&may); err != nil {
			return err
		}
		switch n, ok := largest(ctx, c, tb); {
		case may == nil:
		case !*may:
			lack = append(lack, tb.Name)
		case ok && n < int64(tb.Rows):
			short = append(short, fmt.Sprintf("%s has ids to %d only", tb.Name, n))
		}
	}
	if len(lack) > 0 {
		p.add(load.Refuse, "GRANT "+need+" ON "+strings.Join(lack, ", ")+" TO the account",
			"the account is missing a privilege on %s", strings.Join(lack[:min(3, len(lack))], ", "))
	}
	if n := len(short); n > 0 {
		more := ""
		if n > 1 {
			more = ", and " + unit.Plural(n-1, "more table is", "more tables are") + " as short"
		}
		p.add(
			load.Warn,
			"run with the table-size of prepare",
			"%s%s, but table-size=%d: statements beyond find nothing, "+
				"and the figures flatter",
			short[0],
			more,
			p.plan.Tables[0].Rows,
		)
	}
	return nil
}

// settings reports what makes figures mean something else.
func (p *preflight) settings(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, `SELECT name, setting FROM pg_settings WHERE name = ANY($1)`, []string{
		"fsync", "synchronous_commit", "full_page_writes", "debug_assertions", "log_statement",
		"log_min_duration_statement", "autovacuum", "transaction_read_only", "in_hot_standby",
	})
	if err != nil {
		return err
	}
	set := map[string]string{}
	var name, value string
	if _, err := pgx.ForEachRow(
		rows,
		[]any{&name, &value},
		func() error { set[name] = value; return nil },
	); err != nil {
		return err
	}
	if set["debug_assertions"] == "on" {
		p.add(load.Warn, "", "the server is a build for debugging, several times slower than the others: its figures "+
			"say nothing about those")
	}
	ms, err := strconv.Atoi(set["log_min_duration_statement"])
	if set["log_statement"] == "all" || err == nil && ms == 0 {
		p.add(load.Warn, "log_statement = none, log_min_duration_statement = -1", "the server logs every statement "+
			"(log_statement=%s, log_min_duration_statement=%s)", set["log_statement"],
			set["log_min_duration_statement"])
	}
	if !p.writes {
		return nil
	}
	switch {
	case set["in_hot_standby"] == "on":
		p.add(load.Refuse, "load its primary", "the server takes no writes: it is a standby")
	case p.t.Facts().ReadOnly:
		p.add(load.Refuse, "SET default_transaction_read_only = off for the account or the server",
			"transactions of new sessions may only read: default_transaction_read_only is on")
	}
	var relaxed []string
	for _, n := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if v, ok := set[n]; ok && (v == "off" || v == "local" && n == "synchronous_commit") {
			relaxed = append(relaxed, n+"="+v)
		}
	}
	if len(relaxed) > 0 {
		p.add(
			load.Note,
			"compare with runs of the same settings only",
			"a crash may lose commits or pages (%s), which "+
				"makes writes faster",
			strings.Join(relaxed, ", "),
		)
	}
	if set["autovacuum"] == "off" {
		p.add(load.Note, "", "autovacuum is off: dead rows stay, and the run gets slower the longer it lasts")
	}
	return nil
}
