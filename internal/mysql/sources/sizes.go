package sources

import (
	"bytes"
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// sizes reads how large tables and indexes are. The server's list of InnoDB's files names the largest tables for the
// price of one statement, some 10 µs a file; only of those is asked what needs opening them. It needs PROCESS, and
// shows the tables that the account has a privilege on.
//
//	mysql_info_schema_innodb_tablespace_file_size_bytes{tablespace_name} partitions added up, the maxTables largest
//	mysql_info_schema_innodb_tablespace_allocated_size_bytes{tablespace_name}  what of it takes room on the disk
//	mysql_info_schema_table_size{schema,table,component} data_length, index_length, data_free; estimates, of the
//	detailTables largest
//	mysql_info_schema_table_rows{schema,table}            an estimate
//	dyno_tablespaces, dyno_tablespace_bytes               how many files there are and their size, all of them
//
// Servers without sizes of files (MySQL 5.6, MariaDB 10.1) tell of the tables that they have open, with sizes from
// their statistics.
type sizes struct {
	q       querier
	acc     account
	gen     int
	list    string                   // statement for all files
	encoded bool                     // names in it are those of files
	pages   bool                     // the sizes in it are pages of tables
	rows    map[string]metric.Labels // by schema, table and component
	spaces  map[string]metric.Labels // by tablespace
}

// detailTables is how many tables are opened for their details.
const detailTables = 50

func newSizes(q querier, acc account) *sizes {
	return &sizes{q: q, acc: acc, rows: map[string]metric.Labels{}, spaces: map[string]metric.Labels{}}
}

func (s *sizes) Name() source.Name { return source.Sizes }

func (s *sizes) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	const privilege = "PROCESS ON *.*"
	if s.list == "" || s.gen != s.q.Generation() {
		if err := s.learn(ctx); err != nil {
			s.list = ""
			return classify(s.acc, err, privilege)
		}
		s.gen = s.q.Generation()
	}
	all := tally{sum: map[string]*room{}}
	if _, err := s.q.Query(ctx, s.list, func(row []driver.Value) {
		file, ok := number(row[1])
		allocated, ok2 := number(row[2])
		all.add(text(row[0]), file, allocated, ok && ok2)
	}); err != nil {
		return classify(s.acc, err, privilege)
	}
	largest := all.largest(maxTables)
	if !s.pages {
		emit(metric.Sample{Name: "dyno_tablespaces", At: at, Value: all.files})
		emit(metric.Sample{Name: "dyno_tablespace_bytes", At: at, Value: all.bytes})
		for _, r := range largest {
			l := s.space(r.name)
			emit(metric.Sample{
				Name: "mysql_info_schema_innodb_tablespace_file_size_bytes", Labels: l,
				At: at, Value: r.file,
			})
			if r.known {
				emit(metric.Sample{
					Name: "mysql_info_schema_innodb_tablespace_allocated_size_bytes", Labels: l,
					At: at, Value: r.allocated,
				})
			}
		}
	}
	return classify(s.acc, s.details(ctx, largest, at, emit), privilege)
}

// tally adds up the files of each table.
type tally struct {
	files, bytes float64 // of all
	sum          map[string]*room
}

// room is what a table takes.
type room struct {
	name            string
	file, allocated float64
	known           bool // allocated is
}

// add takes a file. Those of the server's own tables and of full-text indexes count in the totals alone; a partition
// belongs to its table: "db/t#P#p0", in MySQL 8 "db/t#p#p0#sp#s1".
func (a *tally) add(name []byte, file, allocated float64, known bool) {
	a.files++
	a.bytes += file
	slash := bytes.IndexByte(name, '/')
	if slash < 0 || string(name[:slash]) == "mysql" || string(name[:slash]) == "sys" ||
		bytes.HasPrefix(name[slash+1:], []byte("FTS_")) || bytes.HasPrefix(name[slash+1:], []byte("fts_")) {
		return
	}
	for i := slash; i+3 <= len(name); i++ {
		if name[i] == '#' && (name[i+1] == 'P' || name[i+1] == 'p') && name[i+2] == '#' {
			name = name[:i]
			break
		}
	}
	r := a.sum[string(name)]
	if r == nil {
		r = &room{name: string(name), known: true}
		a.sum[r.name] = r
	}
	r.file, r.allocated, r.known = r.file+file, r.allocated+allocated, r.known && known
}

// largest returns the n tables with the most room, the largest first.
func (a *tally) largest(n int) []*room {
	all := make([]*room, 0, len(a.sum))
	for _, r := range a.sum {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *room) int {
		return cmp.Or(cmp.Compare(b.file, a.file),
			strings.Compare(a.name, b.name))
	})
	return all[:min(n, len(all))]
}

// learn decides where sizes are told.
func (s *sizes) learn(ctx context.Context) error {
	var tables []table
	for _, n := range []string{"INNODB_TABLESPACES", "INNODB_SYS_TABLESPACES", "INNODB_SYS_TABLESTATS"} {
		tables = append(tables, table{schema: "information_schema", name: n})
	}
	have, err := columnsOf(ctx, s.q, s.Name(), tables)
	if err != nil {
		return err
	}
	s.list, s.pages = "", false
	s.encoded = have["information_schema.innodb_tablespaces"] == nil
	for _, n := range []string{"INNODB_TABLESPACES", "INNODB_SYS_TABLESPACES"} {
		if c := have["information_schema."+strings.ToLower(n)]; c["FILE_SIZE"] && c["ALLOCATED_SIZE"] {
			s.list = "SELECT NAME, FILE_SIZE, ALLOCATED_SIZE FROM information_schema." + n
		}
	}
	if s.list == "" && have["information_schema.innodb_sys_tablestats"]["CLUST_INDEX_SIZE"] {
		s.list, s.pages = "SELECT NAME, CLUST_INDEX_SIZE+OTHER_INDEX_SIZE, NULL FROM "+
			"information_schema.INNODB_SYS_TABLESTATS", true
	}
	if s.list == "" {
		return &scrape.Problem{State: source.Missing, Reason: "this version of the server does not report file sizes"}
	}
	s.list = tagged(s.Name(), s.list)
	return nil
}

