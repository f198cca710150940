package fault

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// Replicate has a server, which is still empty, replicate from another one, which listens at a port of this machine and
// is empty, too. It returns when the replica has everything.
func Replicate(ctx context.Context, t, replica *target.Target, port int) error {
	file, pos, err := position(ctx, t)
	if err != nil {
		return fmt.Errorf("make a replica: %w", err)
	}
	secret := rand.Text()
	source := []string{
		"CREATE USER 'replica'@'127.0.0.1' IDENTIFIED BY '" + secret + "'",
		"GRANT REPLICATION SLAVE ON *.* TO 'replica'@'127.0.0.1'",
	}
	start := "START SLAVE"
	from := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='replica', "+
		"MASTER_PASSWORD='%s', MASTER_LOG_FILE='%s', MASTER_LOG_POS=%d",
		port, secret, file, pos)
	if newWords(t, 8, 0, 23) {
		start = "START REPLICA"
		from = fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, "+
			"SOURCE_USER='replica', SOURCE_PASSWORD='%s', SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=%d, "+
			"GET_SOURCE_PUBLIC_KEY=1",
			port, secret, file, pos)
	}
	if err := execAll(ctx, t, source...); err != nil {
		return fmt.Errorf("make a replica: %w", err)
	}
	if err := execAll(ctx, replica, from, start); err != nil {
		return fmt.Errorf("make a replica: %w", err)
	}
	return CaughtUp(ctx, t, replica)
}

// newWords reports whether the server is a MySQL of at least a version: there replication speaks of source and replica.
func newWords(t *target.Target, major, minor, patch int) bool {
	f := t.Facts()
	return !f.Flavor.IsMariaDB() && f.Version.AtLeast(major, minor, patch)
}

// position asks where the changes of a server are being written.
func position(ctx context.Context, t *target.Target) (file string, pos int64, err error) {
	q := "SHOW MASTER STATUS"
	if f := t.Facts(); !f.Flavor.IsMariaDB() && f.Version.AtLeast(8, 2, 0) {
		q = "SHOW BINARY LOG STATUS"
	}
	rows, err := t.DB().QueryContext(ctx, q)
	if err != nil {
		return "", 0, t.Wrap("ask for the binary log of", err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return "", 0, err
	}
	if !rows.Next() {
		return "", 0, errors.Join(rows.Err(), errors.New("the server writes no binary log: do not switch it off with "+
			"--set"))
	}
	vals := make([]sql.RawBytes, len(cols))
	into := make([]any, len(cols))
	for i := range vals {
		into[i] = &vals[i]
	}
	if err := rows.Scan(into...); err != nil {
		return "", 0, err
	}
	file = string(vals[0])
	pos, err = strconv.ParseInt(string(vals[1]), 10, 64)
	return file, pos, err
}

// catchUp is how long the replica may take for what was planted.
const catchUp = 2 * time.Minute

// CaughtUp returns when the replica has everything that its source has now.
func CaughtUp(ctx context.Context, t, replica *target.Target) error {
	file, pos, err := position(ctx, t)
	if err != nil {
		return err
	}
	wait := "MASTER_POS_WAIT"
	if newWords(t, 8, 0, 26) {
		wait = "SOURCE_POS_WAIT"
	}
	var events sql.NullInt64
	err = replica.DB().QueryRowContext(ctx, fmt.Sprintf("SELECT %s('%s', %d, %d)", wait, file, pos,
		int(catchUp.Seconds()))).Scan(&events)
	switch {
	case err != nil:
		return replica.Wrap("wait for the replica", err)
	case !events.Valid:
		return errors.New("wait for the replica: replication does not run: check its error log")
	case events.Int64 < 0:
		return fmt.Errorf("wait for the replica: it has not caught up within %v", catchUp)
	}
	return nil
}

func execAll(ctx context.Context, t *target.Target, statements ...string) error {
	for _, q := range statements {
		if _, err := t.DB().ExecContext(ctx, q); err != nil {
			return t.Wrap("prepare replication on", err)
		}
	}
	return nil
}
