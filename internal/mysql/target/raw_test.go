package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
	"github.com/dyno-perf/dyno/test/servers"
)

// client drives a detached Raw as an event loop does, with one connection.
type client struct {
	t   testing.TB
	raw *Raw
	fd  int
	r   wire.Reader
	in  []byte
	out []byte
}

func newClient(t testing.TB, raw *Raw) *client {
	t.Helper()
	fd, err := raw.Detach()
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, raw: raw, fd: fd, r: wire.Reader{Caps: raw.Caps()}, in: make([]byte, 64<<10)}
}

// send writes all of c.out.
func (c *client) send() {
	for b := c.out; len(b) > 0; {
		n, err := unix.Write(c.fd, b)
		switch {
		case err == unix.EAGAIN:
			c.wait(unix.POLLOUT)
		case err != nil:
			c.t.Fatal(err)
		default:
			b = b[n:]
		}
	}
}

func (c *client) wait(events int16) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: events}}, 30_000)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			c.t.Fatalf("poll: %d %v", n, err)
		}
		return
	}
}

// answer reads until the answer is complete.
func (c *client) answer(row func([]wire.Value)) error {
	for {
		n, err := unix.Read(c.fd, c.in)
		switch {
		case err == unix.EAGAIN:
			c.wait(unix.POLLIN)
			continue
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		}
		c.r.Feed(c.in[:n])
		for {
			ev, err := c.r.Next()
			switch {
			case err != nil:
				return err
			case ev == wire.Row && row != nil:
				row(c.r.Row())
			case ev == wire.Done:
				return nil
			}
			if ev == wire.More {
				break
			}
		}
	}
}

func (c *client) query(sql string, row func([]wire.Value)) error {
	c.out = wire.AppendQuery(c.out[:0], sql)
	c.r.ExpectText()
	c.send()
	return c.answer(row)
}

func (c *client) execute(s *wire.Stmt, args []wire.Value, row func([]wire.Value)) error {
	c.out = s.AppendExecute(c.out[:0], args)
	c.r.ExpectRows(s)
	c.send()
	return c.answer(row)
}

