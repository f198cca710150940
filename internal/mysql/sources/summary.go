package sources

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// summary reads tables in which the server sums up what happened, a row for each thing with a few figures beside it:
// those of performance_schema, the user statistics, InnoDB's compression. What there is to read is told by
// information_schema.COLUMNS when the connection is new; a column that the server lacks has no series.
type summary struct {
	q      querier
	acc    account
	name   source.Name
	grant  string // privilege
	pfs    bool   // the tables are performance_schema's
	asks   string // instruments that fill the tables, as LIKE has it; "" when none are needed
	tables []table
	off    func(ctx context.Context) error // says why there is nothing to read, nil when there is; may be nil

	gen     int
	learned bool
	read    []reader
}

// table is one table and what is made of it.
type table struct {
	schema, name string
	keys         []key
	columns      []column
	group        bool   // sum the figures up by the keys
	where, order string // in SQL, of columns that every version has
	limit        int    // rows; 0 is 1000
}

// key is a column that tells rows apart, and the label that shows it. sql is what to select instead, "" for the column.
type key struct{ column, label, sql string }

// column is a figure of a row.
type column struct {
	name   string
	metric string
	kind   metric.Kind
	scale  float64 // 0 is 1
	extra  string  // "label=value", one more label
}

// picoseconds is the unit of performance_schema's timers.
const picoseconds = 1e-12

// reader is a table as this server has it.
type reader struct {
	sql     string
	keys    []key
	columns []column
	rows    map[string][]metric.Labels // by the values of the keys: labels of each column
	limit   int
	buf     []byte
}

func (s *summary) Name() source.Name { return s.name }

func (s *summary) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if !s.learned || s.gen != s.q.Generation() {
		s.learned = false
		if err := s.learn(ctx); err != nil {
			return classify(s.acc, err, s.grant)
		}
		s.gen, s.learned = s.q.Generation(), true
	}
	if s.off != nil {
		if err := s.off(ctx); err != nil {
			return classify(s.acc, err, s.grant)
		}
	}
	n := 0
	for i := range s.read {
		r := &s.read[i]
		got := 0
		rows, err := s.q.Query(ctx, r.sql, func(row []driver.Value) {
			if got++; got <= r.limit {
				r.emit(row, at, emit)
			}
		})
		if err != nil {
			s.learned = false
			return classify(s.acc, err, s.grant)
		}
		if rows > r.limit {
			return &scrape.Problem{
				State:  source.Failed,
				Reason: fmt.Sprintf("the server answered with %d rows instead of %d", rows, r.limit), Partial: true,
			}
		}
		n += rows
	}
	if n == 0 && s.asks != "" {
		return classify(s.acc, s.instruments(ctx), s.grant)
	}
	return nil
}

// emit makes the samples of one row.
func (r *reader) emit(row []driver.Value, at int64, emit func(metric.Sample)) {
	if len(row) != len(r.keys)+len(r.columns) {
		return
	}
	r.buf = r.buf[:0]
	for _, v := range row[:len(r.keys)] {
		r.buf = append(append(r.buf, text(v)...), 0)
	}
	labels, ok := r.rows[string(r.buf)]
	if !ok {
		if len(r.rows) >= 4*r.limit { // rows come and go: names of long ago must not fill the memory
			clear(r.rows)
		}
		labels = r.labels(row)
		r.rows[string(r.buf)] = labels
	}
	for i, c := range r.columns {
		v, ok := number(row[len(r.keys)+i])
		if !ok {
			continue
		}
		if c.scale != 0 {
			v *= c.scale
		}
		emit(metric.Sample{Name: c.metric, Labels: labels[i], Kind: c.kind, At: at, Value: v})
	}
}

// labels makes the label sets of a row's columns; those without a label of their own share one.
func (r *reader) labels(row []driver.Value) []metric.Labels {
	var pairs []string
	for i, k := range r.keys {
		pairs = append(pairs, k.label, strings.ToValidUTF8(string(text(row[i])), "?"))
	}
	shared := map[string]metric.Labels{}
	out := make([]metric.Labels, len(r.columns))
	for i, c := range r.columns {
		l, ok := shared[c.extra]
		if !ok {
			p := pairs
			if name, value, ok := strings.Cut(c.extra, "="); ok {
				p = append(p[:len(p):len(p)], name, value)
			}
			l = metric.L(p...)
			shared[c.extra] = l
		}
		out[i] = l
	}
	return out
}

