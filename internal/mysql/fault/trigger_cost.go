package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// triggerCost plants a trigger that calls a routine most of whose work serves nobody any more.
func triggerCost() Fault {
	settings := unhurried()
	// off on MariaDB otherwise, and nothing else tells the time of stored programs
	settings["performance_schema"] = "ON"
	load := func(table string) mix {
		return mix{
			name: "trigger-cost", title: "orders come and are read", rows: 50_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{orders(n, "orders", rows), orders(n, "orders_lean", 0)}
			},
			operations: []operation{addOrder(table, 75), getOrder(25)},
		}
	}
	return Fault{
		Name:  "trigger-cost",
		Title: "a trigger calls a routine whose result is unused for most rows",
		Story: "Every new order runs a trigger, and that calls a procedure which works out a discount in a loop of " +
			"700 rounds, for a programme that " +
			"ended years ago: the result is used only for a kind of order that is no longer written. The insert " +
			"alone takes a small part of " +
			"the time. The fix is to check the kind first; the proof writes into a table of the same form whose " +
			"trigger does that.",
		Kind:     Hurts,
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
		Cure: Cure{Kind: CureWorkload, Workload: load("orders_lean")},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "trigger-cost", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("orders")},
				Check: func(f finding.Finding) string {
					return lacks(f.Title+f.Cause+f.Suggestion, n.of("orders_discount"))
				},
			}
		},
	}
}

func orders(n names, name string, rows int) workload.Table {
	return workload.Table{
		Name: n.of(name), Rows: rows,
		Create: "CREATE TABLE " + n.of(name) + n.sql(" ({orders.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, "+
			"{orders.kind} TINYINT NOT NULL, {orders.amount} INT NOT NULL, "+
			"{orders.discount} INT NOT NULL, {orders.text} VARCHAR(80) NOT NULL, PRIMARY KEY ({orders.id})) "+
			"ENGINE=InnoDB"),
		Columns: n.list("orders.id", "orders.kind", "orders.amount", "orders.discount", "orders.text"),
		Key:     n.of("orders.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|6<<32)
				l.begin()
				l.int(row)
				l.int(r.IntN(8))
				l.int(r.IntN(100_000))
				l.int(0)
				l.text("order of %d things", r.IntN(30))
				emit(l.row)
			}
		},
	}
}

func addOrder(table string, weight int) operation {
	return operation{
		"add_order", weight,
		"INSERT INTO {" + table + "} ({orders.kind}, {orders.amount}, {orders.discount}, {orders.text}) VALUES (?, " +
			"?, 0, ?)",
		func(r *rand.Rand, _ int, args []workload.Datum) {
			args[0], args[1], args[2] = workload.Int(int64(r.IntN(8))), workload.Int(int64(r.IntN(100_000))),
				workload.String("order of some things")
		},
	}
}

func getOrder(weight int) operation {
	return operation{
		"get_order", weight,
		"SELECT {orders.kind}, {orders.amount}, {orders.discount}, {orders.text} FROM {orders} WHERE {orders.id} = ?",
		func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
	}
}