func TestRawRunsStatements(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, c CHAR(120))",
				"INSERT INTO d.t VALUES (1, 'one'), (2, 'two')")
			raw, err := open(t, s, "root").Raw(t.Context(), SessionOptions{
				Database: "d",
				Settings: map[string]string{"sql_mode": "''", "time_zone": "'+02:00'"},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			st, err := raw.Prepare(t.Context(), "SELECT id, c FROM t WHERE id >= ?")
			if err != nil || st.Params != 1 || len(st.Columns) != 2 {
				t.Fatalf("%+v, %v", st, err)
			}
			c := newClient(t, raw)
			f := func(from int64, want string) {
				t.Helper()
				got := ""
				err := c.execute(st, []wire.Value{{Kind: wire.Int, Bits: uint64(from)}}, func(v []wire.Value) {
					got += fmt.Sprintf("%d %s ", v[0].Bits, v[1].Bytes)
				})
				if err != nil || got != want {
					t.Errorf("from %d: %q, %v", from, got, err)
				}
			}
			f(1, "1 one 2 two ")
			f(2, "2 two ")
			f(3, "")
			err = c.query("SELECT CONNECTION_ID(), CONCAT('(', @@sql_mode, ')', @@time_zone, DATABASE())",
				func(v []wire.Value) {
					if v[0].Bits != raw.ID() || string(v[1].Bytes) != "()+02:00d" {
						t.Errorf("%d %s", v[0].Bits, v[1].Bytes)
					}
				})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// bare is a target that has asked the server nothing yet.
func bare(s endpoint.Spec) *Target {
	return &Target{spec: s, logins: new(logins), rawAnswer: new(atomic.Pointer[error])}
}

func TestRawLogsIn(t *testing.T) {
	const password = "geheim – ünd läng, länger als zwanzig Bytes"
	plugins := map[string][]string{"mariadb": {"mysql_native_password"}, "mysql": {"caching_sha2_password"}}
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d")
			for i, plugin := range plugins[flavor] {
				with := "WITH " + plugin + " BY '" + password + "'"
				if flavor == "mariadb" {
					with = "VIA " + plugin + " USING PASSWORD('" + password + "')"
				}
				s.Exec(t, fmt.Sprintf("CREATE USER u%d IDENTIFIED %s", i, with),
					fmt.Sprintf("GRANT ALL ON d.* TO u%d", i))
				for _, url := range []string{
					s.URL(fmt.Sprint("u", i)),
					fmt.Sprintf("mysql://u%d@127.0.0.1:%d/?tls=disabled&get-server-public-key=1", i, s.Port),
				} {
					sp := spec(t, url)
					sp.Password = endpoint.NewSecret(password)
					s.Exec(t, "FLUSH PRIVILEGES") // MySQL forgets the password: the first login is a full one
					for _, what := range []string{"first", "again"} {
						raw, err := bare(sp).Raw(t.Context(), SessionOptions{Database: "d"})
						if err != nil {
							t.Errorf("%s by %s, %s: %v (%s)", plugin, sp.Network, what, err, HintOf(err))
							continue
						}
						var id uint64
						c := newClient(t, raw)
						if err := c.query("SELECT CONNECTION_ID(), DATABASE()", func(v []wire.Value) {
							id = v[0].Bits
						}); err != nil || id != raw.ID() || id == 0 {
							t.Errorf("id %d, the server says %d, %v", raw.ID(), id, err)
						}
						raw.Close()
					}
					sp.Password = endpoint.NewSecret("another-" + password)
					_, err := bare(sp).Raw(t.Context(), SessionOptions{})
					if KindOf(err) != endpoint.AuthFailed || HintOf(err) == "" ||
						strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), password) {
						t.Errorf("a wrong password: %v %v", KindOf(err), err)
					}
				}
			}
		})
	}
}

func TestRawLeavesTLSToTheDriver(t *testing.T) {
	s := servers.Start(t, "mysql")
	s.Exec(t, "CREATE USER u IDENTIFIED BY 'x'")
	tcp := fmt.Sprintf("mysql://u@127.0.0.1:%d/", s.Port)
	login := func(x *Target) error {
		t.Helper()
		raw, err := x.Raw(t.Context(), SessionOptions{})
		if err == nil {
			raw.Close()
		}
		return err
	}
	secret := func(url string) endpoint.Spec {
		sp := spec(t, url)
		sp.Password = endpoint.NewSecret("x")
		return sp
	}
	opened := func(url string) *Target {
		x, err := Open(t.Context(), secret(url))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return x
	}
	for _, url := range []string{tcp, tcp + "?tls=preferred", tcp + "?tls=required"} {
		x := opened(url)
		if err := login(x); !errors.Is(err, ErrNeedsDriver) {
			t.Errorf("%s: %v", url, err)
		}
		before := s.Status(t, "Connections")
		if err := login(x); !errors.Is(err, ErrNeedsDriver) {
			t.Errorf("%s again: %v", url, err)
		}
		if after := s.Status(t, "Connections"); after > before+1 { // the one that asks
			t.Errorf("%s: asking again costs %d connections", url, after-before)
		}
	}
	if err := login(opened(s.URL("u"))); err != nil {
		t.Errorf("a Unix socket: %v", err)
	}
	if err := login(opened(s.URL("u") + "&tls=required")); !errors.Is(err, ErrNeedsDriver) {
		t.Errorf("a Unix socket, encrypted: %v", err)
	}
	s.Exec(t, "CREATE USER sha IDENTIFIED WITH sha256_password BY 'x'")
	if err := login(opened(s.URL("sha"))); !errors.Is(err, ErrNeedsDriver) {
		t.Errorf("an account with a plugin that wire does not know: %v", err)
	}
	m := servers.Start(t, "mariadb", "skip-ssl")
	m.Exec(t, "CREATE USER u IDENTIFIED BY 'x'")
	x := opened(fmt.Sprintf("mysql://u@127.0.0.1:%d/", m.Port))
	before := m.Status(t, "Com_show_status")
	for range 3 {
		if err := login(x); err != nil {
			t.Errorf("TLS is preferred, the server has none: %v", err)
		}
	}
	if n := m.Status(t, "Com_show_status") - before; n != 2 { // ours, and the one that asks for the cipher
		t.Errorf("three connections ask %d times", n)
	}
}

