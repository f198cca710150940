package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// sbtest is where sysbench keeps its tables unless it is told otherwise.
const sbtest = "sbtest"

// maxRows is the largest id that fits the column, with room for the upper end of a range.
const maxRows = 2_000_000_000

// oltpOptions are sysbench's options of its OLTP scripts; every one of the family takes them all, as there.
func oltpOptions() []Option {
	return []Option{
		{Name: "mysql-db", Type: Text, Default: sbtest, Help: "database that holds the tables"},
		{Name: "tables", Type: Number, Default: "1", Max: 100_000, Help: "number of tables"},
		{Name: "table-size", Type: Number, Default: "10000", Max: maxRows, Help: "rows in each table"},
		{Name: "range-size", Type: Number, Default: "100", Max: 100_000_000, Help: "rows that a range statement asks for"},
		{Name: "point-selects", Type: Number, Default: "10", Max: 100_000, Help: "reads of one row by id, per transaction"},
		{Name: "range-selects", Type: Bool, Default: "on", Help: "all four kinds of range statements"},
		{Name: "simple-ranges", Type: Number, Default: "1", Max: 100_000, Help: "reads of a range of ids, per transaction"},
		{Name: "sum-ranges", Type: Number, Default: "1", Max: 100_000, Help: "sums over a range, per transaction"},
		{Name: "order-ranges", Type: Number, Default: "1", Max: 100_000, Help: "sorted ranges, per transaction"},
		{Name: "distinct-ranges", Type: Number, Default: "1", Max: 100_000, Help: "distinct values of a range, per transaction"},
		{Name: "index-updates", Type: Number, Default: "1", Max: 100_000, Help: "updates of an indexed column, per transaction"},
		{Name: "non-index-updates", Type: Number, Default: "1", Max: 100_000, Help: "updates of a column without index, per transaction"},
		{Name: "delete-inserts", Type: Number, Default: "1", Max: 100_000, Help: "rows deleted and inserted again, per transaction"},
		{Name: "skip-trx", Type: Bool, Default: "off", Help: "no transactions: every statement commits by itself"},
		{Name: "auto-inc", Type: Bool, Default: "on", Help: "the id is an AUTO_INCREMENT column"},
		{Name: "secondary", Type: Bool, Default: "off", Help: "an ordinary index on id in place of the primary key"},
		{Name: "create-secondary", Type: Bool, Default: "on", Help: "an index on k"},
		{Name: "mysql-storage-engine", Type: Text, Default: "innodb", Help: "storage engine of the tables"},
		{Name: "create-table-options", Type: Text, Help: "added to the end of CREATE TABLE"},
		{Name: "rand-type", Type: Text, Default: randSpecial, Help: "how ids are chosen", Choices: []string{randSpecial, randUniform, randGaussian, randPareto}},
		{Name: "rand-spec-iter", Type: Number, Default: "12", Max: 1000, Help: "special, gaussian: even draws that make one bell-shaped"},
		{Name: "rand-spec-pct", Type: Number, Default: "1", Max: 100, Help: "special: percent of the rows that are hot"},
		{Name: "rand-spec-res", Type: Number, Default: "75", Max: 99, Help: "special: percent of the draws that go to hot rows"},
		{Name: "rand-pareto-h", Type: Text, Default: "0.2", Help: "pareto: this share of the rows gets the rest of the draws"},
	}
}

// The kinds of statement of the family, in the order in which a transaction sends them.
const (
	oltpPoint = iota
	oltpSimple
	oltpSum
	oltpOrder
	oltpDistinct
	oltpIndexUpdate
	oltpNonIndexUpdate
	oltpDelete
	oltpInsert
	oltpKinds
)

var oltpSQL = [oltpKinds]Statement{
	oltpPoint:          {SQL: "SELECT c FROM sbtest%d WHERE id=?", Kind: Read, Rows: true},
	oltpSimple:         {SQL: "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?", Kind: Read, Rows: true},
	oltpSum:            {SQL: "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?", Kind: Read, Rows: true},
	oltpOrder:          {SQL: "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c", Kind: Read, Rows: true},
	oltpDistinct:       {SQL: "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c", Kind: Read, Rows: true},
	oltpIndexUpdate:    {SQL: "UPDATE sbtest%d SET k=k+1 WHERE id=?", Kind: Write},
	oltpNonIndexUpdate: {SQL: "UPDATE sbtest%d SET c=? WHERE id=?", Kind: Write},
	oltpDelete:         {SQL: "DELETE FROM sbtest%d WHERE id=?", Kind: Write},
	oltpInsert:         {SQL: "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)", Kind: Write},
}

