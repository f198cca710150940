package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Document is any other value worth keeping: an experiment's result, a report.
type Document struct {
	ID     string
	Kind   string // "experiment"
	Target string
	About  string    // id of the action that it is about, "" for none
	At     time.Time // when it was first stored, to the millisecond
	JSON   []byte    // byte by byte as it was given
}

// Documents are those of all kinds.
type Documents struct{ book }

// Put stores a JSON document, replacing the one of the same id. about is the id of the action that it is about,
// "" for none.
func (s Documents) Put(ctx context.Context, kind, id, target, about string, doc []byte) error {
	if id == "" || kind == "" {
		return errors.New("store document: it has no id or no kind")
	}
	if !json.Valid(doc) {
		return fmt.Errorf("store %s %s: it is not JSON", kind, id)
	}
	return s.write(ctx, fmt.Sprintf("store %s %s", kind, id), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO document VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
			kind = excluded.kind, target = excluded.target, about = excluded.about, doc = excluded.doc`, id, kind,
			target, about, millis(time.Now()), string(doc))
		return err
	})
}

// Get returns the document of that id, or ErrNotFound.
func (s Documents) Get(ctx context.Context, id string) (Document, error) {
	ds, err := list(ctx, s.book, "document "+id, scanDocument, "SELECT id, kind, target, about, at, doc FROM document "+
		"WHERE id = ?", id)
	if err != nil {
		return Document{}, err
	}
	if len(ds) == 0 {
		return Document{}, &NotFoundError{What: "document", ID: id}
	}
	return ds[0], nil
}

// List returns the latest documents of a kind, or of all with kind "", newest first; all of them when n is 0.
func (s Documents) List(ctx context.Context, kind string, n int) ([]Document, error) {
	return list(ctx, s.book, "documents", scanDocument, "SELECT id, kind, target, about, at, doc FROM document WHERE "+
		"?1 = '' OR kind = ?1 ORDER BY at DESC, id DESC LIMIT ?2",
		kind, limit(n))
}

// About returns the latest 200 documents of a kind about an action, newest first. They are found by an index.
func (s Documents) About(ctx context.Context, kind, action string) ([]Document, error) {
	return list(ctx, s.book, "documents", scanDocument, "SELECT id, kind, target, about, at, doc FROM document"+
		" WHERE about <> '' AND about = ? AND kind = ? ORDER BY at DESC, id DESC LIMIT 200", action, kind)
}

// Listed is a document without what it says.
type Listed struct {
	ID     string
	Kind   string
	Target string
	At     time.Time // when it was first stored, to the millisecond
	Size   int64     // bytes
}

// Heads is List without what they say, which may be megabytes each and is not read.
func (s Documents) Heads(ctx context.Context, kind string, n int) ([]Listed, error) {
	return list(ctx, s.book, "documents", func(rows *sql.Rows, d *Listed) error {
		var at int64
		err := rows.Scan(&d.ID, &d.Kind, &d.Target, &at, &d.Size)
		d.At = time.UnixMilli(at).UTC()
		return err
	}, "SELECT id, kind, target, at, octet_length(doc) FROM document WHERE ?1 = '' OR kind = ?1 ORDER BY at DESC, id "+
		"DESC LIMIT ?2", kind, limit(n))
}

func scanDocument(rows *sql.Rows, d *Document) error {
	var at int64
	err := rows.Scan(&d.ID, &d.Kind, &d.Target, &d.About, &at, &d.JSON)
	d.At = time.UnixMilli(at).UTC()
	return err
}
