// Package advise is how the servers of the MySQL family word what rules of all families suggest, and what they call
// things. The rules that only the family has are in the packages below.
package advise

import (
	"fmt"
	"strings"

	values "github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
)

// Dialect returns the family's.
func Dialect() advise.Dialect {
	return advise.Dialect{
		Reader: sqlshape.Parser{}, Indexes: indexes{}, Alterations: alterations{}, Commands: commands{},
		Words: words(), Figures: figures(),
		Traits: advise.Traits{KeepsChanges: true, HidesIndexes: true, IndexName: 64, OwnSchemas: ddl.Schemas},
	}
}

func words() advise.Words {
	return advise.Words{
		TableLocks:  []string{"SHARED_NO_READ_WRITE", "SHARED_READ_ONLY"}, // LOCK TABLES for writing, for reading
		LockTimeout: "innodb_lock_wait_timeout", IdleTimeout: "idle_transaction_timeout", File: "my.cnf",
		Clustered: []string{"", "innodb"}, Clocked: ", and with performance_schema for each wait",
		Growing: "binary logs (SHOW BINARY LOGS; PURGE BINARY LOGS once the replicas have read them), temporary " +
			"and undo tablespaces",
		IdleLimit: "60",
		UnionPlan: "\"Using union\" or \"Using sort_union\" with the indexes in place, or if rows examined per call " +
			"do not fall",
		CountReads: "let performance_schema or userstat count for a day",
		Connections: advise.Connections{
			Limit: "max_connections", Refused: "error 1040", Less: "lower wait_timeout", List: "SHOW PROCESSLIST",
			End: "KILL what must not continue.", Costs: "costs some hundred kB",
		},
		Manual: map[advise.Subject]string{
			advise.MultiColumnIndexes: "MySQL Reference Manual, Multiple-Column Indexes; MariaDB Knowledge Base, " +
				"Compound (Composite) Indexes",
			advise.RedundantIndexes: "MySQL manual, Multiple-Column Indexes; MariaDB manual, Compound (Composite) " +
				"Indexes",
			advise.UnusedIndexes: "MySQL manual, The sys Schema: schema_unused_indexes; MariaDB manual, User " +
				"Statistics",
			advise.FewValues: "MySQL manual, Avoiding Full Table Scans, and Invisible Indexes; MariaDB manual, " +
				"Ignored Indexes",
			advise.LocksAndTransactions: "MySQL manual, InnoDB locking: locks are held until the transaction ends; " +
				"MariaDB: idle_transaction_timeout",
			advise.RowLockQueues: "MySQL manual, \"InnoDB Locking\" and \"Optimizing InnoDB Transaction Management\"",
			advise.LongTransactions: "MySQL manual, \"InnoDB Locking\" and \"How to Minimize and Handle Deadlocks\": " +
				"keep transactions small and short",
			advise.ConnectionLimit: "https://dev.mysql.com/doc/refman/en/too-many-connections.html",
		},
	}
}

// status begins the names of the metrics of SHOW GLOBAL STATUS.
const status = "mysql_global_status_"

func named(name string) advise.Named {
	return advise.Named{Metric: status + strings.ToLower(name), Name: name}
}

func figures() advise.Figures {
	return advise.Figures{
		Status: status, RowsSent: status + "rows_sent", Connected: status + "threads_connected",
		Deadlocks: []string{
			status + "innodb_deadlocks", // MariaDB, Percona Server
			"mysql_info_schema_innodb_metrics_lock_lock_deadlocks_total",
		},
		RowLocks: advise.RowLocks{
			Waits:   named("Innodb_row_lock_waits"),
			Millis:  named("Innodb_row_lock_time"),
			Current: named("Innodb_row_lock_current_waits"),
		},
		IndexReads: []advise.Reads{
			{Source: source.TableIO, Metric: "mysql_perf_schema_index_io_waits_total", Table: "name"},
			{Source: source.Userstat, Metric: "mysql_info_schema_index_statistics_rows_read_total", Table: "table"},
		},
		Handlers: values.Handlers, ConnectionErrors: values.ConnectionErrors,
		TableAccess: "mysql_perf_schema_table_io_waits_total",
	}
}

type indexes struct{}

func (indexes) Parts(parts []schema.IndexPart) string { return ddl.PartsSQL(parts) }

func (indexes) AddIndex(t schema.Ref, x schema.Index) string { return ddl.AddIndexSQL(t, x) }

func (indexes) DropIndex(t schema.Ref, name string) string { return ddl.DropIndexSQL(t, name) }

type alterations struct{}

func (alterations) Change(t schema.Ref, changes []schema.Clause) (string, bool) {
	return ddl.ChangeSQL(t, changes), true
}

func (alterations) HideIndex(v *advise.View, t schema.Ref, name string) (hide, show string, ok bool) {
	alter, off, on := "ALTER TABLE "+ddl.Name(t)+" ALTER INDEX "+ddl.Quote(name)+" ", "INVISIBLE", "VISIBLE"
	ok = v.AtLeast(8)
	if v.MariaDB() {
		off, on = "IGNORED", "NOT IGNORED"
		ok = v.AtLeast(10, 6)
	}
	return alter + off, alter + on, ok
}

type commands struct{}

func (commands) Quote(name string) string { return ddl.Quote(name) }

func (commands) Set(variable, value string) string { return mytext.SetGlobal(variable, value) }

func (commands) Kill(session uint64) string { return fmt.Sprintf("KILL %d", session) }
