package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// From tells where somebody logs in from.
type From struct {
	Address string // without a port
	Agent   string // the browser, as it calls itself
	// of this machine, to which the session is bound: whoever else has its secret is not let in; "" binds it to none
	Account string
}

// origin is where from as far as it can be told: all accounts of this machine share its address.
func (f From) origin() string { return strings.TrimSuffix(f.Address+" "+f.Account, " ") }

// Login checks a name and a password and opens a session. A name that nobody has takes as long as one with a wrong
// password, and gets the same answer. Errors: ErrWrong, ErrBusyLogins, *PauseError.
func (s *Store) Login(ctx context.Context, name, password string, from From) (Session, error) {
	phc, err := s.verify(ctx, name, password, from)
	if err != nil {
		return Session{}, err
	}
	return s.Sessions.open(ctx, name, phc, from)
}

// ChangePassword sets a password, the own or as an operator another's, for somebody who knows the own: who asks for
// whom is by and name. The sessions of name end but the one with the id keep. When the own password or role is another
// one by the time that the new password is written nothing is changed, for then somebody else may have come in between.
// Errors: those of Login, ErrNotFound, ErrInvalid.
func (s *Store) ChangePassword(ctx context.Context, by, own string, from From, name, password, keep string) error {
	phc, err := s.verify(ctx, by, own, from)
	if err != nil {
		return err
	}
	return s.setPassword(ctx, name, password, keep, still(ctx, by, phc, name))
}

// still fails with ErrWrong when by has not the hash phc any more, or may not set the password of name.
func still(ctx context.Context, by, phc, name string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		var may bool
		err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM user WHERE name = ?1 AND password = ?2 AND "+
			"(name = ?3 OR role = ?4))", by, phc, name, string(Operator)).Scan(&may)
		if err == nil && !may {
			err = ErrWrong
		}
		return err
	}
}

// verify checks a password and returns the hash that it has, by which a later step can tell that it was not changed
// meanwhile.
func (s *Store) verify(ctx context.Context, name, password string, from From) (phc string, err error) {
	if CheckName(name) != nil || len(password) > MaxPassword { // nobody has these
		name, password = "", ""
	}
	if s.logins.left(name, from.origin(), s.o.Now()) > 0 {
		if err := s.recognize(ctx, name, from.origin()); err != nil {
			return "", err
		}
	}
	if wait := s.logins.left(name, from.origin(), s.o.Now()); wait > 0 {
		return "", &PauseError{Left: wait}
	}
	done, err := mayHash(ctx, s.hashing)
	if err != nil {
		return "", err
	}
	defer done()
	err = s.row(ctx, "log in", "SELECT password FROM user WHERE name = ?", []any{name}, []any{&phc})
	unknown := errors.Is(err, ErrNotFound)
	if err != nil && !unknown {
		return "", err
	}
	// Only now is it certain that something is checked, and so counted.
	if wait := s.logins.begin(name, from.origin(), s.o.Now()); wait > 0 {
		return "", &PauseError{Left: wait}
	}
	if unknown {
		wasteTime(password)
		return "", ErrWrong
	}
	right, stale, err := checkPassword(password, phc)
	switch {
	case err != nil:
		return "", explain("log in", s.path, fmt.Errorf("%w: password of %s: %w", sqlitefile.ErrCorrupt, name, err))
	case !right:
		return "", ErrWrong
	}
	s.logins.succeed(name, from.origin(), s.o.Now())
	if stale { // made by an older Dyno: now, while the password is at hand, it gets what is usual today
		return s.renew(ctx, name, password, phc)
	}
	return phc, nil
}

// recognize has the throttle know a name at an address that it has a session from, which was opened before this process
// began.
func (s *Store) recognize(ctx context.Context, name, address string) error {
	var created int64
	err := s.row(ctx, "read sessions of "+name, "SELECT created FROM session WHERE user = ? AND address = ? LIMIT 1",
		[]any{name, clip(address, 64)}, []any{&created})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		s.logins.know(name, address)
	}
	return err
}

