package slowlog

import (
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	f := func(head string, want Kind) {
		t.Helper()
		if got := Sniff([]byte(head)); got != want {
			t.Errorf("%.60q: got %v, want %v", head, got, want)
		}
	}
	banner := "/usr/sbin/mysqld, Version: 8.0.33 (x). started with:\nTcp port: 3306  Unix socket: /s\nTime           " +
		"      Id Command    Argument\n"
	f("", Empty)
	f("\n \n\x00\x00", Empty)
	f(one("select 1;\n"), SlowLog)
	f("garbage\n"+one("select 1;\n"), SlowLog)
	f("ere id = 1;\n"+one("select 1;\n"), SlowLog)
	f("\xef\xbb\xbf"+one("select 1;\n"), SlowLog)
	f(banner+one("select 1;\n"), SlowLog)
	f(banner, SlowLog)
	f("# administrator command: Quit;\n# Query_time: 1\nselect 1;\n", SlowLog)
	f(banner+"2026-11-21T07:33:34.123456Z\t    8 Query\tselect 1\n", GeneralLog)
	f("071015 21:43:52\t      1 Query       select 1\n", GeneralLog)
	f("\t\t     5 Query\tselect 1\n", GeneralLog)
	f("\xfebin\x00\x01", BinaryLog)
	f("2026-11-21T07:33:34.123456Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 8.0.33) starting as "+
		"process 1\n", ErrorLog)
	f("2026-11-21  7:33:34 0 [Note] mariadbd: ready for connections.\n", ErrorLog)
	f("261121 07:33:34 mysqld_safe Starting mysqld daemon\n", ErrorLog)
	f("2026-11-21 07:33:34.123 UTC [123] LOG:  duration: 12.3 ms  statement: select 1\n", PostgreSQL)
	f("-- MySQL dump 10.13\n", SQLDump)
	f("/*M!999999\\- enable the sandbox mode */\n-- MariaDB dump 10.19\n", SQLDump)
	f("\x1f\x8b\x08\x00", Compressed)
	f("\x28\xb5\x2f\xfd\x04", Compressed)
	f("#!/bin/sh\necho\n", Unknown)
	f("{\"a\": 1}\n", Unknown)
	f(strings.Repeat("x", 1000), Unknown)
	for k := Unknown; k <= Compressed; k++ {
		if s := k.String(); s == "" || !strings.HasPrefix(s, "a") {
			t.Errorf("%d is called %q", k, s)
		}
	}
}
