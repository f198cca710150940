package digestsource

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/internal/class"
	"dyno/internal/known"
	"dyno/internal/sqltext"
)

const mysqlLog = `/usr/sbin/mysqld, Version: 9.7.0 (Source distribution). started with:
Tcp port: 3306  Unix socket: /s
Time                 Id Command    Argument
# Time: 2026-11-21T07:33:34.123456Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     5
# Query_time: 0.500000  Lock_time: 0.000001 Rows_sent: 2  Rows_examined: 1000
use shop;
SET timestamp=1795246414;
SELECT *
# not a comment of the log
FROM orders WHERE note='# Time: x';
# Time: 2026-11-21T07:33:35.000000Z
# User@Host: app[app] @ [10.0.0.2]  Id:     6
# Query_time: 1.500000  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 10
SET timestamp=1795246415;
UPDATE orders SET a=1;
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     5
# Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795246416;
# administrator command: Quit;
# User@Host: dyno[dyno] @ localhost []  Id:     7
# Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795246416;
/* dyno:scrape */ SELECT 1;
# Time: 2026-11-21T07:33:36.000000Z
# User@Host: app[app] @ web1 [10.0.0.1]  Id:     5
`

const mariadbLog = `# Time: 261121  7:33:34
# User@Host: root[root] @ localhost []
# Thread_id: 5  Schema: shop  QC_hit: No
# Query_time: 0.250000  Lock_time: 0.000045  Rows_sent: 1  Rows_examined: 7
# Rows_affected: 3  Bytes_sent: 1234
# Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
#
# explain: id	select_type	table
SET timestamp=1795246414.5;
select count(*) from orders;
# User@Host: root[root] @ localhost []
# Thread_id: 6  Schema:   QC_hit: No
# Query_time: 0.750000  Lock_time: 0.000045  Rows_sent: 1  Rows_examined: 8
# Rows_affected: 0  Bytes_sent: 1
# Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
SET timestamp=1795246415;
select count(*) from orders;
`

func parse(t *testing.T, log, schema string) (list []entry) {
	t.Helper()
	if err := parseSlowLog(strings.NewReader(log), schema, func(e entry) { list = append(list, e) }); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestParseMySQL(t *testing.T) {
	es := parse(t, mysqlLog, "before")
	if len(es) != 4 {
		t.Fatalf("%d entries: %+v", len(es), es)
	}
	e := es[0]
	if e.sql != "SELECT *\n# not a comment of the log\nFROM orders WHERE note='# Time: x'" || e.schema != "shop" || e.user != "app" || e.host != "web1" ||
		e.sec != 0.5 || e.sent != known.Of(uint64(2)) || e.examined != known.Of(uint64(1000)) || e.affected.OK() || e.at.Unix() != 1795246414 {
		t.Errorf("%+v", e)
	}
	if e := es[1]; e.sql != "UPDATE orders SET a=1" || e.schema != "shop" || e.host != "10.0.0.2" || e.sec != 1.5 {
		t.Errorf("%+v", e)
	}
	if e := es[2]; e.sql != "administrator command: Quit" || sqltext.Fingerprint(e.sql) != e.sql {
		t.Errorf("%+v", e)
	}
	// From the middle, the database is the one of before.
	if es := parse(t, mysqlLog[strings.Index(mysqlLog, "# Time: 2026-11-21T07:33:35"):], "before"); len(es) != 3 || es[0].schema != "before" {
		t.Errorf("%+v", es)
	}
}

func TestParseMariaDB(t *testing.T) {
	es := parse(t, mariadbLog, "")
	if len(es) != 2 {
		t.Fatalf("%+v", es)
	}
	if e := es[0]; e.sql != "select count(*) from orders" || e.schema != "shop" || e.affected != known.Of(uint64(3)) || e.fullScan != known.Of(uint64(1)) ||
		e.fullJoin != known.Of(uint64(0)) || e.at != time.UnixMicro(1795246414500000) {
		t.Errorf("%+v", e)
	}
	if e := es[1]; e.schema != "" || e.sec != 0.75 {
		t.Errorf("%+v", e)
	}
}

func TestParseBearsAnything(t *testing.T) {
	f := func(log string, want int) {
		t.Helper()
		if got := len(parse(t, log, "")); got != want {
			t.Errorf("%q: %d entries, want %d", log, got, want)
		}
	}
	f("", 0)
	f("\n\n#\n# \n", 0)
	f("SELECT 1;\n", 0)
	f("# Time: x\n# User@Host: \n# Query_time: abc\nSELECT 1;\n", 0)
	f("# User@Host: a[a] @ b []\n# Query_time: -1 Lock_time: x\nSELECT 1;\n", 0)
	f("# User@Host: a[a] @ b []\n# Query_time: 1\nSELECT 1", 1)
	f("# User@Host: a[a] @ b []\r\n# Query_time: 1\r\nSET timestamp=1;\r\nSELECT 1;\r\n", 1)
	f("# User@Host: a[a] @ b []\n# Query_time: 1\nSELECT '"+strings.Repeat("x", 3<<20)+"';\n# User@Host: a[a] @ b []\n# Query_time: 1\nSELECT 2;\n", 2)
	for i := range len(mysqlLog) { // cut off anywhere
		parse(t, mysqlLog[:i], "")
		parse(t, mysqlLog[i:], "")
	}
}

func TestSinceReadsNewBytesOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	write := func(s string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	cut := strings.Index(mysqlLog, "# Time: 2026-11-21T07:33:35")
	write(mysqlLog[:cut])
	l := &slowLog{path: path}
	if err := l.mark(); err != nil {
		t.Fatal(err)
	}
	if cs, note, err := l.since(nil); err != nil || note != "" || len(cs) != 0 {
		t.Errorf("%+v %q %v", cs, note, err)
	}
	write(mysqlLog[cut:])
	cs, note, err := l.since(nil)
	if err != nil || note != "" || len(cs) != 2 { // Dyno's own is out
		t.Fatalf("%+v %q %v", cs, note, err)
	}
	for _, c := range cs {
		if c.Schema != "shop" || c.Origin != class.SlowLog || c.Count != 1 {
			t.Errorf("%+v", c)
		}
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(mariadbLog)
	if cs, note, err := l.since(nil); err != nil || !strings.Contains(note, "rotated") || len(cs) != 2 {
		t.Errorf("%+v %q %v", cs, note, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.since(nil); err == nil {
		t.Error("a log that is gone was read")
	}
}

func TestGroupingSums(t *testing.T) {
	g := newGrouping(map[string]bool{key("select own"): true})
	for _, e := range parse(t, mariadbLog, "shop") {
		e.schema = "shop"
		g.add(e)
	}
	g.add(entry{sec: 1, sql: "SELECT own"})
	cs := g.list()
	if len(cs) != 1 {
		t.Fatalf("%+v", cs)
	}
	c := cs[0]
	if c.Count != 2 || c.TimeSec != 1 || c.MaxSec != known.Of(0.75) || c.RowsSent != known.Of(uint64(2)) || c.Examined != known.Of(uint64(15)) || c.Affected != known.Of(uint64(3)) ||
		c.FullScans != known.Of(uint64(2)) || c.FirstSeen.Unix() != 1795246414 || c.LastSeen.Unix() != 1795246415 {
		t.Errorf("%+v", c)
	}
	if p := c.P95Sec.Or(0); p < 0.74 || p > 0.76 {
		t.Errorf("95 %%: %v", p)
	}
}
