package digest_test

import (
	"fmt"
	"strings"
	"time"
)

// begin is when made logs begin.
var begin = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// entry is one statement of a made log, in the words of MySQL 8.
type entry struct {
	at      time.Time // end of the statement; begin if zero
	seconds float64   // Query_time; 0.5 if zero
	user    string
	db      string
	sql     string
}

func (e entry) String() string {
	if e.at.IsZero() {
		e.at = begin
	}
	if e.seconds == 0 {
		e.seconds = 0.5
	}
	if e.user == "" {
		e.user = "app"
	}
	use := ""
	if e.db != "" {
		use = "use " + e.db + ";\n"
	}
	return fmt.Sprintf("# Time: %s\n# User@Host: %s[%s] @ web [10.0.0.3]  Id:    12\n# Query_time: %.6f  Lock_time: "+
		"0.000100 Rows_sent: 1  Rows_examined: 10\n%sSET timestamp=%d;\n%s;\n",
		e.at.UTC().Format("2006-01-02T15:04:05.000000Z"), e.user, e.user, e.seconds, use, e.at.Unix(), e.sql)
}

// banner is what a server writes when it opens its log.
const banner = "/usr/sbin/mysqld, Version: 8.0.33 (Source distribution). started with:\nTcp port: 3306  Unix socket: " +
	"/tmp/mysql.sock\nTime                 Id Command    Argument\n"

// steady returns n entries of a few classes, one each second from from on.
func steady(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		tables := []string{"orders", "customers", "items", "stock"}
		fmt.Fprint(&b, entry{
			at: begin.Add(time.Duration(i) * time.Second), seconds: 0.001 * float64(1+i%97), db: "shop",
			sql: fmt.Sprintf("SELECT * FROM %s WHERE id = %d AND name = 'n%d'", tables[i%len(tables)], i, i),
		})
	}
	return b.String()
}
