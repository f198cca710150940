package workload

import (
	"fmt"
	"strconv"
	"time"
)

// dataOperation is what a workload does with a data set.
type dataOperation uint8

const (
	dataLoad dataOperation = iota
	dataSelect
	dataUpdate
)

func (o dataOperation) String() string { return [...]string{"load", "select", "update"}[o] }

// dataset is a kind of table that comes with three workloads.
type dataset struct {
	name    string // page_counts; the tables are page_counts1 and so on
	columns []string
	create  string // the columns and the key, as CREATE TABLE has them in brackets
	index   string // columns of the secondary index
	read    string // columns that the select asks for
	set     string // assignments of the update, with markers
	// fill makes the columns after the id of row n, numbered from 0, into row. It allocates nothing; what it puts into
	// row is valid until the next call.
	fill func(v Values) func(seed uint64, n int, row []Datum)
	// change makes the arguments of the update, all but the id.
	change func(s source, args []Datum)
}

// datasetOptions are the options of all data sets.
func datasetOptions(o dataOperation, name string) []Option {
	rows := "100000"
	if o == dataLoad {
		rows = "0"
	}
	list := []Option{
		{Name: "mysql-db", Type: Text, Default: sbtest, Help: "database that holds the tables"},
		{Name: "tables", Type: Number, Default: "1", Max: 100_000, Help: "number of tables, " + name + "1 and so on"},
		{Name: "table-size", Type: Number, Default: rows, Max: maxRows, Help: "rows that prepare puts into each table"},
		{Name: "range-size", Type: Number, Default: "1000", Max: maxRows, Help: "rows that a select requests"},
		{Name: "rows-per-insert", Type: Number, Default: "100", Max: 10_000, Help: "rows of one INSERT of a load"},
		{Name: "create-secondary", Type: Bool, Default: "on", Help: "a secondary index"},
		Engine(),
		{Name: "create-table-options", Type: Text, Help: "added to the end of CREATE TABLE, such as KEY_BLOCK_SIZE=8"},
	}
	for _, r := range randOptions() {
		if r.Name == "rand-type" {
			r.Default = randUniform // a compressed page is paid for where it is not in memory
		}
		list = append(list, r)
	}
	return list
}

// plan settles the options of one of the three workloads of a data set.
func (d dataset) plan(workload string, o dataOperation, options []Option, given map[string]string) (*Plan, error) {
	v, err := Settle(options, given)
	if err != nil {
		return nil, err
	}
	least := map[string]int{"tables": 1, "range-size": 1, "rows-per-insert": 1}
	if o != dataLoad {
		least["table-size"] = 1
	}
	for _, x := range options { // in their order, so that of two errors it is always the same one
		if n := least[x.Name]; n > 0 && v.Int(x.Name) < n {
			return nil, &OptionError{x.Name, v.Text(x.Name), "takes a number from " + strconv.Itoa(n)}
		}
	}
	if v.Text("mysql-db") == "" {
		return nil, &OptionError{Option: "mysql-db", Reason: "takes the name of a database"}
	}
	tables, size, span := v.Int("tables"), v.Int("table-size"), 1
	if o == dataSelect {
		span = min(v.Int("range-size"), size)
	}
	dist, err := distribute(v, max(1, size-span+1)) // a range is always full
	if err != nil {
		return nil, err
	}
	p := &Plan{Workload: workload, Schema: v.Text("mysql-db"), Options: v, Operations: []string{workload}}
	if n := dist.note(v); n != "" && o != dataLoad {
		p.Notes = append(p.Notes, n)
	}
	for t := range tables {
		p.Tables = append(p.Tables, d.table(v, t+1))
		name := p.Tables[t].Name
		s := Statement{Name: o.String(), Kind: Write}
		switch o {
		case dataLoad:
			s.SQL, s.Text = "INSERT INTO "+name+" ("+joined(d.columns[1:])+") VALUES (…)", true
		case dataSelect:
			s.SQL, s.Kind, s.Rows = "SELECT "+d.read+" FROM "+name+" WHERE id BETWEEN ? AND ?", Read, true
		case dataUpdate:
			s.SQL = "UPDATE " + name + " SET " + d.set + " WHERE id = ?"
		}
		p.Statements = append(p.Statements, s)
	}
	rows := v.Int("rows-per-insert")
	p.Generator = func(seed uint64, session int) Generator {
		g := &dataGenerator{
			source: newSource(seed, uint64(session)), set: &d, operation: o, dist: dist, tables: tables,
			span: span, rows: rows,
		}
		g.Calls = make([]Call, 1)
		switch o {
		case dataLoad:
			g.seed, g.fill, g.row = seed^uint64(session+1)<<48, d.fill(v), make([]Datum, len(d.columns)-1)
			g.next = size
			for t := range tables {
				g.heads = append(g.heads, "INSERT INTO "+p.Tables[t].Name+" ("+joined(d.columns[1:])+") VALUES ")
			}
		case dataSelect:
			g.args = make([]Datum, 2)
		case dataUpdate:
			g.args = make([]Datum, 1+markers(d.set))
		}
		return g
	}
	return p, nil
}