// renew gives a password that has the hash was another hash and returns it. Where the hash was changed meanwhile it
// stays, and the password must have that one.
func (s *Store) renew(ctx context.Context, name, password, was string) (is string, err error) {
	fresh := hashPassword(password, usual)
	err = s.write(ctx, "renew hash of "+name, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE user SET password = ? WHERE name = ? AND password = ?", fresh,
			name, was); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx, "SELECT password FROM user WHERE name = ?", name).Scan(&is)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrWrong
		}
		return err
	})
	if err != nil || is == fresh {
		return is, err
	}
	if right, _, err := checkPassword(password, is); err != nil || !right {
		return "", ErrWrong
	}
	return is, nil
}

// firstLife is how long a first-run token lets somebody in.
const firstLife = 24 * time.Hour

// FirstToken makes the token that lets the first operator in, in place of any earlier one. Errors: ErrExists when there
// are users, ErrLost.
func (s *Store) FirstToken(ctx context.Context) (string, error) {
	secret := newSecret()
	some, err := s.HasUsers(ctx)
	if err == nil && some {
		err = fmt.Errorf("users: %w", ErrExists)
	}
	if err != nil {
		return "", err
	}
	err = s.write(ctx, "make first-run token", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO first SELECT 1, ?, ? WHERE NOT EXISTS (SELECT 1 FROM "+
			"user)",
			digest(secret), millis(s.o.Now().Add(firstLife)))
		return err
	})
	return secret, err
}

// LoginFirst uses up the first-run token: it adds the first operator, writes that into the audit log in the same
// transaction, and opens a session. Errors: ErrFirst, ErrInvalid (the token is still good then), *PauseError.
func (s *Store) LoginFirst(ctx context.Context, token, name, password string, from From) (Session, error) {
	if err := s.checkFirst(ctx, token, from); err != nil {
		return Session{}, err
	}
	hash, err := newHash(ctx, s.hashing, name, Operator, password)
	if err != nil {
		return Session{}, err
	}
	err = useFirst(ctx, s.o, s.writeUser, token, func(tx *sql.Tx) error {
		if err := insertUser(ctx, s.o, tx, name, Operator, hash); err != nil {
			return err
		}
		_, err = enter(ctx, s.o, tx, "change", Entry{
			Who: name, Via: string(ByLogin), From: from.Address, What: "add the first operator", Detail: "name=" + name,
			Status: 200, Outcome: "done",
		})
		return err
	})
	if err != nil {
		return Session{}, err
	}
	return s.Sessions.open(ctx, name, hash, from)
}

// LoginLocal uses up the first-run token for a session of Local, which adds no user and ends with the first one. It is
// for whoever can read what serve prints on the machine. Errors: ErrFirst, *PauseError.
func (s *Store) LoginLocal(ctx context.Context, token string, from From) (Session, error) {
	if err := s.checkFirst(ctx, token, from); err != nil {
		return Session{}, err
	}
	x := newSession(s.o, Local, from)
	err := useFirst(ctx, s.o, s.write, token, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM first"); err != nil {
			return err
		}
		return putSession(ctx, s.o, tx, x, nil)
	})
	return x, err
}

const askFirst = "SELECT 1 FROM first WHERE hash = ? AND expires > ? AND NOT EXISTS (SELECT 1 FROM user)"

// checkFirst looks whether a first-run token is the right one. Only wrong ones are counted and held up, by address
// alone: nobody guesses 256 bits, and whoever has the right one is not kept out by those who try.
func (s *Store) checkFirst(ctx context.Context, token string, from From) error {
	var one int
	err := s.row(ctx, "log in for the first time", askFirst, []any{digest(token), millis(s.o.Now())}, []any{&one})
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if wait := s.logins.begin("", from.origin(), s.o.Now()); wait > 0 {
		return &PauseError{Left: wait}
	}
	return ErrFirst
}

// useFirst does something with a first-run token: of two at the same time one wins.
func useFirst(ctx context.Context, o Options, write func(context.Context, string, func(*sql.Tx) error) error,
	token string,
	do func(*sql.Tx) error,
) error {
	return write(ctx, "log in for the first time", func(tx *sql.Tx) error {
		var one int
		err := tx.QueryRowContext(ctx, askFirst, digest(token), millis(o.Now())).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrFirst
		} else if err != nil {
			return err
		}
		return do(tx)
	})
}
