package sources

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/servers"
)

// sqlServer is a real server with a source's own connection to it.
type sqlServer struct {
	*servers.Server
	t  *target.Target
	l  *link
	db *sql.DB
}

// clockTime gives each reading in these tests a second of its own, far enough apart for sources that ask rarely.
var clockTime atomic.Int64

func connect(t *testing.T, s *servers.Server, user string) *sqlServer {
	t.Helper()
	tg := open(t, s, user)
	x := &sqlServer{Server: s, t: tg, l: newLink(tg), db: s.DB(t, "")}
	t.Cleanup(x.l.Close)
	return x
}

// read reads a source once.
func read(t *testing.T, src scrape.Source) ([]metric.Sample, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at := time.Now().UnixMilli() + clockTime.Add(20_000)
	var out []metric.Sample
	err := src.Scrape(ctx, at, func(x metric.Sample) { out = append(out, x) })
	seen := map[string]bool{}
	for _, x := range out {
		k := x.Name + fmt.Sprint(x.Labels)
		lower := strings.Replace(x.Name, "_LRU_", "_", 1)
		if seen[k] || x.At != at || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%s: bad or second sample %+v", src.Name(), x)
		}
		seen[k] = true
	}
	return out, err
}

func mustRead(t *testing.T, src scrape.Source) []metric.Sample {
	t.Helper()
	out, err := read(t, src)
	if err != nil {
		t.Fatalf("%s: %v", src.Name(), err)
	}
	return out
}

// value returns the value of the one sample with the name and labels.
func value(t *testing.T, samples []metric.Sample, name string, labels ...string) float64 {
	t.Helper()
	x, ok := find(samples, name, labels...)
	if !ok {
		t.Fatalf("no %s %q", name, labels)
	}
	return x.Value
}

func problem(t *testing.T, err error, state source.State) *scrape.Problem {
	t.Helper()
	var p *scrape.Problem
	if !errors.As(err, &p) || p.State != state {
		t.Fatalf("got %v, want a problem with the state %s", err, state)
	}
	return p
}

func (s *sqlServer) num(t *testing.T, q string) (v float64) {
	t.Helper()
	if err := s.db.QueryRow(q).Scan(&v); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return v
}

// wait polls until ok.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestSQLSources runs everything that is asked of a server on one MariaDB and one MySQL, with a replica each.
func TestSQLSources(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			settings := []string{
				"performance_schema=ON", "log-bin=b", "server-id=1", "binlog-format=ROW",
				"sync-binlog=0", "performance_schema_instrument=memory/%=ON",
			}
			if flavor == "mysql" {
				settings = append(settings, "gtid-mode=ON", "enforce-gtid-consistency=ON")
			}
			s := connect(t, servers.Start(t, flavor, settings...), "root")
			for _, x := range []struct {
				name string
				test func(*testing.T, *sqlServer)
			}{
				{"variables", testVariables},
				{"events", testEvents},
				{"tableio", testTableIO},
				{"memory", testMemory},
				{"stages", testStages},
				{"binlog", testBinlog},
				{"latency", testLatency},
				{"compression", testCompression},
				{"userstat", testUserstat},
				{"sizes", testSizes},
				{"innodb", testInnodbStatus},
				{"enable", testSwitchedOn},
				{"denied", testDenied},
				{"replication", testReplication},
				{"group", testGroup},
				{"restart", testRestart},
			} {
				t.Run(x.name, func(t *testing.T) { x.test(t, s) })
			}
		})
	}
}

