package access

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// maxSessions is how many sessions one user has at most; the oldest ends for a new one.
const maxSessions = 20

// Local is the name of those who are let in without users, by the first-run link or as Dyno's own account of the
// machine.
const Local = "local"

// holder joins a session with who holds it: its user, or Local while there are no users.
const holder = ` FROM (SELECT s.*, coalesce(u.name, '` + Local + `') AS name, coalesce(u.role, '` +
	string(Operator) + `') AS role
	FROM session s LEFT JOIN user u ON u.name = s.user
	WHERE s.user IS NOT NULL OR NOT EXISTS (SELECT 1 FROM user))`

// seenEvery is how exactly the last request of a session or token is known: a write for each request would cost more
// than the answer.
const seenEvery = time.Minute

// Session is one login of a user.
type Session struct {
	ID      string    `json:"id"` // names it in lists; gives no access
	User    string    `json:"user"`
	Created time.Time `json:"created"`
	Seen    time.Time `json:"seen"`    // to the minute
	Address string    `json:"address"` // on this machine with the account
	Agent   string    `json:"agent,omitzero"`
	Secret  string    `json:"-"` // only of one that was just opened

	account string // the same
}

// Kind says how somebody made known who it is.
type Kind string

// The kinds of identities.
const (
	ByLogin    Kind = "session"
	ByAPIToken Kind = "token"
)

// Identity is who makes a request.
type Identity struct {
	Kind Kind
	Name string // of the user or token
	Role Role   // as it is now
	ID   string // of the session or token
	CSRF string // what a change must carry; "" for a token

	hash []byte
}

// Sessions are those of all users.
type Sessions struct{ book }

// open opens a session for a user whose password was found to have the hash phc. Its secret is always a new one.
// ErrWrong: the password is another one by now, and whoever changed it ended all sessions but this one that was not
// there yet.
func (s Sessions) open(ctx context.Context, user, phc string, from From) (Session, error) {
	x := newSession(s.o, user, from)
	err := s.write(ctx, "open session of "+user, func(tx *sql.Tx) error {
		var same bool
		err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM user WHERE name = ? AND password = ?)", user, phc).
			Scan(&same)
		switch {
		case err != nil:
			return err
		case !same:
			return ErrWrong
		}
		return putSession(ctx, s.o, tx, x, user)
	})
	return x, err
}

func newSession(o Options, user string, from From) Session {
	now := o.Now()
	return Session{
		ID: newID("s-"), User: user, Created: now, Seen: now, Secret: newSecret(),
		Address: clip(from.origin(), 64), Agent: clip(from.Agent, 200), account: from.Account,
	}
}

// putSession stores a session for a user, or for nil, for whom it lasts no longer than there are no users.
func putSession(ctx context.Context, o Options, tx *sql.Tx, x Session, user any) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM session WHERE seen <= ? OR created <= ?",
		millis(x.Created.Add(-o.Idle)), millis(x.Created.Add(-o.Absolute))); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM session WHERE id IN (SELECT id FROM session WHERE user IS ? ORDER BY "+
		"created DESC, id LIMIT -1 OFFSET ?)",
		user, maxSessions-1)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)",
		bound(x.Secret, x.account), x.ID, user, millis(x.Created), millis(x.Created), x.Address, x.Agent)
	return err
}

// Find returns who a session's secret belongs to and counts the request as a sign of life. The account is that of
// From.Account. ErrNotFound: there is no such session, or no longer, or another account opened it.
func (s Sessions) Find(ctx context.Context, secret, account string) (Identity, error) {
	if !wellFormed(secret) {
		return Identity{}, ErrNotFound
	}
	i := Identity{Kind: ByLogin, hash: bound(secret, account), CSRF: csrfOf(secret)}
	var created, seen int64
	err := s.row(ctx, "read session", "SELECT id, name, role, created, seen"+holder+" WHERE hash = ?",
		[]any{i.hash}, []any{&i.ID, &i.Name, &i.Role, &created, &seen})
	if err != nil {
		return Identity{}, err
	}
	now := s.o.Now()
	if over(s.o, created, seen, now) {
		return Identity{}, errors.Join(ErrNotFound, s.end(ctx, "session", i.hash))
	}
	if now.Sub(moment(seen)) >= seenEvery {
		err = s.write(ctx, "note session", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE session SET seen = max(seen, ?) WHERE hash = ?", millis(now), i.hash)
			return err
		})
	}
	if errors.Is(err, ErrFull) || errors.Is(err, ErrBusy) { // a full disk does not shut out those who would free it
		err = nil
	}
	return i, err
}

func over(o Options, created, seen int64, now time.Time) bool {
	return now.Sub(moment(seen)) >= o.Idle || now.Sub(moment(created)) >= o.Absolute
}

func (s Sessions) end(ctx context.Context, table string, hash []byte) error {
	return s.write(ctx, "end "+table, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE hash = ?", hash)
		return err
	})
}

// Alive reports whether an identity still lets somebody in with the role it had, for what goes on for long. It is no
// sign of life.
func (s *Store) Alive(ctx context.Context, i Identity) (bool, error) {
	var role Role
	var created, seen int64
	var err error
	ended := false
	switch i.Kind {
	case ByLogin:
		err = s.row(ctx, "read session", "SELECT role, created, seen"+holder+" WHERE hash = ?", []any{i.hash},
			[]any{&role, &created, &seen})
		ended = err == nil && over(s.o, created, seen, s.o.Now())
	case ByAPIToken:
		err = s.row(ctx, "read token", "SELECT role, expires FROM token WHERE hash = ?",
			[]any{i.hash}, []any{&role, &seen})
		ended = err == nil && !s.o.Now().Before(moment(seen))
	default:
		return false, nil
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && !ended && role == i.Role, err
}

// List returns the sessions of a user, or of all with "", newest first; those that are over are left out.
func (s Sessions) List(ctx context.Context, user string) ([]Session, error) {
	now := s.o.Now()
	return rows(ctx, s.book, "read sessions", func(r *sql.Rows, x *Session) error {
		var created, seen int64
		err := r.Scan(&x.ID, &x.User, &created, &seen, &x.Address, &x.Agent)
		x.Created, x.Seen = moment(created), moment(seen)
		return err
	}, "SELECT id, name, created, seen, address, agent"+holder+" WHERE (?1 = '' OR name = ?1) AND seen > ?2 AND "+
		"created > ?3 ORDER BY created DESC, id",
		user, millis(now.Add(-s.o.Idle)), millis(now.Add(-s.o.Absolute)))
}

// End ends the session of that id. With a user it must be one of that user's. ErrNotFound when there is none.
func (s Sessions) End(ctx context.Context, id, user string) error {
	return s.write(ctx, "end session", func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "DELETE FROM session WHERE id = ?1 AND (?2 = '' OR coalesce(user, '"+
			Local+"') = ?2)", id, user)
		return touched(r, err, "session")
	})
}

// EndAll ends all sessions of a user.
func (s Sessions) EndAll(ctx context.Context, user string) error {
	return s.write(ctx, "end sessions of "+user, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM session WHERE coalesce(user, '"+Local+"') = ?", user)
		return err
	})
}
