package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Diagnosis is one look at a target: what was judged and what was found.
type Diagnosis struct {
	ID       string            `json:"id"`
	At       time.Time         `json:"at"`
	Target   string            `json:"target"`
	Snapshot []byte            `json:"-"` // the JSON document that judgement saw, kept byte by byte; may be nil
	Findings []finding.Finding `json:"findings"`
	// Facts are advice that nothing measured suffers from yet; an action may be made from them as from findings.
	Facts []finding.Finding `json:"facts,omitempty"`
	// Advice names the kinds of advice that were asked for with `dyno advise`. Such a diagnosis does not count for the
	// life of findings, and is never the newest of a target.
	Advice []string `json:"advice,omitempty"`
	// Server is the identity of the one that was looked at, see journal.Entry.
	Server string `json:"server,omitzero"`
	// By is who asked for the look; empty for the command line.
	By string `json:"by,omitzero"`
	// Background looks were asked for by nobody: of these only the newest are kept, see Diagnoses.Forget.
	Background bool `json:"background,omitzero"`
	// Incident is the id of the event of the incident that it was started for.
	Incident string `json:"incident,omitzero"`
}

// Bounds of snapshots, bytes: of one, and of all that are kept of one target's background diagnoses.
const (
	mostSnapshot  = 192 << 20
	mostSnapshots = 256 << 20
)

// Diagnoses are those of all targets.
type Diagnoses struct{ book }

