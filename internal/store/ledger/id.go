package ledger

import (
	"context"
	"database/sql"
	"time"
)

// Kind is the letter that an id begins with.
type Kind string

// The kinds of id.
const (
	RunID        Kind = "r"
	ActionID     Kind = "a" // an entry of the journal
	ExperimentID Kind = "x"
	DiagnosisID  Kind = "d"
	EventID      Kind = "e"
)

// epoch is the second that ids count from.
var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// alphabet is Crockford's base 32 in lower case: in order of ASCII, without i, l, o and u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns an id such as "a-1kq3f9", short enough to type. Ids of one ledger are unique, whatever processes use
// it, and their order is that of their making: the six characters count the seconds since 2025, an id made within the
// same second takes the next free one.
func (l *Ledger) NewID(ctx context.Context, k Kind) (string, error) {
	var id string
	err := l.write(ctx, "make an id", func(tx *sql.Tx) (err error) {
		id, err = newID(ctx, tx, k, time.Now())
		return err
	})
	return id, err
}

func newID(ctx context.Context, tx *sql.Tx, k Kind, now time.Time) (string, error) {
	var n int64
	err := tx.QueryRowContext(ctx, "UPDATE serial SET last = max(last + 1, ?) WHERE only = 1 RETURNING last",
		int64(now.Sub(epoch)/time.Second)).Scan(&n)
	if err != nil {
		return "", err
	}
	return string(k) + "-" + base32(n), nil
}

// base32 writes n, which is not negative, in at least six characters.
func base32(n int64) string {
	var b [13]byte
	i := len(b)
	for n > 0 || i > len(b)-6 {
		i--
		b[i] = alphabet[n&31]
		n >>= 5
	}
	return string(b[i:])
}
