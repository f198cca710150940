package target

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Capability is something that some servers can do and others cannot.
type Capability string

const (
	HasPerformanceSchema Capability = "performance_schema" // switched on
	// events_statements_summary_by_digest is there and may be read
	HasStatementDigests Capability = "statement digests"
	// information_schema.INNODB_METRICS is there and may be read
	HasInnodbMetrics   Capability = "innodb metrics"
	HasInvisibleIndex  Capability = "invisible indexes"  // MySQL 8.0: ALTER INDEX … INVISIBLE
	HasIgnoredIndex    Capability = "ignored indexes"    // MariaDB 10.6: ALTER INDEX … IGNORED
	HasFunctionalIndex Capability = "functional indexes" // index parts may be expressions
	HasDescendingIndex Capability = "descending indexes" // DESC is obeyed, not only parsed
	HasInplaceDDL      Capability = "in-place DDL"       // ALGORITHM=INPLACE, LOCK=NONE
	HasInstantDDL      Capability = "instant DDL"        // ALGORITHM=INSTANT
	// the processlist shows the rows a running statement examined
	HasProcesslistExamined Capability = "rows in processlist"
	HasProcesslistProgress Capability = "progress column" // the processlist shows the progress of ALTER: MariaDB
	HasStages              Capability = "stages"          // performance_schema shows the progress of ALTER: MySQL
	HasMetadataLocks       Capability = "metadata locks"  // performance_schema shows the holders of metadata locks
	// information_schema.METADATA_LOCK_INFO does: a plugin of MariaDB
	HasMetadataLockInfo Capability = "metadata lock info"
	HasSkipLocked       Capability = "skip locked" // SELECT … FOR UPDATE SKIP LOCKED
	// table and index statistics can be switched on: MariaDB, Percona
	HasUserstat  Capability = "user statistics"
	HasSysSchema Capability = "sys schema"
)

// Answer says whether a server has a capability, and if not, why and what would change that.
type Answer struct {
	Has    bool
	Denied bool // a privilege is missing
	Reason string
	Fix    string // a GRANT or a setting; empty when only another version would help
}

// Has reports whether the server has the capability for the account in use.
func (t *Target) Has(c Capability) bool { return t.can[c].Has }

// Answer returns the same with the reason.
func (t *Target) Answer(c Capability) Answer {
	a, ok := t.can[c]
	if !ok {
		a.Reason = "not asked"
	}
	return a
}

// asked lists the tables of information_schema whose columns tell what a server can do.
const asked = "'STATISTICS','PROCESSLIST','INNODB_TABLES','INNODB_METRICS','METADATA_LOCK_INFO'"