// Put stores d, replacing the one of the same id. One whose snapshot has more than 192 MiB is refused.
func (s Diagnoses) Put(ctx context.Context, d Diagnosis) error {
	if d.ID == "" {
		return errors.New("store diagnosis: it has no id")
	}
	if len(d.Snapshot) > mostSnapshot {
		return fmt.Errorf("store diagnosis %s: its snapshot has %d MB, and at most %d are stored", d.ID,
			len(d.Snapshot)>>20, mostSnapshot>>20)
	}
	if d.Snapshot != nil && !json.Valid(d.Snapshot) {
		return fmt.Errorf("store diagnosis %s: its snapshot is not JSON", d.ID)
	}
	doc, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("store diagnosis %s: %w", d.ID, err)
	}
	snapshot := sql.NullString{String: string(d.Snapshot), Valid: d.Snapshot != nil}
	return s.write(ctx, "store diagnosis "+d.ID, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO diagnosis VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
			target = excluded.target, at = excluded.at, doc = excluded.doc, snapshot = excluded.snapshot, advice = excluded.advice`,
			d.ID, d.Target, millis(d.At), string(doc), snapshot, len(d.Advice) > 0)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM finding WHERE diagnosis = ?", d.ID); err != nil {
			return err
		}
		for i, f := range slices.Concat(d.Findings, d.Facts) {
			if _, err := tx.ExecContext(ctx, "INSERT INTO finding VALUES (?, ?, ?, ?, ?)", d.ID, i, f.ID, f.Rule,
				string(f.Severity)); err != nil {
				return err
			}
		}
		return see(ctx, tx, d)
	})
}

// Get returns the diagnosis of that id with its snapshot, or ErrNotFound.
func (s Diagnoses) Get(ctx context.Context, id string) (Diagnosis, error) {
	return s.read(ctx, id, "SELECT doc, snapshot FROM diagnosis WHERE id = ?", id)
}

// Last returns the latest diagnosis of a target with its snapshot, or ErrNotFound.
func (s Diagnoses) Last(ctx context.Context, target string) (Diagnosis, error) {
	return s.read(ctx, "of "+target, "SELECT doc, snapshot FROM diagnosis WHERE target = ? ORDER BY at DESC, id "+
		"DESC LIMIT 1", target)
}

// List returns the latest diagnoses of a target, or of all with target "", newest first and without their
// snapshots; all of them when n is 0.
func (s Diagnoses) List(ctx context.Context, target string, n int) ([]Diagnosis, error) {
	return list[Diagnosis](ctx, s.book, "diagnoses", nil, "SELECT doc FROM diagnosis WHERE ?1 = '' OR target = ?1 "+
		"ORDER BY at DESC, id DESC LIMIT ?2", target, limit(n))
}

// Finding returns a finding as the latest diagnosis of the target that holds it tells it, and that diagnosis with
// its snapshot; or ErrNotFound. An id names the same cause in every diagnosis, so the latest one has the figures of
// today.
func (s Diagnoses) Finding(ctx context.Context, target, id string) (finding.Finding, Diagnosis, error) {
	d, err := s.read(ctx, "with finding "+id,
		`SELECT d.doc, d.snapshot FROM finding f JOIN diagnosis d ON d.id = f.diagnosis
		WHERE f.id = ? AND d.target = ? ORDER BY d.at DESC, d.id DESC LIMIT 1`, id, target)
	if errors.Is(err, ErrNotFound) {
		return finding.Finding{}, d, &NotFoundError{What: "finding", ID: id}
	}
	if err != nil {
		return finding.Finding{}, d, err
	}
	for _, f := range slices.Concat(d.Findings, d.Facts) {
		if f.ID == id {
			return f, d, nil
		}
	}
	return finding.Finding{}, d, explain("read finding "+id, s.path, fmt.Errorf("%w: diagnosis %s does not hold it",
		sqlitefile.ErrCorrupt, d.ID))
}

// Since returns the diagnoses of a target from a moment on, newest first and without their snapshots or
// advice.
func (s Diagnoses) Since(ctx context.Context, target string, since time.Time) ([]Diagnosis, error) {
	return list[Diagnosis](ctx, s.book, "diagnoses", nil, "SELECT doc FROM diagnosis WHERE target = ? AND at >= ? "+
		"AND NOT advice ORDER BY at DESC, id DESC", target, millis(since))
}

// Between is Since for the newest n of a time, both ends included.
func (s Diagnoses) Between(ctx context.Context, target string, from, to time.Time, n int) ([]Diagnosis, error) {
	return list[Diagnosis](ctx, s.book, "diagnoses", nil, "SELECT doc FROM diagnosis WHERE target = ? AND at >= ? "+
		"AND at <= ? AND NOT advice ORDER BY at DESC, id DESC LIMIT ?", target, millis(from), lastOf(to), limit(n))
}

// Looked is a stored diagnosis without what it saw and found.
type Looked struct {
	ID     string
	At     time.Time
	Server string // see Diagnosis
}

// Around returns the diagnoses of a target whose snapshots are stored: the last n up to a moment, the latest first, and
// the first n after it, in order of time. Advice is among them.
func (s Diagnoses) Around(ctx context.Context, target string, at time.Time, n int) (before, after []Looked, err error) {
	const which = "SELECT id, at, coalesce(json_extract(doc, '$.server'), '') FROM diagnosis WHERE target = ? AND " +
		"snapshot IS NOT NULL AND at "
	scan := func(rows *sql.Rows, d *Looked) error {
		var at int64
		err := rows.Scan(&d.ID, &at, &d.Server)
		d.At = time.UnixMilli(at).UTC()
		return err
	}
	before, err = list(ctx, s.book, "diagnoses", scan, which+"<= ? ORDER BY at DESC, id DESC LIMIT ?", target,
		millis(at), n)
	if err != nil {
		return nil, nil, err
	}
	after, err = list(ctx, s.book, "diagnoses", scan, which+"> ? ORDER BY at, id LIMIT ?", target, millis(at), n)
	return before, after, err
}

// Newest returns the id of the latest diagnosis of every target, by target; advice is none. It reads no
// documents.
func (s Diagnoses) Newest(ctx context.Context) (map[string]string, error) {
	type pair struct{ target, id string }
	ps, err := list(ctx, s.book, "newest diagnoses", func(rows *sql.Rows, p *pair) error {
		return rows.Scan(&p.target, &p.id)
	},
		"SELECT target, id FROM diagnosis d WHERE id = (SELECT id FROM diagnosis WHERE target = d.target AND NOT "+
			"advice ORDER BY at DESC, id DESC LIMIT 1)")
	out := make(map[string]string, len(ps))
	for _, p := range ps {
		out[p.target] = p.id
	}
	return out, err
}

// Forget deletes the background diagnoses of a target from before a moment, but the keep newest and the keep
// newest that incidents started. One that an entry of the journal was made from stays for good, for it is the entry's
// window before; so does what a person asked for, and what one of the target's newest 500 incidents refers to. Of those
// that stay the newest keep their snapshots, as many as have room.
func (s Diagnoses) Forget(ctx context.Context, target string, keep int, before time.Time) error {
	return s.forget(ctx, target, keep, before, mostSnapshots)
}

// referred are the ids of the diagnoses that incidents of a target refer to.
const referred = `WITH newest AS (SELECT doc FROM incident WHERE target = ?1 ORDER BY began DESC LIMIT 500)
	SELECT coalesce(json_extract(doc, '$.diagnosis'), '') FROM newest
	UNION SELECT coalesce(json_extract(f.value, '$.diagnosis'), '') FROM newest, json_each(newest.doc, '$.findings') f`

func (s Diagnoses) forget(ctx context.Context, target string, keep int, before time.Time, room int) error {
	return s.write(ctx, "forget diagnoses of "+target, func(tx *sql.Tx) error {
		for _, incident := range []string{"IS NULL", "IS NOT NULL"} {
			_, err := tx.ExecContext(ctx, `DELETE FROM diagnosis WHERE id IN (
				SELECT id FROM diagnosis WHERE target = ?1 AND json_extract(doc, '$.background') AND json_extract(doc, '$.incident') `+incident+`
				ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?2)
				AND at < ?3 AND id NOT IN (SELECT coalesce(json_extract(doc, '$.before'), '') FROM entry)
				AND id NOT IN (`+referred+`)`, target, max(0, keep), millis(before))
			if err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE diagnosis SET snapshot = NULL WHERE id IN (
			SELECT id FROM (SELECT id, sum(octet_length(snapshot)) OVER (ORDER BY at DESC, id DESC) AS room
				FROM diagnosis WHERE target = ?1 AND json_extract(doc, '$.background')) WHERE room > ?2)
			AND snapshot IS NOT NULL
			AND id NOT IN (SELECT coalesce(json_extract(doc, '$.before'), '') FROM entry)`, target, room)
		return err
	})
}

func (s Diagnoses) read(ctx context.Context, id, query string, args ...any) (Diagnosis, error) {
	ds, err := list(ctx, s.book, "diagnosis "+id, func(rows *sql.Rows, d *Diagnosis) error {
		var doc, snapshot []byte
		if err := rows.Scan(&doc, &snapshot); err != nil {
			return err
		}
		if err := decode(doc, d); err != nil {
			return err
		}
		d.Snapshot = snapshot
		return nil
	}, query, args...)
	if err != nil {
		return Diagnosis{}, err
	}
	if len(ds) == 0 {
		return Diagnosis{}, &NotFoundError{What: "diagnosis", ID: id}
	}
	return ds[0], nil
}
