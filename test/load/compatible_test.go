package load_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sysbench"
)

// layout describes the tables of sbtest as information_schema shows them, with the number of their rows.
func layout(t *testing.T, s *servers.Server) []string {
	t.Helper()
	db := s.DB(t, "")
	const where = " WHERE TABLE_SCHEMA='sbtest' ORDER BY "
	all := dump(t, db, "SELECT TABLE_NAME, ENGINE, ROW_FORMAT, TABLE_COLLATION, CREATE_OPTIONS, AUTO_INCREMENT FROM "+
		"information_schema.TABLES"+where+"TABLE_NAME")
	all = append(all, dump(t, db, "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, "+
		"COLUMN_KEY, COLLATION_NAME "+
		"FROM information_schema.COLUMNS"+where+"TABLE_NAME, ORDINAL_POSITION")...)
	all = append(all, dump(t, db, "SELECT TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE, INDEX_TYPE "+
		"FROM information_schema.STATISTICS"+
		where+"TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX")...)
	for _, name := range dump(t, db, "SELECT TABLE_NAME FROM information_schema.TABLES"+where+"TABLE_NAME") {
		all = append(all, name+" rows, least and largest id: "+
			strings.Join(dump(t, db, "SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest."+name), ""))
	}
	return all
}

// dump returns each row of an answer as a line.
func dump(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			line = append(line, v.String)
		}
		all = append(all, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSysbenchAndDynoShareTables lets each of them run on what the other one has made, and compares what they make.
func TestSysbenchAndDynoShareTables(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server) {
		s.Exec(t, "CREATE DATABASE sbtest")
		theirs := func(verb string, options ...string) string {
			t.Helper()
			out, err := sysbench.Run(t.Context(), append(append(as(s), "oltp_read_write"), append(options, verb)...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, tail(out))
			}
			return out
		}
		ours := func(verb string, options ...string) string {
			t.Helper()
			return dyno(t, words("oltp_read_write "+verb), as(s), options).out
		}
		const events = 200
		whole := func(who, output string) {
			t.Helper()
			r := report(t, output)
			// 14 reads, 4 writes, BEGIN and COMMIT. Deadlocks repeat some of them.
			if r.Transactions != events || r.Reads < 14*events || r.Writes < 4*events || r.Others < 2*events ||
				r.Reconnects != 0 || r.Queries != r.Reads+r.Writes+r.Others {
				t.Errorf("%s: %+v", who, r)
			}
			if r.Ignored == 0 && r.Queries != 20*events {
				t.Errorf("%s: no error, and yet %d queries for %d transactions", who, r.Queries, events)
			}
		}

		options := words("--tables=4 --table-size=5000 --threads=2")
		load := append(options[:len(options):len(options)], words(fmt.Sprintf("--events=%d --time=0", events))...)
		ours("prepare", options...)
		made := layout(t, s)
		whole("sysbench on tables by Dyno", theirs("run", load...))
		if n := len(dump(t, s.DB(t, ""), "SELECT 1 FROM sbtest.sbtest4")); n != 5000 {
			t.Errorf("after sysbench's run sbtest4 has %d rows", n)
		}
		theirs("cleanup", options...)
		if left := layout(t, s); len(left) != 0 {
			t.Errorf("sysbench's cleanup of our tables left %q", left)
		}

		theirs("prepare", options...)
		if d := cmp.Diff(layout(t, s), made); d != "" {
			t.Errorf("tables differ (- sysbench's, + ours):\n%s", d)
		}
		whole("Dyno on tables by sysbench", ours("run", load...))
		ours("cleanup", options...)
		if left := layout(t, s); len(left) != 0 {
			t.Errorf("our cleanup of sysbench's tables left %q", left)
		}

		for _, options := range []string{"--auto_inc=off", "--secondary=on", "--create_secondary=off --table-size=1 " +
			"--tables=2"} {
			var both [2][]string
			for i, make := range []func(string, ...string) string{theirs, ours} {
				args := append(words("--table-size=100"), words(options)...)
				make("prepare", args...)
				both[i] = layout(t, s)
				make("cleanup", args...)
			}
			if d := cmp.Diff(both[0], both[1]); d != "" || len(both[0]) == 0 {
				t.Errorf("%s: tables differ (- sysbench's, + ours):\n%s", options, d)
			}
		}
	})
}
