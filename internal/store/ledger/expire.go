package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/store/reserve"
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

// expirings are all tables that grow by themselves or with use, but the journal, which stays. What an entry of it was
// made from stays with it.
var expirings = []expiring{
	// By kind: who changes schemas all the time does not push out when the server was down.
	{"event", "at", "kind IN (" + automatic + ")", EventAge, 20_000, "target, kind"},
	{"event", "at", "kind NOT IN (" + automatic + ")", 0, 100_000, ""},
	{"incident", "began", "TRUE", EventAge, mostIncidents, "target"},
	{"run", "started", "TRUE", 0, 10_000, ""},
	{"document", "at", "about = ''", 0, 2_000, ""},
	{
		"diagnosis", "at", "id NOT IN (SELECT coalesce(json_extract(doc, '$.before'), '') FROM entry)", 0, 5_000,
		"target",
	},
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
	if documents, err = l.expire(ctx, l.end.Next(now, due), expirings); err != nil {
		return documents, err
	}
	gone, err := l.shrink(ctx)
	return append(documents, gone...), err
}

// Bytes that events, and diagnoses together with documents, take by default at most, and incidents always.
const (
	EventBytes     = 256 << 20
	DiagnosisBytes = 2 << 30
	IncidentBytes  = 64 << 20
)

// Limit changes how many bytes of events, and of diagnoses together with documents, Expire leaves; 0 stands for
// EventBytes and DiagnosisBytes.
func (l *Ledger) Limit(events, diagnoses int64) {
	l.mostEvents.Store(events)
	l.mostDiagnoses.Store(diagnoses)
}

// What is bounded in bytes: rows with their target, time and size. What entries of the journal were made from, and what
// is about them, stays with them.
const (
	incidentRows  = "SELECT 'incident' AS what, id, target, began AS at, octet_length(doc) AS n FROM incident"
	eventRows     = "SELECT 'event' AS what, id, target, at, octet_length(doc) AS n FROM event"
	diagnosisRows = "SELECT 'diagnosis' AS what, id, target, at, octet_length(doc) + " +
		"coalesce(octet_length(snapshot), 0) AS n FROM diagnosis WHERE id NOT IN (SELECT coalesce(json_extract(doc, " +
		"'$.before'), '') FROM entry) UNION ALL SELECT 'document', id, target, at, octet_length(doc) FROM document " +
		"WHERE about = ''"
)

// shrink drops the oldest of what is too much, of the targets that take more than their share.
func (l *Ledger) shrink(ctx context.Context) (documents []string, err error) {
	err = l.write(ctx, "expire", func(tx *sql.Tx) error {
		for _, x := range []struct {
			rows string
			most int64
		}{
			{eventRows, cmp.Or(l.mostEvents.Load(), EventBytes)},
			{incidentRows, IncidentBytes},
			{diagnosisRows, cmp.Or(l.mostDiagnoses.Load(), DiagnosisBytes)},
		} {
			uses, err := usesOf(ctx, tx, x.rows)
			if err != nil {
				return err
			}
			level := reserve.Share(slices.Collect(maps.Values(uses)), x.most)
			for target, n := range uses {
				if n <= level {
					continue
				}
				rows, err := tx.QueryContext(ctx, "SELECT what, id FROM (SELECT what, id, sum(n) OVER (ORDER BY at "+
					"DESC, id DESC) AS n FROM ("+x.rows+") WHERE target = ?1) WHERE n > ?2", target, level)
				if err != nil {
					return err
				}
				var gone [][2]string
				for rows.Next() {
					var g [2]string
					if err := rows.Scan(&g[0], &g[1]); err != nil {
						return errors.Join(err, rows.Close())
					}
					gone = append(gone, g)
				}
				if err := errors.Join(rows.Err(), rows.Close()); err != nil {
					return err
				}
				for _, g := range gone {
					if _, err := tx.ExecContext(ctx, "DELETE FROM "+g[0]+" WHERE id = ?", g[1]); err != nil {
						return err
					}
					if g[0] == "document" {
						documents = append(documents, g[1])
					}
				}
			}
		}
		return nil
	})
	return documents, err
}

// usesOf returns what each target takes of some rows, bytes.
func usesOf(ctx context.Context, tx *sql.Tx, of string) (map[string]int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT target, sum(n) FROM ("+of+") GROUP BY target")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	uses := map[string]int64{}
	for rows.Next() {
		var target string
		var n int64
		if err := rows.Scan(&target, &n); err != nil {
			return nil, err
		}
		uses[target] = n
	}
	return uses, rows.Err()
}

// Usage is what a kind of rows takes, without the file's own structures.
type Usage struct {
	Kind   string // "events", "incidents", "diagnoses and reports", "journal"
	Bytes  int64
	Rows   int64
	Oldest time.Time
	Newest time.Time
}

// Usage tells what each kind takes that grows.
func (l *Ledger) Usage(ctx context.Context) ([]Usage, error) {
	db, err := l.file.DB(ctx, false)
	if err != nil || db == nil {
		return nil, explain("measure", l.path, err)
	}
	var all []Usage
	for _, x := range [][2]string{
		{"events", eventRows},
		{"incidents", incidentRows},
		{"diagnoses and reports", diagnosisRows},
		{"journal", "SELECT planned AS at, octet_length(doc) AS n FROM entry"},
	} {
		u := Usage{Kind: x[0]}
		var a, b sql.NullInt64
		if err := db.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(n), 0), min(at), max(at) FROM ("+x[1]+")").
			Scan(&u.Rows, &u.Bytes, &a, &b); err != nil {
			return nil, explain("measure", l.path, err)
		}
		if a.Valid {
			u.Oldest, u.Newest = time.UnixMilli(a.Int64), time.UnixMilli(b.Int64)
		}
		all = append(all, u)
	}
	return all, nil
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
