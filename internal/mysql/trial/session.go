package testbed

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

const defaultTimes = 5

// probe runs the job's statements one after the other, each by itself.
func probe(ctx context.Context, t *target.Target, j *job, tr *trial.Trial) error {
	c, err := t.Conn(ctx)
	if err != nil {
		return unusable(ctx, err)
	}
	defer c.Close()
	if err := use(ctx, t, c, j.schema); err != nil {
		return unusable(ctx, err)
	}
	tr.From = time.Now()
	for _, p := range j.config.Probe {
		prefix := ""
		if len(j.config.Probe) > 1 {
			prefix = p.Name + "."
		}
		if err := probeOne(ctx, c, p, prefix, tr); err != nil {
			return unusable(ctx, fmt.Errorf("%s: %w", brief(p.SQL), t.Wrap("probe", err)))
		}
	}
	tr.To = time.Now()
	return nil
}

func probeOne(ctx context.Context, c *sql.Conn, p plan.Probe, prefix string, tr *trial.Trial) error {
	text, sorts, err := explain(ctx, c, p.SQL)
	if err != nil {
		return err
	}
	tr.Texts[prefix+"plan"] = text
	if sorts {
		tr.Texts[prefix+"filesort"] = "yes"
	} else {
		tr.Texts[prefix+"filesort"] = "no"
	}
	if _, err := execute(ctx, c, p.SQL); err != nil { // the first one reads what is not in memory
		return err
	}
	times := p.Times
	if times <= 0 {
		times = defaultTimes
	}
	// Asking for the counters counts, too: what two questions in a row differ by belongs to neither.
	a, err := handlerReads(ctx, c)
	if err != nil {
		return err
	}
	b, err := handlerReads(ctx, c)
	if err != nil {
		return err
	}
	asking := b - a
	var ms []float64
	var rows int
	for range times {
		begin := time.Now()
		if rows, err = execute(ctx, c, p.SQL); err != nil {
			return err
		}
		ms = append(ms, float64(time.Since(begin))/1e6)
	}
	d, err := handlerReads(ctx, c)
	if err != nil {
		return err
	}
	tr.Values[prefix+"ms"] = stat.Median(ms)
	tr.Values[prefix+"rows_read"] = max(0, (d-b-asking)/float64(times))
	tr.Values[prefix+"rows_sent"] = float64(rows)
	return nil
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