func testVariables(t *testing.T, s *sqlServer) {
	src := newVariables(s.l, s.t)
	got := mustRead(t, src)
	for _, n := range []string{
		"max_connections", "innodb_buffer_pool_size", "log_bin",
		"slow_query_log", "long_query_time",
	} {
		if v, want := value(t, got, "mysql_global_variables_"+n), s.num(t, "SELECT @@global."+n); v != want {
			t.Errorf("%s: got %v, want %v", n, v, want)
		}
	}
	if v := value(t, got, "mysql_version_info", "version", s.t.Facts().Raw); v != 1 {
		t.Errorf("version: %v", v)
	}
	value(t, got, "mysql_transaction_isolation", "level", "REPEATABLE-READ")
	if e := src.Events(); len(e) != 0 {
		t.Fatalf("events of the first reading: %v", e)
	}
	was := s.num(t, "SELECT @@global.max_connections")
	s.Exec(t, "SET GLOBAL max_connections=77", "SET GLOBAL long_query_time=3.5")
	got = mustRead(t, src)
	e := src.Events()
	if len(e) != 2 || e[0].Kind != event.Config || e[1].Text != fmt.Sprintf("max_connections %v → 77", was) ||
		!strings.HasPrefix(e[0].Text, "long_query_time 10") ||
		e[0].At.UnixMilli() != got[0].At || value(t, got, "mysql_global_variables_max_connections") != 77 {
		t.Fatalf("events %+v", e)
	}
	if e := src.Events(); len(e) != 0 {
		t.Fatalf("told twice: %v", e)
	}
	// moves the GTIDs
	s.Exec(t, "CREATE DATABASE v", "CREATE TABLE v.t (id INT)", "INSERT INTO v.t VALUES (1)", "DROP DATABASE v")
	mustRead(t, src)
	if e := src.Events(); len(e) != 0 {
		t.Fatalf("working with the server made %v", e)
	}
}

// testEvents brackets each counter between two readings of the test's own.
func testEvents(t *testing.T, s *sqlServer) {
	files := mustRead(t, newFiles(s.l, s.t))
	n := 0
	for _, x := range files {
		if strings.HasPrefix(x.Labels.Get("file_name"), s.Dir) && x.Labels.Get("mode") == "read" &&
			x.Name == "mysql_perf_schema_file_instances_bytes" && x.Value > 0 {
			n++
		}
	}
	if n == 0 {
		t.Errorf("no file that was read: %v", files)
	}
	const q = "SELECT %s FROM performance_schema.%s WHERE EVENT_NAME='wait/io/file/innodb/innodb_data_file'"
	for _, x := range []struct {
		src           scrape.Source
		metric, label string
		expr, table   string
	}{
		{
			newWaits(s.l, s.t), "mysql_perf_schema_events_waits_total", "", "COUNT_STAR",
			"events_waits_summary_global_by_event_name",
		},
		{
			newWaits(s.l, s.t), "mysql_perf_schema_events_waits_seconds_total", "", "SUM_TIMER_WAIT/1e12",
			"events_waits_summary_global_by_event_name",
		},
		{
			newFileIO(s.l, s.t), "mysql_perf_schema_file_events_total", "write", "COUNT_WRITE",
			"file_summary_by_event_name",
		},
		{
			newFileIO(s.l, s.t), "mysql_perf_schema_file_events_bytes_total", "read", "SUM_NUMBER_OF_BYTES_READ",
			"file_summary_by_event_name",
		},
		{
			newFileIO(s.l, s.t), "mysql_perf_schema_file_events_seconds_total", "misc", "SUM_TIMER_MISC/1e12",
			"file_summary_by_event_name",
		},
	} {
		low := s.num(t, fmt.Sprintf(q, x.expr, x.table))
		got := mustRead(t, x.src)
		high := s.num(t, fmt.Sprintf(q, x.expr, x.table))
		labels := []string{"event_name", "wait/io/file/innodb/innodb_data_file"}
		if x.label != "" {
			labels = append(labels, "mode", x.label)
		}
		if v := value(t, got, x.metric, labels...); v < low*0.9999 || v > high*1.0001 ||
			high == 0 && x.label != "write" {
			// MariaDB writes data files with functions that are not counted
			t.Errorf("%s %s: got %v, the server went from %v to %v", x.metric, x.label, v, low, high)
		}
	}
}