func TestRawErrors(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "max_connections=10")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT)", "CREATE USER u", "GRANT SELECT ON d.* TO u")
			x := bare(spec(t, s.URL("u")))
			ctx := t.Context()
			f := func(what string, err error, kind endpoint.Kind, want uint16) {
				t.Helper()
				n, _ := ServerErrorNumber(err)
				if KindOf(err) != kind || n != want || kind != endpoint.Unknown && HintOf(err) == "" {
					t.Errorf("%s: %v, %d (%v) %q", what, KindOf(err), n, err, HintOf(err))
				}
			}
			_, err := bare(spec(t, s.URL("root"))).Raw(ctx, SessionOptions{Database: "none"})
			f("no such database", err, endpoint.NoSuchDatabase, 1049)
			_, err = x.Raw(ctx, SessionOptions{Database: "mysql"})
			f("a database of others", err, endpoint.Denied, 1044)
			_, err = x.Raw(ctx, SessionOptions{Settings: map[string]string{"no_such": "1"}})
			f("an unknown setting", err, endpoint.Unknown, 1193)
			raw, err := x.Raw(ctx, SessionOptions{Database: "d"})
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			err = raw.Exec(ctx, "INSERT INTO t VALUES (1)")
			f("a privilege is missing", err, endpoint.Denied, 1142)
			if h := HintOf(err); !strings.Contains(h, "GRANT INSERT") {
				t.Errorf("hint %q", h)
			}
			_, err = raw.Prepare(ctx, "SELECT FROM")
			f("no SQL", err, endpoint.Unknown, 1064)
			if err := raw.Exec(ctx, "SELECT * FROM t"); err != nil {
				t.Errorf("after errors: %v", err)
			}
			c := newClient(t, raw)
			if err := raw.Exec(ctx, "DO 1"); err == nil {
				t.Error("what is detached answers")
			}
			f("no table", raw.Wrap("query", c.query("SELECT * FROM d.none", nil)), endpoint.Unknown, 1146)
			f("no column", raw.Wrap("query", c.query("SELECT x FROM d.t", nil)), endpoint.Unknown, 1054)

			s.Exec(t, fmt.Sprint("KILL ", raw.ID()))
			c.out = wire.AppendQuery(c.out[:0], "DO 1")
			c.r.ExpectText()
			unix.Write(c.fd, c.out) // may find the connection closed
			err = c.answer(nil)
			if err = raw.Wrap("query", err); KindOf(err) != endpoint.Gone {
				t.Errorf("killed: %v %v", KindOf(err), err)
			}

			var more []*Raw
			for range 20 {
				r, e := x.Raw(ctx, SessionOptions{})
				if err = e; err != nil {
					break
				}
				more = append(more, r)
			}
			f("too many", err, endpoint.TooManyConnections, 1040)
			for _, r := range more {
				r.Close()
			}
			s.Kill(t)
			_, err = x.Raw(ctx, SessionOptions{})
			f("no server", err, endpoint.Refused, 0)
		})
	}
}

