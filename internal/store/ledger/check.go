package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Report is the health of a ledger's file.
type Report struct {
	sqlitefile.Health
	Rows     []Rows   `json:"rows"`     // by table
	Problems []string `json:"problems"` // none: the file is sound
}

// Rows tells how much of a table can be read.
type Rows struct {
	Table    string `json:"table"`
	Readable int    `json:"readable"` // documents that can be read and parse
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Check examines the open ledger's file, see the function Check.
func (l *Ledger) Check(ctx context.Context) (Report, error) { return Check(ctx, l.path) }

// Check examines a ledger's file and changes nothing: SQLite's integrity check over every page, the references between
// the tables, and every document whether it still parses. What is wrong stands in the report's problems; the error is
// for a check that could not be done, such as one that ctx ended. Its time grows with the file, roughly a second per
// few hundred megabytes.
func Check(ctx context.Context, path string) (Report, error) {
	var r Report
	problem := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }
	h, db, err := format.Examine(ctx, path, problem)
	r.Health = h
	if db == nil {
		return r, explain("check ledger", path, err)
	}
	defer db.Close()
	for _, q := range []string{"PRAGMA integrity_check(20)", "PRAGMA foreign_key_check"} {
		if err := pragma(ctx, db, q, problem); err != nil {
			problem("%s: %v", q, err)
		}
	}
	for _, t := range tables() {
		if has, err := sqlitefile.Has(ctx, db, t.name); err == nil && !has && strings.Contains(format.Added, t.name) {
			continue
		}
		n, err := t.read(ctx, db, problem)
		if err != nil {
			problem("table %s: %v, after %d readable rows", t.name, err, n)
		}
		r.Rows = append(r.Rows, Rows{Table: t.name, Readable: n})
	}
	return r, ctx.Err()
}

// pragma runs a check that returns a row per problem, or one with "ok".
func pragma(ctx context.Context, db *sql.DB, q string, problem func(string, ...any)) error {
	rows, err := db.QueryContext(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		vs := make([]any, len(cols))
		for i := range vs {
			vs[i] = new(any)
		}
		if err := rows.Scan(vs...); err != nil {
			return err
		}
		if len(vs) == 1 {
			if s := fmt.Sprint(*vs[0].(*any)); s != "ok" {
				problem("%s", s)
			}
		} else {
			problem("row of table %v refers to a missing row of %v", *vs[0].(*any), *vs[2].(*any))
		}
	}
	return rows.Err()
}

// table is one table of documents with what its documents must parse as.
type table struct {
	name  string
	key   string
	doc   func() any
	other string // a second column that holds JSON, may be NULL
}

func tables() []table {
	return []table{
		{"target", "name", func() any { return new(Target) }, ""},
		{"run", "id", func() any { return new(loadresult.Run) }, ""},
		{"diagnosis", "id", func() any { return new(Diagnosis) }, "snapshot"},
		{"entry", "id", func() any { return new(journal.Entry) }, ""},
		{"event", "id", func() any { return new(event.Event) }, ""},
		{"document", "id", func() any { return new(json.RawMessage) }, ""},
		{"incident", "id", func() any { return new(incident.Incident) }, ""},
	}
}

func (t table) read(ctx context.Context, db *sql.DB, problem func(string, ...any)) (good int, err error) {
	other := "NULL"
	if t.other != "" {
		other = t.other
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT %s, doc, %s FROM %s", t.key, other, t.name))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var doc, more sql.RawBytes
		if err := rows.Scan(&id, &doc, &more); err != nil {
			return good, err
		}
		if err := json.Unmarshal(doc, t.doc()); err != nil {
			problem("table %s, %s: document does not parse: %v", t.name, id, err)
			continue
		}
		if more != nil && !json.Valid(more) {
			problem("table %s, %s: %s is not JSON", t.name, id, t.other)
			continue
		}
		good++
	}
	return good, rows.Err()
}

// Text tells the report to people, in a few lines.
func (r Report) Text() string {
	if !r.Exists && r.OK() {
		return fmt.Sprintf("ledger %s: nothing stored yet\n", r.Path)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ledger %s: %d bytes, %d in its write-ahead log, format %d\n", r.Path,
		r.Bytes, r.LogBytes, r.Version)
	for _, t := range r.Rows {
		fmt.Fprintf(&b, "  %-10s %8d readable\n", t.Table, t.Readable)
	}
	if r.OK() {
		b.WriteString("sound: every page, reference and document was checked\n")
		return b.String()
	}
	b.WriteString("DAMAGED:\n")
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	b.WriteString("Nothing was changed. Copy the file with its -wal and -shm before anything else; to begin with an " +
		"empty ledger, move all three aside,\n" +
		"or restore a backup.\n")
	return b.String()
}
