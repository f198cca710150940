package slowlog

import (
	"fmt"
	"testing"

	"github.com/dyno-perf/dyno/internal/attribute"
)

// Headers as the manuals and the servers' sources write them.
func TestDialects(t *testing.T) {
	f := func(name, log, want string) {
		t.Helper()
		p := NewParser()
		want = fmt.Sprintf("0+%d", len(log)) + want
		for range 2 { // the second time with what was learned
			got, skips := readAll(p, log, 0, State{}, true)
			if len(got) != 1 || got[0] != want || len(skips) != 0 {
				t.Errorf("%s:\n got %q %q\nwant %q", name, got, skips, want)
			}
		}
	}
	f("MySQL 9", `# Time: 2026-11-21T07:33:34.123456Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 0.000180  Lock_time: 0.000003 Rows_sent: 1  Rows_examined: 2
use shop;
SET timestamp=1795246414;
select 1;
`,
		` at 2026-11-21T07:33:34.123456 id 8 root@localhost db shop Query_time=0.00018 Lock_time=3e-06 Rows_sent=1 Rows_examined=2 Query_length=8 "select 1"`)

	f("MySQL 8 with log_slow_extra", `# Time: 2026-11-21T08:33:34.123456+01:00
# User@Host: root[root] @ web1 [10.0.0.1]  Id: 12
# Query_time: 2.500000  Lock_time: 0.000003 Rows_sent: 1  Rows_examined: 2 Thread_id: 12 Errno: 1317 Killed: 1317 Bytes_received: 9 Bytes_sent: 56 Read_first: 1 Read_last: 0 Read_key: 1 Read_next: 0 Read_prev: 0 Read_rnd: 0 Read_rnd_next: 4 Sort_merge_passes: 0 Sort_range_count: 0 Sort_rows: 0 Sort_scan_count: 0 Created_tmp_disk_tables: 1 Created_tmp_tables: 2 Start: 2026-11-21T08:33:31.623456+01:00 End: 2026-11-21T08:33:34.123456+01:00
SET timestamp=1795246411;
select sleep(9);
`,
		` at 2026-11-21T07:33:34.123456 id 12 root@web1 errno 1317 killed 1317 Query_time=2.5 Lock_time=3e-06 Rows_sent=1 Rows_examined=2 Bytes_received=9 Bytes_sent=56 Read_first=1 Read_last=0 Read_key=1 Read_next=0 Read_prev=0 Read_rnd=0 Read_rnd_next=4 Sort_merge_passes=0 Sort_range_count=0 Sort_rows=0 Sort_scan_count=0 Tmp_disk_tables=1 Tmp_tables=2 Query_length=15 "select sleep(9)"`)

	f("MariaDB 11 with all of log_slow_verbosity", "# Time: 261121  7:33:34\n# User@Host: app[app] @ web1 "+
		"[10.0.0.1]\n# Thread_id: 31  Schema: shop  QC_hit: No\n"+
		"# Query_time: 0.001400  Lock_time: 0.000100  Rows_sent: 3  Rows_examined: 40\n# Rows_affected: 0  "+
		"Bytes_sent: 120\n"+
		"# Tmp_tables: 1  Tmp_disk_tables: 0  Tmp_table_sizes: 126976\n# Full_scan: Yes  Full_join: No  Tmp_table: "+
		"Yes  Tmp_table_on_disk: No\n"+
		"# Filesort: Yes  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: Yes\n"+
		"# Pages_accessed: 7  Pages_read: 1  Pages_prefetched: 0  Pages_updated: 0  Old_rows_read: 0\n# "+
		"Pages_read_time: 0.0123  Engine_time: 0.5000\n"+
		"#\n# explain: id\tselect_type\ttable\n# explain: 1\tSIMPLE\titems\n#\nuse `shop`;\nSET "+
		"timestamp=1795246414.250000;\nselect 1\nfrom items;\n",
		` at 2026-11-21T07:33:34.25 id 31 app@web1 db shop QC_Hit=0 Query_time=0.0014 Lock_time=0.0001 Rows_sent=3 Rows_examined=40 Rows_affected=0 Bytes_sent=120 Tmp_tables=1 Tmp_disk_tables=0 Tmp_table_sizes=126976 Full_scan=1 Full_join=0 Tmp_table=1 Tmp_table_on_disk=0 Filesort=1 Filesort_on_disk=0 Merge_passes=0 Priority_queue=1 Pages_accessed=7 Pages_read=1 Pages_prefetched=0 Pages_updated=0 Old_rows_read=0 Pages_read_time=0.0123 Engine_time=0.5 Query_length=19 plan "# explain: id\tselect_type\ttable\n# explain: 1\tSIMPLE\titems" "select 1\nfrom items"`)

	f("Percona Server 5.7 and 8.0, full and sampled", `# Time: 2026-11-21T07:33:34.123456Z
# User@Host: app[app] @  [10.0.0.1]  Id:    77
# Schema: my shop  Last_errno: 1062  Killed: 0
# Query_time: 0.010000  Lock_time: 0.000100  Rows_sent: 0  Rows_examined: 4  Rows_affected: 0  Bytes_sent: 11
# Tmp_tables: 0  Tmp_disk_tables: 0  Tmp_table_sizes: 0
# InnoDB_trx_id: 1500
# Full_scan: No  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
# Filesort: No  Filesort_on_disk: No  Merge_passes: 0
#   InnoDB_IO_r_ops: 2  InnoDB_IO_r_bytes: 32768  InnoDB_IO_r_wait: 0.001000
#   InnoDB_rec_lock_wait: 0.000000  InnoDB_queue_wait: 0.000000
#   InnoDB_pages_distinct: 9
# Log_slow_rate_type: query  Log_slow_rate_limit: 10
SET timestamp=1795246414;
INSERT INTO t VALUES (1);
`,
		` at 2026-11-21T07:33:34.123456 id 77 app@10.0.0.1 db my shop rate 10 errno 1062 Query_time=0.01 Lock_time=0.0001 Rows_sent=0 Rows_examined=4 Rows_affected=0 Bytes_sent=11 Tmp_tables=0 Tmp_disk_tables=0 Tmp_table_sizes=0 Full_scan=0 Full_join=0 Tmp_table=0 Tmp_table_on_disk=0 Filesort=0 Filesort_on_disk=0 Merge_passes=0 InnoDB_IO_r_ops=2 InnoDB_IO_r_bytes=32768 InnoDB_IO_r_wait=0.001 InnoDB_rec_lock_wait=0 InnoDB_queue_wait=0 InnoDB_pages_distinct=9 Query_length=24 "INSERT INTO t VALUES (1)"`)

	f("Percona Server 5.1 without a database", `# User@Host: [SQL_SLAVE] @  []
# Thread_id: 10  Schema:   QC_Hit: No
# Query_time: 0.000530  Lock_time: 0.000027  Rows_sent: 0  Rows_examined: 0  Rows_affected: 1  Rows_read: 3
# No InnoDB statistics available for this query
SET last_insert_id=4,insert_id=34484549,timestamp=1197996507;
UPDATE foo.bar SET a = 1;
`,
		` at 2007-12-18T16:48:27 id 10 [SQL_SLAVE]@ QC_Hit=0 Query_time=0.00053 Lock_time=2.7e-05 Rows_sent=0 Rows_examined=0 Rows_affected=1 Rows_read=3 Query_length=24 "UPDATE foo.bar SET a = 1"`)

	f("MySQL 5.0: whole seconds, no SET", `# Time: 071015 21:43:52
# User@Host: root[root] @ localhost []
# Query_time: 2  Lock_time: 0  Rows_sent: 1  Rows_examined: 0
use test;
select sleep(2) from n;
`,
		` at 2007-10-15T21:43:52 root@localhost db test Query_time=2 Lock_time=0 Rows_sent=1 Rows_examined=0 Query_length=22 "select sleep(2) from n"`)

	f("an administrator command", `# Time: 2026-11-21T07:33:34.123456Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 0.000180  Lock_time: 0.000003 Rows_sent: 1  Rows_examined: 2
SET timestamp=1795246414;
# administrator command: Close stmt;
`,
		` at 2026-11-21T07:33:34.123456 id 8 root@localhost Query_time=0.00018 Lock_time=3e-06 Rows_sent=1 Rows_examined=2 Query_length=33 admin "Close stmt"`)

	f("lines that end in CR LF", "# Time: 2026-11-21T07:33:34.123456Z\r\n# User@Host: root[root] @ localhost []  Id: "+
		"    8\r\n# Query_time: 0.000180  Lock_time: 0.000003 Rows_sent: 1  Rows_examined: 2\r\n"+
		"use shop;\r\nSET timestamp=1795246414;\r\nselect 1\r\nfrom t;\r\n",
		` at 2026-11-21T07:33:34.123456 id 8 root@localhost db shop Query_time=0.00018 Lock_time=3e-06 Rows_sent=1 Rows_examined=2 Query_length=16 "select 1\r\nfrom t"`)

	f("MariaDB with warnings", "# User@Host: app[app] @ localhost []\n# Thread_id: 31  Schema: shop  QC_hit: No\n"+
		"# Query_time: 0.001400  Lock_time: 0.000100  Rows_sent: 3  Rows_examined: 40\n# Warnings\n# Warning 1366 "+
		"Incorrect integer value: 5 for column a\n# Note 1 Rows_sent: 9\n"+
		"SET timestamp=1795246414;\nselect 1;\n",
		` at 2026-11-21T07:33:34 id 31 app@localhost db shop QC_Hit=0 Query_time=0.0014 Lock_time=0.0001 Rows_sent=3 Rows_examined=40 Query_length=8 "select 1"`)

	f("attributes nobody knows yet", `# Time: 2026-11-21T07:33:34.123456Z
# User@Host: root[root] @ localhost []  Id: 8
# Query_time: 1  Lock_time: 0  Rows_dreamt: 3  Nap_time: 0.5  Lucky: Yes  Colour: blue
select 1;
`,
		` at 2026-11-21T07:33:34.123456 id 8 root@localhost Query_time=1 Lock_time=0 Rows_dreamt=3 Nap_time=0.5 Lucky=1 Query_length=8 "select 1"`)
}

