package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// In returns a workload in a dialect. An error says that it is not there yet.
func In(w Workload, d Dialect) (Workload, error) {
	if d == MySQL {
		return w, nil
	}
	switch x := w.(type) {
	case inPostgreSQL:
		return w, nil
	case PointSelect, ReadOnly, WriteOnly, ReadWrite, Insert, Delete, UpdateIndex, UpdateNonIndex, RandomPoints,
		RandomRanges, BulkInsert:
		return inPostgreSQL{w}, nil
	case interface {
		In(Dialect) (Workload, error)
	}:
		return x.In(d)
	}
	return nil, fmt.Errorf(
		"the workload %s is not there for %v yet: use oltp_*, select_random_*, bulk_insert or script",
		w.Name(),
		d,
	)
}

// inPostgreSQL is a workload on sysbench's tables, which are those of its pgsql driver.
type inPostgreSQL struct{ Workload }

// The option that names the database, as sysbench calls it for each family, and one that PostgreSQL has no use for.
const (
	mysqlDB     = "mysql-db"
	pgsqlDB     = "pgsql-db"
	mysqlEngine = "mysql-storage-engine"
)

// Options returns those of the workload that mean something to PostgreSQL.
func (w inPostgreSQL) Options() []Option {
	var list []Option
	for _, o := range w.Workload.Options() {
		if o.Name == mysqlEngine {
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
func (w inPostgreSQL) Build(given map[string]string) (*Plan, error) {
	own := map[string]string{}
	for k, v := range given {
		switch strings.ReplaceAll(k, "_", "-") {
		case mysqlEngine:
			return nil, &OptionError{mysqlEngine, v, "PostgreSQL has no storage engines; leave it out"}
		case pgsqlDB:
			k = mysqlDB
		}
		own[k] = v
	}
	p, err := w.Workload.Build(own)
	if err != nil {
		return nil, err
	}
	v := Values(p.Options)
	p.Options = maps.Clone(p.Options)
	p.Options[pgsqlDB] = p.Options[mysqlDB]
	delete(p.Options, mysqlDB)
	delete(p.Options, mysqlEngine)
	for i, n := range p.Notes {
		p.Notes[i] = strings.ReplaceAll(n, "error 1062", "error 23505")
	}
	if _, bulk := w.Workload.(BulkInsert); bulk {
		return p, nil
	}
	for i := range p.Tables {
		oltpTableInPostgreSQL(&p.Tables[i], v, i+1)
	}
	if _, insert := w.Workload.(Insert); insert && v.Bool("auto-inc") {
		for i := range p.Statements { // there a 0 is no request for a number
			p.Statements[i].SQL = fmt.Sprintf("INSERT INTO sbtest%d (k, c, pad) VALUES (?, ?, ?)", i+1)
		}
	}
	return p, nil
}

// oltpTableInPostgreSQL changes sbtestN to that of sysbench's pgsql driver, with the sequence behind the rows. With
// secondary sysbench's CREATE TABLE is an error there; the index is made by a statement of its own instead.
func oltpTableInPostgreSQL(tb *Table, v Values, n int) {
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
