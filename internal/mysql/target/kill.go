package target

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Kill ends a session that the target's account has from this machine; found reports whether there was one. The number
// alone is not enough: after a restart, or where a balancer has another server answer, it is another user's.
func (t *Target) Kill(ctx context.Context, id uint64) (found bool, err error) {
	conn, err := t.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	var user, host string
	err = conn.QueryRowContext(ctx, own(fmt.Sprintf(askSession, id))).Scan(&user, &host)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !t.self.account(user, host) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err = conn.ExecContext(ctx, own(fmt.Sprintf("KILL %d", id))); err != nil {
		if _, gone := ServerErrorNumber(err); gone { // it has ended meanwhile
			err = nil
		}
	}
	return true, err
}
