package digestsource

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
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

// dynos are the sessions of Dyno's account in these logs.
func dynos(_ uint64, user, host string) bool { return user == "dyno" && host == "localhost" }

// grouped digests all of a log; own are statements that Dyno sends without a tag.
func grouped(t *testing.T, log string, own ...string) *grouping {
	t.Helper()
	m := map[string]uint64{}
	for _, q := range own {
		m[class.Key(mytext.Fingerprint(q))] = 1
	}
	g := newGrouping(ownLog{owns: dynos, sent: m})
	if err := g.read(strings.NewReader(log), 0, int64(len(log))); err != nil {
		t.Fatal(err)
	}
	return g
}

func logged(t *testing.T, g *grouping, schema, sql string) class.Class {
	t.Helper()
	list, _, _ := g.list()
	for _, c := range list {
		if c.Schema == schema && c.Fingerprint == mytext.Fingerprint(sql) {
			return c
		}
	}
	t.Fatalf("no class of %s in %s: %+v", sql, schema, list)
	return class.Class{}
}

func TestClassesOfALog(t *testing.T) {
	g := grouped(t, mysqlLog)
	c := logged(t, g, "shop", "SELECT *\n# not a comment of the log\nFROM orders WHERE note='# Time: x'")
	if c.Example != "SELECT *\n# not a comment of the log\nFROM orders WHERE note='# Time: x'" ||
		c.Origin != class.SlowLog || c.Count != 1 || c.TimeSec != 0.5 ||
		c.RowsSent != known.Of(uint64(2)) || c.Examined != known.Of(uint64(1000)) || c.Affected.OK() ||
		c.FirstSeen.Unix() != 1795246414 ||
		len(c.Users) != 1 || c.Users[0] != "app" || len(c.Hosts) != 1 || c.Hosts[0] != "web1" {
		t.Errorf("%+v", c)
	}
	if c := logged(t, g, "shop", "UPDATE orders SET a=1"); c.Hosts[0] != "10.0.0.2" || c.MaxSec != known.Of(1.5) {
		t.Errorf("%+v", c)
	}
	logged(t, g, "shop", "administrator command: Quit")
	if list, more, _ := g.list(); len(list) != 3 || more != 0 || list[0].TimeSec < list[1].TimeSec {
		// Dyno's own is out
		t.Errorf("%+v", list)
	}
	if n := g.skipped(); n != 1 { // the entry that is cut off
		t.Errorf("%d parts were skipped", n)
	}
}

func TestClassesSumUp(t *testing.T) {
	g := grouped(t, mariadbLog+strings.ReplaceAll(mariadbLog, "Schema:  ", "Schema: shop "))
	c := logged(t, g, "shop", "select count(*) from orders")
	if c.Count < 2 || c.LockSec != known.Of(float64(c.Count)*0.000045) || c.FullScans != known.Of(c.Count) ||
		c.FullJoins != known.Of(uint64(0)) ||
		c.FirstSeen.Unix() != 1795246414 || c.LastSeen.Unix() != 1795246415 {
		t.Errorf("%+v", c)
	}
	if p, ok := c.P95Sec.Get(); !ok || p < 0.24 || p > 0.76 {
		t.Errorf("95 %%: %v", p)
	}
}

func TestOwnEntriesAreLeftOut(t *testing.T) {
	entry := func(user, sql string) string {
		return "# User@Host: " + user + "[" + user + "] @ localhost []\n# Query_time: 1.0  Lock_time: 0.0 Rows_sent: " +
			"1  Rows_examined: 1\nSET timestamp=1795246415;\n" + sql + ";\n"
	}
	const login = "SET lock_wait_timeout=5, time_zone='+00:00'"
	g := grouped(t, entry("dyno", login)+entry("dyno", "/* dyno:x */ SELECT 1")+entry("dyno", "SELECT @@version")+
		entry("tenant", login)+entry("tenant", "/* dyno:x */ SELECT 2, 3"), login)
	list, _, _ := g.list()
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	logged(t, g, "", "SELECT @@version")
	logged(t, g, "", login)
	logged(t, g, "", "SELECT 2, 3")
	rep := g.report()
	if rep.Global.Filtered != 2 || rep.Global.Count != 3 {
		t.Errorf("%+v", rep.Global)
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
	l := &slowLog{path: path, open: func() (*os.File, error) { return os.Open(path) }}
	if err := l.mark(); err != nil {
		t.Fatal(err)
	}
	since := func() ([]class.Class, string, error) {
		g, note, err := l.since(ownLog{owns: dynos})
		cs, _, _ := g.list()
		return cs, note, err
	}
	if cs, note, err := since(); err != nil || note != "" || len(cs) != 0 {
		t.Errorf("%+v %q %v", cs, note, err)
	}
	write(mysqlLog[cut:])
	cs, note, err := since()
	if err != nil || !strings.Contains(note, "1 parts") || len(cs) != 2 { // Dyno's own is out
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
	if cs, note, err := since(); err != nil || !strings.Contains(note, "rotated") || len(cs) != 4 {
		// the rest of the old log's and the new one's
		t.Errorf("%+v %q %v", cs, note, err)
	}
	if err := l.mark(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(mysqlLog[cut:])
	if cs, note, err := since(); err != nil || !strings.Contains(note, "truncated") || len(cs) != 2 {
		t.Errorf("%+v %q %v", cs, note, err)
	}
	l.close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := since(); err == nil {
		t.Error("a log that is gone was read")
	}
}

// TestLogOfManyClasses: whoever can write to the log makes a class of each line, in many databases; no more are held
// than are told.
func TestLogOfManyClasses(t *testing.T) {
	var b strings.Builder
	for i := range 8 * maxClasses {
		fmt.Fprintf(&b, "# Time: 260301 10:00:00\n# User@Host: u[u] @ h []\n# Query_time: 0.1  Lock_time: 0  "+
			"Rows_sent: 1  Rows_examined: 1\nuse d%d;\nselect %s;\n", i%50, strings.Map(func(r rune) rune {
			return r - '0' + 'a'
		}, fmt.Sprintf("%06d", i)))
	}
	g := newGrouping(ownLog{owns: func(uint64, string, string) bool { return false }})
	if err := g.read(strings.NewReader(b.String()), 0, int64(b.Len())); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, a := range g.schemas {
		_, classes := a.Classes(digest.Options{})
		for range classes {
			held++
		}
	}
	list, more, unnamed := g.list()
	if held > 4*maxClasses+len(g.schemas) || len(list) != maxClasses || more == 0 || unnamed < 3*maxClasses {
		t.Errorf("%d classes of %d databases are held, %d told and %d not, and %d statements", held, len(g.schemas),
			len(list), more, unnamed)
	}
	g.of("late").Add(nil, &slowlog.Entry{SQL: []byte("select mine"), DB: []byte("late")}, 0)
	if late := g.schemas["late"].Report(digest.Options{}); len(late.Classes) != 1 ||
		late.Classes[0].Fingerprint == digest.Others {
		t.Errorf("a database that came late has %+v", late.Classes)
	}
	if n := g.report().Global.Count; n != 8*maxClasses+1 {
		t.Errorf("%d statements are reported", n)
	}
}
