package sources

import (
	"context"
	"database/sql/driver"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/state"
)

// infoTickets reads MariaDB's plugin METADATA_LOCK_INFO, which shows the locks that are held, not those that are
// wanted.
func (s *locks) infoTickets(ctx context.Context) (list []ticket, err error) {
	_, err = s.q.Query(ctx, tagged(s.Name(), "SELECT THREAD_ID, LOCK_MODE, LOCK_TYPE, "+
		"TABLE_SCHEMA, TABLE_NAME"+
		" FROM information_schema.METADATA_LOCK_INFO WHERE THREAD_ID<>CONNECTION_ID() LIMIT "+
		strconv.Itoa(mostTickets)), func(row []driver.Value) {
		if len(row) == 5 && len(list) < mostTickets {
			list = append(list, ticket{
				session: id(row[0]), mode: strings.TrimPrefix(string(text(row[1])), "MDL_"),
				space:  string(text(row[2])),
				schema: string(text(row[3])), name: string(text(row[4])), granted: true,
			})
		}
	})
	return list, err
}

// infoWaits explains sessions that wait by the locks that others hold: everything up to waitLimit, then one wait for
// each session. What a session wants is told by its statement: the tables that it names, and whether it changes their
// definition, their rows or nothing.
func infoWaits(ctx context.Context, held []ticket, waiting []state.Session) (out []state.Wait, err error) {
	q := queues{}
	var global, closing []ticket
	for _, h := range held {
		switch h.space {
		case "Table metadata lock":
			h.space = "TABLE"
			q.add(h)
		case "Backup lock", "Global read lock", "Commit lock":
			global = append(global, h)
			if closes(h.mode) {
				closing = append(closing, h)
			}
		}
	}
	wants := make([][]ticket, len(waiting))
	for i, x := range waiting {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if kind, _ := waitsFor(x.Phase); kind != state.MetadataLock {
			continue
		}
		wants[i] = wanted(x)
		for _, w := range wants[i] {
			if w.mode == "EXCLUSIVE" { // a change of the definition that waits keeps everybody out who comes later
				q.add(w)
			}
		}
	}
	for i, x := range waiting {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(strings.ToLower(x.Phase), "flush") {
			continue
		}
		from := len(out)
		for _, w := range wants[i] {
			out = q.behind(w, out, from)
		}
		if kind, _ := waitsFor(x.Phase); kind != state.GlobalLock {
			continue
		}
		// One who writes waits for those who keep writers out, one who wants to keep them out waits for those who
		// write.
		in := closing
		if w, _ := mytext.CutName(mytext.Body(x.SQL)); strings.EqualFold(w, "FLUSH") ||
			strings.EqualFold(w, "BACKUP") {
			in = global
		}
		for _, h := range in {
			if len(out) >= waitLimit && len(out) > from {
				break
			}
			if h.session != x.ID {
				out = append(out, state.Wait{
					Kind: state.GlobalLock, Waiter: x.ID,
					Blocker: known64(h.session), Held: h.mode,
				})
			}
		}
	}
	return out, nil
}

// closes reports whether a lock on everything keeps writers out.
func closes(mode string) bool {
	switch mode {
	case "BACKUP_DML", "BACKUP_TRANS_DML", "BACKUP_SYS_DML", "BACKUP_DDL", "BACKUP_ALTER_COPY",
		"BACKUP_COMMIT", "INTENTION_EXCLUSIVE":
		return false
	}
	return true
}

// alters is for the body of a statement, up to the name of the table whose definition it changes or that it locks.
var alters = lazyregexp.New(
	"(?is)^(?:ALTER(?:\\s+ONLINE|\\s+IGNORE)*\\s+TABLE|DROP\\s+TABLE|TRUNCATE(?:\\s+TABLE)?|RENAME\\s+TABLE|" +
		"OPTIMIZE\\s+TABLE" +
		"|CREATE\\s+(?:OR\\s+REPLACE\\s+)?(?:ONLINE\\s+)?(?:UNIQUE\\s+|FULLTEXT\\s+|" +
		"SPATIAL\\s+)?INDEX\\s+\\S+(?:\\s+USING\\s+\\w+)?\\s+ON" +
		"|DROP\\s+INDEX\\s+\\S+\\s+ON|LOCK\\s+TABLES?)\\s+(?:IF\\s+(?:NOT\\s+)?EXISTS\\s+)?")

// mostWanted is about as many tables as servers join.
const mostWanted = 64

// wanted returns the metadata locks that a statement asks for, as far as its text tells. Names without a schema are of
// the session's.
func wanted(x state.Session) (out []ticket) {
	add := func(schema, name, mode string) {
		if schema == "" {
			schema = x.DB
		}
		out = append(out, ticket{space: "TABLE", schema: schema, name: name, mode: mode, session: x.ID})
	}
	sql := mytext.Body(x.SQL)
	if at := alters.FindStringIndex(sql); at != nil {
		schema := ""
		name, rest := mytext.CutName(sql[at[1]:])
		if after, dotted := strings.CutPrefix(mytext.Body(rest), "."); dotted {
			schema = name
			name, _ = mytext.CutName(mytext.Body(after))
		}
		if name == "" {
			return nil
		}
		mode := "EXCLUSIVE"
		if strings.EqualFold(sql[:4], "LOCK") {
			mode = "SHARED_NO_READ_WRITE"
			if !strings.Contains(strings.ToUpper(sql), "WRITE") {
				mode = "SHARED_READ_ONLY"
			}
		}
		add(schema, name, mode)
		return out
	}
	for strings.HasPrefix(sql, "(") {
		sql = mytext.Body(sql[1:])
	}
	mode := ""
	word, _ := mytext.CutName(sql)
	switch strings.ToUpper(word) {
	case "SELECT", "WITH", "CHECKSUM", "ANALYZE", "SHOW", "DESC", "DESCRIBE", "EXPLAIN":
		mode = "SHARED_READ"
		if strings.Contains(strings.ToLower(sql), "for update") {
			mode = "SHARED_WRITE"
		}
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD":
		mode = "SHARED_WRITE"
	}
	if mode == "" {
		return nil
	}
	tables := mytext.Tables([]byte(x.SQL))
	for _, t := range tables[:min(len(tables), mostWanted)] {
		add(t[0], t[1], mode)
	}
	return out
}

// objectIn names the table that a session's statement is about, "" when it names several or none.
func objectIn(x state.Session) string {
	if w := wanted(x); len(w) == 1 {
		return objectOf(w[0])
	}
	return ""
}
