package target

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

func TestOpenLearnsTheServer(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			x := open(t, s, "root")
			f := x.Facts()
			var raw string
			if err := s.DB(t, "").QueryRow("SELECT VERSION()").Scan(&raw); err != nil {
				t.Fatal(err)
			}
			if string(f.Flavor) != flavor || f.Raw != raw || !strings.HasPrefix(raw, f.Version.String()) {
				t.Errorf("%s: flavor %q version %v raw %q", raw, f.Flavor, f.Version, f.Raw)
			}
			if f.Port != s.Port || f.Socket != s.Socket || filepath.Clean(f.Datadir) != s.Dir+"/data" ||
				f.PidFile != s.Dir+"/pid" {
				t.Errorf("facts %+v, server %+v", f, s)
			}
			if f.User != "root@localhost" || f.Replica || !f.ReplicaKnown.OK() || f.ReadOnly ||
				f.Hostname == "" || f.TLS != "" {
				t.Errorf("facts %+v", f)
			}
			if (f.UUID == "") != (flavor == "mariadb") {
				t.Errorf("uuid %q", f.UUID)
			}

			want := map[Capability]bool{
				HasPerformanceSchema: true, HasStatementDigests: true, HasInnodbMetrics: true,
				HasInplaceDDL: true, HasInstantDDL: true,
				HasDescendingIndex: true, HasSkipLocked: true, HasStages: false, HasMetadataLocks: flavor == "mysql",
				HasMetadataLockInfo: false,
				HasInvisibleIndex:   flavor == "mysql", HasFunctionalIndex: flavor == "mysql",
				HasIgnoredIndex:        flavor == "mariadb",
				HasProcesslistExamined: flavor == "mariadb", HasProcesslistProgress: flavor == "mariadb",
				HasUserstat: flavor == "mariadb",
			}
			if flavor == "mariadb" && !f.Version.AtLeast(10, 8, 0) {
				want[HasDescendingIndex] = false
			}
			for c, has := range want {
				if x.Has(c) != has || !has && x.Answer(c).Reason == "" {
					t.Errorf("%s: %s: got %+v, want %v", raw, c, x.Answer(c), has)
				}
			}
		})
	}
}

func TestWhatPerformanceSchemaHasSwitchedOff(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON",
				"performance_schema_consumer_events_stages_current=ON",
				"performance_schema_instrument=wait/lock/metadata/sql/mdl=ON",
				"performance_schema_consumer_statements_digest=OFF")
			x := open(t, s, "root")
			if !x.Has(HasStages) || !x.Has(HasMetadataLocks) {
				t.Errorf("switched on: %+v %+v", x.Answer(HasStages), x.Answer(HasMetadataLocks))
			}
			if a := x.Answer(HasStatementDigests); a.Has || !strings.Contains(a.Reason, "switched off") ||
				!strings.Contains(a.Fix, "setup_consumers") {
				t.Errorf("switched off: %+v", a)
			}
		})
	}
	x := open(t, servers.Start(t, "mariadb"), "root")
	if a := x.Answer(HasPerformanceSchema); a.Has || !strings.Contains(a.Fix, "performance_schema=ON") {
		t.Errorf("off altogether: %+v", a)
	}
	if v, ok := x.Variable("Performance_Schema"); !ok || v != "OFF" {
		t.Errorf("variable %q %v", v, ok)
	}
	if _, ok := x.Variable("no_such"); ok {
		t.Error("a variable that is not there")
	}
}

func TestOwnConnectionsAreSafeAndNamed(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON", "sql_mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES",
				"default_time_zone=+05:00")
			x := open(t, s, "root")
			c, err := x.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var mode, zone, program, echo string
			var wait int
			err = c.QueryRowContext(t.Context(), "SELECT @@sql_mode, @@time_zone, @@lock_wait_timeout, ?",
				`it's "q" \ ü`).Scan(&mode, &zone, &wait, &echo)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(mode, "STRICT_ALL_TABLES") || strings.Contains(mode, "ANSI") || zone != "+00:00" ||
				wait != 5 || echo != `it's "q" \ ü` {
				t.Errorf("mode %q zone %q lock wait %d echo %q", mode, zone, wait, echo)
			}
			q := "SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs WHERE " +
				"PROCESSLIST_ID=CONNECTION_ID() AND ATTR_NAME='program_name'"
			if err := c.QueryRowContext(t.Context(), q).Scan(&program); err != nil || program != "dyno" {
				t.Errorf("program %q, %v", program, err)
			}
			if flavor == "mysql" {
				var age int
				if err := c.QueryRowContext(t.Context(), "SELECT @@information_schema_stats_expiry").
					Scan(&age); err != nil || age != 0 {
					t.Errorf("statistics may be %d s old, %v", age, err)
				}
			}
		})
	}
}

