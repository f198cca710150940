package advise

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Dialect is how the servers of a family word what rules suggest, and what they call things.
type Dialect interface {
	Quote(name string) string
	Parts(parts []schema.IndexPart) string // as they stand between the parentheses of an index
	// AddIndex and DropIndex are whole statements without a semicolon, as finding.Action.SQL has them.
	AddIndex(t schema.Ref, x schema.Index) string
	DropIndex(t schema.Ref, name string) string
	// Building says in a sentence what building an index blocks; empty where the plan of the change tells it.
	Building() string
	Set(variable, value string) string // while the server runs
	Kill(session uint64) string
	// LockTimeout and IdleTimeout name the settings that end a wait for a lock and an idle transaction, "" where no
	// server of the family has one. A value of 0 is off. File is the server's file of settings.
	LockTimeout() string
	IdleTimeout() string
	File() string
	// Manual names the chapter about a subject, for Finding.Reference.
	Manual(s Subject) string
}

// Subject is something that manuals have a chapter about.
type Subject int

// The subjects.
const (
	MultiColumnIndexes Subject = iota
	UnusedIndexes
	LocksAndTransactions
)

// dialectOf returns that of a flavor's family.
func dialectOf(f dbms.Flavor) Dialect {
	if f.IsPostgres() {
		return postgres{}
	}
	return mysql{}
}

type mysql struct{}

func (mysql) Quote(name string) string { return ddl.Quote(name) }

func (mysql) Parts(parts []schema.IndexPart) string { return ddl.PartsSQL(parts) }

func (mysql) AddIndex(t schema.Ref, x schema.Index) string { return ddl.AddIndexSQL(t, x) }

func (mysql) DropIndex(t schema.Ref, name string) string { return ddl.DropIndexSQL(t, name) }

func (mysql) Building() string { return "" }

func (mysql) Set(variable, value string) string { return mytext.SetGlobal(variable, value) }

func (mysql) Kill(session uint64) string { return fmt.Sprintf("KILL %d", session) }

func (mysql) LockTimeout() string { return "innodb_lock_wait_timeout" }

func (mysql) IdleTimeout() string { return "idle_transaction_timeout" }

func (mysql) File() string { return "my.cnf" }

func (mysql) Manual(s Subject) string {
	switch s {
	case UnusedIndexes:
		return "MySQL manual, The sys Schema: schema_unused_indexes; MariaDB manual, User Statistics"
	case LocksAndTransactions:
		return "MySQL manual, InnoDB locking: locks are held until the transaction ends; MariaDB: " +
			"idle_transaction_timeout"
	default:
		return "MySQL Reference Manual, Multiple-Column Indexes; MariaDB Knowledge Base, Compound (Composite) Indexes"
	}
}

type postgres struct{}

func (postgres) Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (p postgres) table(t schema.Ref) string {
	if t.Schema == "" {
		return p.Quote(t.Table)
	}
	return p.Quote(t.Schema) + "." + p.Quote(t.Table)
}

func (p postgres) Parts(parts []schema.IndexPart) string {
	var list []string
	for _, i := range parts {
		s := "(" + i.Expr + ")"
		if i.Expr == "" {
			s = p.Quote(i.Column)
		}
		if i.Desc {
			s += " DESC"
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}

func (p postgres) AddIndex(t schema.Ref, x schema.Index) string {
	unique := ""
	if x.Unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s (%s)", unique, p.Quote(x.Name), p.table(t),
		p.Parts(x.Parts))
}

func (p postgres) DropIndex(t schema.Ref, name string) string {
	return "DROP INDEX CONCURRENTLY " + p.table(schema.Ref{Schema: t.Schema, Table: name})
}

func (postgres) Building() string {
	return "CREATE INDEX CONCURRENTLY reads the table twice and blocks no reads or writes, but it waits for every " +
		"transaction that is older."
}

func (p postgres) Set(variable, value string) string {
	return fmt.Sprintf("ALTER SYSTEM SET %s = '%s'; SELECT pg_reload_conf()", variable,
		strings.ReplaceAll(value, "'", "''"))
}

func (postgres) Kill(session uint64) string {
	return fmt.Sprintf("SELECT pg_terminate_backend(%d)", session)
}

func (postgres) LockTimeout() string { return "lock_timeout" }

func (postgres) IdleTimeout() string { return "idle_in_transaction_session_timeout" }

func (postgres) File() string { return "postgresql.conf" }

func (postgres) Manual(s Subject) string {
	switch s {
	case UnusedIndexes:
		return "PostgreSQL documentation, pg_stat_all_indexes: idx_scan"
	case LocksAndTransactions:
		return "PostgreSQL documentation, Explicit Locking: locks are held until the transaction ends"
	default:
		return "PostgreSQL documentation, Multicolumn Indexes"
	}
}
