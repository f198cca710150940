package alter

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/state"
)

// Holder is a session whose open transaction or statement can keep a change from getting the table's metadata lock.
type Holder struct {
	Thread uint64  // of the processlist
	User   string  // user@host
	Sec    float64 // since its transaction began
	// Statement is the fingerprint of the statement that it executes, or executed last; empty where the server shows
	// none.
	Statement string
	// Sure is set when the session was seen to hold the lock. Else only its transaction is known, not on which tables.
	Sure bool
}

// statementLimit is how much of a holder's statement is shown, bytes.
const statementLimit = 200

// longestRead is how much of a statement is asked for, bytes: 4096 characters. A server may send more.
const longestRead = 4096 * utf8.UTFMax

// mostHolders bounds the holders that are listed.
const mostHolders = 1000

// shown returns the fingerprint of a holder's statement, as far as it is sure to hold no literal.
func shown(sql string) string {
	sql = state.Clip(sql, longestRead)
	sure := mytext.Certain(sql)
	fp := strings.ToValidUTF8(mytext.Fingerprint(sure), "?")
	switch {
	case len(fp) > statementLimit:
		return strings.ToValidUTF8(fp[:statementLimit], "") + " …"
	case len(sure) < len(sql):
		return fp + " …"
	}
	return fp
}

// String returns "thread 12 (app@10.0.0.7), transaction open for 83 s, statement: update t set a=?".
func (h Holder) String() string {
	s := fmt.Sprintf("thread %d (%s)", h.Thread, h.User)
	if h.Sec > 0 {
		s += fmt.Sprintf(", transaction open for %.0f s", h.Sec)
	}
	if h.Statement != "" {
		s += ", statement: " + h.Statement
	}
	if !h.Sure {
		s += ", perhaps on another table"
	}
	return s
}

// Holders returns the sessions that hold the metadata lock of the table in a transaction, or a lasting lock, that began
// at least olderSec seconds ago, the oldest first, at most 1000. Where the server does not show metadata locks it
// returns all sessions with such a transaction. The privilege PROCESS is needed.
func Holders(ctx context.Context, t *target.Target, table schema.Ref, olderSec int) ([]Holder, error) {
	// InnoDB stamps transactions in the time zone of the operating system, whatever the session's is.
	const age = "TIMESTAMPDIFF(SECOND, x.trx_started, CONVERT_TZ(SYSDATE(), @@session.time_zone, 'SYSTEM'))"
	var from string
	var args []any
	sure, last := true, "NULL"
	switch {
	case t.Has(target.HasMetadataLocks):
		from = "(SELECT DISTINCT h.PROCESSLIST_ID AS id FROM performance_schema.metadata_locks m JOIN " +
			"performance_schema.threads h ON h.THREAD_ID = m.OWNER_THREAD_ID" +
			" WHERE m.OBJECT_TYPE = 'TABLE' AND m.LOCK_STATUS = 'GRANTED' AND m.OBJECT_SCHEMA = ? AND m.OBJECT_NAME " +
			"= ?)"
		args = []any{table.Schema, table.Table}
		last = "(SELECT e.SQL_TEXT FROM performance_schema.events_statements_current e JOIN " +
			"performance_schema.threads h ON h.THREAD_ID = e.THREAD_ID" +
			" WHERE h.PROCESSLIST_ID = l.id ORDER BY e.EVENT_ID DESC LIMIT 1)"
	case t.Has(target.HasMetadataLockInfo):
		from = "(SELECT DISTINCT THREAD_ID AS id FROM information_schema.METADATA_LOCK_INFO WHERE LOCK_TYPE = 'Table " +
			"metadata lock' AND TABLE_SCHEMA = ? AND TABLE_NAME = ?)"
		args = []any{table.Schema, table.Table}
	default:
		from, sure = "(SELECT trx_mysql_thread_id AS id FROM information_schema.INNODB_TRX)", false
	}
	q := "SELECT l.id, CONCAT(IFNULL(p.USER, '?'), '@', IFNULL(p.HOST, '?')), COALESCE(" + age +
		", p.TIME, 0) AS age, LEFT(COALESCE(p.INFO, " + last + ", ''), 4096) FROM " + from + " l" +
		" LEFT JOIN information_schema.INNODB_TRX x ON x.trx_mysql_thread_id = l.id LEFT JOIN " +
		"information_schema.PROCESSLIST p ON p.ID = l.id" +
		" WHERE l.id NOT IN (0, CONNECTION_ID()) HAVING age >= ? ORDER BY age DESC, l.id LIMIT " +
		strconv.Itoa(mostHolders)
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("alter", "", q), append(args, olderSec)...)
	if err != nil {
		return nil, t.Wrap("ask who holds "+table.String(), err)
	}
	defer rows.Close()
	var out []Holder
	for rows.Next() && len(out) < mostHolders {
		h := Holder{Sure: sure}
		if err := rows.Scan(&h.Thread, &h.User, &h.Sec, &h.Statement); err != nil {
			return nil, t.Wrap("ask who holds "+table.String(), err)
		}
		h.User = state.Clip(h.User, statementLimit)
		h.Statement = shown(h.Statement)
		out = append(out, h)
	}
	if err := rows.Err(); err != nil {
		return nil, t.Wrap("ask who holds "+table.String(), err)
	}
	return out, nil
}
