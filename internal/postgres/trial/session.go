package trial

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// session is a family.TrialSession. It speaks the simple protocol: a text may hold several statements.
type session struct {
	s server
	c *pgx.Conn
}

// Session implements family.TrialServer. No session is ended for being idle.
func (s server) Session(ctx context.Context, database string, _ bool) (family.TrialSession, error) {
	c, err := s.ConnTo(ctx, conn.ForLoad, database)
	if conn.KindOf(err) == endpoint.NoSuchDatabase {
		err = s.within(ctx, func(c *pgx.Conn) error {
			_, err := c.Exec(ctx, "CREATE DATABASE "+conn.Quote(database))
			return s.Wrap("create database "+database+" on", err)
		})
		if err == nil {
			c, err = s.ConnTo(ctx, conn.ForLoad, database)
		}
	}
	if err != nil {
		return nil, err
	}
	return session{s, c}, nil
}

// Exec implements family.TrialSession.
func (s session) Exec(ctx context.Context, statement string) error {
	_, err := s.c.PgConn().Exec(ctx, statement).ReadAll()
	return err
}

// Value implements family.TrialSession.
func (s session) Value(ctx context.Context, query string) (v sql.NullString, err error) {
	rows := s.c.PgConn().Exec(ctx, query)
	found := false
	for rows.NextResult() {
		r := rows.ResultReader()
		for r.NextRow() {
			if b := r.Values(); !found && len(b) > 0 && b[0] != nil {
				v = sql.NullString{String: truth(string(b[0]), r.FieldDescriptions()[0].DataTypeOID), Valid: true}
			}
			found = true
		}
	}
	if err = rows.Close(); err == nil && !found {
		err = sql.ErrNoRows
	}
	return v, err
}

// truth writes a truth value as a number.
func truth(text string, oid uint32) string {
	if oid == pgtype.BoolOID {
		return map[string]string{"t": "1", "f": "0"}[text]
	}
	return text
}

// Analyze implements family.TrialSession: VACUUM too, so that no trial pays for what loading left.
func (s session) Analyze(ctx context.Context, tables []string) error {
	for _, t := range tables {
		if err := s.Exec(ctx, "VACUUM (ANALYZE) "+conn.Quote(t)); err != nil {
			return err
		}
	}
	return nil
}

// Close implements family.TrialSession.
func (s session) Close() error {
	s.s.End(s.c)
	return nil
}

// Probe implements family.TrialSession. The rows read are those that the statement's scans fetched from tables of
// users, by the server's own counters; what an index-only scan reads in the index alone is not among them.
func (s session) Probe(ctx context.Context, statement string, times int) (p family.Probed, err error) {
	plan, err := s.c.PgConn().Exec(ctx, "EXPLAIN "+statement).ReadAll()
	if err != nil {
		return p, err
	}
	var lines []string
	for _, r := range plan {
		for _, row := range r.Rows {
			line := strings.TrimSpace(string(row[0]))
			lines = append(lines, line)
			node := strings.TrimSpace(strings.TrimPrefix(line, "->"))
			p.Sorts = p.Sorts || strings.HasPrefix(node, "Sort  (") || strings.HasPrefix(node, "Incremental Sort  (")
		}
	}
	p.Plan = strings.Join(lines, "; ")
	if _, err := s.execute(ctx, statement); err != nil { // the first one reads what is not in memory
		return p, err
	}
	before, err := s.fetched(ctx)
	if err != nil {
		return p, err
	}
	for range times {
		begin := time.Now()
		if p.RowsSent, err = s.execute(ctx, statement); err != nil {
			return p, err
		}
		p.MS = append(p.MS, float64(time.Since(begin))/1e6)
	}
	after, err := s.fetched(ctx)
	p.RowsRead = max(0, float64(after-before)/float64(times))
	return p, err
}

// execute runs a statement, reads every row and returns their number.
func (s session) execute(ctx context.Context, statement string) (n int, err error) {
	rows := s.c.PgConn().Exec(ctx, statement)
	for rows.NextResult() {
		for r := rows.ResultReader(); r.NextRow(); {
			n++
		}
	}
	return n, rows.Close()
}

// fetched returns how many rows scans have fetched from the database's tables so far, this session's included.
func (s session) fetched(ctx context.Context) (n int64, err error) {
	if err := s.Exec(ctx, "SELECT pg_stat_force_next_flush()"); err != nil {
		return 0, err
	}
	err = s.c.QueryRow(ctx, "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint "+
		"FROM pg_stat_user_tables").Scan(&n)
	return n, err
}
