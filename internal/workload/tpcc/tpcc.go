package tpcc

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Clause 1.2.1, and 4.3.3.1 for the orders.
const (
	items     = 100_000
	districts = 10   // of a warehouse
	customers = 3000 // of a district, each with one order
	delivered = 2100 // of the orders of a district, those with the lowest numbers
	maxLines  = 15   // of an order
	minLines  = 5
)

// maxScale is the largest number of warehouses that the columns hold.
const maxScale = 32767

// Workload is the TPC-C-like load.
type Workload struct{}

// Name returns tpcc.
func (Workload) Name() string { return "tpcc" }

// Title says what it does.
func (Workload) Title() string {
	return "TPC-C-like: orders, payments, order status, deliveries and stock levels of a wholesaler, 45/43/4/4/4"
}

// The values of the options with choices.
const (
	off   = "off"
	on    = "on"
	worst = "worst"

	byItems = "items"
	byJoin  = "join"
)

// Options are those of sysbench-tpcc under the same names, and some of our own.
func (Workload) Options() []workload.Option {
	return []workload.Option{
		{Name: "mysql-db", Type: workload.Text, Default: "sbtest", Help: "database that holds the tables"},
		{Name: "tables", Type: workload.Number, Default: "1", Max: 1000, Help: "sets of nine tables, each with all " +
			"warehouses"},
		{Name: "scale", Type: workload.Number, Default: "100", Max: maxScale, Help: "warehouses, about 100 MB each"},
		{Name: "warehouses", Type: workload.Text, Help: "another name for scale"},
		{
			Name: "active-warehouses", Type: workload.Number, Default: "0", Max: maxScale,
			Help: "the load touches the first so many warehouses only, 0 for all of them",
		},
		{Name: "think", Type: workload.Text, Default: off, Help: "keying and think times: off, on, or a factor such " +
			"as 0.1; with them every terminal keeps to its own warehouse, ten terminals each"},
		{
			Name: "stock-level", Type: workload.Text, Default: byItems, Choices: []string{byItems, byJoin},
			Help: "how low stock is counted: a statement for each item as sysbench-tpcc does, or one join as in the " +
				"specification",
		},
		{
			Name: "unoptimized", Type: workload.Text, Default: off, Choices: []string{off, on, worst},
			Help: "on: no secondary indexes, no foreign keys and poor primary keys; worst: also new_orders and " +
				"order_line keyed by a surrogate only",
		},
		{Name: "use-fk", Type: workload.Bool, Default: useFK, Help: "foreign keys"},
		{Name: "force-pk", Type: workload.Bool, Default: off, Help: "an AUTO_INCREMENT primary key for history, " +
			"which has none otherwise"},
		workload.Engine(),
		{Name: "mysql-table-options", Type: workload.Text, Help: "added to the end of CREATE TABLE"},
	}
}

// useFK is the default of use-fk.
const useFK = on

// program is what all terminals of a plan share.
type program struct {
	sets   int // of tables
	scale  int
	active int     // warehouses that the load touches
	think  float64 // factor of keying and think times, 0 for none
	byJoin bool
	// index is where the statements of a set of tables lie among all of a set, -1 for those that are not used; of is
	// their number.
	index [statements]int
	of    int
}

// Build settles the options.
func (w Workload) Build(given map[string]string) (*workload.Plan, error) {
	given, err := oneName(given)
	if err != nil {
		return nil, err
	}
	v, err := workload.Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	p := &program{
		sets: v.Int("tables"), scale: v.Int("scale"), active: v.Int("active-warehouses"),
		byJoin: v.Text("stock-level") == byJoin,
	}
	delete(v, "warehouses") // it is told once
	if p.sets < 1 {
		return nil, &workload.OptionError{Option: "tables", Value: v.Text("tables"), Reason: "takes a number from 1"}
	}
	if p.scale < 1 {
		return nil, &workload.OptionError{Option: "scale", Value: v.Text("scale"), Reason: "takes a number from 1"}
	}
	if p.active > p.scale {
		return nil, &workload.OptionError{
			Option: "active-warehouses", Value: v.Text("active-warehouses"),
			Reason: fmt.Sprintf("takes at most scale, which is %d", p.scale),
		}
	}
	if p.active == 0 {
		p.active = p.scale
	}
	if v.Text("mysql-db") == "" {
		return nil, &workload.OptionError{Option: "mysql-db", Reason: "takes the name of a database"}
	}
	switch s := v.Text("think"); s {
	case off:
	case on:
		p.think = 1
	default:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f <= 1000) {
			return nil, &workload.OptionError{Option: "think", Value: s, Reason: "takes off, on, or a factor from 0 " +
				"to 1000"}
		}
		p.think = f
	}
	plan := &workload.Plan{
		Workload: w.Name(), Schema: v.Text("mysql-db"), Options: v,
		Operations: operations[:], Notes: p.notes(v),
	}
	plan.Statements = p.statements()
	for set := 1; set <= p.sets; set++ {
		plan.Tables = append(plan.Tables, tables(v, set)...)
		plan.Checks = append(plan.Checks, checks(set, p.sets, p.scale)...)
	}
	plan.Generator = func(seed uint64, terminal int) workload.Generator { return newGenerator(p, seed, terminal) }
	return plan, nil
}

// oneName turns the other name of scale into it, and the ways to say on or off into those words.
func oneName(given map[string]string) (map[string]string, error) {
	m := maps.Clone(given)
	if n := m["warehouses"]; n != "" {
		if s, ok := m["scale"]; ok && s != n {
			return nil, &workload.OptionError{Option: "warehouses", Value: n, Reason: "is another name for scale, " +
				"which is " + s + ": give one of them"}
		}
		m["scale"] = n
	}
	delete(m, "warehouses")
	if x, ok := m["unoptimized"]; ok {
		switch strings.ToLower(x) {
		case "", on, "true", "yes", "1":
			m["unoptimized"] = on
		case off, "false", "no", "0":
			m["unoptimized"] = off
		}
	}
	return m, nil
}

// notes says what a reader of the figures must know.
func (p *program) notes(v workload.Values) []string {
	n := []string{"the load is TPC-C-like: its figures are no TPC results and not comparable with any"}
	if p.active < p.scale {
		n = append(n, fmt.Sprintf("only the first %d of %d warehouses are touched", p.active, p.scale))
	}
	switch v.Text("unoptimized") {
	case on:
		n = append(n, "the tables are unoptimized on purpose: no secondary indexes, poor primary keys of new_orders "+
			"and stock")
	case worst:
		n = append(n, "the tables are unoptimized on purpose: no secondary indexes, a poor primary key of stock, "+
			"only surrogate keys of new_orders and order_line")
	}
	return n
}
