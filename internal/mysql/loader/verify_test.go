package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/internal/workload/tpcc"
	"github.com/dyno-perf/dyno/test/servers"
)

// roomy gives a server the memory for a warehouse.
var roomy = []string{"innodb_buffer_pool_size=256M", "innodb_doublewrite=0"}

// warehouse prepares a warehouse.
func warehouse(t *testing.T, tg *target.Target, options ...string) load.Data {
	t.Helper()
	d := load.Data{Workload: tpcc.Workload{}, Options: map[string]string{"scale": "1"}, Threads: 2, Seed: 5}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		d.Options[k] = v
	}
	if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

// holds fails the test when a condition does not hold.
func holds(t *testing.T, tg *target.Target, d load.Data, when string) {
	t.Helper()
	v, err := on(tg).Verify(t.Context(), d, nil)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for _, x := range v {
		t.Errorf("%s: %v", when, x)
	}
}

// altered are changes of one row, with what undoes them, and the condition that each must break. They are made after a
// run, so that some of the delivered orders have amounts.
var altered = []struct{ condition, do, undo string }{
	{"1.2.1", "UPDATE item1 SET i_id = 0 WHERE i_id = 5", ""}, // kept: nothing is said of the numbers
	{"1.2.1", "DELETE FROM item1 WHERE i_id = 0", "INSERT INTO item1 VALUES (5, 1, 'n', 1, 'd')"},
	{"1.2.1", "DELETE FROM stock1 WHERE s_i_id = 100000", "INSERT INTO stock1 (s_w_id, s_i_id) VALUES (1, 100000)"},

	{"3.3.2.1", "UPDATE warehouse1 SET w_ytd = w_ytd + 0.01", "UPDATE warehouse1 SET w_ytd = w_ytd - 0.01"},
	{"3.3.2.1", "UPDATE district1 SET d_ytd = d_ytd - 0.01 WHERE d_id = 10", "UPDATE district1 SET d_ytd = d_ytd + " +
		"0.01 WHERE d_id = 10"},

	{
		"3.3.2.2", "UPDATE district1 SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4",
		"UPDATE district1 SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 4",
	},
	{
		"3.3.2.2", "UPDATE district1 SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 4",
		"UPDATE district1 SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4",
	},
	{
		"3.3.2.2", "UPDATE orders1 SET o_id = 1000000 WHERE o_d_id = 4 AND o_id = 1",
		"UPDATE orders1 SET o_id = 1 WHERE o_id = 1000000",
	},
	{
		"3.3.2.2", "UPDATE new_orders1 SET no_o_id = 1000000 WHERE no_d_id = 4 AND no_o_id = 3000",
		"UPDATE new_orders1 SET no_o_id = 3000 WHERE no_o_id = 1000000",
	},

	{
		"3.3.2.3", "UPDATE new_orders1 SET no_o_id = 1 WHERE no_d_id = 4 AND no_o_id = 3000",
		"UPDATE new_orders1 SET no_o_id = 3000 WHERE no_d_id = 4 AND no_o_id = 1",
	},

	{
		"3.3.2.4", "UPDATE orders1 SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 2 AND o_id = 77",
		"UPDATE orders1 SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 2 AND o_id = 77",
	},
	{
		"3.3.2.4", "UPDATE order_line1 SET ol_d_id = 99 WHERE ol_d_id = 2 AND ol_o_id = 77 AND ol_number = 3",
		"UPDATE order_line1 SET ol_d_id = 2 WHERE ol_d_id = 99",
	},

	{
		"3.3.2.5", "UPDATE orders1 SET o_carrier_id = NULL WHERE o_d_id = 2 AND o_id = 77",
		"UPDATE orders1 SET o_carrier_id = 1 WHERE o_d_id = 2 AND o_id = 77",
	},
	{
		"3.3.2.5", "UPDATE orders1 SET o_carrier_id = 1 WHERE o_d_id = 2 AND o_id = 2990",
		"UPDATE orders1 SET o_carrier_id = NULL WHERE o_d_id = 2 AND o_id = 2990",
	},
	{
		"3.3.2.5", "UPDATE new_orders1 SET no_o_id = 77 WHERE no_d_id = 2 AND no_o_id = 2990",
		"UPDATE new_orders1 SET no_o_id = 2990 WHERE no_d_id = 2 AND no_o_id = 77",
	},

	{
		"3.3.2.6", "UPDATE orders1 SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 2 AND o_id = 77",
		"UPDATE orders1 SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 2 AND o_id = 77",
	},
	{"3.3.2.6", "UPDATE order_line1 SET ol_o_id = 78, ol_number = 99 WHERE ol_d_id = 2 AND ol_o_id = 77 AND " +
		"ol_number = 3", "UPDATE order_line1 SET ol_o_id = 77, ol_number = 3 WHERE ol_d_id = 2 AND ol_o_id = 78 AND " +
		"ol_number = 99"},

	{
		"3.3.2.7", "UPDATE orders1 SET o_carrier_id = 1 WHERE o_d_id = 2 AND o_id = 2990",
		"UPDATE orders1 SET o_carrier_id = NULL WHERE o_d_id = 2 AND o_id = 2990",
	},
	{
		"3.3.2.7", "UPDATE orders1 SET o_carrier_id = NULL WHERE o_d_id = 2 AND o_id = 77",
		"UPDATE orders1 SET o_carrier_id = 1 WHERE o_d_id = 2 AND o_id = 77",
	},
	{
		"3.3.2.7",
		"UPDATE order_line1 SET ol_delivery_d = NOW() WHERE ol_d_id = 2 AND ol_o_id = 2990 AND ol_number = 1",
		"UPDATE order_line1 SET ol_delivery_d = NULL WHERE ol_d_id = 2 AND ol_o_id = 2990 AND ol_number = 1",
	},
	{
		"3.3.2.7", "UPDATE order_line1 SET ol_delivery_d = NULL WHERE ol_d_id = 2 AND ol_o_id = 77 AND ol_number = 1",
		"UPDATE order_line1 SET ol_delivery_d = '2020-01-01' WHERE ol_d_id = 2 AND ol_o_id = 77 AND ol_number = 1",
	},

	{"3.3.2.8", "UPDATE warehouse1 SET w_ytd = w_ytd - 0.01", "UPDATE warehouse1 SET w_ytd = w_ytd + 0.01"},
	{
		"3.3.2.8", "UPDATE history1 SET h_amount = h_amount + 0.01 WHERE h_c_d_id = 3 LIMIT 1",
		"UPDATE history1 SET h_amount = h_amount - 0.01 WHERE h_c_d_id = 3 LIMIT 1",
	},

	{"3.3.2.9", "UPDATE district1 SET d_ytd = d_ytd + 0.01 WHERE d_id = 10", "UPDATE district1 SET d_ytd = d_ytd - " +
		"0.01 WHERE d_id = 10"},
	{
		"3.3.2.9", "UPDATE history1 SET h_amount = h_amount + 0.01 WHERE h_c_d_id = 3 LIMIT 1",
		"UPDATE history1 SET h_amount = h_amount - 0.01 WHERE h_c_d_id = 3 LIMIT 1",
	},

	{
		"3.3.2.10", "UPDATE customer1 SET c_balance = c_balance + 0.01 WHERE c_d_id = 6 AND c_id = 7",
		"UPDATE customer1 SET c_balance = c_balance - 0.01 WHERE c_d_id = 6 AND c_id = 7",
	},
	{
		"3.3.2.10", "UPDATE history1 SET h_amount = h_amount + 0.01 WHERE h_c_d_id = 3 LIMIT 1",
		"UPDATE history1 SET h_amount = h_amount - 0.01 WHERE h_c_d_id = 3 LIMIT 1",
	},
	{"3.3.2.10", "UPDATE order_line1 SET ol_amount = ol_amount + 0.01 WHERE ol_d_id = 2 AND ol_o_id = 77 AND " +
		"ol_number = 1", "UPDATE order_line1 SET ol_amount = ol_amount - 0.01 WHERE ol_d_id = 2 AND ol_o_id = 77 AND " +
		"ol_number = 1"},
	{
		"3.3.2.10", "UPDATE orders1 SET o_c_id = o_c_id + 5000 WHERE o_d_id = 2 AND o_id = 2101",
		"UPDATE orders1 SET o_c_id = o_c_id - 5000 WHERE o_d_id = 2 AND o_id = 2101",
	},

	{
		"3.3.2.11", "UPDATE customer1 SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 6 AND c_id = 7",
		"UPDATE customer1 SET c_delivery_cnt = c_delivery_cnt - 1 WHERE c_d_id = 6 AND c_id = 7",
	},
	{
		"3.3.2.11", "UPDATE orders1 SET o_d_id = 99 WHERE o_d_id = 4 AND o_id = 1",
		"UPDATE orders1 SET o_d_id = 4 WHERE o_d_id = 99",
	},
	{
		"3.3.2.11", "UPDATE new_orders1 SET no_d_id = 99 WHERE no_d_id = 4 AND no_o_id = 3000",
		"UPDATE new_orders1 SET no_d_id = 4 WHERE no_d_id = 99",
	},

	{
		"3.3.2.12", "UPDATE customer1 SET c_ytd_payment = c_ytd_payment + 0.01 WHERE c_d_id = 6 AND c_id = 7",
		"UPDATE customer1 SET c_ytd_payment = c_ytd_payment - 0.01 WHERE c_d_id = 6 AND c_id = 7",
	},
	{
		"3.3.2.12", "UPDATE customer1 SET c_balance = NULL WHERE c_d_id = 6 AND c_id = 9",
		"UPDATE customer1 SET c_balance = -10 WHERE c_d_id = 6 AND c_id = 9",
	},
	{"3.3.2.12", "UPDATE order_line1 SET ol_amount = ol_amount + 0.01 WHERE ol_d_id = 2 AND ol_o_id = 77 AND " +
		"ol_number = 1", "UPDATE order_line1 SET ol_amount = ol_amount - 0.01 WHERE ol_d_id = 2 AND ol_o_id = 77 AND " +
		"ol_number = 1"},
	{
		"3.3.2.12", "UPDATE orders1 SET o_c_id = o_c_id + 5000 WHERE o_d_id = 2 AND o_id = 2101",
		"UPDATE orders1 SET o_c_id = o_c_id - 5000 WHERE o_d_id = 2 AND o_id = 2101",
	},
}

