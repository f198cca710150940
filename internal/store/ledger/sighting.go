package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/state"
)

// Sighting is when a finding was seen on a target, and how it was reported last.
type Sighting struct {
	Target    string           `json:"-"`
	Finding   string           `json:"-"` // id
	Server    string           `json:"-"` // identity of the one that it was seen on
	First     time.Time        `json:"-"`
	Last      time.Time        `json:"-"`
	Rule      string           `json:"rule"`
	Severity  finding.Severity `json:"severity"`
	Title     string           `json:"title"`
	Share     float64          `json:"share"`
	Diagnosis string           `json:"diagnosis"` // id of the one that saw it last
	// Passing says that it is about sessions, as a lock pile-up: it is gone with them.
	Passing bool `json:"passing,omitzero"`
}

// What is kept of sightings, which are all read at a time: bytes of a title, and the newest of each target.
const (
	longestTitle  = 1 << 10
	mostSightings = 5000
)

// see keeps that a diagnosis saw its findings. A server that took the target's name begins anew.
func see(ctx context.Context, tx *sql.Tx, d Diagnosis) error {
	if len(d.Advice) > 0 {
		return nil
	}
	for _, f := range d.Findings {
		doc, err := json.Marshal(Sighting{
			Rule: f.Rule, Severity: f.Severity, Title: state.Clip(f.Title, longestTitle),
			Share: f.Share, Diagnosis: d.ID, Passing: len(f.Subject.Sessions) > 0,
		})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO sighting VALUES (?, ?, ?, ?4, ?4, ?) ON CONFLICT (target, finding) DO UPDATE SET
			first = iif(server IN (excluded.server, '') OR excluded.server = '', min(first, excluded.first), excluded.first),
			doc = iif(excluded.last >= last, excluded.doc, doc), last = max(last, excluded.last),
			server = iif(excluded.server = '', server, excluded.server)`,
			d.Target, f.ID, d.Server, millis(d.At), string(doc)); err != nil {
			return err
		}
	}
	return nil
}

// Sightings returns when the findings of a target, or of all with target "", were seen.
func (l *Ledger) Sightings(ctx context.Context, target string) ([]Sighting, error) {
	return list(ctx, l.book, "sightings", func(rows *sql.Rows, s *Sighting) error {
		var first, last int64
		var doc []byte
		if err := rows.Scan(&s.Target, &s.Finding, &s.Server, &first, &last, &doc); err != nil {
			return err
		}
		s.First, s.Last = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		return decode(doc, s)
	}, "SELECT target, finding, server, first, last, doc FROM sighting WHERE ?1 = '' OR target = ?1", target)
}

// Ignored says that a finding of a target is not to be shown as open.
type Ignored struct {
	Target  string    `json:"target"`
	Finding string    `json:"finding"`
	Until   time.Time `json:"until"`
	By      string    `json:"by,omitzero"` // who asked for it
	At      time.Time `json:"at"`
}

// Ignore stores i, replacing what was stored of the same finding; one that has no end is no longer ignored.
func (l *Ledger) Ignore(ctx context.Context, i Ignored) error {
	if i.Target == "" || i.Finding == "" {
		return errors.New("ignore finding: target or id is missing")
	}
	doc, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return l.write(ctx, "ignore finding "+i.Finding, func(tx *sql.Tx) error {
		if i.Until.IsZero() {
			_, err := tx.ExecContext(ctx, "DELETE FROM ignored WHERE target = ? AND finding = ?", i.Target, i.Finding)
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO ignored VALUES (?, ?, ?) ON CONFLICT (target, finding) DO UPDATE "+
			"SET doc = excluded.doc", i.Target, i.Finding, string(doc))
		return err
	})
}

// Ignored returns which findings of a target, or of all with target "", are ignored at a moment.
func (l *Ledger) Ignored(ctx context.Context, target string, at time.Time) ([]Ignored, error) {
	all, err := list[Ignored](ctx, l.book, "ignored findings", nil,
		"SELECT doc FROM ignored WHERE ?1 = '' OR target = ?1", target)
	var now []Ignored
	for _, i := range all {
		if i.Until.After(at) {
			now = append(now, i)
		}
	}
	return now, err
}
