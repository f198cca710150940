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
	return append([]Option{
		{Name: "mysql-db", Type: Text, Default: sbtest, Help: "database that holds the tables"},
		{Name: "tables", Type: Number, Default: "1", Max: 100_000, Help: "number of tables"},
		{Name: "table-size", Type: Number, Default: "10000", Max: maxRows, Help: "rows in each table"},
		{Name: "range-size", Type: Number, Default: "100", Max: 100_000_000, Help: "rows that a range statement " +
			"requests"},
		{Name: "point-selects", Type: Number, Default: "10", Max: 100_000, Help: "reads of one row by id, per " +
			"transaction"},
		{Name: "range-selects", Type: Bool, Default: "on", Help: "all four kinds of range statements"},
		{Name: "simple-ranges", Type: Number, Default: "1", Max: 100_000, Help: "reads of a range of ids, per " +
			"transaction"},
		{Name: "sum-ranges", Type: Number, Default: "1", Max: 100_000, Help: "sums over a range, per transaction"},
		{Name: "order-ranges", Type: Number, Default: "1", Max: 100_000, Help: "sorted ranges, per transaction"},
		{Name: "distinct-ranges", Type: Number, Default: "1", Max: 100_000, Help: "distinct values of a range, per " +
			"transaction"},
		{Name: "index-updates", Type: Number, Default: "1", Max: 100_000, Help: "updates of an indexed column, per " +
			"transaction"},
		{Name: "non-index-updates", Type: Number, Default: "1", Max: 100_000, Help: "updates of a column without " +
			"index, per transaction"},
		{Name: "delete-inserts", Type: Number, Default: "1", Max: 100_000, Help: "rows deleted and inserted again, " +
			"per transaction"},
		{Name: "skip-trx", Type: Bool, Default: "off", Help: "no transactions: every statement commits separately"},
		{Name: "auto-inc", Type: Bool, Default: "on", Help: "the id is an AUTO_INCREMENT column"},
		{Name: "secondary", Type: Bool, Default: "off", Help: "an ordinary index on id instead of the primary key"},
		{Name: "create-secondary", Type: Bool, Default: "on", Help: "an index on k"},
		Engine(),
		{Name: "create-table-options", Type: Text, Help: "added to the end of CREATE TABLE"},
	}, randOptions()...)
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
	oltpPoint: {Name: "point select", SQL: "SELECT c FROM sbtest%d WHERE id=?", Kind: Read, Rows: true},
	oltpSimple: {
		Name: "simple range", SQL: "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?",
		Kind: Read, Rows: true,
	},
	oltpSum: {
		Name: "sum range", SQL: "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?",
		Kind: Read, Rows: true,
	},
	oltpOrder: {
		Name: "order range", SQL: "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c",
		Kind: Read, Rows: true,
	},
	oltpDistinct: {Name: "distinct range", SQL: "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? " +
		"ORDER BY c", Kind: Read, Rows: true},
	oltpIndexUpdate:    {Name: "index update", SQL: "UPDATE sbtest%d SET k=k+1 WHERE id=?", Kind: Write},
	oltpNonIndexUpdate: {Name: "non-index update", SQL: "UPDATE sbtest%d SET c=? WHERE id=?", Kind: Write},
	oltpDelete:         {Name: "delete", SQL: "DELETE FROM sbtest%d WHERE id=?", Kind: Write},
	oltpInsert:         {Name: "insert", SQL: "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)", Kind: Write},
}

const (
	cLength   = 10*12 - 1 // ten groups of eleven digits
	padLength = 5*12 - 1
)

// oltpMix says how often a transaction sends each kind of statement. A delete brings its insert along, or is alone when
// there are no inserts.
type oltpMix struct {
	times       [oltpKinds]int
	transaction bool
}

// oltpBase makes what all plans of the family share: the tables and the distribution of the rows.
func oltpBase(name string, v Values) (*Plan, distribution, error) {
	tables, size := v.Int("tables"), v.Int("table-size")
	if tables < 1 {
		return nil, distribution{}, &OptionError{"tables", v.Text("tables"), "takes a number from 1"}
	}
	if size < 1 {
		return nil, distribution{}, &OptionError{"table-size", v.Text("table-size"), "takes a number from 1"}
	}
	if v.Text("mysql-db") == "" {
		return nil, distribution{}, &OptionError{Option: "mysql-db", Reason: "takes the name of a database"}
	}
	dist, err := distribute(v, size)
	if err != nil {
		return nil, dist, err
	}
	p := &Plan{Workload: name, Schema: v.Text("mysql-db"), Options: v, Operations: []string{name}}
	if n := dist.note(v); n != "" {
		p.Notes = append(p.Notes, n)
	}
	for t := range tables {
		p.Tables = append(p.Tables, oltpTable(v, dist, t+1))
	}
	return p, dist, nil
}