const (
	cLength   = 10*12 - 1 // ten groups of eleven digits
	padLength = 5*12 - 1
)

// oltpMix says how often a transaction sends each kind of statement; a delete brings its insert along.
type oltpMix struct {
	times       [oltpKinds]int
	transaction bool
}

// oltpPlan makes the plan of one workload of the family.
func oltpPlan(name string, v Values, mix oltpMix) (*Plan, error) {
	tables, size := v.Int("tables"), v.Int("table-size")
	if tables < 1 {
		return nil, &OptionError{"tables", v.Text("tables"), "takes a number from 1"}
	}
	if size < 1 {
		return nil, &OptionError{"table-size", v.Text("table-size"), "takes a number from 1"}
	}
	if v.Text("mysql-db") == "" {
		return nil, &OptionError{Option: "mysql-db", Reason: "takes the name of a database"}
	}
	dist, err := distribute(v, size)
	if err != nil {
		return nil, err
	}
	p := &Plan{Workload: name, Schema: v.Text("mysql-db"), Options: v, Operations: []string{name}}
	if dist.kind == randSpecial && size > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("rand-type is special: %s %% of the draws go to about %s %% of the rows, so that a cache "+
			"much smaller than the tables may seem enough; rand-type=uniform reaches every row alike",
			v.Text("rand-spec-res"), v.Text("rand-spec-pct")))
	}
	if mix.transaction {
		p.Statements = append(p.Statements, Statement{SQL: "BEGIN", Kind: Other, Text: true}, Statement{SQL: "COMMIT", Kind: Other, Text: true})
	}
	// Only what the mix sends is prepared: number of kind k in table t (from 0) is first[k]+t.
	var first [oltpKinds]int
	for k, n := range mix.times {
		if n == 0 {
			continue
		}
		first[k] = len(p.Statements)
		for t := range tables {
			s := oltpSQL[k]
			s.SQL = fmt.Sprintf(s.SQL, t+1)
			p.Statements = append(p.Statements, s)
		}
	}
	calls := 0
	for _, n := range mix.times {
		calls += n
	}
	if calls == 0 {
		return nil, &OptionError{Option: "point-selects", Reason: "every kind of statement is switched off, nothing is left to run"}
	}
	for t := range tables {
		p.Tables = append(p.Tables, oltpTable(v, dist, t+1))
	}
	rangeSize := v.Int("range-size")
	p.Generator = func(seed uint64, session int) Generator {
		return newOLTPGenerator(oltpGenerator{source: newSource(seed, uint64(session)), dist: dist, tables: tables, rangeSize: rangeSize, mix: mix, first: first})
	}
	return p, nil
}

// oltpTable describes sbtestN.
func oltpTable(v Values, dist distribution, n int) Table {
	name := sbtest + strconv.Itoa(n)
	id, key, engine := "INTEGER NOT NULL", "PRIMARY KEY", v.Text("mysql-storage-engine")
	if v.Bool("auto-inc") {
		id += " AUTO_INCREMENT"
	}
	if v.Bool("secondary") {
		key = "KEY xid"
	}
	create := "CREATE TABLE " + name + " (id " + id + ", k INTEGER NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', " +
		key + " (id))"
	if engine != "" {
		create += " ENGINE=" + engine
	}
	if o := v.Text("create-table-options"); o != "" {
		create += " " + o
	}
	t := Table{
		Name: name, Create: create, Rows: v.Int("table-size"),
		Insert:  "INSERT INTO " + name + " (id, k, c, pad) VALUES ",
		Columns: []string{"id", "k", "c", "pad"},
		Key:     "id",
	}
	t.Values = func(seed uint64) func([]byte, int) []byte { return oltpRows(seed, uint64(n), dist) }
	if v.Bool("create-secondary") {
		t.After = []string{fmt.Sprintf("CREATE INDEX k_%d ON %s (k)", n, name)}
	}
	return t
}

