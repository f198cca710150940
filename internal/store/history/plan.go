package history

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Plan is an execution plan with when it was the plan of its class.
type Plan struct {
	Schema string       `json:"schema,omitzero"`
	First  time.Time    `json:"first"`
	Last   time.Time    `json:"last"`
	Hash   string       `json:"hash"` // of its shape, see Shape
	Plan   explain.Plan `json:"plan"` // as it was first seen
	// Tables are those that the statement names, as they were at TablesAt: when the plan was first seen, or later if
	// they could not be read then. May be empty.
	Tables   []schema.Table `json:"tables,omitempty"`
	TablesAt time.Time      `json:"tables_at,omitzero"`
}

// planDocument is a plan as it is stored.
type planDocument struct {
	explain.Plan
	Tables   []schema.Table `json:"tables,omitempty"`
	TablesAt time.Time      `json:"tables_at,omitzero"` // absent: when the plan was first seen
}

// Shape is a hash of what makes a plan another one: tables, accesses, keys and extras in their order. Estimates of rows
// move with the data and are no part of it.
func Shape(p explain.Plan) string {
	h := sha256.New()
	for _, s := range p.Steps {
		extra := slices.Sorted(slices.Values(s.Extra))
		fmt.Fprintf(h, "%q %q %q %q %q %q %q\n", s.SelectType, s.Table, s.Access, s.Key, s.KeyLen, s.Ref, extra)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// The longest that are kept, in bytes: what is told of a plan and of an example is a server's word.
const (
	longestPlan   = 256 << 10
	longestSample = 64 << 10
)

// PutPlan keeps the plan that a class of a target had at that moment; a plan with an error is none and is passed over.
// It reports whether the class had another plan before, which makes an event: the first plan of a class and the one it
// has anyway do not. The definitions of its tables are stored with a plan that is another one or the first, as far as
// they have room.
func (h *History) PutPlan(
	ctx context.Context, target, database string, at time.Time, p explain.Plan, tables ...schema.Table,
) (changed bool, err error) {
	if p.Error != "" || len(p.Steps) == 0 {
		return false, nil
	}
	if target == "" || p.Class == "" {
		return false, errors.New("store plan: it has no target or no class")
	}
	d := planDocument{Plan: p, Tables: tables}
	if len(tables) > 0 {
		d.TablesAt = at
	}
	doc, err := document(d)
	if err == nil && len(doc) > longestPlan && len(tables) > 0 {
		doc, err = document(p)
	}
	if err != nil {
		return false, fmt.Errorf("store plan of %s: %w", p.Class, err)
	}
	if len(doc) > longestPlan {
		return false, fmt.Errorf("store plan of %s: it takes %d bytes, and at most %d are stored",
			p.Class, len(doc), longestPlan)
	}
	hash, ms := Shape(p), at.UnixMilli()
	err = h.add(ctx, "store plan of "+p.Class, func(tx *sql.Tx) error {
		t, err := h.target(ctx, tx, target)
		if err != nil {
			return err
		}
		var first int64
		var old string
		switch err := tx.QueryRowContext(ctx, "SELECT first, hash FROM plan WHERE target = ? AND class = ? AND "+
			"schema = ? ORDER BY first DESC LIMIT 1", t, p.Class, database).Scan(&first, &old); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case old == hash && len(tables) > 0: // they could not be read before
			_, err := tx.ExecContext(ctx, "UPDATE plan SET last = max(last, ?), doc = ?, bytes = ? "+
				"WHERE target = ? AND class = ? AND schema = ? AND first = ?", ms, string(doc),
				len(doc)+len(database), t, p.Class, database, first)
			return err
		case old == hash:
			_, err := tx.ExecContext(ctx, "UPDATE plan SET last = max(last, ?) WHERE target = ? AND class = ? AND "+
				"schema = ? AND first = ?", ms, t, p.Class, database, first)
			return err
		case ms <= first: // the clock was set back: keep the order in which they were seen
			ms, changed = first+1, true
		default:
			changed = true
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?, ?, ?)", t, p.Class, database, ms, ms,
			hash, string(doc), len(doc)+len(database))
		return err
	})
	return changed && err == nil, err
}