func TestPoolIsSmall(t *testing.T) {
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	var held []interface{ Close() error }
	for range poolSize {
		c, err := x.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := x.Conn(ctx); KindOf(err) != endpoint.Timeout {
		t.Errorf("connection %d: %v", poolSize+1, err)
	}
	for _, c := range held {
		c.Close()
	}
	if n := s.Status(t, "Threads_connected"); n > poolSize+2 {
		t.Errorf("%d connections", n)
	}
}

func TestIdentityTellsCopiesApart(t *testing.T) {
	for _, flavor := range servers.Flavors {
		a, b := open(t, servers.Start(t, flavor), "root"), open(t, servers.Start(t, flavor), "root")
		if a.Facts().Server == b.Facts().Server {
			t.Errorf("%s: two servers are both %q", flavor, a.Facts().Server)
		}
	}
}

func TestParseVersion(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := ParseVersion(text).String(); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	f("10.11.19-MariaDB-0+deb12u1-log", "10.11.19")
	f("5.5.5-10.1.23-MariaDB", "10.1.23")
	f("5.5.34-log", "5.5.34")
	f("9.7.4", "9.7.4")
	f("8.0.33-25", "8.0.33")
	f("8.4", "8.4.0")
	f("", "0.0.0")
	f("x.y", "0.0.0")
	f("99999999999999.1", "999999.0.0")
	v := Version{10, 5, 9}
	if !v.AtLeast(10, 5, 9) || !v.AtLeast(9, 99, 99) || v.AtLeast(10, 5, 10) ||
		v.AtLeast(10, 6, 0) || v.AtLeast(11, 0, 0) {
		t.Error("versions compare wrongly")
	}
}

func TestLocalPID(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			for _, ps := range []string{"ON", "OFF"} {
				s := servers.Start(t, flavor, "performance_schema="+ps)
				s.Exec(t, "CREATE USER tcp@'127.0.0.1'", "GRANT ALL ON *.* TO tcp@'127.0.0.1'")
				for _, url := range []string{s.URL("root"), fmt.Sprintf("mysql://tcp@127.0.0.1:%d/", s.Port)} {
					x, err := Open(t.Context(), spec(t, url))
					if err != nil {
						t.Fatal(err)
					}
					pid, ok := x.LocalPID(t.Context())
					x.Close()
					if !ok || pid != s.PID {
						t.Errorf("performance_schema=%s %s: got %d %v, want %d", ps, url, pid, ok, s.PID)
					}
				}
			}
		})
	}
}

// TestLocalPIDIsNotThatOfAProxy asks through a process that only passes bytes on: the test itself.
func TestLocalPIDIsNotThatOfAProxy(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER tcp@'%'", "GRANT ALL ON *.* TO tcp@'%'")
	proxy := relay(t, "unix", s.Dir+"/proxy", "unix", s.Socket)
	x, err := Open(t.Context(), spec(t, "unix://"+proxy+"?user=root"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if pid, ok := x.LocalPID(t.Context()); ok {
		t.Errorf("the process of the server is %d, says a proxy; it is %d", pid, s.PID)
	}
}

// relay listens and passes bytes on to another address; it returns where it listens.
func relay(t *testing.T, network, listen, toNetwork, to string) string {
	t.Helper()
	l, err := net.Listen(network, listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial(toNetwork, to)
			if err != nil {
				a.Close()
				continue
			}
			go pipe(a, b)
			go pipe(b, a)
		}
	}()
	return l.Addr().String()
}

func pipe(dst, src net.Conn) {
	defer dst.Close()
	defer src.Close()
	b := make([]byte, 1<<15)
	for {
		n, err := src.Read(b)
		if n > 0 {
			if _, err := dst.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