func testTableIO(t *testing.T, s *sqlServer) {
	s.Exec(t, "CREATE DATABASE io", "CREATE TABLE io.a (id INT PRIMARY KEY, v INT, KEY (v)) ENGINE=InnoDB",
		"INSERT INTO io.a VALUES (1,1),(2,2),(3,3)", "UPDATE io.a SET v=9 WHERE id=2", "DELETE FROM io.a WHERE id=3",
		"SELECT id FROM io.a WHERE v=9")
	got := mustRead(t, newTableIO(s.l, s.t))
	for op, want := range map[string]float64{"insert": 3, "update": 1, "delete": 1} {
		if v := value(t, got, "mysql_perf_schema_table_io_waits_total", "schema", "io", "name", "a",
			"operation", op); v != want {
			t.Errorf("%s: got %v, want %v", op, v, want)
		}
		if v := value(t, got, "mysql_perf_schema_table_io_waits_seconds_total", "schema", "io", "name", "a",
			"operation", op); v <= 0 || v > 600 {
			t.Errorf("%s: %v seconds", op, v)
		}
	}
	if v := value(t, got, "mysql_perf_schema_index_io_waits_total", "schema", "io", "name", "a", "index", "v",
		"operation", "fetch"); v < 1 {
		t.Errorf("fetches through the index v: %v", v)
	}
	if v := value(t, got, "mysql_perf_schema_index_io_waits_total", "schema", "io", "name", "a", "index", "NONE",
		"operation", "insert"); v != 3 {
		t.Errorf("inserts through no index: %v", v)
	}
	for _, x := range got {
		if x.Labels.Get("schema") == "mysql" || x.Labels.Get("schema") == "performance_schema" {
			t.Fatalf("the server's own: %+v", x)
		}
	}
}

func testMemory(t *testing.T, s *sqlServer) {
	got := mustRead(t, newMemory(s.l, s.t))
	sum := 0.0
	for _, x := range got {
		if x.Name == "mysql_perf_schema_memory_events_used_bytes" {
			sum += x.Value
			if n := x.Labels.Get("event_name"); n == "" || strings.HasPrefix(n, "memory/innodb/") {
				t.Errorf("event %q", n)
			}
		}
	}
	if sum < 1<<20 {
		t.Errorf("all memory together: %v bytes", sum)
	}
	users := mustRead(t, newMemoryUsers(s.l, s.t))
	if v := value(t, users, "dyno_memory_user_bytes", "user", "root"); v <= 0 {
		t.Errorf("root has %v bytes", v)
	}
	value(t, users, "dyno_memory_user_bytes", "user", "background")
}

// testStages follows the advice that a source gives.
func testStages(t *testing.T, s *sqlServer) {
	s.Exec(t, "UPDATE performance_schema.setup_instruments SET ENABLED='NO' WHERE NAME LIKE 'stage/%'",
		"TRUNCATE performance_schema.events_stages_summary_global_by_event_name")
	src := newStages(s.l, s.t)
	_, err := read(t, src)
	p := problem(t, err, source.Missing)
	s.Exec(t, p.Fix, "CREATE DATABASE stages", "CREATE TABLE stages.t (id INT) ENGINE=InnoDB",
		"ALTER TABLE stages.t ADD v INT, ALGORITHM=COPY")
	n := 0
	for _, x := range mustRead(t, src) {
		if strings.HasPrefix(x.Labels.Get("event_name"), "stage/sql/") && x.Value > 0 {
			n++
		}
	}
	if n < 3 {
		t.Errorf("%d stages with time", n)
	}
	s.Exec(t, "UPDATE performance_schema.setup_consumers SET ENABLED='NO' WHERE NAME='global_instrumentation'",
		"TRUNCATE performance_schema.events_stages_summary_global_by_event_name")
	_, err = read(t, src)
	s.Exec(t, problem(t, err, source.Missing).Fix)
	if v := s.num(t, "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE NAME='global_instrumentation' "+
		"AND ENABLED='YES'"); v != 1 {
		t.Error("the fix did not switch the consumer on")
	}
}

func testBinlog(t *testing.T, s *sqlServer) {
	src := newBinlog(s.l, s.t)
	a := mustRead(t, src)
	s.Exec(t, "FLUSH BINARY LOGS")
	b := mustRead(t, src)
	for _, n := range []string{"mysql_binlog_files", "mysql_binlog_file_number"} {
		if value(t, b, n) != value(t, a, n)+1 {
			t.Errorf("%s: %v then %v", n, value(t, a, n), value(t, b, n))
		}
	}
	onDisk := func() (sum float64) {
		logs, err := os.ReadDir(s.Dir + "/data")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range logs {
			if i, err := f.Info(); err == nil && strings.HasPrefix(f.Name(), "b.0") &&
				!strings.HasSuffix(f.Name(), ".idx") {
				sum += float64(i.Size())
			}
		}
		return sum
	}
	var told, sum float64
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		// MariaDB notes in the new file, some time later, that the old one is no longer needed
		sum = onDisk()
		if told = value(t, mustRead(t, src), "mysql_binlog_size_bytes"); told == sum && sum > 0 {
			return
		}
	}
	t.Errorf("%v bytes, the files have %v", told, sum)
}

