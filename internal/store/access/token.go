package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MaxTokenLife is the longest that a token may be good for.
const MaxTokenLife = 3 * 366 * 24 * time.Hour

// Token gives a program access: Grafana, Prometheus, a script.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	By      string    `json:"by"` // who made it
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Used    time.Time `json:"used,omitzero"` // to the minute; missing: never
	Secret  string    `json:"-"`             // only of one that was just made
}

// Tokens are the API tokens of all programs.
type Tokens struct{ book }

// Add makes a token; its secret is shown only once. Errors: ErrInvalid, ErrExists (the name).
func (s Tokens) Add(ctx context.Context, name string, role Role, by string, life time.Duration) (Token, error) {
	if err := CheckName(name); err != nil {
		return Token{}, fmt.Errorf("add token: %w", err)
	}
	if _, err := ParseRole(string(role)); err != nil {
		return Token{}, fmt.Errorf("add token: %w", err)
	}
	if life <= 0 || life > MaxTokenLife {
		return Token{}, fmt.Errorf("add token: %w: it must be good for between a day and %d days", ErrInvalid,
			int(MaxTokenLife.Hours()/24))
	}
	now := s.o.Now()
	t := Token{
		ID: newID("t-"), Name: name, Role: role, By: by, Created: now.UTC(), Expires: now.Add(life).UTC(),
		Secret: tokenMark + newSecret(),
	}
	return t, s.write(ctx, "add token "+name, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM token WHERE name = ?", name).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("token %s: %w", name, ErrExists)
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?, 0)", digest(t.Secret), t.ID, name,
			string(role), by, millis(t.Created), millis(t.Expires))
		return err
	})
}

// Find returns who a token's secret belongs to. ErrNotFound: there is no such token, or it is no longer good.
func (s Tokens) Find(ctx context.Context, secret string) (Identity, error) {
	bare, ok := strings.CutPrefix(secret, tokenMark)
	if !ok || !wellFormed(bare) {
		return Identity{}, ErrNotFound
	}
	i := Identity{Kind: ByAPIToken, hash: digest(secret)}
	var expires, used int64
	err := s.row(ctx, "read token", "SELECT id, name, role, expires, used FROM token WHERE hash = ?", []any{i.hash},
		[]any{&i.ID, &i.Name, &i.Role, &expires, &used})
	if err != nil {
		return Identity{}, err
	}
	now := s.o.Now()
	if !now.Before(moment(expires)) {
		return Identity{}, ErrNotFound
	}
	if now.Sub(moment(used)) >= seenEvery {
		err = s.write(ctx, "note token", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE token SET used = max(used, ?) WHERE hash = ?", millis(now), i.hash)
			return err
		})
	}
	if errors.Is(err, ErrFull) || errors.Is(err, ErrBusy) {
		err = nil
	}
	return i, err
}

// List returns all tokens in order of name, those that are no longer good too.
func (s Tokens) List(ctx context.Context) ([]Token, error) {
	return rows(ctx, s.book, "read tokens", func(r *sql.Rows, t *Token) error {
		var created, expires, used int64
		err := r.Scan(&t.ID, &t.Name, &t.Role, &t.By, &created, &expires, &used)
		t.Created, t.Expires, t.Used = moment(created), moment(expires), moment(used)
		return err
	}, "SELECT id, name, role, made_by, created, expires, used FROM token ORDER BY name")
}

// Remove removes the token of that id or name. ErrNotFound when there is none.
func (s Tokens) Remove(ctx context.Context, id string) error {
	return s.write(ctx, "remove token", func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "DELETE FROM token WHERE id = ?1 OR name = ?1", id)
		return touched(r, err, "token") // not which: people paste the token itself
	})
}