// oltpRows returns the source of the rows of table n.
func oltpRows(seed, n uint64, dist distribution) func([]byte, int) []byte {
	var text [cLength + padLength]byte
	pcg := rand.NewPCG(0, 0)
	src := source{rand.New(pcg)}
	return func(dst []byte, row int) []byte {
		pcg.Seed(seed, n<<40|uint64(row))
		src.digits(text[:cLength])
		src.digits(text[cLength:])
		dst = append(dst, '(')
		dst = strconv.AppendInt(dst, int64(row), 10)
		dst = append(dst, ',')
		dst = strconv.AppendInt(dst, int64(dist.draw(src)), 10)
		dst = append(append(append(dst, ",'"...), text[:cLength]...), "','"...)
		return append(append(dst, text[cLength:]...), "')"...)
	}
}

// oltpGenerator deals out transactions.
type oltpGenerator struct {
	source
	dist      distribution
	tables    int
	rangeSize int
	mix       oltpMix
	first     [oltpKinds]int
	calls     []Call
}

func newOLTPGenerator(g oltpGenerator) *oltpGenerator {
	add := func(statement int, args ...any) { g.calls = append(g.calls, Call{statement, args}) }
	if g.mix.transaction {
		add(0)
	}
	for k, n := range g.mix.times {
		for range n {
			switch k {
			case oltpDelete:
				add(0, nil)
				// The texts are overwritten in place, so that an operation allocates nothing for them.
				add(0, nil, nil, make([]byte, cLength), make([]byte, padLength))
			case oltpInsert: // together with its delete
			case oltpNonIndexUpdate:
				add(0, make([]byte, cLength), nil)
			case oltpPoint, oltpIndexUpdate:
				add(0, nil)
			default:
				add(0, nil, nil)
			}
		}
	}
	if g.mix.transaction {
		add(1)
	}
	return &g
}

// Next fills op with the next transaction. Each kind of statement keeps to one table within it.
func (g *oltpGenerator) Next(op *Op) {
	i := 0
	if g.mix.transaction {
		i = 1
	}
	for k, n := range g.mix.times {
		if n == 0 || k == oltpInsert {
			continue
		}
		table := g.IntN(g.tables)
		for range n {
			c := &g.calls[i]
			c.Statement = g.first[k] + table
			id := int64(g.dist.draw(g.source))
			switch k {
			case oltpPoint, oltpIndexUpdate:
				c.Args[0] = id
			case oltpNonIndexUpdate:
				g.digits(c.Args[0].([]byte))
				c.Args[1] = id
			case oltpDelete:
				c.Args[0] = id
				i++
				c = &g.calls[i]
				c.Statement = g.first[oltpInsert] + table
				c.Args[0], c.Args[1] = id, int64(g.dist.draw(g.source))
				g.digits(c.Args[2].([]byte))
				g.digits(c.Args[3].([]byte))
			default:
				c.Args[0], c.Args[1] = id, id+int64(g.rangeSize)-1
			}
			i++
		}
	}
	op.Kind, op.Think, op.Calls = 0, 0, g.calls
}

// oltpReads fills in how often a transaction reads.
func oltpReads(v Values, mix *oltpMix) {
	mix.times[oltpPoint] = v.Int("point-selects")
	if v.Bool("range-selects") {
		mix.times[oltpSimple] = v.Int("simple-ranges")
		mix.times[oltpSum] = v.Int("sum-ranges")
		mix.times[oltpOrder] = v.Int("order-ranges")
		mix.times[oltpDistinct] = v.Int("distinct-ranges")
	}
}

// oltpWrites fills in how often a transaction writes.
func oltpWrites(v Values, mix *oltpMix) {
	mix.times[oltpIndexUpdate] = v.Int("index-updates")
	mix.times[oltpNonIndexUpdate] = v.Int("non-index-updates")
	mix.times[oltpDelete] = v.Int("delete-inserts")
	mix.times[oltpInsert] = mix.times[oltpDelete]
}
