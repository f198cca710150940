package slowlog

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

const noSQL = "not even sql;\nat all"

// statements are awkward to read back out of a log.
var statements = []string{
	"select 1",
	"select 'a;\nb;\n# c' as x,\n\t\"it's\"\n",
	"select '\n# Time: 2026-11-21T07:33:34.123456Z\n# User@Host: a[a] @ b []\n# Rows: 1'",
	"select '# Query_time: 5',\n\n2",
	"-- who\nselect 2",
	"/* who\nelse */ select 3",
	"select 4 /* five;\nsix */ + 1",
	"set @a = 'x\\'y;\n', @b = \"\\\\\"",
	"create table t (a int primary key, b blob)",
	"insert into t values (1, 'x\r\ny;\r\n'), (2, x'00ff'), (3, '\x01\x02\xc3\xa9')",
	"update t set b = concat(b, ';\nuse other;\nSET timestamp=5;\n') where a = 1",
	"create procedure p()\nbegin\n  declare x int;\n  select 1;\n  # done;\n# really done;\n  set x = 2;\nend",
	"select * from t where b like '%Tcp port: 3306%'\nand a > 0\norder by a",
	"use other",
	"select count(*) from (select 1 union select 2) u",
	"USE shop",
	"set timestamp=1000000000",
	"select now()",
	"set timestamp=default",
	"select missing from t",
	noSQL,
	"kill query 1",
	"do sleep(2.1)",
}

// TestRealLogs reads back every statement that a real server was sent, once and unchanged, from its slow log and its
// general log.
func TestRealLogs(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			settings := []string{
				"slow_query_log=1", "long_query_time=0", "slow_query_log_file=" + dir + "/slow",
				"general_log=1", "general_log_file=" + dir + "/general",
			}
			if flavor == "mariadb" {
				settings = append(settings, "log_slow_verbosity=full")
			} else {
				settings = append(settings, "log_slow_extra=1")
			}
			s := servers.Start(t, flavor, settings...)
			db := s.DB(t, "")
			db.SetMaxOpenConns(1)
			for _, q := range []string{"create database shop", "create database other", "use shop"} {
				if _, err := db.Exec(q); err != nil {
					t.Fatal(err)
				}
			}
			var before, after int
			count := func(n *int) {
				t.Helper()
				var name string
				if err := db.QueryRow("show global status like 'Slow_queries'").Scan(&name, n); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			count(&before)
			var want []string
			for _, q := range statements {
				if flavor == "mysql" && q == noSQL {
					continue // it logs nothing that it cannot parse, but counts it
				}
				db.Exec(q)                                      // some are wrong
				want = append(want, strings.TrimRight(q, "\n")) // as the servers do
			}
			slept := time.Now()
			count(&after)

			slow, err := os.ReadFile(dir + "/slow")
			if err != nil {
				t.Fatal(err)
			}
			p := NewParser()
			p.Reset(slow, 0, State{})
			var got []string
			entries, in := 0, false
			plans, figures, errno := 0, 0, 0
			for e := (Entry{}); p.Next(&e); {
				if string(e.SQL) == "show global status like 'Slow_queries'" {
					if in = !in; in { // the server logs the second one while we read
						entries++
					}
					continue
				}
				if !in {
					continue
				}
				entries++
				if e.Admin {
					continue
				}
				got = append(got, string(e.SQL))
				if e.Plan != nil {
					plans++
				}
				if e.Errno != 0 {
					errno++
				}
				figures = max(figures, len(e.Figures))
				if at := time.UnixMicro(e.At); !strings.HasPrefix(string(e.SQL), "select now") &&
					!strings.HasPrefix(string(e.SQL), "set timestamp") &&
					(at.Before(began.Add(-2*time.Second)) || at.After(time.Now().Add(2*time.Second))) {
					t.Errorf("%q ended at %v, began %v", e.SQL, at, began)
				}
				if off := time.UnixMicro(e.Began()).Sub(slept.Add(-2100 * time.Millisecond)).
					Abs(); string(e.SQL) == "do sleep(2.1)" && off > 1500*time.Millisecond {
					t.Errorf("a sleep of 2.1 s that ended at %v began at %v", slept, time.UnixMicro(e.Began()))
				}
				if string(e.User) != "root" || string(e.Host) != "localhost" || !e.HasID {
					t.Errorf("%q by %q@%q %d", e.SQL, e.User, e.Host, e.Thread)
				}
				if want := "shop"; !strings.HasPrefix(string(e.SQL), "select count(") && string(e.SQL) != "use other" &&
					string(e.SQL) != "USE shop" && string(e.DB) != want {
					t.Errorf("%q in %q", e.SQL, e.DB)
				}
			}
			if len(p.Skipped()) != 0 {
				t.Errorf("skipped: %v", p.Skipped())
			}
			if !same(got, want) {
				t.Errorf("slow log:\n got %q\nwant %q", got, want)
			}
			if after-before != entries {
				t.Errorf("the server counts %d statements, the log has %d", after-before, entries)
			}
			if flavor == "mariadb" && (plans < 3 || figures < 18) || flavor == "mysql" && (errno < 2 || figures < 20) {
				t.Errorf("%d plans, %d figures, %d errors", plans, figures, errno)
			}
			if k := Sniff(slow); k != SlowLog {
				t.Errorf("the slow log looks like %v", k)
			}

			general, err := os.ReadFile(dir + "/general")
			if err != nil {
				t.Fatal(err)
			}
			if k := Sniff(general); k != GeneralLog {
				t.Errorf("the general log looks like %v", k)
			}
			g := NewGeneralParser()
			g.Reset(general, 0, State{})
			got, in = nil, false
			for e := (Entry{}); g.Next(&e); {
				switch {
				case string(e.SQL) == "show global status like 'Slow_queries'":
					in = !in
				case in && !e.Admin:
					got = append(got, string(e.SQL))
				}
			}
			if !same(got, want) || len(g.Skipped()) != 0 {
				t.Errorf("general log:\n got %q\nwant %q\n%v", got, want, g.Skipped())
			}
		})
	}
}
