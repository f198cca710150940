package fault

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// byUpdate is the index that the lookups of a day could use.
const byUpdate = ", KEY {clients.by_update} ({clients.updated_at})"

// functionOnColumn plants DATE(column) = day over an indexed column.
func functionOnColumn() fault.Fault {
	const title = "clients of a day are looked up by DATE(column)"
	load := func(find fault.Operation) fault.Mix {
		return fault.Mix{
			ID: "function-on-column", About: title, Rows: 200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, byUpdate), visits(n, rows)}
			},
			Operations: []fault.Operation{find, fault.GetClient(35), fault.LastVisits(20), fault.AddVisit(10)},
		}
	}
	return fault.Fault{
		Name:  "function-on-column",
		Title: title,
		Story: "The clients that were changed on one day are queried by DATE(column) = day. The column has an index, " +
			"but an index holds the values " +
			"of the column and not those of the function, so every such query reads the whole table. The fix is a " +
			"condition on the range of " +
			"times that makes up the day, which matches the same rows.",
		Kind:     fault.Hurts,
		Until:    map[dbms.Flavor]string{dbms.MariaDB: "11.1"}, // https://jira.mariadb.org/browse/MDEV-8320
		Threads:  4,
		Settings: sized(),
		Workload: load(fault.Operation{
			Name: "find_by_day", Weight: 35,
			SQL: "SELECT {clients.id}, {clients.full_name}, {clients.balance} FROM {clients} WHERE " +
				"DATE({clients.updated_at}) = ?",
			Args: func(r *rand.Rand, _ int, args []workload.Datum) { args[0] = day(r) },
		}),
		Cure: fault.Cure{Kind: fault.CureWorkload, Workload: load(fault.Operation{
			Name: "find_by_day", Weight: 35,
			SQL: "SELECT {clients.id}, {clients.full_name}, {clients.balance} FROM {clients} WHERE " +
				"{clients.updated_at} " +
				">= ? AND {clients.updated_at} < ? + INTERVAL 1 DAY",
			Args: func(r *rand.Rand, _ int, args []workload.Datum) {
				args[0] = day(r)
				args[1] = args[0]
			},
		})},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "function-on-column", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("clients")},
				Columns: n.List("clients.updated_at"),
				Check: func(f finding.Finding) string {
					if !strings.Contains(f.Suggestion, "INTERVAL 1 DAY") || f.Action != nil {
						return "it does not rewrite the condition into a range of one day"
					}
					return ""
				},
			}
		},
	}
}

func day(r *rand.Rand) workload.Datum {
	return workload.String(time.Date(2024, 1, 1+r.IntN(365), 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
}

// foldedLookup plants LOWER(column) = value, which no rewrite cures.
func foldedLookup() fault.Fault {
	return fault.Fault{
		Name:  "folded-lookup",
		Title: "clients are looked up by LOWER(column)",
		Story: "Clients are looked up by LOWER(column) = value. The column has an index, but that holds the column's " +
			"values and not those of the " +
			"function, so every lookup reads the whole table. The fix is an index on that expression, which MySQL " +
			"supports from 8.0.13 on.",
		Kind:     fault.Hurts,
		Flavors:  []dbms.Flavor{dbms.MySQL},
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "folded-lookup", About: "clients looked up by LOWER(column), and reads and writes by primary key",
			Rows: 200_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{clients(n, rows, ", KEY {clients.by_email} ({clients.email})"), visits(n, rows)}
			},
			Operations: []fault.Operation{
				{
					Name: "find_by_email", Weight: 35,
					SQL: "SELECT {clients.id}, {clients.full_name}, {clients.balance} FROM {clients} WHERE " +
						"LOWER({clients.email}) = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) {
						args[0] = workload.String(fmt.Sprintf("client%d@example.com", 1+r.IntN(rows)))
					},
				},
				fault.GetClient(35), fault.LastVisits(20), fault.AddVisit(10),
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "function-on-column", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("clients")},
				Check: func(f finding.Finding) string {
					if f.Action == nil || !containsFold(f.Action.SQL, "((LOWER("+ddl.Quote(n.Of("clients.email"))+
						")))") {
						return "it does not index the expression"
					}
					return ""
				},
			}
		},
	}
}