// Plans returns the plans of a class of a target in all schemas, the latest first; none is no error.
func (h *History) Plans(ctx context.Context, target, id string) ([]Plan, error) {
	const op = "read plans"
	t, err := h.target(ctx, nil, target)
	if err != nil || t == 0 {
		return nil, wrap(op, h.path, err)
	}
	ps, err := query(ctx, h.db, func(r *sql.Rows, p *Plan) error {
		var first, last int64
		var doc []byte
		if err := r.Scan(&p.Schema, &first, &last, &p.Hash, &doc); err != nil {
			return err
		}
		p.First, p.Last = time.UnixMilli(first), time.UnixMilli(last)
		var d planDocument
		err := decode(doc, &d)
		if p.Plan, p.Tables = d.Plan, d.Tables; len(d.Tables) > 0 {
			if p.TablesAt = d.TablesAt; p.TablesAt.IsZero() {
				p.TablesAt = p.First
			}
		}
		return err
	}, "SELECT schema, first, last, hash, doc FROM plan WHERE target = ? AND class = ? ORDER BY last DESC, first DESC",
		t, id)
	return ps, wrap(op, h.path, err)
}

// keptSamples is how many of the latest and how many of the slowest examples of a class are kept.
const keptSamples = 5

// Sample is one execution of a class: an example with its literals.
type Sample struct {
	Class  string               `json:"class"`
	At     time.Time            `json:"at"`
	SQL    string               `json:"sql"`
	Schema string               `json:"schema,omitzero"`
	User   string               `json:"user,omitzero"`
	Host   string               `json:"host,omitzero"`
	Sec    known.Value[float64] `json:"sec,omitzero"`
}

// PutSample keeps an example, unless the class has five slower and five later ones already, or it
// is longer than 64 KiB, or than 128 KiB as JSON.
func (h *History) PutSample(ctx context.Context, target string, s Sample) error {
	if target == "" || s.Class == "" || s.SQL == "" {
		return errors.New("store example: it has no target, class or statement")
	}
	if len(s.SQL) > longestSample {
		return nil
	}
	doc, err := document(s)
	if err != nil {
		return fmt.Errorf("store example of %s: %w", s.Class, err)
	}
	if len(doc) > 2*longestSample { // full of what JSON writes in six bytes
		return nil
	}
	return h.add(ctx, "store example of "+s.Class, func(tx *sql.Tx) error {
		t, err := h.target(ctx, tx, target)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO sample (target, class, at, sec, doc, bytes) VALUES (?, ?, ?, "+
			"?, ?, ?)", t, s.Class, s.At.UnixMilli(), real(s.Sec), string(doc), len(doc)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM sample WHERE target = ?1 AND class = ?2
			AND id NOT IN (SELECT id FROM sample WHERE target = ?1 AND class = ?2 ORDER BY at DESC, id DESC LIMIT ?3)
			AND id NOT IN (SELECT id FROM sample WHERE target = ?1 AND class = ?2 AND sec IS NOT NULL ORDER BY sec DESC, id LIMIT ?3)`, t, s.Class, keptSamples)
		return err
	})
}

// Samples returns the kept examples of a class of a target, the slowest first, those of unknown time last.
func (h *History) Samples(ctx context.Context, target, id string) ([]Sample, error) {
	const op = "read examples"
	t, err := h.target(ctx, nil, target)
	if err != nil || t == 0 {
		return nil, wrap(op, h.path, err)
	}
	ss, err := query(ctx, h.db, func(r *sql.Rows, s *Sample) error {
		var doc []byte
		if err := r.Scan(&doc); err != nil {
			return err
		}
		return decode(doc, s)
	}, "SELECT doc FROM sample WHERE target = ? AND class = ?", t, id)
	slices.SortStableFunc(ss, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(b.Sec.Or(-1), a.Sec.Or(-1)), b.At.Compare(a.At))
	})
	return ss, wrap(op, h.path, err)
}

// document writes JSON as it is kept: a < or & of a statement takes one byte, not six.
func document(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decode reads a document. One that does not parse was not written by us.
func decode(doc []byte, v any) error {
	if err := json.Unmarshal(doc, v); err != nil {
		return fmt.Errorf("%w: document does not parse: %w", sqlitefile.ErrCorrupt, err)
	}
	return nil
}
