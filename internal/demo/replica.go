package demo

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/mysql/fault"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// replicate starts a second private server that replicates from the first one, which is still empty, and has the
// diagnosis look at it.
func (d *demo) replicate(ctx context.Context, name string) (err error) {
	d.say("Starting a replica of it, which will be diagnosed.")
	d.twin, d.seen, err = d.up(ctx, name, settingsOf(d.o, d.needs, replicaSettings(d.needs)), limit.Limits{})
	if err != nil {
		return err
	}
	file, pos, err := position(ctx, d.t.my)
	if err != nil {
		return fmt.Errorf("make a replica: %w", err)
	}
	secret := rand.Text()
	source := []string{
		"CREATE USER 'replica'@'127.0.0.1' IDENTIFIED BY '" + secret + "'",
		"GRANT REPLICATION SLAVE ON *.* TO 'replica'@'127.0.0.1'",
	}
	words := [2]string{"MASTER", "SLAVE"}
	from := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='replica', "+
		"MASTER_PASSWORD='%s', MASTER_LOG_FILE='%s', MASTER_LOG_POS=%d",
		d.box.Port, secret, file, pos)
	if newWords(d.t.my, 8, 0, 23) {
		words = [2]string{"SOURCE", "REPLICA"}
		from = fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, "+
			"SOURCE_USER='replica', SOURCE_PASSWORD='%s', SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=%d, "+
			"GET_SOURCE_PUBLIC_KEY=1",
			d.box.Port, secret, file, pos)
	}
	if err := execAll(ctx, d.t.my, source...); err != nil {
		return fmt.Errorf("make a replica: %w", err)
	}
	if err := execAll(ctx, d.seen.my, from, "START "+words[1]); err != nil {
		return fmt.Errorf("make a replica: %w", err)
	}
	return caughtUp(ctx, d.t.my, d.seen.my)
}

// replicaSettings are those of the source with the replica's own.
func replicaSettings(needs fault.Needs) map[string]string {
	m := maps.Clone(needs.Settings)
	if m == nil {
		m = map[string]string{}
	}
	m["server_id"] = "2"
	for k, v := range needs.Replica {
		maps.DeleteFunc(m, func(have, _ string) bool { return fault.PlainSetting(have) == fault.PlainSetting(k) })
		m[k] = v
	}
	return m
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

// caughtUp returns when the replica has everything that its source has now.
func caughtUp(ctx context.Context, t, seen *target.Target) error {
	file, pos, err := position(ctx, t)
	if err != nil {
		return err
	}
	wait := "MASTER_POS_WAIT"
	if newWords(t, 8, 0, 26) {
		wait = "SOURCE_POS_WAIT"
	}
	var events sql.NullInt64
	err = seen.DB().QueryRowContext(ctx, fmt.Sprintf("SELECT %s('%s', %d, %d)", wait, file, pos,
		int(catchUp.Seconds()))).Scan(&events)
	switch {
	case err != nil:
		return seen.Wrap("wait for the replica", err)
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
