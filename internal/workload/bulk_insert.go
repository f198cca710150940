package workload

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// BulkInsert fills a table of its own for each session with INSERTs of many rows.
type BulkInsert struct{}

// Name returns bulk_insert.
func (BulkInsert) Name() string { return "bulk_insert" }

// Title says what it does.
func (BulkInsert) Title() string {
	return "inserts rows by the ten thousand in one statement, each session into its own table"
}

// bulkBytes is what sysbench's buffer for an INSERT holds, with a byte to end the text.
const bulkBytes = 512<<10 - 1

// longestRow is what one row may take, with its comma.
const longestRow = len(",(2147483647,2147483647)")

// Options returns what it takes. sysbench's program has no options of its own; those of the random numbers it takes as
// all programs do, though nothing is drawn.
func (BulkInsert) Options() []Option {
	return append([]Option{
		{Name: "mysql-db", Type: Text, Default: sbtest, Help: "database that holds the tables"},
		threadsOption("sessions, each with its own table"),
	}, randOptions()...)
}

// Build settles the options. An operation is one INSERT as long as sysbench's. Where a table has rows already the next
// follow them, for which each session asks once; sysbench begins at 1 again and fails.
func (w BulkInsert) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	tables := v.Int(threadsName)
	if tables < 1 {
		return nil, &OptionError{threadsName, v.Text(threadsName), "takes a number from 1"}
	}
	if v.Text("mysql-db") == "" {
		return nil, &OptionError{Option: "mysql-db", Reason: "takes the name of a database"}
	}
	p := &Plan{Workload: w.Name(), Schema: v.Text("mysql-db"), Options: v, Operations: []string{w.Name()}}
	p.Notes = []string{"an operation is one INSERT of some 40000 rows, half a megabyte of text; sysbench counts " +
		"every row as a transaction"}
	for i := range tables {
		name := sbtest + strconv.Itoa(i+1)
		p.Statements = append(p.Statements,
			Statement{Name: "largest id", SQL: "SELECT MAX(id) FROM " + name, Kind: Read, Rows: true, Text: true},
			Statement{Name: "bulk insert", SQL: "INSERT INTO " + name + " VALUES(?,?)", Kind: Write, Text: true})
		p.Tables = append(p.Tables, Table{
			Name:    name,
			Create:  "CREATE TABLE " + name + " (id INTEGER NOT NULL, k INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (id))",
			Columns: []string{"id", "k"},
			Fill:    func(uint64) func(int, func([]Datum)) { return func(int, func([]Datum)) {} },
		})
	}
	p.Generator = func(_ uint64, session int) Generator {
		g := &bulkGenerator{table: session, head: "INSERT INTO " + sbtest + strconv.Itoa(session+1) + " VALUES"}
		if session >= tables {
			g.broken = fmt.Errorf("session %d has no table: there are %d, one for each of the threads that were "+
				"prepared; prepare and run with the same --threads", session+1, tables)
		}
		return g
	}
	return p, nil
}

type bulkGenerator struct {
	table  int
	head   string
	next   int64 // the first id of the operation; 0 while it is not known
	last   int64 // its last id, once the text is made
	text   []byte
	broken error
}

// Begin goes on after the rows of the operation before.
func (g *bulkGenerator) Begin(op *Op) {
	if g.last > 0 {
		g.next, g.last = g.last+1, 0
	}
	op.Kind, op.Think = 0, 0
}

// Again asks the table once more: nobody knows which of the rows of a failed operation are in.
func (g *bulkGenerator) Again() { g.next, g.last = 0, 0 }

// Next asks for the largest id when it is not known, then sends the rows.
func (g *bulkGenerator) Next(c *Call) (bool, error) {
	switch {
	case g.broken != nil:
		return false, g.broken
	case g.last > 0:
		return false, nil
	case g.next == 0:
		*c = Call{Statement: 2 * g.table}
		return true, nil
	}
	if err := g.fill(); err != nil {
		return false, err
	}
	*c = Call{Statement: 2*g.table + 1, Text: g.text}
	return true, nil
}

// Row takes the largest id: NULL in an empty table.
func (g *bulkGenerator) Row(row []Datum) {
	largest, err := row[0].Int()
	if err != nil && !row[0].IsNull() {
		g.broken = fmt.Errorf("the largest id of the table: %w", err)
		return
	}
	g.next = max(0, largest) + 1
}

// fill writes as many rows as fit the text.
func (g *bulkGenerator) fill() error {
	if g.text == nil {
		g.text = make([]byte, 0, bulkBytes+longestRow)
	}
	g.text = append(g.text[:0], g.head...)
	id := g.next
	for {
		from := len(g.text)
		if id > g.next {
			g.text = append(g.text, ',')
		}
		g.text = append(g.text, '(')
		g.text = strconv.AppendInt(g.text, id, 10)
		g.text = append(g.text, ',')
		g.text = strconv.AppendInt(g.text, id, 10)
		g.text = append(g.text, ')')
		if len(g.text) > bulkBytes {
			g.text = g.text[:from]
			break
		}
		if id > math.MaxInt32 {
			return errors.New("the table is full: its id column holds no number above 2147483647; clean up and " +
				"prepare again")
		}
		id++
	}
	g.last = id - 1
	return nil
}
