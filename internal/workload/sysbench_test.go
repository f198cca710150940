package workload

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// sysbench runs the real thing, and fails the test where it is not installed.
func sysbench(t *testing.T, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs sysbench")
	}
	if _, err := exec.LookPath("sysbench"); err != nil {
		t.Fatalf("install sysbench 1.0: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), "sysbench", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("sysbench %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// programs are the names of sysbench's programs for databases.
func programs(t *testing.T) (names []string) {
	t.Helper()
	sysbench(t, "--version")
	list, err := filepath.Glob("/usr/share/sysbench/*.lua")
	if err != nil || len(list) == 0 {
		t.Fatalf("no programs of sysbench: %v", err)
	}
	for _, f := range list {
		if name := strings.TrimSuffix(filepath.Base(f), ".lua"); name != "oltp_common" {
			names = append(names, name)
		}
	}
	return names
}

// lacking are the options of sysbench's programs that we do not have, and why; ours are those that theirs do not have.
var (
	lacking = map[string]string{"pgsql-variant": "for PostgreSQL alone"}
	ours    = map[string]string{
		"mysql-db":             "theirs is an option of the driver",
		"threads":              "theirs is an option of the run",
		"create-table-options": "theirs is a variable of the program until release 1.0.20",
		"rand-type":            "an option of all programs", "rand-spec-iter": "as above", "rand-spec-pct": "as above",
		"rand-spec-res": "as above",
		"rand-pareto-h": "as above", "rand-zipfian-exp": "newer than release 1.0.20",
	}
)

var (
	optionLine  = regexp.MustCompile(`(?m)^ *--([a-z0-9_-]+)(?:=\S+|\[=on\|off\]) +(.*)$`)
	defaultText = regexp.MustCompile(`\[([^][]*)\]$`)
)

// described returns the options of a help text with their defaults.
func described(help string) map[string]string {
	m := map[string]string{}
	for _, l := range optionLine.FindAllStringSubmatch(help, -1) {
		value := ""
		if d := defaultText.FindStringSubmatch(l[2]); d != nil {
			value = d[1]
		}
		m[strings.ReplaceAll(l[1], "_", "-")] = value
	}
	return m
}

// TestOptionsEqualSysbenchs reads what sysbench says of its programs, and lists what we lack.
func TestOptionsEqualSysbenchs(t *testing.T) {
	if testing.Short() {
		t.Skip("needs sysbench")
	}
	missed := map[string]bool{}
	for _, name := range programs(t) {
		w, err := Find(All(), name)
		if err != nil {
			t.Error(err)
			continue
		}
		have := map[string]string{}
		for _, o := range w.Options() {
			have[o.Name] = o.Default
		}
		out, _ := exec.CommandContext(t.Context(), "sysbench", name, "help").CombinedOutput()
		theirs := described(string(out))
		if len(theirs) == 0 && name != "bulk_insert" { // which has no options and no help
			t.Fatalf("sysbench %s help says %s", name, out)
		}
		for o, value := range theirs {
			got, ok := have[o]
			switch {
			case lacking[o] != "":
				missed[o] = true
				if ok {
					t.Errorf("%s has %s: take it off the list", name, o)
				}
			case !ok:
				t.Errorf("%s lacks the option %s", name, o)
			case got != value:
				t.Errorf("%s: the default of %s is %q, sysbench's is %q", name, o, got, value)
			}
			delete(have, o)
		}
		for o := range have {
			if ours[o] == "" {
				t.Errorf("%s has the option %s, which sysbench's has not", name, o)
			}
		}
	}
	for o := range lacking {
		if !missed[o] {
			t.Errorf("sysbench has no option %s: take it off the list", o)
		}
	}
	t.Logf("options of sysbench's programs that we lack: %v", lacking)

	have := map[string]string{}
	for _, o := range randOptions() {
		have[o.Name] = o.Default
	}
	seen := 0
	for o, value := range described(sysbench(t, "--help")) {
		if strings.HasPrefix(o, "rand-") && o != "rand-seed" { // the run's
			seen++
			if got, ok := have[o]; !ok || got != value {
				t.Errorf("the default of %s is %q, sysbench's is %q", o, got, value)
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d options of random numbers in sysbench --help", seen)
	}
}

// bench is a server with two databases: one for sysbench's tables, one for ours.
type bench struct {
	*servers.Server
	db *sql.DB
}

func newBench(t *testing.T, flavor string) bench {
	t.Helper()
	s := servers.Start(t, flavor, "log-output=TABLE", "max-prepared-stmt-count=1000")
	s.Exec(t, "CREATE DATABASE ours", "CREATE DATABASE theirs")
	db := s.DB(t, "ours")
	db.SetMaxOpenConns(1)
	return bench{s, db}
}

func (b bench) sysbench(t *testing.T, schema, name, command string, o map[string]string, more ...string) string {
	t.Helper()
	args := []string{"--mysql-socket=" + b.Socket, "--mysql-user=root", "--mysql-db=" + schema, name}
	for _, k := range slices.Sorted(maps.Keys(o)) {
		args = append(args, "--"+k+"="+o[k])
	}
	return sysbench(t, append(append(args, more...), command)...)
}

// make makes the tables of a plan in the database ours.
func (b bench) make(t *testing.T, p *Plan) {
	t.Helper()
	exec := func(q string) {
		t.Helper()
		if _, err := b.db.Exec(q); err != nil {
			t.Fatalf("%.200s: %v", q, err)
		}
	}
	for _, tb := range p.Tables {
		exec("DROP TABLE IF EXISTS " + tb.Name)
		exec(tb.Create)
		fill := tb.Fill(1)
		var q []byte
		emit := func(row []Datum) {
			if len(q) > 0 {
				q = append(q, ',')
			}
			for i, d := range row {
				q = d.AppendLiteral(append(q, "(,"[min(i, 1)]))
			}
			q = append(q, ')')
		}
		for n := 1; n <= tb.Rows; n++ {
			fill(n, emit)
		}
		if len(q) > 0 {
			exec("INSERT INTO " + tb.Name + " (" + strings.Join(tb.Columns, ",") + ") VALUES " + string(q))
		}
		for _, a := range tb.After {
			exec(a)
		}
	}
}

// run carries out some operations as text, on the tables of that database.
func (b bench) run(t *testing.T, schema string, p *Plan, operations int) {
	t.Helper()
	if _, err := b.db.Exec("USE " + schema); err != nil {
		t.Fatal(err)
	}
	defer b.db.Exec("USE ours")
	g := p.Generator(1, 0)
	var op Op
	for range operations {
		g.Begin(&op)
		for {
			var c Call
			more, err := g.Next(&c)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			text := string(c.Text)
			if c.Text == nil {
				filled, err := p.Statements[c.Statement].AppendText(nil, c.Args)
				if err != nil {
					t.Fatal(err)
				}
				text = string(filled)
			}
			if !p.Statements[c.Statement].Rows {
				if _, err := b.db.Exec(text); err != nil {
					t.Fatalf("%.200s: %v", text, err)
				}
				continue
			}
			rows, err := b.db.Query(text)
			if err != nil {
				t.Fatalf("%.200s: %v", text, err)
			}
			defer rows.Close()
			columns, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			values := make([]sql.RawBytes, len(columns))
			into, row := make([]any, len(columns)), make([]Datum, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			for rows.Next() {
				if err := rows.Scan(into...); err != nil {
					t.Fatal(err)
				}
				for i, v := range values {
					if row[i] = (Datum{}); v != nil {
						row[i] = Bytes(v)
					}
				}
				g.Row(row)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// logged is a statement of the general log.
type logged struct {
	thread        int64
	command, text string
}

// record returns the statements on sbtest tables, and the edges of transactions, that the server carries out during f.
func (b bench) record(t *testing.T, f func()) (list []logged) {
	t.Helper()
	b.Exec(t, "TRUNCATE TABLE mysql.general_log", "SET GLOBAL general_log=ON")
	f()
	b.Exec(t, "SET GLOBAL general_log=OFF")
	rows, err := b.DB(t, "").Query("SELECT thread_id, command_type, argument FROM mysql.general_log WHERE " +
		"command_type IN ('Query', 'Execute')" +
		" AND (argument LIKE '%sbtest%' OR argument IN ('BEGIN', 'COMMIT'))")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var l logged
		if err := rows.Scan(&l.thread, &l.command, &l.text); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

var (
	space     = regexp.MustCompile(`\s+`)
	quotedC   = regexp.MustCompile(`'\d{11}(-\d{11}){9}'`)
	quotedPad = regexp.MustCompile(`'\d{11}(-\d{11}){4}'`)
	numeral   = regexp.MustCompile(`-?\d+`)
)

// shape makes all statements of a kind the same.
func shape(text string) string {
	text = strings.TrimSpace(space.ReplaceAllString(text, " "))
	text = quotedPad.ReplaceAllString(quotedC.ReplaceAllString(text, "<C>"), "<P>")
	return numeral.ReplaceAllString(text, "#")
}

func onBoth(t *testing.T, f func(t *testing.T, b bench)) {
	t.Helper()
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			f(t, newBench(t, flavor))
		})
	}
}

// with adds options to others.
func with(o map[string]string, more ...string) map[string]string {
	m := maps.Clone(o)
	if m == nil {
		m = map[string]string{}
	}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// TestStatementsEqualSysbenchs reads in the server's general log what sysbench sends.
func TestStatementsEqualSysbenchs(t *testing.T) {
	onBoth(t, func(t *testing.T, b bench) {
		const size = "200"
		b.sysbench(t, "theirs", "oltp_read_write", "prepare", map[string]string{"tables": "3", "table-size": size})
		f := func(w Workload, o map[string]string) {
			t.Helper()
			const events = 15
			o = with(o, "table-size", size)
			list := b.record(t, func() {
				b.sysbench(t, "theirs", w.Name(), "run", o, "--threads=1", "--time=0", "--events="+strconv.Itoa(events))
			})
			p := build(t, w, o)
			g := p.Generator(1, 0)
			var want []string
			text := map[string]bool{} // the shapes that are sent as text, by us
			for range events {
				for _, c := range calls(t, g) {
					s := &p.Statements[c.Statement]
					filled, err := s.AppendText(nil, c.Args)
					if err != nil {
						t.Fatal(err)
					}
					x := shape(string(filled))
					want = append(want, x)
					text[x] = s.Text
				}
			}
			if len(list) != len(want) {
				t.Fatalf("%s %v: sysbench sends %d statements, we %d", w.Name(), o, len(list), len(want))
			}
			for i, l := range list {
				x := shape(l.text)
				if x != want[i] {
					t.Fatalf("%s %v: statement %d is %s, sysbench's is %s", w.Name(), o, i, want[i], x)
				}
				// BEGIN and COMMIT are text with us everywhere; sysbench prepares them where the server can.
				if x != "BEGIN" && x != "COMMIT" && (l.command == "Query") != text[x] {
					t.Fatalf("%s %v: sysbench sends %q as %s", w.Name(), o, x, l.command)
				}
			}
		}
		three := map[string]string{"tables": "3"}
		f(PointSelect{}, with(three, "point-selects", "4"))
		f(ReadOnly{}, three)
		f(ReadOnly{}, with(three, "skip-trx", "on", "range-selects", "off", "point-selects", "2"))
		f(ReadOnly{}, with(three, "simple-ranges", "0", "sum-ranges", "2", "order-ranges", "3", "distinct-ranges", "1"))
		f(WriteOnly{}, three)
		f(WriteOnly{}, with(three, "skip-trx", "on", "index-updates", "2", "non-index-updates", "3",
			"delete-inserts", "2"))
		f(ReadWrite{}, three)
		f(ReadWrite{}, with(three, "range-size", "7", "delete-inserts", "0", "non-index-updates", "2"))
		f(Insert{}, three)
		f(Insert{}, with(three, "auto-inc", "off"))
		f(UpdateIndex{}, with(three, "index-updates", "2"))
		f(UpdateNonIndex{}, with(three, "non-index-updates", "2"))
		f(Delete{}, with(three, "delete-inserts", "5"))
		f(RandomPoints{}, nil)
		f(RandomPoints{}, map[string]string{"random-points": "3"})
		f(RandomRanges{}, nil)
		f(RandomRanges{}, map[string]string{"number-of-ranges": "2", "delta": "9"})

		// Of the ranges the difference counts, too.
		list := b.record(t, func() {
			b.sysbench(t, "theirs", "select_random_ranges", "run", map[string]string{"delta": "9"},
				"--time=0", "--events=3")
		})
		for _, l := range list {
			n := numeral.FindAllString(strings.ReplaceAll(l.text, "sbtest1", ""), -1)
			for i := 0; i+1 < len(n); i += 2 {
				from, _ := strconv.Atoi(n[i])
				if to, _ := strconv.Atoi(n[i+1]); to-from != 9 {
					t.Errorf("delta=9: %s", l.text)
				}
			}
		}
	})
}

// TestBulkInsertEqualsSysbenchs compares the first INSERT byte by byte.
func TestBulkInsertEqualsSysbenchs(t *testing.T) {
	onBoth(t, func(t *testing.T, b bench) {
		b.sysbench(t, "theirs", "bulk_insert", "prepare", nil, "--threads=2")
		list := b.record(t, func() {
			b.sysbench(t, "theirs", "bulk_insert", "run", nil, "--threads=1", "--time=0", "--events=60000")
		})
		if len(list) != 2 {
			t.Fatalf("sysbench sends %d statements, want a full one and the rest", len(list))
		}
		p := build(t, BulkInsert{}, map[string]string{"threads": "2"})
		g := p.Generator(1, 0)
		var op Op
		var c Call
		g.Begin(&op)
		g.Next(&c)
		g.Row([]Datum{{}})
		if more, err := g.Next(&c); !more || err != nil || string(c.Text) != list[0].text {
			t.Fatalf("our INSERT of %d bytes ends in %s, sysbench's of %d in %s; %v", len(c.Text),
				c.Text[len(c.Text)-40:], len(list[0].text), list[0].text[len(list[0].text)-40:], err)
		}
		b.make(t, p)
		b.same(t, "sbtest1", false)
		b.same(t, "sbtest2", true)
		// sysbench runs on our tables, and we go on where it ended.
		b.sysbench(t, "ours", "bulk_insert", "run", nil, "--threads=2", "--time=0", "--events=1000")
		b.run(t, "ours", p, 2)
		b.run(t, "theirs", p, 1)
		var n, largest int64
		if err := b.db.QueryRow("SELECT COUNT(*), MAX(id) FROM theirs.sbtest1").Scan(&n, &largest); err != nil ||
			n != largest || n < 60_000+30_000 {
			t.Errorf("%d rows to %d, %v", n, largest, err)
		}
	})
}

// TestSegmentsEqualSysbenchs: the values that sysbench's sessions draw lie between the same ends as ours.
func TestSegmentsEqualSysbenchs(t *testing.T) {
	b := newBench(t, "mariadb")
	const size, threads, points = 10, 3, 8
	o := map[string]string{"table-size": strconv.Itoa(size), "random-points": strconv.Itoa(points)}
	b.sysbench(t, "theirs", "select_random_points", "prepare", o)
	list := b.record(t, func() {
		b.sysbench(t, "theirs", "select_random_points", "run", o, "--rand-type=uniform", "--threads="+
			strconv.Itoa(threads), "--time=0", "--events=600")
	})
	type ends struct{ first, last int64 }
	of := map[int64]ends{}
	statements := map[int64]int{}
	for _, l := range list {
		e, ok := of[l.thread]
		if !ok {
			e = ends{math.MaxInt64, -1}
		}
		for _, n := range numeral.FindAllString(l.text[strings.Index(l.text, " IN "):], -1) {
			x, _ := strconv.ParseInt(n, 10, 64)
			e = ends{min(e.first, x), max(e.last, x)}
		}
		of[l.thread] = e
		statements[l.thread]++
	}
	var want []ends
	for s := range threads {
		first, last := segment(t, randUniform, size, threads, s)
		want = append(want, ends{first, last})
	}
	compared := 0
	for thread, e := range of {
		if statements[thread]*points < 200 { // too few to be sure that both ends came
			continue
		}
		compared++
		if !slices.Contains(want, e) {
			t.Errorf("a session of sysbench draws %d to %d, ours %v", e.first, e.last, want)
		}
	}
	if compared == 0 {
		t.Errorf("no session of sysbench was busy: %v", statements)
	}
}

// described by the server: everything of a table that a program or a person could tell apart.
var tableFacts = map[string]string{
	"columns": `SELECT CONCAT_WS('|', COLUMN_NAME, ORDINAL_POSITION, IFNULL(COLUMN_DEFAULT, 'no default'), IS_NULLABLE, COLUMN_TYPE, IFNULL(CHARACTER_SET_NAME, '-'),
		IFNULL(COLLATION_NAME, '-'), COLUMN_KEY, EXTRA) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
	"keys": `SELECT CONCAT_WS('|', INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE, INDEX_TYPE, IFNULL(SUB_PART, '-')) FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX`,
	"table": `SELECT CONCAT_WS('|', ENGINE, ROW_FORMAT, TABLE_COLLATION, CREATE_OPTIONS, TABLE_COMMENT) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`,
}

// same fails the test when the table of both databases differs, in its number of rows too if that counts.
func (b bench) same(t *testing.T, table string, rows bool) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(tableFacts)) {
		ask := func(schema string) (out []string) {
			t.Helper()
			rows, err := b.db.Query(tableFacts[what], schema, table)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var s string
				if err := rows.Scan(&s); err != nil {
					t.Fatal(err)
				}
				out = append(out, s)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return out
		}
		if a, z := ask("ours"), ask("theirs"); len(a) == 0 || !slices.Equal(a, z) {
			t.Errorf("%s of %s:\n%s\nsysbench's:\n%s", what, table, strings.Join(a, "\n"), strings.Join(z, "\n"))
		}
	}
	if !rows {
		return
	}
	var a, z int
	if err := b.db.QueryRow(fmt.Sprintf("SELECT (SELECT COUNT(*) FROM ours.%[1]s), (SELECT COUNT(*) FROM theirs.%[1]s)",
		table)).Scan(&a, &z); err != nil || a != z {
		t.Errorf("%s has %d rows, sysbench's %d: %v", table, a, z, err)
	}
}

// TestTablesAreSysbenchs makes the tables of every workload with both, compares them, and lets each run on the other's.
func TestTablesAreSysbenchs(t *testing.T) {
	onBoth(t, func(t *testing.T, b bench) {
		f := func(w Workload, o map[string]string) {
			t.Helper()
			o = with(o, "table-size", "150")
			p := build(t, w, o)
			b.make(t, p)
			b.sysbench(t, "theirs", w.Name(), "cleanup", o)
			b.sysbench(t, "theirs", w.Name(), "prepare", o)
			for _, tb := range p.Tables {
				b.same(t, tb.Name, true)
			}
			b.sysbench(t, "ours", w.Name(), "run", o, "--threads=2", "--time=0", "--events=20")
			b.run(t, "theirs", p, 5)
			b.sysbench(t, "ours", w.Name(), "cleanup", o)
			for _, tb := range p.Tables {
				var n int
				if err := b.db.QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA='ours' "+
					"AND TABLE_NAME=?", tb.Name).Scan(&n); err != nil || n != 0 {
					t.Errorf("sysbench's cleanup leaves our %s: %v", tb.Name, err)
				}
			}
		}
		f(ReadWrite{}, map[string]string{"tables": "2"})
		f(ReadWrite{}, map[string]string{"auto-inc": "off"})
		f(ReadOnly{}, map[string]string{"secondary": "on"})
		f(WriteOnly{}, map[string]string{"create-secondary": "off", "auto-inc": "off"})
		f(PointSelect{}, map[string]string{"mysql-storage-engine": "myisam"})
		f(Insert{}, map[string]string{"tables": "2"})
		f(Insert{}, map[string]string{"auto-inc": "off"})
		f(Delete{}, nil)
		f(UpdateIndex{}, nil)
		f(UpdateNonIndex{}, nil)
		f(RandomPoints{}, nil)
		f(RandomRanges{}, nil)
	})
}
