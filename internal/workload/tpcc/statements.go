package tpcc

import (
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Kinds of operation.
const (
	newOrder = iota
	payment
	orderStatus
	delivery
	stockLevel
	rolledBack // a new order whose last item does not exist: clause 2.4.1.4
)

var operations = [...]string{
	newOrder:    "new_order",
	payment:     "payment",
	orderStatus: "order_status",
	delivery:    "delivery",
	stockLevel:  "stock_level",
	rolledBack:  "new_order_rolled_back",
}

// Statements that belong to no set of tables.
const (
	begin = iota
	commit
	rollback
	common
)

// Statements of a set of tables, in the order of the transactions.
const (
	noCustomer = iota
	noDistrict
	noNext
	noOrder
	noQueue
	noItem
	noStock
	noTake
	noLine

	payWarehouse
	payWarehouseName
	payDistrict
	payDistrictName
	payCount
	payByName
	payCustomer
	payData
	payUpdate
	payUpdateData
	payHistory

	statusCount
	statusByName
	statusCustomer
	statusOrder
	statusLines

	deliveryNext
	deliveryTake
	deliveryOrder
	deliveryCustomer
	deliveryLines
	deliverySum
	deliveryPay

	levelDistrict
	levelItems
	levelStock
	levelJoin

	statements
)

// The texts. "#" stands for the number of the set. Amounts are cast, because a text added to a DECIMAL makes the sum
// floating point.
var texts = [statements]workload.Statement{
	noCustomer: {
		Name: "new order: customer", Kind: workload.Read, Rows: true,
		SQL: "SELECT c_discount, c_last, c_credit, w_tax FROM customer#, warehouse# WHERE w_id=? AND c_w_id=w_id AND " +
			"c_d_id=? AND c_id=?",
	},
	noDistrict: {
		Name: "new order: district", Kind: workload.Read, Rows: true,
		SQL: "SELECT d_next_o_id, d_tax FROM district# WHERE d_w_id=? AND d_id=? FOR UPDATE",
	},
	noNext: {
		Name: "new order: next number", Kind: workload.Write,
		SQL: "UPDATE district# SET d_next_o_id=? WHERE d_w_id=? AND d_id=?",
	},
	noOrder: {
		Name: "new order: insert order", Kind: workload.Write,
		SQL: "INSERT INTO orders# (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, " +
			"?, NOW(), ?, ?)",
	},
	noQueue: {
		Name: "new order: insert new_order", Kind: workload.Write,
		SQL: "INSERT INTO new_orders# (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
	},
	noItem: {
		Name: "new order: item", Kind: workload.Read, Rows: true,
		SQL: "SELECT i_price, i_name, i_data FROM item# WHERE i_id=?",
	},
	noStock: {
		Name: "new order: stock", Kind: workload.Read, Rows: true,
		SQL: "SELECT s_quantity, s_data, CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 " +
			"WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 " +
			"WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 " +
			"END FROM stock# WHERE s_w_id=? AND s_i_id=? FOR UPDATE",
	},
	noTake: {
		Name: "new order: update stock", Kind: workload.Write,
		SQL: "UPDATE stock# SET s_quantity=?, s_ytd=s_ytd+?, s_order_cnt=s_order_cnt+1, s_remote_cnt=s_remote_cnt+? " +
			"WHERE s_w_id=? AND s_i_id=?",
	},
	noLine: {
		Name: "new order: insert line", Kind: workload.Write,
		SQL: "INSERT INTO order_line# (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, " +
			"ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	},

	payWarehouse: {
		Name: "payment: update warehouse", Kind: workload.Write,
		SQL: "UPDATE warehouse# SET w_ytd=w_ytd+CAST(? AS DECIMAL(12,2)) WHERE w_id=?",
	},
	payWarehouseName: {
		Name: "payment: warehouse", Kind: workload.Read, Rows: true,
		SQL: "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse# WHERE w_id=?",
	},
	payDistrict: {
		Name: "payment: update district", Kind: workload.Write,
		SQL: "UPDATE district# SET d_ytd=d_ytd+CAST(? AS DECIMAL(12,2)) WHERE d_w_id=? AND d_id=?",
	},
	payDistrictName: {
		Name: "payment: district", Kind: workload.Read, Rows: true,
		SQL: "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district# WHERE d_w_id=? AND d_id=?",
	},
	payCount: {
		Name: "payment: count customers", Kind: workload.Read, Rows: true,
		SQL: "SELECT COUNT(c_id) FROM customer# WHERE c_w_id=? AND c_d_id=? AND c_last=?",
	},
	payByName: {
		Name: "payment: customers by name", Kind: workload.Read, Rows: true,
		SQL: "SELECT c_id FROM customer# WHERE c_w_id=? AND c_d_id=? AND c_last=? ORDER BY c_first",
	},
	payCustomer: {
		Name: "payment: customer", Kind: workload.Read, Rows: true,
		SQL: "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, " +
			"c_credit_lim, c_discount, c_balance, c_ytd_payment, c_since " +
			"FROM customer# WHERE c_w_id=? AND c_d_id=? AND c_id=? FOR UPDATE",
	},
	payData: {
		Name: "payment: data of the customer", Kind: workload.Read, Rows: true,
		SQL: "SELECT c_data FROM customer# WHERE c_w_id=? AND c_d_id=? AND c_id=?",
	},
	payUpdate: {
		Name: "payment: update customer", Kind: workload.Write,
		SQL: "UPDATE customer# SET c_balance=c_balance-CAST(? AS DECIMAL(12,2)), c_ytd_payment=c_ytd_payment+CAST(? " +
			"AS DECIMAL(12,2)), c_payment_cnt=c_payment_cnt+1 " +
			"WHERE c_w_id=? AND c_d_id=? AND c_id=?",
	},
	payUpdateData: {
		Name: "payment: update customer and data", Kind: workload.Write,
		SQL: "UPDATE customer# SET c_balance=c_balance-CAST(? AS DECIMAL(12,2)), c_ytd_payment=c_ytd_payment+CAST(? " +
			"AS DECIMAL(12,2)), c_payment_cnt=c_payment_cnt+1, c_data=? " +
			"WHERE c_w_id=? AND c_d_id=? AND c_id=?",
	},
	payHistory: {
		Name: "payment: insert history", Kind: workload.Write,
		SQL: "INSERT INTO history# (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, " +
			"?, ?, ?, ?, NOW(), ?, ?)",
	},

	statusCount: {
		Name: "order status: count customers", Kind: workload.Read, Rows: true,
		SQL: "SELECT COUNT(c_id) FROM customer# WHERE c_w_id=? AND c_d_id=? AND c_last=?",
	},
	statusByName: {
		Name: "order status: customers by name", Kind: workload.Read, Rows: true,
		SQL: "SELECT c_id, c_balance, c_first, c_middle FROM customer# WHERE c_w_id=? AND c_d_id=? AND c_last=? " +
			"ORDER BY c_first",
	},
	statusCustomer: {
		Name: "order status: customer", Kind: workload.Read, Rows: true,
		SQL: "SELECT c_balance, c_first, c_middle, c_last FROM customer# WHERE c_w_id=? AND c_d_id=? AND c_id=?",
	},
	statusOrder: {
		Name: "order status: latest order", Kind: workload.Read, Rows: true,
		SQL: "SELECT o_id, o_carrier_id, o_entry_d FROM orders# WHERE o_w_id=? AND o_d_id=? AND o_c_id=? ORDER BY " +
			"o_id DESC LIMIT 1",
	},
	statusLines: {
		Name: "order status: lines", Kind: workload.Read, Rows: true,
		SQL: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line# WHERE ol_w_id=? " +
			"AND ol_d_id=? AND ol_o_id=?",
	},

	deliveryNext: {
		Name: "delivery: oldest new order", Kind: workload.Read, Rows: true,
		SQL: "SELECT no_o_id FROM new_orders# WHERE no_w_id=? AND no_d_id=? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
	},
	deliveryTake: {
		Name: "delivery: delete new order", Kind: workload.Write,
		SQL: "DELETE FROM new_orders# WHERE no_w_id=? AND no_d_id=? AND no_o_id=?",
	},
	deliveryOrder: {
		Name: "delivery: update order", Kind: workload.Write,
		SQL: "UPDATE orders# SET o_carrier_id=? WHERE o_w_id=? AND o_d_id=? AND o_id=?",
	},
	deliveryCustomer: {
		Name: "delivery: customer of the order", Kind: workload.Read, Rows: true,
		SQL: "SELECT o_c_id FROM orders# WHERE o_w_id=? AND o_d_id=? AND o_id=?",
	},
	deliveryLines: {
		Name: "delivery: update lines", Kind: workload.Write,
		SQL: "UPDATE order_line# SET ol_delivery_d=NOW() WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?",
	},
	deliverySum: {
		Name: "delivery: sum of lines", Kind: workload.Read, Rows: true,
		SQL: "SELECT SUM(ol_amount) FROM order_line# WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?",
	},
	deliveryPay: {
		Name: "delivery: update customer", Kind: workload.Write,
		SQL: "UPDATE customer# SET c_balance=c_balance+CAST(? AS DECIMAL(12,2)), c_delivery_cnt=c_delivery_cnt+1 " +
			"WHERE c_w_id=? AND c_d_id=? AND c_id=?",
	},

	levelDistrict: {
		Name: "stock level: district", Kind: workload.Read, Rows: true,
		SQL: "SELECT d_next_o_id FROM district# WHERE d_w_id=? AND d_id=?",
	},
	levelItems: {
		Name: "stock level: items", Kind: workload.Read, Rows: true,
		SQL: "SELECT DISTINCT ol_i_id FROM order_line# WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id<? AND ol_o_id>=?",
	},
	levelStock: {
		Name: "stock level: stock of an item", Kind: workload.Read, Rows: true,
		SQL: "SELECT COUNT(*) FROM stock# WHERE s_w_id=? AND s_i_id=? AND s_quantity<?",
	},
	levelJoin: {
		Name: "stock level: low stock", Kind: workload.Read, Rows: true,
		SQL: "SELECT COUNT(DISTINCT s_i_id) FROM order_line#, stock# WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id<? AND " +
			"ol_o_id>=? AND s_w_id=? AND s_i_id=ol_i_id AND s_quantity<?",
	},
}

// statements returns those of all sets, and notes where they lie.
func (p *program) statements() []workload.Statement {
	list := []workload.Statement{
		begin:    {Name: "begin", SQL: "BEGIN", Kind: workload.Other, Text: true},
		commit:   {Name: "commit", SQL: "COMMIT", Kind: workload.Other, Text: true},
		rollback: {Name: "rollback", SQL: "ROLLBACK", Kind: workload.Other, Text: true},
	}
	for set := 1; set <= p.sets; set++ {
		p.of = 0
		for i, s := range texts {
			p.index[i] = -1
			if i == levelJoin && !p.byJoin || (i == levelItems || i == levelStock) && p.byJoin {
				continue
			}
			p.index[i] = p.of
			p.of++
			s.SQL = strings.ReplaceAll(s.SQL, "#", strconv.Itoa(set))
			list = append(list, s)
		}
	}
	return list
}
