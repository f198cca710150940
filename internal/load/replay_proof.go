package load

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// What the text of a statement that reads cannot prove is asked of the server: that it reads texts as inspect does, that
// its functions are its own, and that no view calls one that somebody has stored there. Such a function runs with what the
// account may, and a transaction that is READ ONLY stops neither SET GLOBAL nor INTO OUTFILE in it.

// provable fails where no statement can be proven to read.
func (r *replay) provable(ctx context.Context, s *target.Session) error {
	mode := ""
	_, err := s.Query(ctx, sqltext.Tagged("load", "replay", "SELECT CONCAT(@@session.sql_mode, ',', @@global.sql_mode)"), func(row []driver.Value) {
		if b, ok := row[0].([]byte); ok {
			mode = string(b)
		}
	})
	if err != nil {
		return fmt.Errorf("start replay: %w", err)
	}
	for _, m := range []string{"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ORACLE"} {
		if strings.Contains(mode, m) {
			return fmt.Errorf("start replay: sql_mode=%s: with %s no statement is proven to read; Fix: SET GLOBAL sql_mode without it, "+
				"or replay on a copy with --writes", mode, m)
		}
	}
	conn, err := r.t.ReadingConn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	schemas, err := ofFunctions(ctx, conn)
	if err != nil {
		return r.t.Wrap("list stored functions on", err)
	}
	var strangers []string
	for _, s := range schemas {
		if !r.t.Spec().Trusts(s) {
			strangers = append(strangers, s)
		}
	}
	if len(strangers) == 0 {
		return nil
	}
	why, err := r.t.MayExecute(ctx, conn, strangers)
	if err != nil {
		return err
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("start replay: views may call stored functions (there are some in %d schemas), which then run with all that this account may: %s; "+
		"Fix: use an account without EXECUTE, trust whoever made them with %s in the URL, or replay on a copy with --writes",
		len(strangers), why, target.TrustParameter(strangers))
}

// serversOwn are the schemas sys and mysql to the letter: where names are told apart by case, SYS may be anybody's.
const serversOwn = "('737973', '6D7973716C')"

// ofFunctions returns the schemas with stored functions, none where there are no views that could call them: what a
// statement itself calls is told by its words, and where somebody has a function no account of an administrator could
// replay anything else.
func ofFunctions(ctx context.Context, conn *sql.Conn) (list []string, err error) {
	var views int
	q := sqltext.Tagged("load", "replay", "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_TYPE = 'VIEW' AND HEX(TABLE_SCHEMA) NOT IN "+serversOwn)
	if err := conn.QueryRowContext(ctx, q).Scan(&views); err != nil || views == 0 {
		return nil, err
	}
	rows, err := conn.QueryContext(ctx, sqltext.Tagged("load", "replay",
		"SELECT DISTINCT ROUTINE_SCHEMA FROM information_schema.ROUTINES WHERE ROUTINE_TYPE <> 'PROCEDURE' AND HEX(ROUTINE_SCHEMA) NOT IN "+serversOwn))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, rows.Err()
}

// ownCalls asks which words before a parenthesis are a server's own functions, each once.
type ownCalls struct {
	session *target.Session
	known   map[string]bool
}

// own reports whether all are, of a list with commas between. The goroutine that reads the log alone asks.
func (r *replay) own(calls string) bool {
	for call := range strings.SplitSeq(calls, ",") {
		own, asked := r.calls.known[call]
		if !asked {
			var err error
			if own, err = r.ask(call); err != nil { // it is asked again
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
func (r *replay) ask(call string) (own bool, err error) {
	if r.calls.session == nil {
		r.calls.session, err = r.t.Session(r.hard, target.SessionOptions{
			Database: "information_schema", Settings: map[string]string{"sql_mode": "''"},
		})
		if err != nil {
			return false, err
		}
	}
	_, err = r.calls.session.Query(r.hard, sqltext.Tagged("load", "names", "SELECT "+call+"()"), nil)
	if _, ok := target.ServerErrorNumber(err); err != nil && (!ok || target.KindOf(err) == target.Gone) {
		return false, errors.Join(err, r.closeCalls())
	}
	return target.IsOwnFunction(err), nil
}

// closeCalls ends the session that asks.
func (r *replay) closeCalls() error {
	s := r.calls.session
	if s == nil {
		return nil
	}
	r.calls.session = nil
	return s.Close()
}