// TestTPCC prepares a warehouse, runs on it and counts what it finds, and breaks every condition in every table that it
// covers.
func TestTPCC(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		d := warehouse(t, tg)
		holds(t, tg, d, "after prepare")

		db := s.DB(t, "sbtest")
		const events = 300
		for _, mode := range []load.PSMode{load.Auto, load.Disable} {
			before := contents(t, s)
			var mu sync.Mutex
			var marks [][4]int64
			acknowledged := func(op workload.Op) {
				mu.Lock()
				defer mu.Unlock()
				if op.Mark[3] != 0 {
					marks = append(marks, op.Mark)
				}
			}
			r, err := on(tg).Run(t.Context(), load.Config{
				Workload: d.Workload, Options: d.Options, Threads: 4, Events: events,
				Seed: 11, PSMode: mode, Acknowledged: acknowledged,
			}, nil)
			if err != nil || r.State != loadresult.Done {
				t.Fatalf("%s: %s, %v", mode, r.State, err)
			}
			after := contents(t, s)
			n := map[string]uint64{}
			for _, o := range r.Total.Ops {
				n[o.Name] = o.Latency.Count()
			}
			eq := func(what string, got, want uint64) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %s: %d, want %d", mode, what, got, want)
				}
			}
			eq("operations", r.Total.Operations(), events)
			eq("orders", after.orders-before.orders, n["new_order"])
			eq("orders that were told of", uint64(len(marks)), n["new_order"])
			for _, m := range marks {
				var there int
				if err := db.QueryRow("SELECT COUNT(*) FROM orders1 WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", m[0],
					m[1], m[2]).Scan(&there); err != nil || there != 1 {
					t.Errorf("%s: order %v was acknowledged and is there %d times (%v)", mode, m, there, err)
				}
			}
			eq("payments in history", after.history-before.history, n["payment"])
			eq("payments of customers", after.payments-before.payments, n["payment"])
			eq("deliveries", after.delivered-before.delivered, 10*n["delivery"])
			eq("new orders left", after.queued+10*n["delivery"], before.queued+n["new_order"])
			if n["new_order"] == 0 || n["payment"] == 0 || n["order_status"] == 0 || n["delivery"] == 0 ||
				n["stock_level"] == 0 {
				t.Errorf("%s: operations %v", mode, n)
			}
		}
		holds(t, tg, d, "after runs")

		plan, err := d.Workload.Build(d.Options)
		if err != nil {
			t.Fatal(err)
		}
		v, err := newVerifier(t.Context(), tg, plan.Schema)
		if err != nil {
			t.Fatal(err)
		}
		defer v.close(t.Context())
		broken := map[string]bool{}
		for _, a := range altered {
			if s.Flavor != "mariadb" && broken[a.condition] {
				continue // the statements are the same everywhere: one change of each tells that they are understood
			}
			s.Exec(t, "USE sbtest", "SET foreign_key_checks=0", a.do)
			i := slices.IndexFunc(plan.Checks, func(c workload.Check) bool { return c.Name == a.condition })
			x, err := v.check(t.Context(), plan.Checks[i])
			if err != nil {
				t.Fatalf("%s: %v", a.do, err)
			}
			if (x == nil) != (a.undo == "") {
				t.Errorf("condition %s after %s: %v", a.condition, a.do, x)
			}
			if a.undo != "" {
				s.Exec(t, "USE sbtest", "SET foreign_key_checks=0", a.undo)
				broken[a.condition] = true
			}
		}
		if len(broken) != len(plan.Checks) {
			t.Errorf("%d of %d conditions were tried", len(broken), len(plan.Checks))
		}
		holds(t, tg, d, "with every change undone")

		s.Exec(t, "UPDATE sbtest.customer1 SET c_balance = c_balance + 1 WHERE c_d_id = 5")
		all, err := on(tg).Verify(t.Context(), d, nil)
		if err != nil || len(all) != 2 || all[0].Check.Name != "3.3.2.10" || all[1].Check.Name != "3.3.2.12" ||
			!all[0].More || len(all[0].Rows) != examples {
			t.Fatalf("3000 rows altered: %v, %v", all, err)
		}
		if text := all[0].String(); !strings.Contains(text, "3.3.2.10") || !strings.Contains(text, "d=5 ") ||
			!strings.Contains(text, "and more") {
			t.Error(text)
		}
	}, roomy...)
}