func testCompression(t *testing.T, s *sqlServer) {
	got := mustRead(t, newCompression(s.l, s.t))
	for _, size := range []string{"1024", "2048", "4096", "8192", "16384"} {
		value(t, got, "mysql_info_schema_innodb_cmp_compress_ops_total", "page_size", size)
		value(t, got, "mysql_info_schema_innodb_cmpmem_pages_free_total", "page_size", size, "buffer_pool", "0")
	}
}

func testUserstat(t *testing.T, s *sqlServer) {
	src := newUserstat(s.l, s.t)
	_, err := read(t, src)
	p := problem(t, err, source.Missing)
	if s.Flavor == "mysql" {
		if p.Fix != "" {
			t.Errorf("there is no way to %q", p.Fix)
		}
		return
	}
	s.Exec(t, p.Fix, "CREATE DATABASE us", "CREATE TABLE us.t (id INT PRIMARY KEY) ENGINE=InnoDB",
		"INSERT INTO us.t VALUES (1),(2),(3),(4)", "SELECT * FROM us.t FORCE INDEX (PRIMARY) ORDER BY id")
	got := mustRead(t, src)
	if v := value(t, got, "mysql_info_schema_table_statistics_rows_changed_total", "schema", "us",
		"table", "t"); v != 4 {
		t.Errorf("rows changed: %v", v)
	}
	if v := value(t, got, "mysql_info_schema_index_statistics_rows_read_total", "schema", "us", "table", "t",
		"index", "PRIMARY"); v != 4 {
		t.Errorf("rows read through the key: %v", v)
	}
	if v := value(t, got, "mysql_info_schema_user_statistics_rows_inserted_total", "user", "root"); v != 4 {
		t.Errorf("rows inserted by root: %v", v)
	}
	value(t, got, "mysql_info_schema_client_statistics_busy_seconds_total", "client", "localhost")
	s.Exec(t, "SET GLOBAL userstat=0")
	_, err = read(t, src)
	problem(t, err, source.Missing)
}

func testSizes(t *testing.T, s *sqlServer) {
	s.Exec(t, "CREATE DATABASE `big-one`", "CREATE TABLE `big-one`.`ä'b` (id INT PRIMARY KEY AUTO_INCREMENT, v "+
		"VARCHAR(500), KEY (v(100))) ENGINE=InnoDB",
		"CREATE TABLE `big-one`.parts (id INT PRIMARY KEY, v VARCHAR(500)) ENGINE=InnoDB PARTITION BY HASH (id) "+
			"PARTITIONS 3",
		"INSERT INTO `big-one`.`ä'b` (v) VALUES (REPEAT('x',500))")
	for range 12 {
		s.Exec(t, "INSERT INTO `big-one`.`ä'b` (v) SELECT v FROM `big-one`.`ä'b`")
	}
	s.Exec(t, "FLUSH TABLES", "ANALYZE TABLE `big-one`.`ä'b`")
	got := mustRead(t, newSizes(s.l, s.t))
	dir := s.Dir + "/data/big@002done/"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var single string
	var parts, all float64
	for _, f := range files {
		i, err := f.Info()
		if err != nil || !strings.HasSuffix(f.Name(), ".ibd") {
			continue
		}
		all++
		if strings.HasPrefix(f.Name(), "parts") {
			parts += float64(i.Size())
		} else {
			single = f.Name()
		}
	}
	if all != 4 {
		t.Fatalf("files %v", files)
	}
	i, err := os.Stat(dir + single)
	if err != nil {
		t.Fatal(err)
	}
	name := "big@002done/" + strings.TrimSuffix(single, ".ibd")
	if _, ok := find(got, "mysql_info_schema_innodb_tablespace_file_size_bytes", "tablespace_name", name); !ok {
		// MySQL 8 writes the names as they are
		name = "big-one/ä'b"
	}
	if v := value(t, got, "mysql_info_schema_innodb_tablespace_file_size_bytes", "tablespace_name",
		name); v != float64(i.Size()) || v < 2<<20 {
		t.Errorf("the file has %d bytes, not %v", i.Size(), v)
	}
	found := false
	for _, n := range []string{"big@002done/parts", "big-one/parts"} {
		if x, ok := find(got, "mysql_info_schema_innodb_tablespace_file_size_bytes", "tablespace_name", n); ok {
			found = true
			if x.Value != parts {
				t.Errorf("the partitions have %v bytes together, not %v", parts, x.Value)
			}
		}
	}
	if !found {
		t.Error("no partitioned table")
	}
	if v := value(t, got, "mysql_info_schema_table_size", "schema", "big-one", "table", "ä'b", "component",
		"data_length"); v < 1<<20 {
		t.Errorf("data: %v", v)
	}
	if v := value(t, got, "mysql_info_schema_table_size", "schema", "big-one", "table", "ä'b", "component",
		"index_length"); v < 100<<10 {
		t.Errorf("index: %v", v)
	}
	if v := value(t, got, "mysql_info_schema_table_rows", "schema", "big-one", "table", "ä'b"); v < 2000 || v > 8000 {
		t.Errorf("rows: %v of 4096", v)
	}
	if v, n := value(t, got, "dyno_tablespace_bytes"), value(t, got, "dyno_tablespaces"); v < float64(i.Size())+parts ||
		n < 4 {
		t.Errorf("all: %v bytes in %v", v, n)
	}
	s.Exec(t, "DROP DATABASE `big-one`")
}

