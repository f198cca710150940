package slowlog

import "testing"

func TestAccount(t *testing.T) {
	f := func(in, user, host string, id uint64, rest string) {
		t.Helper()
		for _, after := range []string{"", "\n", "\r\n", "\n# Query_time: 1 [x] @ y []\n"} {
			var e Entry
			d := []byte("# User@Host: " + in + after)
			end := account(&e, d, 13)
			if end < 0 {
				t.Errorf("%q: not read", in)
				continue
			}
			if got := string(d[min(end, 13+len(in)) : 13+len(in)]); string(e.User) != user || string(e.Host) != host ||
				e.Thread != id || got != rest {
				t.Errorf("%q: got %q@%q %d, rest %q", in, e.User, e.Host, e.Thread, got)
			}
		}
	}
	f("root[root] @ localhost []", "root", "localhost", 0, "")
	f("root[root] @ localhost []  Id:     8", "root", "localhost", 8, "")
	f("root[root] @ localhost [127.0.0.1]  Id: 12345678901", "root", "localhost", 12345678901, "")
	f("app[app] @  [10.0.0.1]", "app", "10.0.0.1", 0, "")
	f("app[login] @ web [::1]", "app", "web", 0, "")
	f("[SQL_SLAVE] @  []", "[SQL_SLAVE]", "", 0, "")
	f("[] @ localhost []", "", "localhost", 0, "")
	f("a@b c[a@b c] @ web []", "a@b c", "web", 0, "")
	f("a[b][a[b]] @ web [1.2.3.4]  Id: 5", "a", "web", 5, "")
	f("app[app] @ web [1.2.3.4] thread_id: 7 server_id: 1", "app", "web", 0, " thread_id: 7 server_id: 1")
	f("app[app] @ web", "app", "web", 0, "")
	f("app[app] @ web [1.2", "app", "web", 0, "")
	f("app[app] @ web []  Id: x", "app", "web", 0, "")
	for _, s := range []string{"", "x", "x[y", "x[y] web"} {
		var e Entry
		if end := account(&e, []byte(s+"\n# a[b] @ c []"), 0); end >= 0 {
			t.Errorf("%q: got %q@%q", s, e.User, e.Host)
		}
	}
}

func TestSchemaEnd(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		for _, after := range []string{"\n", "", "\r\n", "  QC_hit: No\n", "  Last_errno: 0  Killed: 0\n", " \n"} {
			d := []byte(in + after)
			if got := string(d[:schemaEnd(d, 0)]); got != want {
				t.Errorf("%q: got %q", d, got)
			}
		}
	}
	f("", "")
	f("shop", "shop")
	f("my shop", "my shop")
	f("a:b", "a:b")
	f("x;", "x;")
}
