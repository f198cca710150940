package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// Numbers of server errors that say the server does not know what it was told.
const (
	errSyntax          = 1064
	errUnknownVariable = 1193
)

// prepareEnd tells a running server to end in full when it is told to end, and to forget its logs. It returns the names
// of the binary and relay logs in the data directory, without their ending.
func (r record) prepareEnd(ctx context.Context, dir string) (logs []string, err error) {
	if r.Server.Flavor.IsPostgres() { // its orderly end is a full one, and its logs are part of its data
		return nil, nil
	}
	t, err := target.Open(ctx, r.sandbox("", dir).Spec())
	if err != nil {
		return nil, hint(err, "let root log in over the socket without a password, as in a new sandbox")
	}
	defer t.Close()
	db := t.DB()
	if on, _ := t.Variable("log_bin"); on == "ON" || on == "1" {
		if err := first(ctx, db, "RESET BINARY LOGS AND GTIDS", "RESET MASTER"); err != nil {
			return nil, fmt.Errorf("remove the binary logs: %w", err)
		}
	}
	if err := forgetSource(ctx, db); err != nil {
		return nil, fmt.Errorf("end the replication: %w", err)
	}
	home, _ := t.Variable("datadir")
	for _, v := range []string{"log_bin_basename", "relay_log_basename"} {
		if base, _ := t.Variable(v); filepath.Dir(base) == filepath.Clean(home) {
			logs = append(logs, filepath.Base(base))
		}
	}
	_, err = db.ExecContext(ctx, "SET GLOBAL innodb_fast_shutdown = 0")
	if n, ok := target.ServerErrorNumber(err); ok && n == errUnknownVariable { // no InnoDB
		err = nil
	}
	return logs, err
}

// first runs the first statement that the server understands.
func first(ctx context.Context, db *sql.DB, statements ...string) (err error) {
	for _, s := range statements {
		_, err = db.ExecContext(ctx, s)
		if n, ok := target.ServerErrorNumber(err); !ok || n != errSyntax {
			return err
		}
	}
	return err
}

// forgetSource ends the replication that a server takes part in as a replica, if it does.
func forgetSource(ctx context.Context, db *sql.DB) error {
	is := false
	for _, s := range []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"} {
		rows, err := db.QueryContext(ctx, s)
		if n, ok := target.ServerErrorNumber(err); ok && n == errSyntax {
			continue
		}
		if err != nil {
			return err
		}
		is = rows.Next()
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		break
	}
	if !is {
		return nil
	}
	if err := first(ctx, db, "STOP REPLICA", "STOP SLAVE"); err != nil {
		return err
	}
	return first(ctx, db, "RESET REPLICA ALL", "RESET SLAVE ALL")
}

// askToEnd asks a process to end and waits until it has. It does not kill.
func askToEnd(ctx context.Context, id host.Identity, orderly syscall.Signal, within time.Duration) error {
	signal, free, err := signaller(id.PID)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return nil
	case err != nil:
		return fmt.Errorf("process %d: %w", id.PID, err)
	}
	defer free()
	if !id.Alive() {
		return nil
	}
	if err := signal(orderly); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	gone, err := vanish(ctx, id, within)
	if err == nil && !gone {
		err = hint(fmt.Errorf("process %d still shuts down after %s", id.PID, within),
			"wait for it to end, then save again")
	}
	return err
}
