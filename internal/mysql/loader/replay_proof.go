package loader

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// What the text of a statement that reads cannot prove is asked of the server: that it reads texts as inspect does,
// that its functions are its own, and that no view calls one that somebody has stored there, or one of the server's
// that does more than read. A stored one runs with what the account may, and a transaction that is READ ONLY stops
// neither SET GLOBAL nor INTO OUTFILE in it.

// provable fails where no statement can be proven to read.
func (r *replayer) provable(ctx context.Context, s *target.Session) error {
	mode := ""
	_, err := s.Query(ctx, sqltext.Tagged("load", "replay",
		"SELECT CONCAT(@@session.sql_mode, ',', @@global.sql_mode)"), func(row []driver.Value) {
		if b, ok := row[0].([]byte); ok {
			mode = string(b)
		}
	})
	if err != nil {
		return fmt.Errorf("start replay: %w", err)
	}
	for _, m := range []string{"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ORACLE"} {
		if strings.Contains(mode, m) {
			return fmt.Errorf("start replay: sql_mode=%s: with %s no statement is proven to read; Fix: SET GLOBAL "+
				"sql_mode without it, "+
				"or replay on a copy with --writes", mode, m)
		}
	}
	conn, err := r.t.ReadingConn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	odd, schemas, err := r.oddViews(ctx, conn)
	if err != nil {
		return r.t.Wrap("read views on", err)
	}
	if len(odd) > 0 {
		return fmt.Errorf("start replay: views that are not proven to read, or not shown to this account, may call "+
			"stored functions, take locks or "+
			"read files (%d, such as %s); Fix: GRANT SHOW VIEW where it is missing, trust whoever made them with %s "+
			"in the URL, or replay on a copy "+
			"with --writes", len(odd), strings.Join(odd[:min(len(odd), 3)], ", "), target.TrustParameter(schemas))
	}
	return nil
}

// serversOwn are the schemas sys and mysql to the letter: where names are told apart by case, SYS may be anybody's.
const serversOwn = "('737973', '6D7973716C')"

// oddViews returns the views that are not proven to read, as quoted names, and their schemas. Servers write a stored
// function into a view with its schema, so that no name of one passes. The views of schemas that are trusted are not
// looked at.
func (r *replayer) oddViews(ctx context.Context, conn *sql.Conn) (odd, schemas []string, err error) {
	rows, err := conn.QueryContext(ctx, sqltext.Tagged("load", "replay",
		"SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(VIEW_DEFINITION, '') FROM information_schema.VIEWS WHERE "+
			"HEX(TABLE_SCHEMA) NOT IN "+serversOwn))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var schema, name string
		var text sql.RawBytes
		if err := rows.Scan(&schema, &name, &text); err != nil {
			return nil, nil, err
		}
		if w := scanWords(text, mostWords); r.t.Spec().Trusts(schema) || w.reads(w.word(0)) {
			continue
		}
		odd = append(odd, fmt.Sprintf("%q", schema+"."+name))
		if !slices.Contains(schemas, schema) {
			schemas = append(schemas, schema)
		}
	}
	return odd, schemas, rows.Err()
}

// ownCalls asks which words before a parenthesis are a server's own functions, each once.
type ownCalls struct {
	session *target.Session
	known   map[string]bool
}

// own reports whether all are, of a list with commas between. The goroutine that reads the log alone asks.
func (r *replayer) own(ctx context.Context, calls string) bool {
	for call := range strings.SplitSeq(calls, ",") {
		own, asked := r.calls.known[call]
		if !asked {
			var err error
			if own, err = r.ask(ctx, call); err != nil { // it is asked again
				return false
			}
			r.calls.known[call] = own
		}
		if !own {
			return false
		}
	}
	return true
}

// ask asks where nobody can store a function, in a mode that takes most names for those of stored ones.
func (r *replayer) ask(ctx context.Context, call string) (own bool, err error) {
	if r.calls.session == nil {
		r.calls.session, err = r.t.Session(ctx, target.SessionOptions{
			Database: "information_schema", Settings: map[string]string{"sql_mode": "''"},
		})
		if err != nil {
			return false, err
		}
	}
	_, err = r.calls.session.Query(ctx, sqltext.Tagged("load", "names", "SELECT "+call+"()"), nil)
	if _, ok := target.ServerErrorNumber(err); err != nil && (!ok || target.KindOf(err) == endpoint.Gone) {
		return false, errors.Join(err, r.closeCalls())
	}
	return target.IsOwnFunction(err), nil
}

// closeCalls ends the session that asks.
func (r *replayer) closeCalls() error {
	s := r.calls.session
	if s == nil {
		return nil
	}
	r.calls.session = nil
	return s.Close()
}