// details asks for what information_schema.TABLES knows of single tables: a name that stands there as a constant is
// looked up, anything else would make the server open every table it has.
func (s *sizes) details(ctx context.Context, tables []*room, at int64, emit func(metric.Sample)) error {
	var parts []string
	var names []string // schema and table of each, as expressions
	flush := func() error {
		if len(parts) == 0 {
			return nil
		}
		sql := tagged(s.Name(), strings.Join(parts, " UNION ALL "))
		sure, err := s.pin(ctx, names)
		if parts, names = parts[:0], names[:0]; err == nil && sure {
			_, err = s.q.Query(ctx, sql, func(row []driver.Value) { s.detail(row, at, emit) })
		}
		if s.encoded {
			_, end := s.q.Query(ctx, tagged(s.Name(), ddl.EndPins), nil)
			err = cmp.Or(err, end)
		}
		return err
	}
	n := 0
	for _, r := range tables {
		db, tab, _ := strings.Cut(r.name, "/")
		db, ok1 := s.literal(db)
		tab, ok2 := s.literal(tab)
		if !ok1 || !ok2 {
			continue
		}
		if n++; n > detailTables {
			break
		}
		names = append(names, db, tab)
		parts = append(parts, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, DATA_FREE "+
			"FROM information_schema.TABLES WHERE TABLE_SCHEMA="+db+" AND TABLE_NAME="+tab)
		if len(parts) == 10 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// pin makes sure, where the server opens what it describes, that all names are those of tables until the transaction
// ends: opening a view may run a function of its maker's, see package catalog. It is not sure of tables that somebody
// changes right now.
func (s *sizes) pin(ctx context.Context, names []string) (sure bool, err error) {
	if !s.encoded {
		return true, nil // a data dictionary
	}
	var refs []schema.Ref // what the names of files are in SQL the server knows
	if _, err := s.q.Query(ctx, tagged(s.Name(), "SELECT "+strings.Join(names, ", ")),
		func(row []driver.Value) {
			for i := 0; i+1 < len(row); i += 2 {
				refs = append(refs, schema.Ref{Schema: string(text(row[i])), Table: string(text(row[i+1]))})
			}
		}); err != nil || len(refs) == 0 {
		return false, err
	}
	if _, err := s.q.Query(ctx, tagged(s.Name(), ddl.BeginPins), nil); err != nil {
		return false, err
	}
	_, err = s.q.Query(ctx, tagged(s.Name(), ddl.PinSQL(refs, false)), nil)
	if _, refused := target.ServerErrorNumber(err); refused {
		return false, nil // a table that may not be read pins none: without the ten of this question, then
	}
	return err == nil, err
}

func (s *sizes) detail(row []driver.Value, at int64, emit func(metric.Sample)) {
	if len(row) != 6 {
		return
	}
	db, tab := string(text(row[0])), string(text(row[1]))
	if v, ok := number(row[2]); ok {
		emit(metric.Sample{Name: "mysql_info_schema_table_rows", Labels: s.label(db, tab, ""), At: at, Value: v})
	}
	for i, c := range []string{"data_length", "index_length", "data_free"} {
		if v, ok := number(row[3+i]); ok {
			emit(metric.Sample{Name: "mysql_info_schema_table_size", Labels: s.label(db, tab, c), At: at, Value: v})
		}
	}
}

func (s *sizes) label(db, tab, component string) metric.Labels {
	k := db + "\x00" + tab + "\x00" + component
	l, ok := s.rows[k]
	if !ok {
		if len(s.rows) > 20*detailTables {
			clear(s.rows)
		}
		db, tab := strings.ToValidUTF8(db, "?"), strings.ToValidUTF8(tab, "?")
		l = metric.L("schema", db, "table", tab)
		if component != "" {
			l = metric.L("schema", db, "table", tab, "component", component)
		}
		s.rows[k] = l
	}
	return l
}

func (s *sizes) space(name string) metric.Labels {
	l, ok := s.spaces[name]
	if !ok {
		if len(s.spaces) > 4*maxTables {
			clear(s.spaces)
		}
		l = metric.L("tablespace_name", strings.ToValidUTF8(name, "?"))
		s.spaces[name] = l
	}
	return l
}

// literal makes a name as the server's list has it the one that information_schema.TABLES has. Older servers list names
// as those of files, in a character set of its own ("Mapping of Identifiers to File Names" in the manual), which the
// server itself converts best. Names that no table has, such as the temporary ones of ALTER, are refused.
func (s *sizes) literal(name string) (sql string, ok bool) {
	if s.encoded {
		if strings.Trim(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$@") != "" {
			return "", false
		}
		return fmt.Sprintf("CONVERT(CONVERT(UNHEX('%X') USING filename) USING utf8)", name), true
	}
	if strings.ContainsAny(name, "\\\x00") { // what a backslash means depends on sql_mode
		return fmt.Sprintf("CONVERT(UNHEX('%X') USING utf8)", name), true
	}
	return "'" + strings.ReplaceAll(name, "'", "''") + "'", true
}
