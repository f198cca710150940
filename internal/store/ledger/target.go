package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// Target is one line of the inventory: how to reach a server, and where its password is, never the password.
type Target struct {
	Name        string `json:"name"`
	URL         string `json:"url"` // without a password
	Defaults    string `json:"defaults_file,omitzero"`
	PasswordEnv string `json:"password_env,omitzero"` // name of the environment variable that holds the password
	Redact      bool   `json:"redact,omitzero"`       // no literal of its statements is kept or shown
}

// PutTarget stores t, replacing the one of the same name. A URL with a password is refused with ErrSecret.
func (l *Ledger) PutTarget(ctx context.Context, t Target) error {
	doc, err := t.document()
	if err != nil {
		return err
	}
	return l.write(ctx, "store target "+t.Name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO target VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET doc = "+
			"excluded.doc", t.Name, string(doc))
		return err
	})
}

// AddTarget stores t where none of its name is stored, and returns the one that is there then. A URL with a password is
// refused with ErrSecret.
func (l *Ledger) AddTarget(ctx context.Context, t Target) (there Target, err error) {
	doc, err := t.document()
	if err != nil {
		return t, err
	}
	err = l.write(ctx, "store target "+t.Name, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO target VALUES (?, ?) ON CONFLICT (name) DO NOTHING", t.Name,
			string(doc)); err != nil {
			return err
		}
		var kept []byte
		if err := tx.QueryRowContext(ctx, "SELECT doc FROM target WHERE name = ?", t.Name).Scan(&kept); err != nil {
			return err
		}
		return decode(kept, &there)
	})
	return there, err
}

// document is t as it is stored.
func (t Target) document() ([]byte, error) {
	if t.Name == "" {
		return nil, errors.New("store target: it has no name")
	}
	if err := withoutPassword("store target "+t.Name, t.URL); err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

// Target returns the target of that name, or ErrNotFound.
func (l *Ledger) Target(ctx context.Context, name string) (Target, error) {
	return one[Target](ctx, l.book, "target", name, "SELECT doc FROM target WHERE name = ?", name)
}

// Targets returns the inventory by name.
func (l *Ledger) Targets(ctx context.Context) ([]Target, error) {
	return list[Target](ctx, l.book, "targets", nil, "SELECT doc FROM target ORDER BY name")
}

// RemoveTarget takes a target off the inventory, or returns ErrNotFound. What was stored about it stays.
func (l *Ledger) RemoveTarget(ctx context.Context, name string) error {
	if _, err := l.Target(ctx, name); err != nil {
		return err
	}
	return l.write(ctx, "remove target "+name, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "DELETE FROM target WHERE name = ?", name)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, &NotFoundError{What: "target", ID: name})
		}
		return nil
	})
}