// tally is what the tables say that was done.
type tally struct{ orders, queued, history, payments, delivered uint64 }

func contents(t *testing.T, s *servers.Server) (n tally) {
	t.Helper()
	err := s.DB(t, "sbtest").QueryRow("SELECT (SELECT COUNT(*) FROM orders1), (SELECT COUNT(*) FROM new_orders1), "+
		"(SELECT COUNT(*) FROM history1), SUM(c_payment_cnt), SUM(c_delivery_cnt) FROM customer1").
		Scan(&n.orders, &n.queued, &n.history, &n.payments, &n.delivered)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUnoptimizedTPCC runs a little on the poorest tables and checks them.
func TestUnoptimizedTPCC(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		d := warehouse(t, tg, "unoptimized=worst", "force-pk=on", "stock-level=join")
		holds(t, tg, d, "after prepare")
		r, err := on(tg).Run(t.Context(), load.Config{
			Workload: d.Workload, Options: d.Options, Threads: 2,
			Events: 20, Seed: 3,
		}, nil)
		if err != nil || r.Total.Operations() != 20 {
			t.Fatalf("%d operations, %v", r.Total.Operations(), err)
		}
		holds(t, tg, d, "after a run")
		if _, err := on(tg).Cleanup(t.Context(), d); err != nil {
			t.Error(err)
		}
	}, roomy...)
}