func testInnodbStatus(t *testing.T, s *sqlServer) {
	src := newInnodbStatus(s.l, s.t)
	got := mustRead(t, src)
	if _, ok := find(got, "dyno_innodb_last_deadlock_timestamp_seconds"); ok {
		t.Fatal("a deadlock before there was one")
	}
	s.Exec(t, "CREATE DATABASE dl", "CREATE TABLE dl.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
		"INSERT INTO dl.t VALUES (1,1),(2,2)")
	a, b := s.conn(t), s.conn(t)
	exec(t, a, "BEGIN", "UPDATE dl.t SET v=2 WHERE id=1")
	exec(t, b, "BEGIN", "UPDATE dl.t SET v=2 WHERE id=2")
	done := make(chan error, 2)
	go func() { _, err := a.ExecContext(t.Context(), "UPDATE dl.t SET v=3 WHERE id=2"); done <- err }()
	wait(t, "a waiting transaction in the text", func() bool {
		got = mustRead(t, src)
		return value(t, got, "dyno_innodb_transactions", "state", "lock_wait") == 1
	})
	if v := value(t, got, "dyno_innodb_transactions", "state", "active"); v < 2 {
		t.Errorf("active: %v", v)
	}
	if v := value(t, got, "dyno_innodb_row_locks"); v < 3 {
		t.Errorf("row locks: %v", v)
	}
	began := time.Now()
	go func() { _, err := b.ExecContext(t.Context(), "UPDATE dl.t SET v=3 WHERE id=1"); done <- err }()
	if err1, err2 := <-done, <-done; (err1 == nil) == (err2 == nil) {
		t.Fatalf("no deadlock: %v, %v", err1, err2)
	}
	exec(t, a, "ROLLBACK")
	exec(t, b, "ROLLBACK")
	x := innodbStatus{q: s.l, acc: s.t, sql: src.sql, labels: map[string]metric.Labels{}, since: map[string]happened{}}
	now := time.Now().UnixMilli()
	var first float64
	if err := x.Scrape(t.Context(), now, func(m metric.Sample) {
		if m.Name == "dyno_innodb_last_deadlock_timestamp_seconds" {
			first = m.Value
		}
	}); err != nil {
		t.Fatal(err)
	}
	if d := first - float64(began.Unix()); d < -3 || d > time.Since(began).Seconds()+3 {
		t.Errorf("the deadlock was at %v, %v s from the real one", first, d)
	}
	var st state.State
	x.Fill(&st)
	if !strings.Contains(st.EngineStatus, "LATEST DETECTED DEADLOCK") ||
		!strings.Contains(st.EngineStatus, "UPDATE dl.t SET v=3") {
		t.Errorf("text %.300s", st.EngineStatus)
	}
	if lsn := value(t, mustRead(t, src), "dyno_innodb_lsn_bytes_total"); lsn < 10000 {
		t.Errorf("lsn %v", lsn)
	}
}