// oltpPlan makes the plan of a workload that is a mix. blame is the option to name when nothing is left of it.
func oltpPlan(name string, v Values, mix oltpMix, blame string) (*Plan, error) {
	p, dist, err := oltpBase(name, v)
	if err != nil {
		return nil, err
	}
	tables := len(p.Tables)
	if mix.transaction {
		p.Statements = append(p.Statements, Statement{Name: "begin", SQL: "BEGIN", Kind: Other, Text: true},
			Statement{Name: "commit", SQL: "COMMIT", Kind: Other, Text: true})
	}
	// Only what the mix sends is prepared: number of kind k in table t (from 0) is first[k]+t.
	var first [oltpKinds]int
	calls := 0
	for k, n := range mix.times {
		if n == 0 {
			continue
		}
		calls += n
		first[k] = len(p.Statements)
		for t := range tables {
			s := oltpSQL[k]
			s.SQL = fmt.Sprintf(s.SQL, t+1)
			p.Statements = append(p.Statements, s)
		}
	}
	if calls == 0 {
		return nil, &OptionError{Option: blame, Reason: "every kind of statement is switched off, nothing is left to " +
			"run"}
	}
	rangeSize := v.Int("range-size")
	p.Generator = func(seed uint64, session int) Generator {
		return newOLTPGenerator(oltpGenerator{
			source: newSource(seed, uint64(session)), dist: dist, tables: tables,
			rangeSize: rangeSize, mix: mix, first: first,
		})
	}
	return p, nil
}

// oltpTable describes sbtestN.
func oltpTable(v Values, dist distribution, n int) Table {
	name := sbtest + strconv.Itoa(n)
	id, key := "INTEGER NOT NULL", "PRIMARY KEY"
	if v.Bool("auto-inc") {
		id += " AUTO_INCREMENT"
	}
	if v.Bool("secondary") {
		key = "KEY xid"
	}
	create := "CREATE TABLE " + name + " (id " + id + ", k INTEGER NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT " +
		"'', pad CHAR(60) NOT NULL DEFAULT '', " +
		key + " (id))"
	t := Table{
		Name: name, Create: v.WithTableOptions(create, "create-table-options"), Rows: v.Int("table-size"),
		Columns: []string{"id", "k", "c", "pad"},
		Key:     "id",
	}
	t.Fill = func(seed uint64) func(int, func([]Datum)) { return oltpRows(seed, uint64(n), dist) }
	if v.Bool("create-secondary") {
		t.After = []string{fmt.Sprintf("CREATE INDEX k_%d ON %s (k)", n, name)}
	}
	return t
}

// oltpRows returns the source of the rows of table n.
func oltpRows(seed, n uint64, dist distribution) func(int, func([]Datum)) {
	var c [cLength]byte
	var pad [padLength]byte
	pcg := rand.NewPCG(0, 0)
	src := source{rand.New(pcg)}
	row := []Datum{{}, {}, Bytes(c[:]), Bytes(pad[:])}
	return func(id int, emit func([]Datum)) {
		pcg.Seed(seed, n<<40|uint64(id))
		src.digits(c[:])
		src.digits(pad[:])
		row[0], row[1] = Int(int64(id)), Int(int64(dist.draw(src)))
		emit(row)
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
	Listed
}

func newOLTPGenerator(g oltpGenerator) *oltpGenerator {
	add := func(statement int, args ...Datum) { g.Calls = append(g.Calls, Call{Statement: statement, Args: args}) }
	if g.mix.transaction {
		add(0)
	}
	for k, n := range g.mix.times {
		for range n {
			switch k {
			case oltpDelete:
				add(0, Datum{})
				if g.mix.times[oltpInsert] == 0 {
					continue
				}
				// The texts are overwritten in place, so that an operation allocates nothing for them.
				add(0, Datum{}, Datum{}, Bytes(make([]byte, cLength)), Bytes(make([]byte, padLength)))
			case oltpInsert: // together with its delete
			case oltpNonIndexUpdate:
				add(0, Bytes(make([]byte, cLength)), Datum{})
			case oltpPoint, oltpIndexUpdate:
				add(0, Datum{})
			default:
				add(0, Datum{}, Datum{})
			}
		}
	}
	if g.mix.transaction {
		add(1)
	}
	return &g
}

// Begin draws the next transaction. Each kind of statement keeps to one table within it.
func (g *oltpGenerator) Begin(op *Op) {
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
			c := &g.Calls[i]
			c.Statement = g.first[k] + table
			id := g.row()
			switch k {
			case oltpPoint, oltpIndexUpdate:
				c.Args[0] = id
			case oltpNonIndexUpdate:
				g.digits(c.Args[0].Raw())
				c.Args[1] = id
			case oltpDelete:
				c.Args[0] = id
				if g.mix.times[oltpInsert] == 0 {
					break
				}
				i++
				c = &g.Calls[i]
				c.Statement = g.first[oltpInsert] + table
				c.Args[0], c.Args[1] = id, g.row()
				g.digits(c.Args[2].Raw())
				g.digits(c.Args[3].Raw())
			default:
				c.Args[0], c.Args[1] = id, Int(int64(id.Bits())+int64(g.rangeSize)-1)
			}
			i++
		}
	}
	op.Kind, op.Think = 0, 0
	g.Again()
}

// row draws an id.
func (g *oltpGenerator) row() Datum { return Int(int64(g.dist.draw(g.source))) }

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
