package loader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// inDialect returns a workload in PostgreSQL's dialect. An error says that it is not there yet.
func inDialect(w workload.Workload) (workload.Workload, error) {
	switch x := w.(type) {
	case oltp:
		return w, nil
	case workload.PointSelect, workload.ReadOnly, workload.WriteOnly, workload.ReadWrite, workload.Insert,
		workload.Delete, workload.UpdateIndex, workload.UpdateNonIndex, workload.RandomPoints, workload.RandomRanges,
		workload.BulkInsert:
		return oltp{w}, nil
	case interface {
		In(workload.Dialect) (workload.Workload, error)
	}:
		return x.In(workload.PostgreSQL)
	}
	return nil, fmt.Errorf("the workload %s is not there for %v yet: use oltp_*, select_random_*, bulk_insert or "+
		"script",
		w.Name(), workload.PostgreSQL)
}

// oltp is a workload on sysbench's tables, which are those of its pgsql driver.
type oltp struct{ workload.Workload }

// The option that names the database, as sysbench calls it for each family.
const (
	mysqlDB = "mysql-db"
	pgsqlDB = "pgsql-db"
)

// Options returns those of the workload that mean something to PostgreSQL.
func (w oltp) Options() []workload.Option {
	var list []workload.Option
	for _, o := range w.Workload.Options() {
		if o.Name == workload.EngineOption {
			continue
		}
		if o.Name == mysqlDB {
			o.Name = pgsqlDB
		}
		list = append(list, o)
	}
	return list
}

// Build settles the options. --mysql-db is taken for --pgsql-db.
func (w oltp) Build(given map[string]string) (*workload.Plan, error) {
	own := map[string]string{}
	for k, v := range given {
		switch strings.ReplaceAll(k, "_", "-") {
		case workload.EngineOption:
			return nil, &workload.OptionError{
				Option: workload.EngineOption, Value: v, Reason: "PostgreSQL has no storage engines; leave it out",
			}
		case pgsqlDB:
			k = mysqlDB
		}
		own[k] = v
	}
	p, err := w.Workload.Build(own)
	if err != nil {
		return nil, err
	}
	v := workload.Values(p.Options)
	p.Options = maps.Clone(p.Options)
	p.Options[pgsqlDB] = p.Options[mysqlDB]
	delete(p.Options, mysqlDB)
	delete(p.Options, workload.EngineOption)
	for i, n := range p.Notes {
		p.Notes[i] = strings.ReplaceAll(n, "error 1062", "error 23505")
	}
	if _, bulk := w.Workload.(workload.BulkInsert); bulk {
		return p, nil
	}
	for i := range p.Tables {
		oltpTable(&p.Tables[i], v, i+1)
	}
	if _, insert := w.Workload.(workload.Insert); insert && v.Bool("auto-inc") {
		for i := range p.Statements { // there a 0 is no request for a number
			p.Statements[i].SQL = fmt.Sprintf("INSERT INTO sbtest%d (k, c, pad) VALUES (?, ?, ?)", i+1)
		}
	}
	return p, nil
}

// oltpTable changes sbtestN to that of sysbench's pgsql driver, with the sequence behind the rows. With
// secondary sysbench's CREATE TABLE is an error there; the index is made by a statement of its own instead.
func oltpTable(tb *workload.Table, v workload.Values, n int) {
	id, key := "INTEGER NOT NULL", ", PRIMARY KEY (id)"
	if v.Bool("auto-inc") {
		id = "SERIAL"
	}
	if v.Bool("secondary") {
		key = ""
		tb.After = slices.Insert(tb.After, 0, fmt.Sprintf("CREATE INDEX xid_%d ON %s (id)", n, tb.Name))
	}
	tb.Create = "CREATE TABLE " + tb.Name + " (id " + id + ", k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' " +
		"NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL" + key + ")"
	if o := v.Text("create-table-options"); o != "" {
		tb.Create += " " + o
	}
	if v.Bool("auto-inc") && tb.Rows > 0 {
		tb.After = slices.Insert(tb.After, 0, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', 'id'), %d)",
			tb.Name, tb.Rows))
	}
}
