package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// EventAge is how long events that nobody made are kept.
const EventAge = 400 * 24 * time.Hour

// expiring is what a table keeps: the newest of some rows, and where age is given none that are older.
type expiring struct {
	table, at string
	where     string
	age       time.Duration // 0: for ever
	newest    int
	of        string // columns whose values have that many each; empty for all together
}

func (x expiring) partition() string {
	if x.of == "" {
		return ""
	}
	return "PARTITION BY " + x.of
}

// automatic are the kinds of events that Dyno makes without being asked.
const automatic = "'ddl', 'config', 'gap', 'restart', 'down', 'locks', 'saturation', 'refused', 'login', " +
	"'replication', 'deadlock'"

// expirings are all tables that grow by themselves or with use. What an entry of the journal was made from stays with
// it.
var expirings = []expiring{
	// By kind: who changes schemas all the time does not push out when the server was down.
	{"event", "at", "kind IN (" + automatic + ")", EventAge, 20_000, "target, kind"},
	{"event", "at", "kind NOT IN (" + automatic + ")", 0, 100_000, ""},
	{"run", "started", "TRUE", 0, 10_000, ""},
	{"document", "at", "TRUE", 0, 2_000, ""},
	{"diagnosis", "at", "id NOT IN (SELECT coalesce(json_extract(doc, '$.before'), '') FROM entry)", 0, 5_000, ""},
	{"entry", "planned", "TRUE", 0, 20_000, ""},
}

// Expire drops what is too old or too much, with ages counted back from now by a clock.Horizon: call it about once an
// hour. It returns the ids of the documents that went.
func (l *Ledger) Expire(ctx context.Context, now time.Time) (documents []string, err error) {
	db, err := l.file.DB(ctx, false)
	if err != nil || db == nil {
		return nil, explain("expire", l.path, err)
	}
	var oldest sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT min(at) FROM event WHERE "+expirings[0].where).Scan(&oldest); err != nil {
		return nil, explain("expire", l.path, err)
	}
	due := time.Time{}
	if oldest.Valid {
		due = time.UnixMilli(oldest.Int64).Add(EventAge)
	}
	return l.expire(ctx, l.end.Next(now, due), expirings)
}

func (l *Ledger) expire(ctx context.Context, end time.Time, all []expiring) (documents []string, err error) {
	err = l.write(ctx, "expire", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sighting WHERE last < ?",
			end.Add(-EventAge).UnixMilli()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM sighting WHERE (target, finding) IN (SELECT target, finding FROM
			(SELECT target, finding, row_number() OVER (PARTITION BY target ORDER BY last DESC, finding) AS n
			FROM sighting) WHERE n > ?)`, mostSightings); err != nil {
			return err
		}
		for _, x := range all {
			q := fmt.Sprintf("DELETE FROM %s WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (%s ORDER BY "+
				"%s DESC, id DESC) AS n FROM %[1]s WHERE %[4]s) WHERE n > ?1)"+
				" OR (%[4]s AND ?2 > 0 AND %[3]s < ?3) RETURNING id", x.table, x.partition(), x.at, x.where)
			rows, err := tx.QueryContext(ctx, q, x.newest, int64(x.age), end.Add(-x.age).UnixMilli())
			if err != nil {
				return err
			}
			for rows.Next() {
				var id string
				if err := rows.Scan(&id); err == nil && x.table == "document" {
					documents = append(documents, id)
				}
			}
			if err := rows.Close(); err != nil {
				return err
			}
			if err := rows.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return documents, err
}
