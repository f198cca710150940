package tpcc

import (
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// definition describes a table of a set. "#" stands for the number of the set.
type definition struct {
	name    string
	columns []string // name and type, as sysbench-tpcc has them
	key     string
	indexes []string // "name (columns)", made after the rows
	foreign []string // "name (columns) REFERENCES table (columns)"
	counter string   // the column that numbers the rows
	added   bool     // the first column is a surrogate key
	rows    int      // of a warehouse
	whole   int      // of a set, whatever its warehouses
	fill    func(f *filler) func(n int, emit func([]workload.Datum))
}

// surrogate is the key of tables that have no other; the ids of lines have gaps, room for the most lines that an order
// may have.
const surrogate = "id bigint NOT NULL AUTO_INCREMENT"

// definitions returns the tables of a set as the options want them, parents first.
func definitions(v workload.Values) []definition {
	poor := v.Text("unoptimized")
	list := []definition{
		{
			name: "warehouse#",
			columns: []string{
				"w_id smallint NOT NULL", "w_name varchar(10)", "w_street_1 varchar(20)",
				"w_street_2 varchar(20)", "w_city varchar(20)", "w_state char(2)", "w_zip char(9)",
				"w_tax decimal(4,2)", "w_ytd decimal(12,2)",
			},
			key: "w_id", counter: "w_id", rows: 1, fill: (*filler).warehouse,
		},
		{
			name: "district#",
			columns: []string{
				"d_id tinyint NOT NULL", "d_w_id smallint NOT NULL", "d_name varchar(10)",
				"d_street_1 varchar(20)", "d_street_2 varchar(20)", "d_city varchar(20)", "d_state char(2)",
				"d_zip char(9)", "d_tax decimal(4,2)", "d_ytd decimal(12,2)", "d_next_o_id int",
			},
			key: "d_w_id, d_id", rows: districts, fill: (*filler).district,
			foreign: []string{"fkey_district_1_# (d_w_id) REFERENCES warehouse# (w_id)"},
		},
		{
			name: "customer#",
			columns: []string{
				"c_id int NOT NULL", "c_d_id tinyint NOT NULL", "c_w_id smallint NOT NULL", "c_first varchar(16)",
				"c_middle char(2)", "c_last varchar(16)", "c_street_1 varchar(20)", "c_street_2 varchar(20)",
				"c_city varchar(20)", "c_state char(2)", "c_zip char(9)", "c_phone char(16)", "c_since datetime",
				"c_credit char(2)", "c_credit_lim bigint", "c_discount decimal(4,2)", "c_balance decimal(12,2)",
				"c_ytd_payment decimal(12,2)", "c_payment_cnt smallint", "c_delivery_cnt smallint", "c_data text",
			},
			key: "c_w_id, c_d_id, c_id", rows: districts * customers, fill: (*filler).customer,
			indexes: []string{"idx_customer# (c_w_id, c_d_id, c_last, c_first)"},
			foreign: []string{"fkey_customer_1_# (c_w_id, c_d_id) REFERENCES district# (d_w_id, d_id)"},
		},
		{
			name: "history#",
			columns: []string{
				"h_c_id int", "h_c_d_id tinyint", "h_c_w_id smallint", "h_d_id tinyint",
				"h_w_id smallint", "h_date datetime", "h_amount decimal(6,2)", "h_data varchar(24)",
			},
			rows: districts * customers, fill: (*filler).history,
			indexes: []string{"fkey_history_1# (h_c_w_id, h_c_d_id, h_c_id)", "fkey_history_2# (h_w_id, h_d_id)"},
			foreign: []string{"fkey_history_1_# (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer# (c_w_id, c_d_id, " +
				"c_id)", "fkey_history_2_# (h_w_id, h_d_id) REFERENCES district# (d_w_id, d_id)"},
		},
		{
			name: "orders#",
			columns: []string{
				"o_id int NOT NULL", "o_d_id tinyint NOT NULL", "o_w_id smallint NOT NULL", "o_c_id int",
				"o_entry_d datetime", "o_carrier_id tinyint", "o_ol_cnt tinyint", "o_all_local tinyint",
			},
			key: "o_w_id, o_d_id, o_id", rows: districts * customers, fill: (*filler).order,
			indexes: []string{"idx_orders# (o_w_id, o_d_id, o_c_id, o_id)"},
			foreign: []string{"fkey_orders_1_# (o_w_id, o_d_id, o_c_id) REFERENCES customer# (c_w_id, c_d_id, c_id)"},
		},
		{
			name:    "new_orders#",
			columns: []string{"no_o_id int NOT NULL", "no_d_id tinyint NOT NULL", "no_w_id smallint NOT NULL"},
			key:     "no_w_id, no_d_id, no_o_id", rows: districts * (customers - delivered), fill: (*filler).newOrder,
			foreign: []string{"fkey_new_orders_1_# (no_w_id, no_d_id, no_o_id) REFERENCES orders# (o_w_id, o_d_id, " +
				"o_id)"},
		},
		{
			name: "item#",
			columns: []string{
				"i_id int NOT NULL", "i_im_id int", "i_name varchar(24)",
				"i_price decimal(5,2)", "i_data varchar(50)",
			},
			key: "i_id", counter: "i_id", whole: items, fill: (*filler).item,
		},
		{
			name: "stock#",
			columns: []string{
				"s_i_id int NOT NULL", "s_w_id smallint NOT NULL", "s_quantity smallint", "s_dist_01 char(24)",
				"s_dist_02 char(24)", "s_dist_03 char(24)", "s_dist_04 char(24)", "s_dist_05 char(24)",
				"s_dist_06 char(24)", "s_dist_07 char(24)", "s_dist_08 char(24)", "s_dist_09 char(24)",
				"s_dist_10 char(24)", "s_ytd decimal(8,0)", "s_order_cnt smallint",
				"s_remote_cnt smallint", "s_data varchar(50)",
			},
			key: "s_w_id, s_i_id", rows: items, fill: (*filler).stock,
			indexes: []string{"fkey_stock_2# (s_i_id)"},
			foreign: []string{
				"fkey_stock_1_# (s_w_id) REFERENCES warehouse# (w_id)",
				"fkey_stock_2_# (s_i_id) REFERENCES item# (i_id)",
			},
		},
		{
			name: "order_line#",
			columns: []string{
				"ol_o_id int NOT NULL", "ol_d_id tinyint NOT NULL", "ol_w_id smallint NOT NULL",
				"ol_number tinyint NOT NULL", "ol_i_id int", "ol_supply_w_id smallint", "ol_delivery_d datetime",
				"ol_quantity tinyint", "ol_amount decimal(6,2)", "ol_dist_info char(24)",
			},
			key: "ol_w_id, ol_d_id, ol_o_id, ol_number", rows: districts * customers, fill: (*filler).orderLines,
			indexes: []string{"fkey_order_line_2# (ol_supply_w_id, ol_i_id)"},
			foreign: []string{"fkey_order_line_1_# (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders# (o_w_id, o_d_id, " +
				"o_id)", "fkey_order_line_2_# (ol_supply_w_id, ol_i_id) REFERENCES stock# (s_w_id, s_i_id)"},
		},
	}
	number := func(d *definition, column string) {
		d.columns = append([]string{column}, d.columns...)
		d.key, d.added = "id", true
	}
	for i := range list {
		d := &list[i]
		if poor != off {
			d.indexes, d.foreign = nil, nil
		}
		if !v.Bool("use-fk") {
			d.foreign = nil
		}
		switch d.name {
		case "history#":
			if v.Bool("force-pk") {
				number(d, "id int NOT NULL AUTO_INCREMENT")
				d.counter = "id"
			}
		case "stock#":
			if poor != off {
				d.key = "s_w_id, s_i_id, s_quantity"
			}
		case "new_orders#":
			switch poor {
			case on:
				d.key = "no_o_id, no_d_id, no_w_id"
			case worst:
				number(d, surrogate)
				d.counter = "id"
			}
		case "order_line#":
			if poor == worst {
				number(d, surrogate)
			}
		}
	}
	return list
}

// tables returns those of a set, the number of which is from 1.
func tables(v workload.Values, set int) []workload.Table {
	list := definitions(v)
	out := make([]workload.Table, len(list))
	n := strconv.Itoa(set)
	of := func(s string) string { return strings.ReplaceAll(s, "#", n) }
	for i, d := range list {
		t := workload.Table{Name: of(d.name), Rows: d.whole + d.rows*v.Int("scale"), Key: d.counter}
		body := append([]string(nil), d.columns...)
		for _, c := range d.columns {
			name, _, _ := strings.Cut(c, " ")
			t.Columns = append(t.Columns, name)
		}
		if d.key != "" {
			body = append(body, "PRIMARY KEY ("+d.key+")")
		}
		t.Create = v.WithTableOptions("CREATE TABLE "+t.Name+" ("+strings.Join(body, ", ")+")", "mysql-table-options")
		for _, x := range d.indexes {
			name, columns, _ := strings.Cut(of(x), " ")
			t.After = append(t.After, "CREATE INDEX "+name+" ON "+t.Name+" "+columns)
		}
		if len(d.foreign) > 0 {
			// The rows agree by construction: a check of each would copy the table.
			t.After = append(t.After, "SET SESSION foreign_key_checks=0")
			for _, x := range d.foreign {
				name, rest, _ := strings.Cut(of(x), " ")
				t.After = append(t.After, "ALTER TABLE "+t.Name+" ADD CONSTRAINT "+name+" FOREIGN KEY "+rest)
			}
			t.After = append(t.After, "SET SESSION foreign_key_checks=1")
		}
		t.Fill = func(seed uint64) func(int, func([]workload.Datum)) {
			return d.fill(&filler{seed: seed, set: uint64(set), numbered: d.added})
		}
		out[i] = t
	}
	return out
}
