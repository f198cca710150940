package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Report is the health of a history's file.
type Report struct {
	sqlitefile.Health
	Rows     []Rows   `json:"rows"`     // by kind
	Problems []string `json:"problems"` // none: the file is sound
}

// Rows tells how much of a kind can be read.
type Rows struct {
	Kind     string `json:"kind"`
	Readable int    `json:"readable"`
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Text tells the report to people.
func (r Report) Text() string {
	var b strings.Builder
	switch {
	case !r.Exists && r.OK():
		return fmt.Sprintf("history %s: nothing stored yet\n", r.Path)
	case r.OK():
		fmt.Fprintf(&b, "history %s: sound, format %d, %d bytes, %d more in its write-ahead log\n", r.Path,
			r.Version, r.Bytes, r.LogBytes)
	default:
		fmt.Fprintf(&b, "history %s: DAMAGED\n", r.Path)
	}
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "  %-19s %d readable\n", x.Kind, x.Readable)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "  problem: %s\n", p)
	}
	return b.String()
}

// maxProblems bounds how many problems of one kind are told.
const maxProblems = 20

// Check examines a history's file and changes nothing: SQLite's integrity check over every page, the references between
// the tables, every state whether it unpacks and parses, and every plan and example. The error is for a check that
// could not be done. It takes about a second per hundred megabytes.
func Check(ctx context.Context, path string) (Report, error) {
	const op = "check history"
	var r Report
	problem := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }
	h, db, err := format.Examine(ctx, path, problem)
	r.Health = h
	if db == nil {
		return r, wrap(op, path, err)
	}
	defer db.Close()
	pages, err := query(ctx, db, func(r *sql.Rows, s *string) error { return r.Scan(s) },
		fmt.Sprintf("PRAGMA integrity_check(%d)", maxProblems))
	if err != nil {
		problem("pages: %v", err)
	}
	for _, p := range pages {
		if p != "ok" {
			problem("%s", p)
		}
	}
	dec, err := newDecoder()
	if err != nil {
		return r, wrap(op, path, err)
	}
	defer dec.Close()
	for _, k := range []struct {
		kind, text string
		added      string // the table, if files of this format may lack it
		read       func(*sql.Rows) (int, error)
	}{
		{
			"states", "SELECT at, 0, x'', doc FROM state UNION ALL SELECT first, 1, times, doc FROM pack", "",
			func(rows *sql.Rows) (int, error) { return checkStates(rows, dec) },
		},
		{
			"states of incidents", "SELECT at, 1, zeroblob(8), doc FROM pinned", "pinned",
			func(rows *sql.Rows) (int, error) { return checkStates(rows, dec) },
		},
		{"classes", "SELECT f.at, c.class FROM figure f LEFT JOIN class c ON c.id = f.class", "", checkFigure},
		{"plans", "SELECT class, doc FROM plan", "", func(rows *sql.Rows) (int, error) {
			return checkDocument(rows, new(explain.Plan))
		}},
		{"examples", "SELECT class, doc FROM sample", "", func(rows *sql.Rows) (int, error) {
			return checkDocument(rows, new(Sample))
		}},
		{"locks", "SELECT key, doc FROM lock WHERE kind = 1", "lock", func(rows *sql.Rows) (int, error) {
			return checkDocument(rows, new(lock.Deadlock))
		}},
		{"lock waits", "SELECT key, doc FROM lock WHERE kind = 2", "lock", func(rows *sql.Rows) (int, error) {
			return checkDocument(rows, new(lock.Wait))
		}},
	} {
		if k.added != "" {
			if has, err := sqlitefile.Has(ctx, db, k.added); err == nil && !has {
				continue
			}
		}
		n, told := 0, 0
		_, err := query(ctx, db, func(rows *sql.Rows, _ *struct{}) error {
			m, err := k.read(rows)
			n += m
			if err != nil && errors.Is(err, sqlitefile.ErrCorrupt) {
				if told++; told <= maxProblems {
					problem("%s: %v", k.kind, err)
				}
				return nil
			}
			return err
		}, k.text)
		if err != nil {
			problem("%s: %v, after %d readable ones", k.kind, err, n)
		}
		r.Rows = append(r.Rows, Rows{k.kind, n})
	}
	return r, ctx.Err()
}

// checkStates reads a row or a pack.
func checkStates(rows *sql.Rows, dec *zstd.Decoder) (n int, err error) {
	var at int64
	var packed bool
	var times, doc sql.RawBytes
	if err := rows.Scan(&at, &packed, &times, &doc); err != nil {
		return 0, err
	}
	raw, err := dec.DecodeAll(doc, nil)
	if err != nil {
		return 0, fmt.Errorf("%w: the one of %d does not unpack: %w", sqlitefile.ErrCorrupt, at, err)
	}
	if !packed {
		if _, err := state.Decode(raw); err != nil {
			return 0, fmt.Errorf("%w: the one of %d: %w", sqlitefile.ErrCorrupt, at, err)
		}
		return 1, nil
	}
	for r, ok := range records(raw) {
		if !ok || n*8 >= len(times) {
			return n, fmt.Errorf("%w: the pack of %d is cut short", sqlitefile.ErrCorrupt, at)
		}
		if _, err := state.Decode(r.raw); err != nil {
			return n, fmt.Errorf("%w: the one of %d: %w", sqlitefile.ErrCorrupt, r.at, err)
		}
		n++
	}
	if n*8 != len(times) {
		return n, fmt.Errorf("%w: the pack of %d holds %d states and names %d",
			sqlitefile.ErrCorrupt, at, n, len(times)/8)
	}
	return n, nil
}

func checkFigure(rows *sql.Rows) (int, error) {
	var at int64
	var class sql.NullString
	if err := rows.Scan(&at, &class); err != nil {
		return 0, err
	}
	if !class.Valid {
		return 0, fmt.Errorf("%w: figures of %d belong to no class", sqlitefile.ErrCorrupt, at)
	}
	return 1, nil
}

func checkDocument(rows *sql.Rows, v any) (int, error) {
	var class string
	var doc sql.RawBytes
	if err := rows.Scan(&class, &doc); err != nil {
		return 0, err
	}
	if err := json.Unmarshal(doc, v); err != nil {
		return 0, fmt.Errorf("%w: that of %s: %w", sqlitefile.ErrCorrupt, class, err)
	}
	return 1, nil
}
