package tpcc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// condition is a check. "#" stands for the number of a set. All add up each table by itself and then compare the sums:
// none looks for the rows of a table one by one, except for orders by their primary key, so that they need no other
// index.
type condition struct{ name, title, sql string }

// conditions are those of clause 3.3.2. What is NULL counts as 0, so that it cannot hide.
var conditions = []condition{
	{
		"3.3.2.1", "what a warehouse took in is what its districts took in: w_ytd = sum(d_ytd)",
		"SELECT w_id, SUM(w) AS w_ytd, SUM(d) AS sum_d_ytd FROM (" +
			"SELECT w_id, w_ytd AS w, 0 AS d FROM warehouse# UNION ALL SELECT d_w_id, 0, d_ytd FROM district#" +
			") AS x GROUP BY w_id HAVING COALESCE(SUM(w), 0) <> COALESCE(SUM(d), 0)",
	},
	{
		"3.3.2.2", "a district's next order number follows its last order and, if it has any, its last new order: " +
			"d_next_o_id - 1 = max(o_id) = max(no_o_id)",
		"SELECT w, d, MAX(next) AS d_next_o_id, MAX(o) AS max_o_id, MAX(n) AS max_no_o_id FROM (" +
			"SELECT d_w_id AS w, d_id AS d, COALESCE(d_next_o_id, 0) AS next, NULL AS o, NULL AS n FROM district#" +
			" UNION ALL SELECT o_w_id, o_d_id, NULL, MAX(o_id), NULL FROM orders# GROUP BY o_w_id, o_d_id" +
			" UNION ALL SELECT no_w_id, no_d_id, NULL, NULL, MAX(no_o_id) FROM new_orders# GROUP BY no_w_id, no_d_id" +
			") AS x GROUP BY w, d HAVING COALESCE(MAX(next), 0) - 1 <> COALESCE(MAX(o), 0) OR COALESCE(MAX(next), 0) " +
			"- 1 <> COALESCE(MAX(n), MAX(next) - 1, 0)",
	},
	{
		"3.3.2.3", "the numbers of a district's new orders have no gap: max(no_o_id) - min(no_o_id) + 1 = " +
			"count(new_orders)",
		"SELECT no_w_id, no_d_id, MIN(no_o_id) AS min_no_o_id, MAX(no_o_id) AS max_no_o_id, COUNT(*) AS new_orders " +
			"FROM new_orders# " +
			"GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
	},
	{
		"3.3.2.4", "a district has as many order lines as its orders say: sum(o_ol_cnt) = count(order_line)",
		"SELECT w, d, SUM(o) AS sum_o_ol_cnt, SUM(l) AS order_lines FROM (" +
			"SELECT o_w_id AS w, o_d_id AS d, COALESCE(SUM(o_ol_cnt), 0) AS o, 0 AS l FROM orders# GROUP BY o_w_id, " +
			"o_d_id" +
			" UNION ALL SELECT ol_w_id, ol_d_id, 0, COUNT(*) FROM order_line# GROUP BY ol_w_id, ol_d_id" +
			") AS x GROUP BY w, d HAVING SUM(o) <> SUM(l)",
	},
	{
		"3.3.2.5", "an order has no carrier if, and only if, it is among the new orders: o_carrier_id is null = (row " +
			"of new_orders)",
		"SELECT w, d, o, SUM(a) AS without_carrier, SUM(b) AS new_orders FROM (" +
			"SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS a, 0 AS b FROM orders# WHERE o_carrier_id IS NULL" +
			" UNION ALL SELECT no_w_id, no_d_id, no_o_id, 0, 1 FROM new_orders#" +
			") AS x GROUP BY w, d, o HAVING SUM(a) <> SUM(b)",
	},
	{
		"3.3.2.6", "an order has as many lines as it says: o_ol_cnt = count(order_line)",
		"SELECT w, d, o, SUM(a) AS o_ol_cnt, SUM(b) AS order_lines FROM (" +
			"SELECT o_w_id AS w, o_d_id AS d, o_id AS o, COALESCE(o_ol_cnt, 0) AS a, 0 AS b FROM orders#" +
			" UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, COUNT(*) FROM order_line# GROUP BY ol_w_id, ol_d_id, " +
			"ol_o_id" +
			") AS x GROUP BY w, d, o HAVING SUM(a) <> SUM(b)",
	},
	{
		"3.3.2.7", "a line has no delivery date if, and only if, its order has no carrier: ol_delivery_d is null = " +
			"o_carrier_id is null",
		"SELECT w, d, o, SUM(waiting) AS without_carrier, SUM(n) AS order_lines, SUM(undelivered) AS " +
			"without_delivery FROM (" +
			"SELECT o_w_id AS w, o_d_id AS d, o_id AS o, CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END AS " +
			"waiting, 0 AS n, 0 AS undelivered FROM orders#" +
			" UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, COUNT(*), SUM(CASE WHEN ol_delivery_d IS NULL THEN 1 " +
			"ELSE 0 END) FROM order_line# GROUP BY ol_w_id, ol_d_id, ol_o_id" +
			") AS x GROUP BY w, d, o HAVING SUM(undelivered) <> SUM(waiting) * SUM(n)",
	},
	{
		"3.3.2.8", "what a warehouse took in is its history: w_ytd = sum(h_amount)",
		"SELECT w_id, SUM(w) AS w_ytd, SUM(h) AS sum_h_amount FROM (" +
			"SELECT w_id, COALESCE(w_ytd, 0) AS w, 0 AS h FROM warehouse#" +
			" UNION ALL SELECT h_w_id, 0, COALESCE(SUM(h_amount), 0) FROM history# GROUP BY h_w_id" +
			") AS x GROUP BY w_id HAVING SUM(w) <> SUM(h)",
	},
	{
		"3.3.2.9", "what a district took in is its history: d_ytd = sum(h_amount)",
		"SELECT w, d, SUM(a) AS d_ytd, SUM(h) AS sum_h_amount FROM (" +
			"SELECT d_w_id AS w, d_id AS d, COALESCE(d_ytd, 0) AS a, 0 AS h FROM district#" +
			" UNION ALL SELECT h_w_id, h_d_id, 0, COALESCE(SUM(h_amount), 0) FROM history# GROUP BY h_w_id, h_d_id" +
			") AS x GROUP BY w, d HAVING SUM(a) <> SUM(h)",
	},
	{
		"3.3.2.10", "a customer owes what was delivered less what was paid: c_balance = sum(ol_amount, delivered) - " +
			"sum(h_amount)",
		"SELECT w, d, c, SUM(balance) AS c_balance, SUM(delivered) AS sum_ol_amount, SUM(paid) AS sum_h_amount FROM (" +
			"SELECT c_w_id AS w, c_d_id AS d, c_id AS c, COALESCE(c_balance, 0) AS balance, 0 AS delivered, 0 AS " +
			"paid FROM customer#" +
			" UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, 0, 0, COALESCE(h_amount, 0) FROM history#" +
			" UNION ALL SELECT o_w_id, o_d_id, o_c_id, 0, a, 0 FROM (" + deliveredToCustomer + ") AS z" +
			") AS x GROUP BY w, d, c HAVING SUM(balance) <> SUM(delivered) - SUM(paid)",
	},
	{
		"3.3.2.11", "every order is new or was delivered, and deliveries are counted at the customer: count(orders) " +
			"- count(new_orders) = " + strconv.Itoa(delivered) + " + sum(c_delivery_cnt)",
		"SELECT w, d, SUM(o) AS orders, SUM(n) AS new_orders, SUM(c) AS sum_c_delivery_cnt FROM (" +
			"SELECT o_w_id AS w, o_d_id AS d, COUNT(*) AS o, 0 AS n, 0 AS c FROM orders# GROUP BY o_w_id, o_d_id" +
			" UNION ALL SELECT no_w_id, no_d_id, 0, COUNT(*), 0 FROM new_orders# GROUP BY no_w_id, no_d_id" +
			" UNION ALL SELECT c_w_id, c_d_id, 0, 0, COALESCE(SUM(c_delivery_cnt), 0) FROM customer# GROUP BY " +
			"c_w_id, c_d_id" +
			") AS x GROUP BY w, d HAVING SUM(o) - SUM(n) <> " + strconv.Itoa(delivered) + " + SUM(c)",
	},
	{
		"3.3.2.12", "a customer's balance and payments make what was delivered: c_balance + c_ytd_payment = " +
			"sum(ol_amount, delivered)",
		"SELECT w, d, c, SUM(balance) AS c_balance, SUM(paid) AS c_ytd_payment, SUM(delivered) AS sum_ol_amount FROM " +
			"(" +
			"SELECT c_w_id AS w, c_d_id AS d, c_id AS c, COALESCE(c_balance, 0) AS balance, COALESCE(c_ytd_payment, " +
			"0) AS paid, 0 AS delivered FROM customer#" +
			" UNION ALL SELECT o_w_id, o_d_id, o_c_id, 0, 0, a FROM (" + deliveredToCustomer + ") AS z" +
			") AS x GROUP BY w, d, c HAVING SUM(balance) + SUM(paid) <> SUM(delivered)",
	},
}

