package logdigest

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// TestAdministratorRows has a server write rows of the statement before with a command that has none.
func TestAdministratorRows(t *testing.T) {
	head := "# Time: 2026-11-20T10:00:00.000000Z\n# User@Host: app[app] @ web []  Id: 5\n" +
		"# Query_time: 0.500000  Lock_time: 0.000100 Rows_sent: 3  Rows_examined: 10 Rows_affected: 4 Rows_read: 5 " +
		"Bytes_sent: 7\nSET timestamp=1795255200;\n"
	a := New(Config{})
	parse(t, a, slowlog.NewParser(), []byte(head+"SELECT 1;\n"+head+"# administrator command: Quit;\n"+head+"SELECT "+
		"1;\n"), 0)
	for _, c := range a.Report(digest.Options{}).Classes {
		for _, key := range []string{"rows_sent", "rows_examined", "rows_affected", "rows_read", "bytes_sent"} {
			f := c.Attributes[key]
			if admin := c.Item == "ADMIN QUIT"; (f.Sum == 0) != (admin && key != "bytes_sent") || f.Count != c.Count {
				t.Errorf("%s: %s is %+v", c.Item, key, f)
			}
		}
	}
}