func TestUnknownAttributes(t *testing.T) {
	p := NewParser()
	readAll(p, "# Query_time: 1  Rows_dreamt: 3  Nap_time: 0.5  Lucky: Yes  Dream_bytes: 1\nselect 1;\n", 0, State{},
		false)
	want := []attribute.Info{
		{Name: "Rows_dreamt", Key: "rows_dreamt", Label: "Rows dreamt", Unit: attribute.Count},
		{Name: "Nap_time", Key: "nap_time", Label: "Nap time", Unit: attribute.Seconds},
		{Name: "Lucky", Key: "lucky", Label: "Lucky", Unit: attribute.Flag},
		{Name: "Dream_bytes", Key: "dream_bytes", Label: "Dream bytes", Unit: attribute.Bytes},
	}
	got := p.Unknown()
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] || p.Info(FirstUnknown+Attribute(i)) != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
	if i := p.Info(QueryTime); i.Name != "Query_time" {
		t.Errorf("Query_time is %v", i)
	}
	if i := p.Info(FirstUnknown + 4); i != (attribute.Info{}) {
		t.Errorf("an attribute that was never met is %v", i)
	}
	// Garbage does not make attributes without end.
	log := "# Query_time: 1"
	for i := range 1000 {
		log += "  Word_" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ": 1"
	}
	entries, skips := readAll(p, log+"\nselect 1;\n", 0, State{}, false)
	if got = p.Unknown(); len(got) != maxUnknown || len(entries) != 1 || len(skips) != 0 {
		t.Errorf("%d attributes, %d entries", len(got), len(entries))
	}
}
