package fault

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
)

// All returns the faults in the order in which lists show them.
func All() []fault.Fault {
	return slices.Concat(indexFaults(), schemaFaults(), layoutFaults(), memoryFaults(), loadFaults(),
		sessionFaults(), controls())
}

// Set returns what the family has of faults.
func Set() fault.Set {
	return fault.Set{
		Faults:  All(),
		Flavors: []dbms.Flavor{dbms.MySQL, dbms.MariaDB},
		Pairs:   pairs(),
		Common:  sized(),
		Plain:   plainSetting,
		File:    "my.cnf",
		URL:     "mysql://user@host:3306",
		// Exact figures make the better story. MariaDB ships with this off; the diagnosis then works from samples.
		Base:    map[string]string{"performance_schema": "ON"},
		Source:  map[string]string{"log_bin": "changes", "server_id": "1"},
		Replica: map[string]string{"server_id": "2"},
	}
}

// plainSetting returns the variable's name of a setting in whichever form it is written. Names that some servers lack
// begin with "loose_", so that these go on without.
func plainSetting(name string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(strings.TrimLeft(strings.TrimSpace(name), "-")), "-",
		"_"), "loose_")
}

// pairs names the faults that the accuracy table plants two at a time. The two are of different kinds, exist wherever
// either does, and neither takes away what the other shows by: a load that stands still behind a lock, for one, shows
// nothing of a buffer pool.
func pairs() [][2]string {
	return [][2]string{
		{"missing-index", "connection-churn"},
		{"missing-index", "small-log-buffer"},
		{"index-order", "idle-transaction"},
		{"filesort", "small-redo"},
		{"two-single-indexes", "disk-temp-tables"},
		{"unindexed-join", "session-memory"},
		{"implicit-conversion", "lock-pileup"},
		{"collation-join", "trigger-cost"},
		{"redundant-index", "row-versions"},
		{"index-scan", "table-cache"},
	}
}

// Plant makes a fault on a fresh server, see fault.Server. data makes the tables there, and more are further options of
// the workload.
func Plant(ctx context.Context, t *target.Target, data load.Tables, f fault.Fault, seed uint64,
	more map[string]string, sink progress.Sink,
) error {
	if err := f.Prepare(ctx, data, seed, more, sink); err != nil {
		return err
	}
	if len(f.After) == 0 {
		return nil
	}
	stage, err := f.Stage(t, seed)
	if err != nil {
		return err
	}
	conn, err := t.Conn(ctx)
	if err != nil {
		return fmt.Errorf("plant %s: %w", f.Name, err)
	}
	defer func() { // its default database must not meet another user of the pool
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	for _, q := range append([]string{"USE " + ddl.Quote(stage.Schema)}, f.After...) {
		if _, err := conn.ExecContext(ctx, stage.SQL(q)); err != nil {
			return fmt.Errorf("plant %s: %s: %w", f.Name, stage.SQL(q), err)
		}
	}
	return nil
}
