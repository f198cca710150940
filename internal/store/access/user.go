package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// User is a user with a password.
type User struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"password_changed"` // when the password was set
	Seen    time.Time `json:"seen,omitzero"`    // of the newest session that is left
}

// HasUsers reports whether there is any user. ErrLost: there is none, but there were.
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	var some bool
	err := s.row(ctx, "read users", "SELECT EXISTS (SELECT 1 FROM user)", nil, []any{&some})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	if err == nil && !some && marked(s.path) {
		err = lost("read users", s.path)
	}
	return some, err
}

// Users returns all users in order of name.
func (s *Store) Users(ctx context.Context) ([]User, error) {
	return rows(ctx, s.book, "read users", func(r *sql.Rows, u *User) error {
		var created, changed, seen int64
		err := r.Scan(&u.Name, &u.Role, &created, &changed, &seen)
		u.Created, u.Changed, u.Seen = moment(created), moment(changed), moment(seen)
		return err
	}, "SELECT name, role, created, changed, coalesce((SELECT max(seen) FROM session WHERE user = name), 0) FROM "+
		"user ORDER BY name")
}

// AddUser adds a user. The first one must be an operator. Errors: ErrInvalid, ErrExists.
func (s *Store) AddUser(ctx context.Context, name string, role Role, password string) error {
	hash, err := newHash(ctx, s.hashing, name, role, password)
	if err != nil {
		return fmt.Errorf("add user: %w", err)
	}
	return s.writeUser(ctx, "add user "+name, func(tx *sql.Tx) error {
		return insertUser(ctx, s.o, tx, name, role, hash)
	})
}

// writeUser is write for what adds a user: the marker is there before the user is, and not left behind when none was
// added.
func (s *Store) writeUser(ctx context.Context, op string, do func(*sql.Tx) error) error {
	made := false
	err := s.write(ctx, op, func(tx *sql.Tx) (err error) {
		if err = do(tx); err == nil {
			made, err = mark(s.path)
		}
		return err
	})
	if err != nil && made {
		err = errors.Join(err, unmark(s.path))
	}
	return err
}

// newHash checks what a new user would be and returns the hash of the password.
func newHash(ctx context.Context, hashing chan struct{}, name string, role Role, password string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if _, err := ParseRole(string(role)); err != nil {
		return "", err
	}
	return hashInTurn(ctx, hashing, name, password)
}

func insertUser(ctx context.Context, o Options, tx *sql.Tx, name string, role Role, hash string) error {
	var others, same int
	if err := tx.QueryRowContext(ctx, "SELECT count(*), count(CASE WHEN name = ? THEN 1 END) FROM user", name).
		Scan(&others, &same); err != nil {
		return err
	}
	switch {
	case same > 0:
		return fmt.Errorf("user %s: %w", name, ErrExists)
	case others == 0 && role != Operator:
		return fmt.Errorf("%w: the first user must be an operator, or no user could manage the others", ErrInvalid)
	}
	now := millis(o.Now())
	_, err := tx.ExecContext(ctx, "INSERT INTO user VALUES (?, ?, ?, ?, ?)", name, string(role), hash, now, now)
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM first") // its door is shut
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM session WHERE user IS NULL") // and who came in by it is out
	}
	return err
}

// SetPassword gives a user another password and ends the user's sessions but the one with the id keep; "" ends all.
// Errors: ErrNotFound, ErrInvalid.
func (s *Store) SetPassword(ctx context.Context, name, password, keep string) error {
	return s.setPassword(ctx, name, password, keep, func(*sql.Tx) error { return nil })
}

// setPassword is SetPassword if may allows it when the password is written.
func (s *Store) setPassword(ctx context.Context, name, password, keep string, may func(*sql.Tx) error) error {
	if err := s.known(ctx, name); err != nil { // before a hash is worked out for nobody
		return err
	}
	hash, err := hashInTurn(ctx, s.hashing, name, password)
	if err != nil {
		return fmt.Errorf("set password of %s: %w", name, err)
	}
	return s.write(ctx, "set password of "+name, func(tx *sql.Tx) error {
		if err := may(tx); err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, "UPDATE user SET password = ?, changed = ? WHERE name = ?", hash,
			millis(s.o.Now()), name)
		if err := touched(r, err, "user "+name); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM session WHERE user = ? AND id <> ?", name, keep)
		return err
	})
}

func (s *Store) known(ctx context.Context, name string) error {
	var n int
	err := s.row(ctx, "read user "+name, "SELECT 1 FROM user WHERE name = ?", []any{name}, []any{&n})
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("user %q: %w", name, ErrNotFound)
	}
	return err
}

// SetRole gives a user another role; sessions have it from their next request on. Errors: ErrNotFound, ErrInvalid,
// ErrLastOperator.
func (s *Store) SetRole(ctx context.Context, name string, role Role) error {
	if _, err := ParseRole(string(role)); err != nil {
		return fmt.Errorf("set role of %s: %w", name, err)
	}
	return s.write(ctx, "set role of "+name, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "UPDATE user SET role = ? WHERE name = ?", string(role), name)
		if err := touched(r, err, "user "+name); err != nil {
			return err
		}
		return operatorLeft(ctx, tx, false)
	})
}

// RemoveUser removes a user and ends the sessions. The last operator goes only as the last user and with last true:
// nobody needs a login then who has Dyno's own account of this machine. Errors: ErrNotFound, ErrLastOperator.
func (s *Store) RemoveUser(ctx context.Context, name string, last bool) error {
	left := 0
	err := s.write(ctx, "remove user "+name, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "DELETE FROM user WHERE name = ?", name)
		if err := touched(r, err, "user "+name); err != nil {
			return err
		}
		if err := operatorLeft(ctx, tx, last); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM user").Scan(&left)
	})
	if err == nil && left == 0 {
		err = explain("remove user "+name, s.path, unmark(s.path))
	}
	return err
}

func operatorLeft(ctx context.Context, tx *sql.Tx, orNobody bool) error {
	var all, operators int
	if err := tx.QueryRowContext(ctx, "SELECT count(*), count(CASE WHEN role = 'operator' THEN 1 END) FROM user").
		Scan(&all, &operators); err != nil {
		return err
	}
	if operators == 0 && (all > 0 || !orNobody) {
		return ErrLastOperator
	}
	return nil
}

// touched turns a statement that found no row into ErrNotFound.
func touched(r sql.Result, err error, what string) error {
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("%s: %w", what, ErrNotFound))
	}
	return nil
}

// hashInTurn works out the hash of a new password that will do.
func hashInTurn(ctx context.Context, hashing chan struct{}, name, password string) (string, error) {
	if err := CheckPassword(password, name); err != nil {
		return "", err
	}
	done, err := mayHash(ctx, hashing)
	if err != nil {
		return "", err
	}
	defer done()
	return hashPassword(password, usual), nil
}

// mayHash waits for one of the two places in which a hash is worked out, for a few seconds.
func mayHash(ctx context.Context, hashing chan struct{}) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	select {
	case hashing <- struct{}{}:
		return func() { <-hashing }, nil
	case <-ctx.Done():
		return nil, ErrBusyLogins
	}
}
