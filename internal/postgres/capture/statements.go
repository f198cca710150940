package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/source"
)

// statements reads pg_stat_statements at the begin and at the end of a window. Only statements that clients sent count,
// not those within functions: their time is in that of the statement that called them.
// https://www.postgresql.org/docs/current/pgstatstatements.html
type statements struct {
	facts   conn.Statements
	user    string
	db      uint32 // the session's database
	first   counts
	dealloc int64
	last    counts            // at the end
	dropped int64             // dealloc then
	hidden  int               // entries of others that the account may not see
	sql     map[string]string // a statement of each class as the server has it, by the class's id
}

// entry is what pg_stat_statements tells apart.
type entry struct {
	user, db uint32
	query    int64
}

// count is what it has counted of an entry since its begin.
type count struct {
	calls, rows, pages, read int64
	ms                       float64
}

type counts map[entry]count

// mostEntries is several times what servers keep (pg_stat_statements.max is 5000 by default).
const mostEntries = 100_000

func (x *statements) begin(ctx context.Context, c *pgx.Conn) (err error) {
	if !x.facts.Usable() {
		return nil
	}
	if err := x.connected(ctx, c); err != nil {
		return err
	}
	x.first, x.dealloc, err = x.read(ctx, c)
	return err
}

// connected finds out which database the session is in.
func (x *statements) connected(ctx context.Context, c *pgx.Conn) error {
	return c.QueryRow(ctx, pgtext.Tagged(component, "SELECT oid FROM pg_database WHERE datname = "+
		"current_database()")).Scan(&x.db)
}

// turn makes the end of a window the begin of the next one.
func (x *statements) turn() { x.first, x.dealloc = x.last, x.dropped }

func (x *statements) view(name string) string { return conn.Quote(x.facts.Schema, name) }

func (x *statements) read(ctx context.Context, c *pgx.Conn) (all counts, dealloc int64, err error) {
	if err := c.QueryRow(ctx, pgtext.Tagged(component, "SELECT dealloc FROM "+x.view("pg_stat_statements_info")+
		" LIMIT 1")).Scan(&dealloc); err != nil {
		return nil, 0, err
	}
	rows, err := c.Query(ctx, pgtext.Tagged(component, `SELECT userid, dbid, coalesce(queryid, 0), calls, rows,
		shared_blks_hit + shared_blks_read, shared_blks_read, total_exec_time
		FROM `+x.view("pg_stat_statements")+`(false) WHERE toplevel`))
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	all, x.hidden = counts{}, 0
	for rows.Next() {
		var e entry
		var n count
		if err := rows.Scan(&e.user, &e.db, &e.query, &n.calls, &n.rows, &n.pages, &n.read, &n.ms); err != nil {
			return nil, 0, err
		}
		if e.query == 0 {
			x.hidden++
			continue
		}
		if len(all) == mostEntries {
			return nil, 0, fmt.Errorf("pg_stat_statements has more than %d entries", mostEntries)
		}
		all[e] = n
	}
	return all, dealloc, rows.Err()
}

// left is what is known of the statements of other databases, whose texts and tables a session of this one is not asked
// for.
type left struct {
	classes int
	sec     float64
}

// end returns the classes of the session's database in the window, most time first, and what others did. An error is
// one of the connection or of the server; that the extension is missing is said in the source.
func (x *statements) end(ctx context.Context, c *pgx.Conn) ([]class.Class, left, source.Source, error) {
	src := source.Source{Name: source.Digests, State: source.Missing, Reason: x.facts.Missing, Fix: x.facts.Fix}
	if !x.facts.Usable() {
		return nil, left{}, src, nil
	}
	last, dealloc, err := x.read(ctx, c)
	if err != nil {
		return nil, left{}, src, err
	}
	x.last, x.dropped = last, dealloc
	src.State, src.Reads = source.OK, 2
	var other left
	grown, ids := counts{}, map[int64]bool{}
	for e, n := range last {
		by := n.since(x.first[e])
		switch {
		case by.calls <= 0:
		case e.db != x.db:
			other.classes++
			other.sec += by.ms / 1000
		default:
			grown[e] = by
			ids[e.query] = true
		}
	}
	texts, err := x.texts(ctx, c, ids)
	if err != nil {
		return nil, left{}, src, err
	}
	classes, lost := x.classesOf(grown, texts)
	var notes []string
	if x.hidden > 0 {
		src.State = source.Denied
		src.Fix = "GRANT pg_monitor TO " + conn.Quote(x.user)
		notes = append(notes, fmt.Sprintf("the account may not see the statements of others: %d entries", x.hidden))
	}
	if dealloc > x.dealloc {
		notes = append(notes, "the server dropped entries in the window to make room for new ones; Fix: a larger "+
			"pg_stat_statements.max")
	}
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("the texts of %d entries were gone", lost))
	}
	if other.classes > 0 {
		notes = append(notes, fmt.Sprintf("statements of other databases, %d with %.3g s in all, are seen from there",
			other.classes, other.sec))
	}
	src.Reason = strings.Join(notes, "; ")
	return classes, other, src, nil
}

// since returns the growth; an entry that was dropped and came again counts from zero.
func (n count) since(before count) count {
	if n.calls < before.calls || n.ms < before.ms {
		return n
	}
	return count{
		calls: n.calls - before.calls, rows: n.rows - before.rows, pages: n.pages - before.pages,
		read: n.read - before.read, ms: n.ms - before.ms,
	}
}