// learn finds out what this server has.
func (s *summary) learn(ctx context.Context) error {
	if s.pfs {
		if err := pfsOn(ctx, s.q, s.name); err != nil {
			return err
		}
	}
	have, err := columnsOf(ctx, s.q, s.name, s.tables)
	if err != nil {
		return err
	}
	s.read = nil
	for _, t := range s.tables {
		if r, ok := t.reader(s.name, have[strings.ToLower(t.schema+"."+t.name)]); ok {
			s.read = append(s.read, r)
		}
	}
	if len(s.read) > 0 {
		return nil
	}
	// information_schema does not show what the account may not read: only asking tells which of the two it is.
	t := s.tables[0]
	if _, err := s.q.Query(ctx, tagged(s.name, "SELECT 1 FROM "+t.schema+"."+t.name+" LIMIT 1"),
		func([]driver.Value) {}); err != nil {
		return err
	}
	return &scrape.Problem{State: source.Missing, Reason: "this version of the server has no such thing"}
}

// reader words the statement for the columns that there are; not ok when a key or every figure is missing.
func (t table) reader(name source.Name, have map[string]bool) (reader, bool) {
	r := reader{rows: map[string][]metric.Labels{}, limit: t.limit}
	if r.limit == 0 {
		r.limit = 1000
	}
	var list, keys []string
	for _, k := range t.keys {
		if !have[strings.ToUpper(k.column)] {
			return r, false
		}
		sql := k.sql
		if sql == "" {
			sql = k.column
		}
		r.keys = append(r.keys, k)
		list, keys = append(list, sql), append(keys, sql)
	}
	for _, c := range t.columns {
		if have[strings.ToUpper(c.name)] {
			r.columns = append(r.columns, c)
			sql := c.name
			if t.group {
				sql = "SUM(" + sql + ")"
			}
			list = append(list, sql)
		}
	}
	if len(r.columns) == 0 {
		return r, false
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + t.schema + "." + t.name
	if t.where != "" {
		sql += " WHERE " + t.where
	}
	if t.group {
		sql += " GROUP BY " + strings.Join(keys, ", ")
	}
	if t.order != "" {
		sql += " ORDER BY " + t.order
	}
	r.sql = tagged(name, sql+" LIMIT "+strconv.Itoa(r.limit))
	return r, true
}

// instruments says whether nothing was counted because nothing is switched on that counts.
func (s *summary) instruments(ctx context.Context) error {
	var on, counting float64
	if _, err := s.q.Query(ctx, tagged(s.name, "SELECT COUNT(*), (SELECT COUNT(*) FROM "+
		"performance_schema.setup_consumers"+
		" WHERE NAME='global_instrumentation' AND ENABLED='YES') FROM performance_schema.setup_instruments WHERE "+
		"ENABLED='YES' AND NAME LIKE '"+s.asks+"'"), func(row []driver.Value) {
		on, _ = number(row[0])
		counting, _ = number(row[1])
	}); err != nil {
		return err
	}
	switch {
	case counting == 0:
		return &scrape.Problem{
			State: source.Missing, Reason: "performance_schema's consumer global_instrumentation is off",
			Fix: "UPDATE performance_schema.setup_consumers SET ENABLED='YES' WHERE NAME='global_instrumentation'",
		}
	case on == 0:
		return &scrape.Problem{
			State: source.Missing, Reason: "performance_schema's instruments " + s.asks + " are off",
			Fix: "UPDATE performance_schema.setup_instruments SET ENABLED='YES', TIMED='YES' WHERE NAME LIKE '" +
				s.asks + "'",
		}
	}
	return nil
}

// pfsOn returns a scrape.Problem when performance_schema is off or not there.
func pfsOn(ctx context.Context, q querier, name source.Name) error {
	on := false
	_, err := q.Query(ctx, tagged(name, "SELECT @@global.performance_schema"),
		func(row []driver.Value) {
			v, _ := number(row[0])
			on = v == 1
		})
	if n, ok := target.ServerErrorNumber(err); ok && n == 1193 { // unknown variable
		return &scrape.Problem{State: source.Missing, Reason: "this version of the server has no such thing", Err: err}
	}
	if err == nil && !on {
		return &scrape.Problem{
			State: source.Missing, Reason: "performance_schema is off",
			Fix: "performance_schema=ON in the server's configuration, then a restart",
		}
	}
	return err
}

// columnsOf asks which columns the tables have: in capitals, by schema.table in small letters.
func columnsOf(ctx context.Context, q querier, name source.Name, tables []table) (map[string]map[string]bool, error) {
	var schemas, names []string
	for _, t := range tables {
		schemas, names = append(schemas, "'"+t.schema+"'"), append(names, "'"+t.name+"'")
	}
	have := map[string]map[string]bool{}
	_, err := q.Query(ctx, tagged(name, "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM "+
		"information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA IN ("+strings.Join(schemas, ",")+") AND TABLE_NAME IN ("+strings.Join(names, ",")+")"),
		func(row []driver.Value) {
			t := strings.ToLower(string(text(row[0])) + "." + string(text(row[1])))
			if have[t] == nil {
				have[t] = map[string]bool{}
			}
			have[t][strings.ToUpper(string(text(row[2])))] = true
		})
	return have, err
}
