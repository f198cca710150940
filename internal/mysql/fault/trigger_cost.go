package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// triggerCost plants a trigger that calls a routine most of whose work serves nobody any more.
func triggerCost() fault.Fault {
	settings := unhurried()
	// off on MariaDB otherwise, and nothing else tells the time of stored programs
	settings["performance_schema"] = "ON"
	load := func(table string) fault.Mix {
		return fault.Mix{
			ID: "trigger-cost", About: "orders come and are read", Rows: 50_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{orders(n, "orders", rows), orders(n, "orders_lean", 0)}
			},
			Operations: []fault.Operation{addOrder(table, 75), getOrder(25)},
		}
	}
	return fault.Fault{
		Name:  "trigger-cost",
		Title: "a trigger calls a routine whose result is unused for most rows",
		Story: "Every new order runs a trigger, and that calls a procedure which works out a discount in a loop of " +
			"700 rounds, for a programme that " +
			"ended years ago: the result is used only for a kind of order that is no longer written. The insert " +
			"alone takes a small part of " +
			"the time. The fix is to check the kind first; the proof writes into a table of the same form whose " +
			"trigger does that.",
		Kind:     fault.Hurts,
		Threads:  2,
		Settings: settings,
		Workload: load("orders"),
		After: []string{
			"CREATE PROCEDURE {discount} (IN kind INT, IN amount INT, OUT result INT) BEGIN " +
				"DECLARE step INT DEFAULT 0; DECLARE points BIGINT DEFAULT 0; " +
				"WHILE step < 700 DO SET points = (points * 31 + amount + step) MOD 10007; SET step = step + 1; END " +
				"WHILE; " +
				"IF kind = 9 THEN SET result = points MOD 5; ELSEIF kind = 8 THEN SET result = points MOD 3; ELSE " +
				"SET result = 0; END IF; END",
			"CREATE TRIGGER {orders_discount} BEFORE INSERT ON {orders} FOR EACH ROW BEGIN " +
				"DECLARE cut INT; CALL {discount}(NEW.{orders.kind}, NEW.{orders.amount}, cut); SET " +
				"NEW.{orders.discount} = cut; END",
			"CREATE TRIGGER {orders_discount_lean} BEFORE INSERT ON {orders_lean} FOR EACH ROW BEGIN " +
				"DECLARE cut INT DEFAULT 0; IF NEW.{orders.kind} IN (8, 9) THEN CALL {discount}(NEW.{orders.kind}, " +
				"NEW.{orders.amount}, cut); END IF; SET NEW.{orders.discount} = cut; END",
		},
		Cure: fault.Cure{Kind: fault.CureWorkload, Workload: load("orders_lean")},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "trigger-cost", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("orders")},
				Check: func(f finding.Finding) string {
					return lacks(f.Title+f.Cause+f.Suggestion, n.Of("orders_discount"))
				},
			}
		},
	}
}

func orders(n fault.Names, name string, rows int) workload.Table {
	return workload.Table{
		Name: n.Of(name), Rows: rows,
		Create: "CREATE TABLE " + n.Of(name) + n.SQL(" ({orders.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, "+
			"{orders.kind} TINYINT NOT NULL, {orders.amount} INT NOT NULL, "+
			"{orders.discount} INT NOT NULL, {orders.text} VARCHAR(80) NOT NULL, PRIMARY KEY ({orders.id})) "+
			"ENGINE=InnoDB"),
		Columns: n.List("orders.id", "orders.kind", "orders.amount", "orders.discount", "orders.text"),
		Key:     n.Of("orders.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|6<<32)
				l.Begin()
				l.Int(row)
				l.Int(r.IntN(8))
				l.Int(r.IntN(100_000))
				l.Int(0)
				l.Text("order of %d things", r.IntN(30))
				emit(l.Row)
			}
		},
	}
}

func addOrder(table string, weight int) fault.Operation {
	return fault.Operation{
		Name: "add_order", Weight: weight,
		SQL: "INSERT INTO {" + table + "} ({orders.kind}, {orders.amount}, {orders.discount}, {orders.text}) VALUES " +
			"(?, " +
			"?, 0, ?)",
		Args: func(r *rand.Rand, _ int, args []workload.Datum) {
			args[0], args[1], args[2] = workload.Int(int64(r.IntN(8))), workload.Int(int64(r.IntN(100_000))),
				workload.String("order of some things")
		},
	}
}

func getOrder(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_order", Weight: weight,
		SQL: "SELECT {orders.kind}, {orders.amount}, {orders.discount}, {orders.text} FROM {orders} WHERE " +
			"{orders.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
	}
}
