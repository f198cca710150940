package fault

import (
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// indexOrder plants an index that begins with the column of a range, so that the equality behind it cannot be looked
// up.
func indexOrder() Fault {
	const (
		outlets = 400
		days    = 14 // of a year: 4 % of the rows
	)
	return Fault{
		Name:  "index-order",
		Title: "orders of an outlet are looked up by an index that begins with the time",
		Story: "300 000 orders of a year, all in memory, are searched for those of one outlet within two weeks. " +
			"There is an index on time and outlet, " +
			"in that order: it finds the two weeks, some 12 000 entries, and of these the 30 of the outlet have to " +
			"be filtered one by one. The fix is " +
			"the same index the other way round: outlet, then time.",
		Kind:     Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "index-order", title: "orders of one outlet within two weeks, by an index in the wrong order",
			rows: 300_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{indexTable(n, "orders", rows, []string{
					"id", "ordered_at", "outlet_id",
					"channel", "total", "remark",
				},
					"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*ordered_at} DATETIME NOT NULL, {*outlet_id} INT "+
						"NOT NULL, {*channel} VARCHAR(16) NOT NULL, "+
						"{*total} DECIMAL(10,2) NOT NULL, {*remark} VARCHAR(120) NOT NULL, PRIMARY KEY ({*id}), KEY "+
						"{*by_time_outlet} ({*ordered_at}, {*outlet_id})",
					func(r *rand.Rand, row int, l *line) {
						l.time(r.IntN(daysOfData * daySeconds))
						l.int(1 + r.IntN(outlets))
						l.text("channel%d", r.IntN(5))
						l.text("%d.%02d", r.IntN(1000), r.IntN(100))
						l.text("to be brought to door number %d of the backyard, please", row)
					})}
			},
			operations: []operation{
				{
					"orders_of_outlet", 50,
					"SELECT {orders.id}, {orders.channel}, {orders.total} FROM {orders} WHERE {orders.ordered_at} >= " +
						"? AND {orders.ordered_at} < ? AND {orders.outlet_id} = ?",
					func(r *rand.Rand, _ int, args []workload.Datum) {
						from := time.Date(2024, 1, 1, 0, 0, r.IntN((daysOfData-days)*daySeconds), 0, time.UTC)
						args[0] = workload.String(from.Format(time.DateTime))
						args[1] = workload.String(from.AddDate(0, 0, days).Format(time.DateTime))
						args[2] = workload.Int(1 + r.Int64N(outlets))
					},
				},
				{
					"get_order", 40,
					"SELECT {orders.channel}, {orders.total}, {orders.remark} FROM {orders} WHERE {orders.id} = ?",
					func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
				},
				{
					"add_order", 10,
					"INSERT INTO {orders} ({orders.ordered_at}, {orders.outlet_id}, {orders.channel}, " +
						"{orders.total}, {orders.remark}) VALUES (NOW(), ?, ?, ?, '')",
					func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0], args[1], args[2] = workload.Int(1+r.Int64N(outlets)), workload.String("channel1"),
							workload.Float(float64(r.IntN(1e5))/100)
					},
				},
			},
		},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "index-order", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("orders")},
				Columns: n.list("orders.outlet_id", "orders.ordered_at"),
			}
		},
	}
}