// texted returns a statement of each class as the server has it, by the class's id. Classes of a window that others
// observed have the server's id of the statement; where one lacks it, as several have its text, all are looked through.
func (x *statements) texted(ctx context.Context, c *pgx.Conn, classes []class.Class) (map[string]string, error) {
	sql := map[string]string{}
	if !x.facts.Usable() || len(classes) == 0 {
		return sql, nil
	}
	if err := x.connected(ctx, c); err != nil {
		return sql, err
	}
	ids, want, all := map[int64]bool{}, map[string]bool{}, false
	for _, k := range classes {
		id, err := strconv.ParseInt(k.Digest, 10, 64)
		ids[id], want[k.ID], all = true, true, all || err != nil
	}
	if all {
		entries, _, err := x.read(ctx, c)
		if err != nil {
			return sql, err
		}
		for e := range entries {
			if e.db == x.db {
				ids[e.query] = true
			}
		}
	}
	texts, err := x.texts(ctx, c, ids)
	for _, t := range texts {
		if id := class.ID(pgtext.Fingerprint(t.sql)); want[id] && !pgtext.Own(t.sql) {
			sql[id] = t.sql
		}
	}
	return sql, err
}

// textOf is a statement with who ran it.
type textOf struct{ sql, user string }

// mostText bounds the texts that are read, bytes: the file of texts grows with the statements.
const mostText = 64 << 20

func (x *statements) texts(ctx context.Context, c *pgx.Conn, ids map[int64]bool) (map[entry]textOf, error) {
	list := make([]int64, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	rows, err := c.Query(ctx, pgtext.Tagged(component, `SELECT userid, dbid, queryid, left(query, $3),
		coalesce(pg_get_userbyid(userid)::text, '')
		FROM `+x.view("pg_stat_statements")+`(true) WHERE toplevel AND dbid = $1 AND queryid = ANY ($2)`),
		x.db, list, longestStatement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out, size := map[entry]textOf{}, 0
	for rows.Next() {
		var e entry
		var t textOf
		var sql *string // NULL when the file of texts is gone
		if err := rows.Scan(&e.user, &e.db, &e.query, &sql, &t.user); err != nil {
			return nil, err
		}
		if sql == nil {
			continue
		}
		if t.sql = *sql; size < mostText {
			out[e] = t
		}
		size += len(t.sql)
	}
	return out, rows.Err()
}

// longestStatement is where a text is cut, in characters.
const longestStatement = 1 << 20

// classesOf makes classes of what has grown, most time first, without Dyno's own; lost counts those without a text.
func (x *statements) classesOf(grown counts, texts map[entry]textOf) (out []class.Class, lost int) {
	at := map[string]int{}
	x.sql = map[string]string{}
	for e, n := range grown {
		t, ok := texts[e]
		if !ok {
			lost++
			continue
		}
		if pgtext.Own(t.sql) {
			continue
		}
		c := asClass(pgtext.Fingerprint(t.sql), n)
		c.Digest, c.Users = fmt.Sprint(e.query), []string{t.user}
		if i, ok := at[c.Fingerprint]; ok {
			c.Digest = "" // the same text has one for each set of tables that it names
			out[i].Add(c)
			continue
		}
		at[c.Fingerprint] = len(out)
		x.sql[c.ID] = t.sql
		out = append(out, c)
	}
	for i := range out {
		slices.Sort(out[i].Users)
	}
	slices.SortFunc(out, func(a, b class.Class) int {
		return cmp.Or(cmp.Compare(b.TimeSec, a.TimeSec), cmp.Compare(a.ID, b.ID))
	})
	return out, lost
}

// Complete fills in what follows from the fingerprint of a class.
func Complete(c *class.Class) {
	if p := pgtext.Parsable(c.Fingerprint); p != c.Fingerprint {
		c.Parsable = p
	}
}

func asClass(fingerprint string, n count) class.Class {
	c := class.Class{
		ID: class.ID(fingerprint), Fingerprint: fingerprint, Origin: class.PgStatStatements,
		Count: uint64(n.calls), TimeSec: n.ms / 1000,
		Pages: unsigned(n.pages), PagesRead: unsigned(n.read),
	}
	Complete(&c)
	switch verb, rest, _ := strings.Cut(fingerprint, " "); verb {
	case "select", "values", "table":
		c.RowsSent = unsigned(n.rows)
	case "insert", "update", "delete", "merge":
		c.Affected, c.RowsSent = unsigned(n.rows), known.Of(uint64(0))
		if strings.Contains(rest, " returning ") {
			c.RowsSent = c.Affected
		}
	}
	return c
}

// unsigned is unknown for what a counter that was reset makes negative.
func unsigned(n int64) known.Value[uint64] {
	if n < 0 {
		return known.None[uint64]()
	}
	return known.Of(uint64(n))
}

// failed says in a source what the server refused; an error that is not the server's answer is returned.
func failed(name source.Name, err error) (source.Source, error) {
	src := source.Source{Name: name, State: source.Failed, Reason: err.Error()}
	code, answered := conn.SQLState(err)
	switch {
	case !answered && !errors.Is(err, context.DeadlineExceeded), conn.KindOf(err) == endpoint.Gone:
		return src, err
	case code == "42501":
		src.State = source.Denied
	case code == "57014", code == "55P03", !answered: // a limit of time, of a lock's wait
		src.State = source.Slow
	}
	return src, nil
}