func TestRawBreaksOffInTime(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sp := endpoint.Spec{Network: "unix", Address: l.Addr().String(), ConnectTimeout: 100 * time.Millisecond}
	if _, err := bare(sp).Raw(t.Context(), SessionOptions{}); KindOf(err) != endpoint.Timeout || HintOf(err) == "" {
		t.Errorf("a server that says nothing: %v %v", KindOf(err), err)
	}
	sp.ConnectTimeout = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := bare(sp).Raw(ctx, SessionOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a login that is given up: %v", err)
	}

	s := servers.Start(t, "mariadb")
	raw, err := bare(spec(t, s.URL("root"))).Raw(t.Context(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := raw.Exec(ctx, "DO SLEEP(60)"); !errors.Is(err, context.Canceled) {
		t.Errorf("a statement that is given up: %v", err)
	}
	if err := raw.Exec(t.Context(), "DO 1"); KindOf(err) != endpoint.Gone {
		t.Errorf("after it: %v", err)
	}
	if err := raw.Exec(ctx, "DO 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	s.Kill(t)

	garbage := func(said string) error {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "g"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				c.Write([]byte(said))
				c.Read(make([]byte, 1000))
				c.Write([]byte("\x03\x00\x00\x02abc"))
				c.Close()
			}
		}()
		_, err = bare(endpoint.Spec{Network: "unix", Address: l.Addr().String()}).Raw(t.Context(), SessionOptions{})
		return err
	}
	if err := garbage("SSH-2.0-OpenSSH_9.2p1 Debian\r\n"); KindOf(err) != endpoint.NotAServer {
		t.Errorf("an SSH server: %v %v", KindOf(err), err)
	}
	greeting := "\x0a5.7.0\x00\x01\x00\x00\x0012345678\x00\xff\xff\x2d\x02\x00\xff\xc1\x15\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00123456789012\x00mysql_native_password\x00"
	if err := garbage(string([]byte{byte(len(greeting)), 0, 0, 0}) + greeting); KindOf(err) != endpoint.NotAServer ||
		HintOf(err) == "" {
		t.Errorf("a login of garbage: %v %v", KindOf(err), err)
	}
}

func TestRawDescriptor(t *testing.T) {
	s := servers.Start(t, "mariadb")
	descriptors := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	quit := func() uint64 { return s.Status(t, "Aborted_clients") }
	aborted := quit()
	for _, url := range []string{s.URL("root"), fmt.Sprintf("mysql://root@127.0.0.1:%d/", s.Port)} {
		x := bare(spec(t, url+map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")]+"tls=disabled"))
		before := descriptors()
		for range 3 {
			raw, err := x.Raw(t.Context(), SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if raw.FD() != -1 {
				t.Error("a descriptor before Detach")
			}
			fd, err := raw.Detach()
			if err != nil || fd < 0 || fd != raw.FD() {
				t.Fatal(fd, err)
			}
			if again, err := raw.Detach(); again != fd || err != nil {
				t.Error(again, err)
			}
			if fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || fl&unix.O_NONBLOCK == 0 {
				t.Errorf("flags %x %v", fl, err)
			}
			if fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || fl&unix.FD_CLOEXEC == 0 {
				t.Errorf("close on exec: %x %v", fl, err)
			}
			if x.spec.Network != "unix" {
				if v, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || v == 0 {
					t.Errorf("TCP_NODELAY %d %v", v, err)
				}
			}
			if polled(t, fd) {
				t.Error("the descriptor is in a poller")
			}
			if _, err := unix.Read(fd, make([]byte, 1)); !errors.Is(err, syscall.EAGAIN) {
				t.Errorf("an idle connection: %v", err)
			}
			id := raw.ID()
			if err := raw.Close(); err != nil || raw.FD() != -1 || raw.Close() != nil {
				t.Error("close", err, raw.FD())
			}
			db := s.DB(t, "")
			eventually(t, "the connection is gone", func() bool {
				var n int
				if err := db.QueryRow(fmt.Sprint("SELECT COUNT(*) FROM information_schema.processlist WHERE id = ",
					id)).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n == 0
			})
			db.Close()
		}
		raw, err := x.Raw(t.Context(), SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Close(); err != nil { // before Detach
			t.Error(err)
		}
		eventually(t, fmt.Sprintf("%d descriptors again", before), func() bool { return descriptors() <= before })
	}
	if after := quit(); after != aborted {
		t.Errorf("the server misses %d good-byes", after-aborted)
	}
}

// polled reports whether an epoll instance of this process watches fd.
func polled(t *testing.T, fd int) bool {
	t.Helper()
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	pollers := 0
	for _, name := range infos {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the one that listed them
		}
		for line := range strings.Lines(string(b)) {
			var n int
			if _, err := fmt.Sscanf(line, "tfd: %d", &n); err == nil {
				if pollers++; n == fd {
					return true
				}
			}
		}
	}
	if pollers == 0 {
		t.Fatal("not even Go's own poller is seen")
	}
	return false
}

func TestRawCountsAgreeWithTheServer(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, c CHAR(120))")
			raw, err := bare(spec(t, s.URL("root"))).Raw(t.Context(), SessionOptions{Database: "d"})
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			ins, err := raw.Prepare(t.Context(), "INSERT INTO t VALUES (?, REPEAT('x', 120))")
			if err != nil {
				t.Fatal(err)
			}
			sel, err := raw.Prepare(t.Context(), "SELECT c FROM t WHERE id BETWEEN ? AND ?")
			if err != nil {
				t.Fatal(err)
			}
			c := newClient(t, raw)
			status := func() map[string]int64 {
				m := map[string]int64{}
				err := c.query("SHOW SESSION STATUS", func(v []wire.Value) {
					var n int64
					fmt.Sscan(string(v[1].Bytes), &n)
					m[string(v[0].Bytes)] = n
				})
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			n := func(i int) wire.Value { return wire.Value{Kind: wire.Int, Bits: uint64(i)} }
			before := status()
			const rows = 300
			for i := range rows {
				if err := c.execute(ins, []wire.Value{n(i)}, nil); err != nil || c.r.OK().Affected != 1 {
					t.Fatal(i, err, c.r.OK())
				}
			}
			read := 0
			for i := range 20 {
				if err := c.execute(sel, []wire.Value{n(i * 10), n(i*10 + 99)}, func(v []wire.Value) {
					if read++; len(v[0].Bytes) != 120 {
						t.Fatalf("%q", v[0].Bytes)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			after := status()
			if read != 20*100 {
				t.Errorf("%d rows", read)
			}
			for name, want := range map[string]int64{
				"Questions": rows + 21, "Com_stmt_execute": rows + 20,
				"Com_insert": rows, "Com_select": 20,
			} {
				if got := after[name] - before[name]; got != want {
					t.Errorf("%s: the server counts %d, we sent %d", name, got, want)
				}
			}
			args := []wire.Value{n(10), n(109)}
			for _, x := range []struct {
				what string
				call func() error
			}{
				{"execute", func() error {
					return c.execute(sel, args, func(v []wire.Value) {
						read += len(v[0].Bytes)
					})
				}},
				{"query", func() error { return c.query("SELECT c FROM t WHERE id = 7", nil) }},
			} {
				if a := testing.AllocsPerRun(100, func() {
					if err := x.call(); err != nil {
						t.Fatal(err)
					}
				}); a > 1 { // waiting in poll is the test's own
					t.Errorf("%s: %v allocations", x.what, a)
				}
			}
		})
	}
}

func BenchmarkRawPointSelect(b *testing.B) {
	s := servers.Start(b, "mariadb")
	s.Exec(b, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, c CHAR(120))",
		"INSERT INTO d.t VALUES (1, 'x')")
	sp, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		b.Fatal(err)
	}
	raw, err := bare(sp).Raw(b.Context(), SessionOptions{Database: "d"})
	if err != nil {
		b.Fatal(err)
	}
	defer raw.Close()
	st, err := raw.Prepare(b.Context(), "SELECT c FROM t WHERE id = ?")
	if err != nil {
		b.Fatal(err)
	}
	c, args := newClient(b, raw), []wire.Value{{Kind: wire.Int, Bits: 1}}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.execute(st, args, nil); err != nil {
			b.Fatal(err)
		}
	}
}