func joined(columns []string) string {
	var b []byte
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, c...)
	}
	return string(b)
}

// markers counts the arguments of a text without quotes.
func markers(sql string) (n int) {
	for _, c := range sql {
		if c == '?' {
			n++
		}
	}
	return n
}

// table describes table n, from 1.
func (d dataset) table(v Values, n int) Table {
	name := d.name + strconv.Itoa(n)
	create := "CREATE TABLE " + name + " (" + d.create + ")"
	t := Table{
		Name: name, Create: v.WithTableOptions(create, "create-table-options"), Rows: v.Int("table-size"),
		Columns: d.columns, Key: "id",
	}
	if v.Bool("create-secondary") {
		t.After = []string{fmt.Sprintf("CREATE INDEX k_%d ON %s (%s)", n, name, d.index)}
	}
	t.Fill = func(seed uint64) func(int, func([]Datum)) {
		fill, row := d.fill(v), make([]Datum, len(d.columns))
		own := mixed(seed, uint64(n))
		return func(id int, emit func([]Datum)) {
			row[0] = Int(int64(id))
			fill(own, id-1, row[1:])
			emit(row)
		}
	}
	return t
}

// dataGenerator deals out operations on a data set, each of one statement.
type dataGenerator struct {
	source
	set       *dataset
	operation dataOperation
	dist      distribution
	tables    int
	span      int
	args      []Datum

	// of a load
	seed  uint64
	fill  func(seed uint64, n int, row []Datum)
	row   []Datum
	rows  int
	next  int // the row that comes next, from 0
	heads []string
	text  []byte
	Listed
}

// Begin draws the next operation.
func (g *dataGenerator) Begin(op *Op) {
	*op = Op{}
	c := &g.Calls[0]
	c.Statement = g.IntN(g.tables)
	c.Args = g.args
	switch g.operation {
	case dataLoad:
		g.text = append(g.text[:0], g.heads[c.Statement]...)
		for i := range g.rows {
			if i > 0 {
				g.text = append(g.text, ',')
			}
			g.fill(g.seed, g.next, g.row)
			g.next++
			for j, d := range g.row {
				g.text = d.AppendLiteral(append(g.text, "(,"[min(j, 1)]))
			}
			g.text = append(g.text, ')')
		}
		c.Text = g.text
	case dataSelect:
		id := int64(g.dist.draw(g.source))
		g.args[0], g.args[1] = Int(id), Int(id+int64(g.span)-1)
	case dataUpdate:
		g.set.change(g.source, g.args)
		g.args[len(g.args)-1] = Int(int64(g.dist.draw(g.source)))
	}
	g.Again()
}

// mixed scatters a number that depends on a seed (the finaliser of splitmix64).
func mixed(seed, n uint64) uint64 {
	h := seed + (n+1)*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// unit turns a scattered number into one from 0 to 1, without the 1.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// dataBegin is the time of the first row.
var dataBegin = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// appendTime appends a time as SQL writes it.
func appendTime(dst []byte, since time.Duration) []byte {
	return dataBegin.Add(since).AppendFormat(dst, "2006-01-02 15:04:05")
}
