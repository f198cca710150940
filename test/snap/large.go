package snap

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// Sizes of what Large builds.
const (
	LargeClasses = 5000
	LargeTables  = snapshot.MaxTables
)

// Large returns the snapshot of a large and busy server: LargeClasses classes whose times fall off as they do on real
// servers, over LargeTables tables in forty schemas, with every kind of series, with plans of the top classes and full
// moments. A seed always gives the same one.
func Large(seed uint64) *snapshot.Snapshot {
	m := Build()
	r := rand.New(rand.NewPCG(seed, 7))
	s := m.S
	s.Target.UptimeSec = 40 * 86400
	for _, n := range []source.Name{
		figures.InnodbMetrics, source.Processlist, source.Transactions, source.Locks, figures.InnodbStatus,
		source.Waits, source.FileIO, source.TableIO, source.Memory, source.Tables, source.Programs, source.Accounts,
	} {
		s.Sources = append(s.Sources, source.Source{Name: n, State: source.OK, Reads: Window})
	}
	s.TablesLeft = known.Of(0)
	s.Tables = make([]schema.Table, LargeTables)
	for i := range s.Tables {
		s.Tables[i] = largeTable(r, i)
	}
	s.Classes = make([]class.Class, LargeClasses)
	for i := range s.Classes {
		s.Classes[i] = largeClass(r, s.Tables, i)
	}
	for _, c := range s.Classes[:30] {
		s.Plans = append(s.Plans, explain.Plan{Class: c.ID, Steps: []explain.Step{
			{
				SelectType: "SIMPLE", Table: "a", Access: []string{"ref", "range", "ALL", "index"}[r.IntN(4)],
				PossibleKeys: []string{"k0"}, Rows: math.Exp(r.Float64() * 14), Extra: []string{"Using where"},
			},
		}})
	}
	for i := range 420 {
		m.Status(fmt.Sprintf("com_made_%d", i), float64(r.IntN(100)))
	}
	for _, n := range []string{
		"questions", "handler_read_rnd_next", "handler_read_key", "innodb_buffer_pool_reads",
		"innodb_buffer_pool_read_requests", "created_tmp_disk_tables",
		"created_tmp_tables", "innodb_os_log_written", "threads_created", "connections", "com_commit", "com_select",
		"opened_tables", "table_open_cache_misses",
	} {
		m.Status(n, 10+1000*r.Float64())
	}
	for _, t := range s.Tables[:200] {
		for _, op := range []string{"fetch", "insert", "update", "delete"} {
			m.Rate("mysql_perf_schema_table_io_waits_total", 100*r.Float64(), "schema", t.Schema, "name",
				t.Table, "operation", op)
			m.Rate("mysql_perf_schema_index_io_waits_total", 100*r.Float64(), "schema", t.Schema, "name", t.Table,
				"index", "k0", "operation", op)
		}
	}
	for range snapshot.MaxMoments {
		m.Moment(largeMoment(r, s.Classes))
	}
	slices.SortFunc(s.Classes, func(a, b class.Class) int {
		switch {
		case a.TimeSec > b.TimeSec:
			return -1
		case a.TimeSec < b.TimeSec:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return s
}

func largeTable(r *rand.Rand, i int) schema.Table {
	rows := uint64(math.Exp(r.Float64()*17)) + 1
	t := schema.Table{
		Ref: schema.Ref{Schema: fmt.Sprintf("db%02d", i%40), Table: fmt.Sprintf("t%05d", i)}, Engine: "InnoDB",
		RowFormat: "Dynamic", Collation: "utf8mb4_general_ci",
		Rows: known.Of(rows), DataBytes: known.Of(rows * 120), IndexBytes: known.Of(rows * 60),
		FreeBytes: known.Of(uint64(4 << 20)),
		Columns:   []schema.Column{Col("id", "bigint", 8)},
		Indexes: []schema.Index{{
			Name: "PRIMARY", Unique: true, Type: "BTREE",
			Parts: []schema.IndexPart{{Column: "id", Cardinality: known.Of(rows)}},
		}},
	}
	for c := range 9 + r.IntN(12) {
		typ := []string{"int", "varchar", "datetime", "bigint", "decimal"}[r.IntN(5)]
		t.Columns = append(t.Columns, Col(fmt.Sprintf("c%d", c), typ, map[string]int{
			"int": 4, "varchar": 400,
			"datetime": 5, "bigint": 8, "decimal": 5,
		}[typ]))
	}
	for k := range r.IntN(6) {
		x := schema.Index{Name: fmt.Sprintf("k%d", k), Type: "BTREE", Handled: known.Of(uint64(r.IntN(1e6)))}
		for p := range 1 + r.IntN(3) {
			x.Parts = append(x.Parts, schema.IndexPart{
				Column:      fmt.Sprintf("c%d", (k*2+p)%9),
				Cardinality: known.Of(min(rows, uint64(math.Exp(r.Float64()*12))+1)),
			})
		}
		t.Indexes = append(t.Indexes, x)
	}
	if r.IntN(10) == 0 {
		t.Foreign = append(t.Foreign, schema.ForeignKey{
			Name: "f" + t.Table, Columns: []string{"c0"},
			To: schema.Ref{Schema: t.Schema, Table: fmt.Sprintf("t%05d", (i+40)%LargeTables)}, Refers: []string{"id"},
		})
	}
	return t
}

func largeClass(r *rand.Rand, tables []schema.Table, i int) class.Class {
	a, b := tables[r.IntN(len(tables))], tables[r.IntN(len(tables))]
	col := func() string { return fmt.Sprintf("c%d", r.IntN(9)) }
	var sql string
	switch r.IntN(7) {
	case 0:
		sql = fmt.Sprintf("SELECT a.id, a.%s FROM %s AS a WHERE a.%s = %d AND a.%s > '2026-01-01' ORDER BY a.%s "+
			"LIMIT 20", col(), a.Table, col(), r.IntN(1000), col(), col())
	case 1:
		sql = fmt.Sprintf("SELECT a.%s, COUNT(*) FROM %s AS a JOIN %s AS b ON b.id = a.%s WHERE b.%s IN (1, 2, 3) "+
			"GROUP BY a.%s", "c1", a.Table, b.Table, col(), col(), "c1")
	case 2:
		sql = fmt.Sprintf("UPDATE %s SET %s = %s + 1 WHERE %s = %d", a.Table, "c0", "c0", col(), r.IntN(1000))
	case 3:
		sql = fmt.Sprintf("INSERT INTO %s (c0, c1, c2) VALUES (%d, 'x', '2026-01-01')", a.Table, r.IntN(1000))
	case 4:
		sql = fmt.Sprintf("DELETE FROM %s WHERE %s < '2026-01-01' LIMIT 1000", a.Table, col())
	case 5:
		sql = fmt.Sprintf("SELECT * FROM %s AS a WHERE a.id = %d", a.Table, r.IntN(1e6))
	default:
		sql = fmt.Sprintf("SELECT a.id FROM %s AS a WHERE a.%s = 'x' OR a.%s = 'y' AND EXISTS (SELECT 1 FROM %s AS b "+
			"WHERE b.%s = a.id)", a.Table, col(), col(), b.Table, col())
	}
	sql += fmt.Sprintf(" /* made %d */", i)                     // examples of applications carry comments
	fp := mytext.Fingerprint(sql) + fmt.Sprintf(" /* %d */", i) // each a class of its own
	n := uint64(math.Exp(r.Float64()*9)) + 1
	return class.Class{
		ID: class.ID(fp), Fingerprint: fp, Schema: a.Schema, Origin: class.PerformanceSchema, Count: n,
		TimeSec:  12 * math.Pow(float64(i+1), -1.1),
		RowsSent: known.Of(n), Examined: known.Of(n * uint64(1+r.IntN(5000))), Affected: known.Of(uint64(0)),
		NoIndex:   known.Of(n * uint64(r.IntN(2))),
		FullScans: known.Of(n * uint64(r.IntN(2))), FullJoins: known.Of(uint64(0)),
		SortRows: known.Of(uint64(r.IntN(1000))), TmpTables: known.Of(uint64(r.IntN(100))),
		TmpDisk: known.Of(uint64(r.IntN(10))), LockSec: known.Of(0.001), Errors: known.Of(uint64(0)), Example: sql,
	}
}

func largeMoment(r *rand.Rand, classes []class.Class) state.State {
	x := state.State{Connections: known.Of(900), Idle: known.Of(700)}
	for id := range uint64(state.MaxSessions) {
		c := classes[r.IntN(300)]
		x.Sessions = append(x.Sessions, state.Session{
			ID: 100 + id, User: fmt.Sprintf("app%d", id%5), Host: fmt.Sprintf("10.0.0.%d", id%20), DB: c.Schema,
			Command: "Query", Phase: "executing",
			Seconds: r.Float64() * 3, SQL: c.Example, ClassID: c.ID,
		})
		if id%2 == 0 {
			x.Transactions = append(x.Transactions, state.Transaction{
				Session: 100 + id, ID: fmt.Sprint(5000 + id),
				Phase: "RUNNING", Seconds: r.Float64() * 3, Locks: known.Of(uint64(r.IntN(9))),
			})
		}
		if id%7 == 0 {
			x.Waits = append(x.Waits, state.Wait{
				Kind: state.RowLock, Waiter: 100 + id,
				Blocker: known.Of(100 + (id+2)%200), Object: "db00.t00000", Seconds: known.Of(r.Float64()),
			})
		}
	}
	return x
}