func readCapabilities(
	ctx context.Context, c *sql.Conn, f Facts, vars map[string]string,
) (map[Capability]Answer, error) {
	rows, err := c.QueryContext(ctx, own("SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME IN ("+asked+")"))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	column := map[string]bool{}
	for rows.Next() {
		var tab, col string
		if err := rows.Scan(&tab, &col); err != nil {
			return nil, err
		}
		column[strings.ToUpper(tab+"."+col)], column[strings.ToUpper(tab)] = true, true
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}

	m := map[Capability]Answer{}
	there := func(k Capability, has bool, without string) {
		if has {
			m[k] = Answer{Has: true}
		} else {
			m[k] = Answer{Reason: without}
		}
	}
	const notHere = "this version of the server has no such thing"
	there(HasInvisibleIndex, column["STATISTICS.IS_VISIBLE"], notHere)
	there(HasIgnoredIndex, column["STATISTICS.IGNORED"], notHere)
	there(HasFunctionalIndex, column["STATISTICS.EXPRESSION"], notHere)
	there(HasProcesslistExamined, column["PROCESSLIST.EXAMINED_ROWS"] || column["PROCESSLIST.ROWS_EXAMINED"], notHere)
	there(HasProcesslistProgress, column["PROCESSLIST.PROGRESS"], notHere)
	// The log of changes during an online ALTER came with ALGORITHM=INPLACE, in 5.6 and 10.0.
	_, inplace := vars["innodb_online_alter_log_max_size"]
	there(HasInplaceDDL, inplace, notHere)
	_, instant := vars["innodb_instant_alter_column_allowed"] // MariaDB
	there(HasInstantDDL, instant || column["INNODB_TABLES.INSTANT_COLS"] || column["INNODB_TABLES.TOTAL_ROW_VERSIONS"],
		notHere)
	_, userstat := vars["userstat"]
	there(HasUserstat, userstat, notHere)
	// These two leave no trace that could be asked for, so the version decides.
	maria := f.Flavor.IsMariaDB()
	there(HasDescendingIndex, maria && f.Version.AtLeast(10, 8, 0) || !maria && f.Version.AtLeast(8, 0, 1), notHere)
	there(HasSkipLocked, maria && f.Version.AtLeast(10, 6, 0) || !maria && f.Version.AtLeast(8, 0, 1), notHere)

	ask := func(k Capability, q string) error {
		a, err := readable(ctx, c, q)
		m[k] = a
		return err
	}
	if column["INNODB_METRICS"] {
		if err := ask(HasInnodbMetrics, "SELECT 1 FROM information_schema.INNODB_METRICS LIMIT 1"); err != nil {
			return nil, err
		}
	} else {
		there(HasInnodbMetrics, false, notHere)
	}
	if err := ask(HasSysSchema, "SELECT 1 FROM sys.version LIMIT 1"); err != nil {
		return nil, err
	}
	if on(vars["performance_schema"]) {
		m[HasPerformanceSchema] = Answer{Has: true}
		for k, q := range map[Capability]string{
			HasStatementDigests: "SELECT 1 FROM performance_schema.events_statements_summary_by_digest LIMIT 1",
			HasStages:           "SELECT WORK_COMPLETED FROM performance_schema.events_stages_current LIMIT 1",
			HasMetadataLocks:    "SELECT 1 FROM performance_schema.metadata_locks LIMIT 1",
		} {
			if err := ask(k, q); err != nil {
				return nil, err
			}
		}
		if m[HasStatementDigests].Has {
			if err := enabled(ctx, c, m, HasStatementDigests, "setup_consumers", "statements_digest"); err != nil {
				return nil, err
			}
		}
		if m[HasMetadataLocks].Has {
			if err := enabled(ctx, c, m, HasMetadataLocks, "setup_instruments",
				"wait/lock/metadata/sql/mdl"); err != nil {
				return nil, err
			}
		}
		if m[HasStages].Has {
			if err := enabled(ctx, c, m, HasStages, "setup_consumers", "events_stages_current"); err != nil {
				return nil, err
			}
		}
	} else {
		off := Answer{Reason: "performance_schema is off", Fix: "performance_schema=ON in the server's " +
			"configuration, then a restart"}
		if _, ok := vars["performance_schema"]; !ok {
			off = Answer{Reason: notHere}
		}
		for _, k := range []Capability{HasPerformanceSchema, HasStatementDigests, HasStages, HasMetadataLocks} {
			m[k] = off
		}
	}
	there(HasMetadataLockInfo, column["METADATA_LOCK_INFO"], "the plugin METADATA_LOCK_INFO is not loaded")
	return m, nil
}

// readable tries a question. Only a broken connection is an error: everything else is an answer.
func readable(ctx context.Context, c *sql.Conn, q string) (Answer, error) {
	rows, err := c.QueryContext(ctx, own(q))
	if err == nil {
		for rows.Next() {
		}
		err = rows.Err()
		rows.Close()
	}
	if err == nil {
		return Answer{Has: true}, nil
	}
	n, ok := ServerErrorNumber(err)
	switch {
	case !ok:
		return Answer{}, err
	case KindOf(err) == endpoint.Denied:
		return Answer{Denied: true, Reason: "a privilege is missing", Fix: HintOf(err)}, nil
	case n == 1146 || n == 1054 || n == 1049 || n == 1109:
		return Answer{Reason: "this version of the server has no such thing"}, nil
	}
	return Answer{Reason: err.Error()}, nil
}

// enabled takes a capability back when performance_schema has the thing switched off. An account that may not ask, or a
// server that has no such row, gets the benefit of the doubt.
func enabled(ctx context.Context, c *sql.Conn, m map[Capability]Answer, k Capability, table, name string) error {
	var yes string
	err := c.QueryRowContext(ctx, own("SELECT ENABLED FROM performance_schema."+table+" WHERE NAME='"+name+"'")).
		Scan(&yes)
	if err != nil {
		if _, ok := ServerErrorNumber(err); ok || errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	if yes != "YES" {
		m[k] = Answer{Reason: name + " is switched off", Fix: "UPDATE performance_schema." + table +
			" SET ENABLED='YES' WHERE NAME='" + name + "'"}
	}
	return nil
}
