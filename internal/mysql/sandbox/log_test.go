package sandbox

import "testing"

func TestComplaint(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		if got := serverLog.Complaint(log); got != want {
			t.Errorf("%q\n got %q\nwant %q", log, got, want)
		}
	}
	f("", "")
	f(`2026-11-21T07:43:56.123456Z 0 [System] [MY-010116] [Server] /x/mysqld (mysqld 9.7.4-2) starting as process 1
2026-11-21T07:43:56.223456Z 0 [ERROR] [MY-000067] [Server] unknown variable 'no_such_setting=1'.
2026-11-21T07:43:56.323456Z 0 [ERROR] [MY-010119] [Server] Aborting
`, "unknown variable 'no_such_setting=1'.")
	f(`2026-11-21  7:43:56 0 [Note] Starting MariaDB
2026-11-21  7:43:56 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'x=1'
2026-11-21 17:43:56 0 [ERROR] Aborting
`, "unknown variable 'x=1'")
	f("2026-11-21  7:43:56 0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use\n",
		"Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use")
	f(`261123  5:18:30 InnoDB: Completed initialization of buffer pool
InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes
InnoDB: than specified in the .cnf file 0 268435456 bytes!
261123  5:18:30 [ERROR] Plugin 'InnoDB' init function returned error.
261123  5:18:30 [ERROR] Unknown/unsupported storage engine: InnoDB
261123  5:18:30 [ERROR] Aborting

261123  5:18:30 [Note] /x/bin/mysqld: Shutdown complete
`, "InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes; InnoDB: than specified in the .cnf "+
		"file 0 268435456 bytes!")
	f("261123 15:18:30 [ERROR] /x/bin/mysqld: unknown variable 'x=1'\n261123 15:18:30 [ERROR] Aborting\n",
		"unknown variable 'x=1'")
	f("ld.so: cannot open\nsomething else\n", "ld.so: cannot open; something else") // nothing a server said
}
