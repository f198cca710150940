package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// Numbers of server errors that say the server does not know what it was told.
const (
	errSyntax          = 1064
	errUnknownVariable = 1193
)

// PrepareEnd implements maker.Keeper. The logs are the binary and the relay logs.
func (Maker) PrepareEnd(ctx context.Context, at endpoint.Spec) (logs []string, err error) {
	t, err := target.Open(ctx, at)
	if err != nil {
		return nil, maker.Hint(err, "let root log in over the socket without a password, as in a new sandbox")
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

// Leaves implements maker.Keeper.
func (Maker) Leaves(s maker.Server, rel string, logs []string) bool {
	if slices.Contains(transient, rel) || rel == poolDump || ownRedo(s) && strings.HasPrefix(rel, "ib_logfile") {
		return true
	}
	for _, base := range logs {
		if rest, ok := strings.CutPrefix(rel, base+"."); ok && (rest == "index" || rest == "state" ||
			strings.Trim(strings.TrimSuffix(rest, ".idx"), "0123456789") == "") {
			return true
		}
	}
	return false
}

// poolDump lists the pages that a server reads into its buffer pool when it starts. Those of the preparation would come
// in while a trial begins; an empty list is no error to a server, a missing one is.
const poolDump = "ib_buffer_pool"

// Emptied implements maker.Keeper.
func (Maker) Emptied() string { return poolDump }
