package digestsource

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// killed counts statements that were stopped by KILL or by a limit of time. How many they were tells MySQL 8.0's
// summary of errors; which ones, the last statements of each connection, as far as the server keeps them (consumer
// events_statements_history) and the connection still lives. MariaDB tells how often KILL was said and how many ran out
// of time.
type killed struct {
	ask    *asker
	raised map[uint64]uint64 // by error number, when the window began; nil when the server does not count errors
	timer  uint64            // performance_schema's clock then; 0 = unknown
}

// stops are the errors of stopped statements: ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT of MySQL, ER_STATEMENT_TIMEOUT and
// ER_CONNECTION_KILLED of MariaDB.
var stops = []uint64{1317, 3024, 1969, 1927}

func (k *killed) begin(ctx context.Context) {
	k.raised, k.timer = k.errors(ctx), 0
	// What the server does not answer stays unknown.
	_ = k.ask.query(ctx, "SELECT s.TIMER_START FROM performance_schema.threads t JOIN "+
		"performance_schema.events_statements_current s ON s.THREAD_ID=t.THREAD_ID"+
		" WHERE t.PROCESSLIST_ID=CONNECTION_ID()", func(row []driver.Value) { k.timer = max(k.timer, whole(row[0])) })
}

func (k *killed) errors(ctx context.Context) map[uint64]uint64 {
	out := map[uint64]uint64{}
	for _, n := range stops[:2] { // one at a time: the table has an index for that
		err := k.ask.query(ctx, fmt.Sprintf("SELECT SUM_ERROR_RAISED FROM "+
			"performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER=%d", n),
			func(row []driver.Value) { out[n] = whole(row[0]) })
		if err != nil {
			return nil
		}
	}
	return out
}

// window returns what was stopped, by digest as far as that can be told, and what to say about it. own is how often
// Dyno itself has sent a KILL, for questions that it gave up.
func (k *killed) window(ctx context.Context, from, to moments, own uint64) (by map[digestKey]uint64, notes []string) {
	now := k.errors(ctx)
	total, counted := uint64(0), k.raised != nil && now != nil
	if counted {
		for n, x := range now {
			total += x - min(k.raised[n], x)
		}
	}
	said, _ := grown(from, to, kills)
	said -= min(said, own)
	late, isMariaDB := grown(from, to, timeoutsMD)
	limit := "max_statement_time"
	if !isMariaDB {
		late, _ = grown(from, to, timeouts)
		limit = "max_execution_time"
	}
	if total == 0 && (counted || said+late == 0) {
		return nil, nil
	}
	by = map[digestKey]uint64{}
	told := uint64(0)
	if k.timer > 0 {
		q := "SELECT CURRENT_SCHEMA, DIGEST FROM performance_schema.events_statements_history WHERE MYSQL_ERRNO IN ("
		for i, n := range stops {
			if i > 0 {
				q += ","
			}
			q += fmt.Sprint(n)
		}
		_ = k.ask.query(ctx, q+fmt.Sprintf(") AND TIMER_END>%d", k.timer), func(row []driver.Value) {
			by[digestKey{text(row[0]), text(row[1])}]++
			told++
		})
	}
	switch {
	case counted:
		notes = append(notes, fmt.Sprintf("statements killed or out of time: %d, of which the class of %d is known",
			total, told))
	default:
		if said > 0 {
			notes = append(notes, fmt.Sprintf("runs of KILL: %d; this server does not report which statements they "+
				"stopped, the classes count the observed ones", said))
		}
		if late > 0 {
			notes = append(notes, fmt.Sprintf("statements stopped by %s: %d", limit, late))
		}
	}
	return by, notes
}
