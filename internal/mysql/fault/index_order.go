package fault

import (
	"math/rand/v2"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// indexOrder plants an index that begins with the column of a range, so that the equality behind it cannot be looked
// up.
func indexOrder() fault.Fault {
	const (
		outlets = 400
		days    = 14 // of a year: 4 % of the rows
	)
	return fault.Fault{
		Name:  "index-order",
		Title: "orders of an outlet are looked up by an index that begins with the time",
		Story: "300 000 orders of a year, all in memory, are searched for those of one outlet within two weeks. " +
			"There is an index on time and outlet, " +
			"in that order: it finds the two weeks, some 12 000 entries, and of these the 30 of the outlet have to " +
			"be filtered one by one. The fix is " +
			"the same index the other way round: outlet, then time.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "index-order", About: "orders of one outlet within two weeks, by an index in the wrong order",
			Rows: 300_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{indexTable(n, "orders", rows, []string{
					"id", "ordered_at", "outlet_id",
					"channel", "total", "remark",
				},
					"{*id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {*ordered_at} DATETIME NOT NULL, {*outlet_id} INT "+
						"NOT NULL, {*channel} VARCHAR(16) NOT NULL, "+
						"{*total} DECIMAL(10,2) NOT NULL, {*remark} VARCHAR(120) NOT NULL, PRIMARY KEY ({*id}), KEY "+
						"{*by_time_outlet} ({*ordered_at}, {*outlet_id})",
					func(r *rand.Rand, row int, l *fault.Line) {
						l.Time(r.IntN(daysOfData * daySeconds))
						l.Int(1 + r.IntN(outlets))
						l.Text("channel%d", r.IntN(5))
						l.Text("%d.%02d", r.IntN(1000), r.IntN(100))
						l.Text("to be brought to door number %d of the backyard, please", row)
					})}
			},
			Operations: []fault.Operation{
				{
					Name: "orders_of_outlet", Weight: 50,
					SQL: "SELECT {orders.id}, {orders.channel}, {orders.total} FROM {orders} WHERE " +
						"{orders.ordered_at} >= " +
						"? AND {orders.ordered_at} < ? AND {orders.outlet_id} = ?",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						from := time.Date(2024, 1, 1, 0, 0, r.IntN((daysOfData-days)*daySeconds), 0, time.UTC)
						args[0] = workload.String(from.Format(time.DateTime))
						args[1] = workload.String(from.AddDate(0, 0, days).Format(time.DateTime))
						args[2] = workload.Int(1 + r.Int64N(outlets))
					},
				},
				{
					Name: "get_order", Weight: 40,
					SQL: "SELECT {orders.channel}, {orders.total}, {orders.remark} FROM {orders} WHERE {orders.id} " +
						"= ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
				},
				{
					Name: "add_order", Weight: 10,
					SQL: "INSERT INTO {orders} ({orders.ordered_at}, {orders.outlet_id}, {orders.channel}, " +
						"{orders.total}, {orders.remark}) VALUES (NOW(), ?, ?, ?, '')",
					Args: func(r *rand.Rand, _ int, args []workload.Datum) {
						args[0], args[1], args[2] = workload.Int(1+r.Int64N(outlets)), workload.String("channel1"),
							workload.Float(float64(r.IntN(1e5))/100)
					},
				},
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "index-order", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("orders")},
				Columns: n.List("orders.outlet_id", "orders.ordered_at"),
			}
		},
	}
}