// deliveredToCustomer gives the amounts of the delivered lines of every order with its customer. Each order is looked
// for by its primary key, which it has in every kind of schema, in the key's order.
const deliveredToCustomer = "SELECT o_w_id, o_d_id, o_c_id, a FROM (" +
	"SELECT ol_w_id, ol_d_id, ol_o_id, SUM(ol_amount) AS a FROM order_line# WHERE ol_delivery_d IS NOT NULL GROUP BY " +
	"ol_w_id, ol_d_id, ol_o_id" +
	") AS y JOIN orders# ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id"

// checks returns the conditions for a set of tables. The first is that the tables are there with as many rows as scale
// says: without it empty tables would meet every condition.
func checks(set, sets, scale int) []workload.Check {
	n := strconv.Itoa(set)
	list := append([]condition{{
		"1.2.1", "the tables whose rows are fixed have as many as scale says",
		cardinalities(scale),
	}}, conditions...)
	out := make([]workload.Check, len(list))
	for i, c := range list {
		out[i] = workload.Check{Name: c.name, Title: c.title, SQL: strings.ReplaceAll(c.sql, "#", n)}
		if sets > 1 {
			out[i].Name += " set " + n
		}
	}
	return out
}

// cardinalities selects the tables whose number of rows is not as it must be.
func cardinalities(scale int) string {
	var parts []string
	for _, t := range []struct {
		name string
		rows int
	}{
		{"warehouse#", scale},
		{"district#", scale * districts},
		{"customer#", scale * districts * customers},
		{"stock#", scale * items},
		{"item#", items},
	} {
		parts = append(parts, fmt.Sprintf("SELECT '%s' AS table_name, %d AS expected, COUNT(*) AS found FROM %s "+
			"HAVING COUNT(*) <> %d", t.name, t.rows, t.name, t.rows))
	}
	return strings.Join(parts, " UNION ALL ")
}