func (s *sqlServer) conn(t *testing.T) *sql.Conn {
	t.Helper()
	c, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func exec(t *testing.T, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// testSwitchedOn has somebody switch a counter on.
func testSwitchedOn(t *testing.T, s *sqlServer) {
	src := newInnodbMetrics(s.l, s.t, new(moment))
	mustRead(t, src)
	s.Exec(t, "SET GLOBAL innodb_monitor_enable='icp_attempts'")
	defer s.Exec(t, "SET GLOBAL innodb_monitor_disable='icp_attempts'")
	mustRead(t, src)
	// learned of in the reading before
	value(t, mustRead(t, src), "mysql_info_schema_innodb_metrics_icp_icp_attempts_total")
}

// testDenied takes the advice of each source that is denied, and is then let in.
func testDenied(t *testing.T, s *sqlServer) {
	s.Exec(t, "CREATE USER poor@localhost")
	p := connect(t, s.Server, "poor")
	sources := []scrape.Source{
		newWaits(p.l, p.t), newTableIO(p.l, p.t), newInnodbStatus(p.l, p.t), newCompression(p.l, p.t),
		newSizes(p.l, p.t), newReplication(p.l, p.t), newBinlog(p.l, p.t), newInnodbMetrics(p.l, p.t, new(moment)),
	}
	if s.Flavor == "mysql" {
		sources = append(sources, newMemory(p.l, p.t), newGroupReplication(p.l, p.t))
	}
	for _, src := range sources {
		_, err := read(t, src)
		if s.Flavor == "mariadb" && err == nil { // some of its tables are open to all
			continue
		}
		x := problem(t, err, source.Denied)
		if !strings.HasPrefix(x.Fix, "GRANT ") || !strings.Contains(x.Fix, "poor") {
			t.Fatalf("%s: advice %q", src.Name(), x.Fix)
		}
		s.Exec(t, x.Fix)
		p.l.Close() // privileges on all schemas take effect with a new connection
		if _, err := read(t, src); err != nil {
			t.Errorf("%s: after %s: %v", src.Name(), x.Fix, err)
		}
		s.Exec(t, strings.Replace(strings.Replace(x.Fix, "GRANT ", "REVOKE ", 1), " TO ", " FROM ", 1))
		p.l.Close()
		if _, err := read(t, src); err == nil {
			t.Errorf("%s: still reads without the privilege", src.Name())
		}
	}
	if _, err := read(t, newVariables(p.l, p.t)); err != nil {
		t.Errorf("everybody may read variables: %v", err)
	}
	s.Exec(t, "DROP USER poor@localhost")
}

func testRestart(t *testing.T, s *sqlServer) {
	src := newGlobalStatus(s.l, s.l, s.t, false)
	for range 5 { // connections of the first life
		s.Exec(t, "SELECT 1")
	}
	mustRead(t, src)
	mustRead(t, src)
	if e := src.Events(); len(e) != 0 {
		t.Fatalf("events without a restart: %v", e)
	}
	s.Kill(t)
	if _, err := read(t, src); err == nil {
		t.Fatal("a dead server answered")
	}
	s.Launch(t)
	mustRead(t, src)
	e := src.Events()
	if len(e) != 1 || e[0].Kind != event.Restart || !strings.Contains(e[0].Text, "started again") {
		t.Fatalf("events %+v", e)
	}
	mustRead(t, src)
	if e := src.Events(); len(e) != 0 {
		t.Fatalf("told twice: %v", e)
	}
}

// testLatency: of quick statements and a tenth of slow ones the median is quick and the 95th percentile slow.
func testLatency(t *testing.T, s *sqlServer) {
	src := newLatency(s.l, s.t)
	if s.t.Facts().Flavor == "mariadb" {
		if got := mustRead(t, src); len(got) != 0 {
			t.Errorf("MariaDB gives %v", got)
		}
		return
	}
	if first := mustRead(t, src); len(first) != 0 {
		t.Errorf("of the time before the first reading there are %v", first)
	}
	statements := []string{}
	for i := range 200 {
		if statements = append(statements, "DO 1"); i%8 == 0 {
			statements = append(statements, "DO SLEEP(0.05)")
		}
	}
	s.Exec(t, statements...)
	got := mustRead(t, src)
	of := func(q string) float64 { return value(t, got, "dyno_statement_latency_seconds", "quantile", q) }
	if m, p95, p99 := of("0.5"), of("0.95"), of("0.99"); len(got) != 3 || m <= 0 || m >= 0.05 ||
		p95 < 0.05 || p99 < p95 {
		t.Errorf("median %v, 95 %% %v, 99 %% %v", m, p95, p99)
	}
}
