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
	f(`2026-11-29 14:48:38.171 UTC [12] LOG:  starting PostgreSQL 17.10
2026-11-29 14:48:38.172 UTC [12] LOG:  could not bind IPv4 address "127.0.0.1": Address already in use
2026-11-29 14:48:38.172 UTC [12] HINT:  Is another postmaster already running on port 5432?
2026-11-29 14:48:38.173 UTC [12] FATAL:  could not create any TCP/IP sockets
2026-11-29 14:48:38.174 UTC [12] LOG:  database system is shut down
`, `could not bind IPv4 address "127.0.0.1": Address already in use`)
	f("2026-11-29 14:48:38.194 GMT [13] FATAL:  the database system is starting up\n"+
		"2026-11-29 14:48:38.195 GMT [12] PANIC:  could not locate a valid checkpoint record\n",
		"could not locate a valid checkpoint record")
	f("ld.so: cannot open\nsomething else\n", "ld.so: cannot open; something else") // nothing a server said
}
