package trial

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// session is a family.TrialSession.
type session struct {
	*sql.Conn
	held bool
}

// Session implements family.TrialServer.
func (s server) Session(ctx context.Context, database string, held bool) (family.TrialSession, error) {
	take := s.Conn
	if held {
		take = func(ctx context.Context) (*sql.Conn, error) { return target.Held(ctx, s.Target) }
	}
	c, err := take(ctx)
	if err != nil {
		return nil, err
	}
	x := session{c, held}
	for _, q := range []string{"CREATE DATABASE IF NOT EXISTS ", "USE "} {
		if err := x.Exec(ctx, q+ddl.Quote(database)); err != nil {
			_ = x.Close()
			return nil, s.Wrap("prepare", err)
		}
	}
	return x, nil
}

// Exec implements family.TrialSession.
func (s session) Exec(ctx context.Context, statement string) error {
	_, err := s.ExecContext(ctx, statement)
	return err
}

// Value implements family.TrialSession.
func (s session) Value(ctx context.Context, query string) (v sql.NullString, err error) {
	err = s.QueryRowContext(ctx, query).Scan(&v)
	return v, err
}

// Analyze implements family.TrialSession.
func (s session) Analyze(ctx context.Context, tables []string) error {
	for _, t := range tables {
		if err := s.Exec(ctx, "ANALYZE TABLE "+ddl.Quote(t)); err != nil {
			return err
		}
	}
	return nil
}

// Close implements family.TrialSession.
func (s session) Close() error {
	if s.held {
		return target.Discard(s.Conn)
	}
	return s.Conn.Close()
}

// Probe implements family.TrialSession.
func (s session) Probe(ctx context.Context, q string, times int) (p family.Probed, err error) {
	c := s.Conn
	if p.Plan, p.Sorts, err = explain(ctx, c, q); err != nil {
		return p, err
	}
	if _, err := execute(ctx, c, q); err != nil { // the first one reads what is not in memory
		return p, err
	}
	// Asking for the counters counts, too: what two questions in a row differ by belongs to neither.
	a, err := handlerReads(ctx, c)
	if err != nil {
		return p, err
	}
	b, err := handlerReads(ctx, c)
	if err != nil {
		return p, err
	}
	asking := b - a
	for range times {
		begin := time.Now()
		if p.RowsSent, err = execute(ctx, c, q); err != nil {
			return p, err
		}
		p.MS = append(p.MS, float64(time.Since(begin))/1e6)
	}
	d, err := handlerReads(ctx, c)
	p.RowsRead = max(0, (d-b-asking)/float64(times))
	return p, err
}

// execute runs a statement, reads every row and returns their number.
func execute(ctx context.Context, c *sql.Conn, q string) (n int, err error) {
	rows, err := c.QueryContext(ctx, q)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	raw := make([]sql.RawBytes, len(cols))
	into := make([]any, len(cols))
	for i := range raw {
		into[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// handlerReads returns how many rows the session's statements have fetched from the storage engine so far, in whatever
// way: the sum of Handler_read_* (MySQL manual, Server Status Variables).
func handlerReads(ctx context.Context, c *sql.Conn) (sum float64, err error) {
	rows, err := c.QueryContext(ctx, "SHOW SESSION STATUS LIKE 'Handler\\_read\\_%'")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var v float64
		if err := rows.Scan(&name, &v); err != nil {
			return 0, err
		}
		if n := strings.ToLower(name); n != "handler_read_rnd_deleted" && n != "handler_read_retry" {
			// no rows, or counted twice
			sum += v
		}
	}
	return sum, rows.Err()
}

// explain returns the plan in a line per table, and whether it sorts. The format is named because newer servers have
// another default.
func explain(ctx context.Context, c *sql.Conn, q string) (text string, sorts bool, err error) {
	rows, err := c.QueryContext(ctx, "EXPLAIN FORMAT=TRADITIONAL "+q)
	if err != nil {
		return "", false, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return "", false, err
	}
	vals := make([]sql.NullString, len(cols))
	into := make([]any, len(cols))
	for i := range vals {
		into[i] = &vals[i]
	}
	var lines []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return "", false, err
		}
		m := map[string]string{}
		for i, n := range cols {
			m[strings.ToLower(n)] = vals[i].String
		}
		line := strings.TrimSpace(m["table"] + " " + m["type"])
		if m["key"] != "" {
			line += " key " + m["key"]
			if m["key_len"] != "" {
				line += "(" + m["key_len"] + ")"
			}
		}
		if m["rows"] != "" {
			line += ", ~" + m["rows"] + " rows"
		}
		if m["extra"] != "" {
			line += ", " + m["extra"]
			sorts = sorts || strings.Contains(m["extra"], "filesort")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; "), sorts, rows.Err()
}