func TestVerifyTells(t *testing.T) {
	s := servers.Start(t, "mariadb")
	tg := open(t, s)
	f := func(d load.Data, mention string, is error) {
		t.Helper()
		_, err := on(tg).Verify(t.Context(), d, nil)
		if err == nil || !strings.Contains(err.Error(), mention) || is != nil && !errors.Is(err, is) {
			t.Errorf("%v, want %q", err, mention)
		}
	}
	f(load.Data{}, "no workload", nil)
	f(load.Data{Workload: workload.PointSelect{}}, "no conditions", load.ErrNoChecks)
	f(load.Data{Workload: tpcc.Workload{}, Options: map[string]string{"scale": "0"}}, "scale=0", nil)
	f(load.Data{Workload: tpcc.Workload{}}, "prepare it first", nil)
	s.Exec(t, "CREATE DATABASE sbtest")
	f(load.Data{Workload: tpcc.Workload{}, Threads: 9}, "prepare it first", nil)

	// Tables that are there and empty meet every condition but the one of their sizes.
	plan, err := tpcc.Workload{}.Build(map[string]string{"scale": "2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tb := range plan.Tables {
		s.Exec(t, "USE sbtest", tb.Create)
	}
	var last progress.Progress
	v, err := on(tg).Verify(t.Context(), load.Data{
		Workload: tpcc.Workload{}, Options: map[string]string{"scale": "2"},
		Threads: 3,
	}, func(p progress.Progress) { last = p })
	if err != nil || len(v) != 1 || v[0].Check.Name != "1.2.1" {
		t.Errorf("empty tables: %v, %v", v, err)
	}
	if !last.End || last.Done != float64(len(plan.Checks)) || last.Total != last.Done {
		t.Errorf("progress ended at %+v", last)
	}

	// A check that waits is stopped, on the server too.
	ctx, cancel := context.WithCancel(t.Context())
	slow := stuck{}
	done := make(chan error, 1)
	go func() { _, err := on(tg).Verify(ctx, load.Data{Workload: slow}, nil); done <- err }()
	db := s.DB(t, "")
	running := func() (n int) {
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(61)%' AND " +
			"INFO NOT LIKE '%PROCESSLIST%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	soon(t, "the check to begin", func() bool { return running() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled check: %v", err)
	}
	soon(t, "the server to end the statement", func() bool { return running() == 0 })
}

