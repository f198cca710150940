// Package advise is how PostgreSQL's servers word what rules suggest, and what they call things.
package advise

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/postgres/pgtext"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
)

// Dialect returns PostgreSQL's. Statements are read by r, in the spelling that pgtext.Parsable gives them.
func Dialect(r advise.Reader) advise.Dialect {
	return advise.Dialect{
		Reader: r, Indexes: indexes{}, Alterations: alterations{}, Commands: commands{}, Words: words(),
		Traits: advise.Traits{
			CountsScans: true, CountsPages: true, Milliseconds: true, Constraints: true,
			IndexName: 63, SharedNames: true, OwnSchemas: pgtext.Schemas,
			ReadWith: map[source.Name]source.Name{source.Transactions: source.Processlist},
		},
	}
}

func words() advise.Words {
	return advise.Words{
		Building: "CREATE INDEX CONCURRENTLY reads the table twice and blocks no reads or writes, but it waits for " +
			"every transaction that is older.",
		LockTimeout: "lock_timeout", IdleTimeout: "idle_in_transaction_session_timeout", File: "postgresql.conf",
		Clocked: ", and with track_io_timing for each read and write",
		Growing: "WAL that a replication slot holds back (pg_replication_slots), temporary files, tables that vacuum " +
			"does not clear",
		IdleLimit: "'60s'", UnionPlan: "BitmapOr with the indexes in place",
		CountReads: "have pg_stat_user_indexes count for a day",
		Connections: advise.Connections{
			Limit: "max_connections", Refused: "SQLSTATE 53300", Less: "put a pooler such as PgBouncer in between",
			List: "pg_stat_activity", End: "End what must not continue (pg_terminate_backend).",
			Costs: "takes a restart and some MB",
		},
		Manual: map[advise.Subject]string{
			advise.MultiColumnIndexes:   "PostgreSQL documentation, Multicolumn Indexes",
			advise.RedundantIndexes:     "PostgreSQL documentation, Multicolumn Indexes",
			advise.UnusedIndexes:        "PostgreSQL documentation, pg_stat_all_indexes: idx_scan",
			advise.FewValues:            "PostgreSQL documentation, pg_stat_all_indexes: idx_scan",
			advise.LocksAndTransactions: locking,
			advise.RowLockQueues:        locking,
			advise.LongTransactions:     locking,
			advise.ConnectionLimit:      "PostgreSQL documentation, Connections and Authentication: max_connections",
		},
	}
}

const locking = "PostgreSQL documentation, Explicit Locking: locks are held until the transaction ends"

type commands struct{}

func (commands) Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (commands) Set(variable, value string) string {
	return fmt.Sprintf("ALTER SYSTEM SET %s = '%s'; SELECT pg_reload_conf()", variable,
		strings.ReplaceAll(value, "'", "''"))
}

func (commands) Kill(session uint64) string {
	return fmt.Sprintf("SELECT pg_terminate_backend(%d)", session)
}

type indexes struct{ commands }

func (x indexes) table(t schema.Ref) string {
	if t.Schema == "" {
		return x.Quote(t.Table)
	}
	return x.Quote(t.Schema) + "." + x.Quote(t.Table)
}

func (x indexes) Parts(parts []schema.IndexPart) string {
	var list []string
	for _, i := range parts {
		s := "(" + i.Expr + ")"
		if i.Expr == "" {
			s = x.Quote(i.Column)
		}
		if i.Desc {
			s += " DESC"
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}

func (x indexes) AddIndex(t schema.Ref, i schema.Index) string {
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s (%s)", unique, x.Quote(i.Name), x.table(t),
		x.Parts(i.Parts))
}

func (x indexes) DropIndex(t schema.Ref, name string) string {
	return "DROP INDEX CONCURRENTLY " + x.table(schema.Ref{Schema: t.Schema, Table: name})
}

// alterations has nothing: indexes are statements of their own, and none can be hidden.
type alterations struct{}

func (alterations) Change(schema.Ref, []schema.Clause) (sql string, ok bool) { return "", false }

func (alterations) HideIndex(*advise.View, schema.Ref, string) (hide, show string, ok bool) {
	return "", "", false
}