// soon waits until something is so.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// stuck is a workload whose only condition takes a minute to check.
type stuck struct{ tpcc.Workload }

func (stuck) Build(map[string]string) (*workload.Plan, error) {
	return &workload.Plan{
		Workload: "stuck", Schema: "sbtest",
		Checks: []workload.Check{{Name: "1", Title: "sleeps", SQL: "SELECT SLEEP(61) AS x HAVING x = 5"}},
	}, nil
}

// TestSchemaIsSysbenchTPCCs compares columns and indexes, as the server tells them, with those that sysbench-tpcc
// makes.
func TestSchemaIsSysbenchTPCCs(t *testing.T) {
	const want = `
warehouse: w_id smallint no, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9), w_tax decimal(4,2), w_ytd decimal(12,2) | PRIMARY w_id
district: d_id tinyint no, d_w_id smallint no, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9), d_tax decimal(4,2), d_ytd decimal(12,2), d_next_o_id int | PRIMARY d_w_id d_id
customer: c_id int no, c_d_id tinyint no, c_w_id smallint no, c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since datetime, c_credit char(2), c_credit_lim bigint, c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt smallint, c_delivery_cnt smallint, c_data text | PRIMARY c_w_id c_d_id c_id | idx_customer1 c_w_id c_d_id c_last c_first
history: h_c_id int, h_c_d_id tinyint, h_c_w_id smallint, h_d_id tinyint, h_w_id smallint, h_date datetime, h_amount decimal(6,2), h_data varchar(24) | fkey_history_11 h_c_w_id h_c_d_id h_c_id | fkey_history_21 h_w_id h_d_id
orders: o_id int no, o_d_id tinyint no, o_w_id smallint no, o_c_id int, o_entry_d datetime, o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint | PRIMARY o_w_id o_d_id o_id | idx_orders1 o_w_id o_d_id o_c_id o_id
new_orders: no_o_id int no, no_d_id tinyint no, no_w_id smallint no | PRIMARY no_w_id no_d_id no_o_id
order_line: ol_o_id int no, ol_d_id tinyint no, ol_w_id smallint no, ol_number tinyint no, ol_i_id int, ol_supply_w_id smallint, ol_delivery_d datetime, ol_quantity tinyint, ol_amount decimal(6,2), ol_dist_info char(24) | PRIMARY ol_w_id ol_d_id ol_o_id ol_number | fkey_order_line_21 ol_supply_w_id ol_i_id
stock: s_i_id int no, s_w_id smallint no, s_quantity smallint, s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24), s_ytd decimal(8,0), s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50) | PRIMARY s_w_id s_i_id | fkey_stock_21 s_i_id
item: i_id int no, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50) | PRIMARY i_id`
	const foreign = `
customer1.fkey_customer_1_1 c_w_id>district1.d_w_id c_d_id>district1.d_id
district1.fkey_district_1_1 d_w_id>warehouse1.w_id
history1.fkey_history_1_1 h_c_w_id>customer1.c_w_id h_c_d_id>customer1.c_d_id h_c_id>customer1.c_id
history1.fkey_history_2_1 h_w_id>district1.d_w_id h_d_id>district1.d_id
new_orders1.fkey_new_orders_1_1 no_w_id>orders1.o_w_id no_d_id>orders1.o_d_id no_o_id>orders1.o_id
order_line1.fkey_order_line_1_1 ol_w_id>orders1.o_w_id ol_d_id>orders1.o_d_id ol_o_id>orders1.o_id
order_line1.fkey_order_line_2_1 ol_supply_w_id>stock1.s_w_id ol_i_id>stock1.s_i_id
orders1.fkey_orders_1_1 o_w_id>customer1.c_w_id o_d_id>customer1.c_d_id o_c_id>customer1.c_id
stock1.fkey_stock_1_1 s_w_id>warehouse1.w_id
stock1.fkey_stock_2_1 s_i_id>item1.i_id`
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		plan, err := tpcc.Workload{}.Build(map[string]string{"scale": "1", "use-fk": "on"})
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, "CREATE DATABASE sbtest")
		for _, tb := range plan.Tables {
			s.Exec(t, append([]string{"USE sbtest", "SET foreign_key_checks=0", tb.Create}, tb.After...)...)
		}
		db := s.DB(t, "sbtest")
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("SET SESSION group_concat_max_len=100000"); err != nil {
			t.Fatal(err)
		}
		text := func(q string) (out string) {
			t.Helper()
			if err := db.QueryRow(q).Scan(&out); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			return out
		}
		for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
			table, rest, _ := strings.Cut(line, ": ")
			parts := strings.Split(rest, " | ")
			// MySQL 8.0.19 and later tell no display widths, MariaDB does.
			got := text(fmt.Sprintf("SELECT GROUP_CONCAT(CONCAT(COLUMN_NAME, ' ', IF(DATA_TYPE IN ('int', "+
				"'smallint', 'tinyint', 'bigint'), DATA_TYPE, COLUMN_TYPE), IF(IS_NULLABLE = 'NO', ' no', '')) ORDER "+
				"BY ORDINAL_POSITION SEPARATOR ', ') "+
				"FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'sbtest' AND TABLE_NAME = '%s1'", table))
			if got != parts[0] {
				t.Errorf("columns of %s:\n%s\nwant\n%s", table, got, parts[0])
			}
			got = text(fmt.Sprintf("SELECT GROUP_CONCAT(x ORDER BY x SEPARATOR ' | ') FROM (SELECT "+
				"CONCAT(IF(INDEX_NAME = 'PRIMARY', 'PRIMARY', LOWER(INDEX_NAME)), ' ', GROUP_CONCAT(COLUMN_NAME "+
				"ORDER BY SEQ_IN_INDEX SEPARATOR ' ')) AS x "+
				"FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'sbtest' AND TABLE_NAME = '%s1' GROUP BY "+
				"INDEX_NAME) AS y", table))
			if have := strings.Split(got, " | "); !slices.Equal(sorted(have), sorted(parts[1:])) {
				t.Errorf("indexes of %s: %q, want %q", table, have, parts[1:])
			}
		}
		got := text("SELECT GROUP_CONCAT(x ORDER BY x SEPARATOR '\n') FROM (SELECT CONCAT(TABLE_NAME, '.', " +
			"CONSTRAINT_NAME, ' ', GROUP_CONCAT(CONCAT(COLUMN_NAME, '>', REFERENCED_TABLE_NAME, '.', " +
			"REFERENCED_COLUMN_NAME) ORDER BY ORDINAL_POSITION SEPARATOR ' ')) AS x " +
			"FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = 'sbtest' AND REFERENCED_TABLE_NAME IS NOT " +
			"NULL GROUP BY TABLE_NAME, CONSTRAINT_NAME) AS y")
		if !slices.Equal(sorted(strings.Split(got, "\n")), sorted(strings.Split(strings.TrimSpace(foreign), "\n"))) {
			t.Errorf("foreign keys:\n%s\nwant%s", got, foreign)
		}
	})
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
