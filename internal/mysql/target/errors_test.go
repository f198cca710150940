package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// fails opens a URL and checks kind and hint of the error.
func fails(t *testing.T, s endpoint.Spec, kind endpoint.Kind, hint string) {
	t.Helper()
	x, err := Open(t.Context(), s)
	if err == nil {
		x.Close()
		t.Errorf("%s: opened, want %v", s.URL(), kind)
		return
	}
	if KindOf(err) != kind || !strings.Contains(HintOf(err), hint) || hint == "" {
		t.Errorf("%s:\ngot  %v: %v\nhint %s\nwant %v, %s", s.URL(), KindOf(err), err, HintOf(err), kind, hint)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v %s", err, err, err, HintOf(err)), password) {
		t.Errorf("the error shows the password: %+v", err)
	}
}

func with(s endpoint.Spec, f func(*endpoint.Spec)) endpoint.Spec { f(&s); return s }

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	fails(t, spec(t, "mysql://u@"+l.Addr().String()), endpoint.Refused, "is the server running")
	fails(t, spec(t, "unix://"+t.TempDir()+"/none?user=u"), endpoint.Refused, "no such socket")
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, spec(t, "unix://"+file+"?user=u"), endpoint.Refused, "nothing listens on this socket")
	fails(t, spec(t, "mysql://u@no-such-host.invalid/"), endpoint.UnknownHost, "does not resolve")
}

// answer listens and hands each connection to f.
func answer(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return l.Addr().String()
}

func TestNeverAnswers(t *testing.T) {
	addr := answer(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	began := time.Now()
	fails(t, spec(t, "mysql://u@"+addr+"/?connect-timeout=200ms"), endpoint.Timeout, "no answer in time")
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := Open(ctx, spec(t, "mysql://u@"+addr+"/?connect-timeout=1h")); ctx.Err() == nil || err == nil ||
		KindOf(err) != endpoint.Unknown {
		t.Errorf("cancelled: %v", err)
	}
}

// The greeting of a real server, for bending.
var good = append([]byte{0, 0, 0, 0},
	append([]byte("\x0a9.7.4\x00\x01\x00\x00\x00abcdefgh\x00\xff\xf7\xff\x02\x00\xff\xdf\x15"),
		append(make([]byte, 10), []byte("abcdefghijkl\x00caching_sha2_password\x00")...)...)...)

func TestSomethingElseAnswers(t *testing.T) {
	f := func(said string) {
		t.Helper()
		addr := answer(t, func(c net.Conn) {
			io.WriteString(c, said)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		})
		fails(t, spec(t, "mysql://u:"+password+"@"+addr+"/"), endpoint.NotAServer, "something else")
	}
	f("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
	f("HTTP/1.1 400 Bad Request\r\n\r\n")
	f("+OK redis\r\n")
	f("\x05\x00\x00\x00\x0b\x08\x05\x1a\x00") // MySQL's X protocol
	f("\x01\x00\x00\x00\x0a")
	f("\x03\x00\x00\x00\xff\x10\x04")
	f("\x04\x00\x00\x00\x0a9.7")
	f("ab")
	f(strings.Repeat("\x00", 100))
	f("\xff\xff\xff\x00" + strings.Repeat("\x0a", 100))
}

// TestGarbageAfterTheGreeting must not hurt, whatever a server says next.
func TestGarbageAfterTheGreeting(t *testing.T) {
	greet := append([]byte{}, good...)
	n := len(greet) - 4
	greet[0], greet[1] = byte(n), byte(n>>8)
	for i, said := range []string{
		"", "\x01\x00\x00\x02\xfe", "\x01\x00\x00\x02\x01", "\x02\x00\x00\x02\x01\x03", "\x01\x00\x00\x02\x00",
		"\x01\x00\x00\x02\xff",
		"\x05\x00\x00\x02\xfeabc\x00", "\x00\x00\x00\x02", "garbage everywhere",
		"\x07\x00\x00\x09\x00\x00\x00\x02\x00\x00\x00",
	} {
		addr := answer(t, func(c net.Conn) {
			c.Write(greet)
			b := make([]byte, 4096)
			c.Read(b)
			io.WriteString(c, said)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		})
		x, err := Open(t.Context(), spec(t, "mysql://u:"+password+"@"+addr+"/?tls=disabled&connect-timeout=5"))
		if err == nil {
			x.Close()
			t.Errorf("case %d: opened", i)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

func TestLoginErrors(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			settings := []string{"max_connections=10"}
			if flavor == "mariadb" {
				settings = append(settings, "skip-ssl") // before 11.4 it has no certificate anyway
			}
			s := servers.Start(t, flavor, settings...)
			s.Exec(t, "CREATE USER u@'127.0.0.1' IDENTIFIED BY '"+password+"'", "CREATE USER lim@'127.0.0.1' WITH "+
				"MAX_USER_CONNECTIONS 1",
				"CREATE USER shut@'127.0.0.1' ACCOUNT LOCK", "CREATE USER safe@'127.0.0.1' REQUIRE SSL")
			tcp := func(user string) endpoint.Spec {
				return spec(t, fmt.Sprintf("mysql://%s@127.0.0.1:%d/?tls=preferred", user, s.Port))
			}
			good := with(tcp("u"), func(s *endpoint.Spec) { s.Password = endpoint.NewSecret(password) })
			x, err := Open(t.Context(), good)
			if err != nil {
				t.Fatal(err)
			}
			x.Close()
			fails(t, tcp("u"), endpoint.AuthFailed, "no password was given")
			fails(t, tcp(""), endpoint.AuthFailed, "no user and no password")
			fails(t, with(good, func(s *endpoint.Spec) { s.Password = endpoint.NewSecret(password + "x") }),
				endpoint.AuthFailed, "user or password is wrong")
			fails(t, with(good, func(s *endpoint.Spec) { s.User = "nobody" }), endpoint.AuthFailed,
				"user or password is wrong")
			fails(t, with(good, func(s *endpoint.Spec) { s.Database = "no such" }), endpoint.Denied,
				"GRANT SELECT ON `no such`.*")
			fails(t, spec(t, s.URL("root")+"&database=none"), endpoint.NoSuchDatabase, "leave the database out")
			fails(t, tcp("shut"), endpoint.AuthFailed, "locked")
			if flavor == "mariadb" {
				fails(t, tcp("safe"), endpoint.AuthFailed, "no password was given")
			}

			one, err := Open(t.Context(), tcp("lim"))
			if err != nil {
				t.Fatal(err)
			}
			c, err := one.ReadingConn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := one.ReadingConn(t.Context()); KindOf(err) != endpoint.TooManyConnections ||
				!strings.Contains(HintOf(err), "MAX_USER_CONNECTIONS") {
				t.Errorf("second connection: %v, %s", err, HintOf(err))
			}
			c.Close()
			one.Close()

			// Unprivileged sessions, until the server has no more.
			plain, err := Open(t.Context(), good)
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			for i := 0; ; i++ {
				ses, err := plain.Session(t.Context(), SessionOptions{})
				if err != nil {
					if KindOf(err) != endpoint.TooManyConnections || !strings.Contains(HintOf(err), "max_connections") {
						t.Errorf("connection %d: %v, %s", i, err, HintOf(err))
					}
					break
				}
				defer ses.Close()
				if i > 20 {
					t.Fatal("the server never has enough")
				}
			}
		})
	}
}

func TestDeniedNamesTheGrant(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "CREATE USER u@localhost",
				"GRANT INSERT ON d.t TO u@localhost")
			x := open(t, s, "u")
			f := func(q, hint string) {
				t.Helper()
				rows, err := x.DB().Query(q)
				if err == nil {
					for rows.Next() {
					}
					err = rows.Err()
					rows.Close()
				}
				if err == nil || KindOf(err) != endpoint.Denied || !strings.Contains(HintOf(err), hint) {
					t.Errorf("%s: %v: %v\nhint %s\nwant %s", q, KindOf(err), err, HintOf(err), hint)
				}
				if w := x.Wrap("ask", err); KindOf(w) != endpoint.Denied || HintOf(w) != HintOf(err) {
					t.Errorf("wrapped: %v %v", KindOf(w), HintOf(w))
				}
			}
			const account = " TO the account that SELECT CURRENT_USER() shows"
			f("SELECT a FROM d.t", account)
			other, err := s.DB(t, "").Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			var id int64
			if err := other.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			f(fmt.Sprint("KILL ", id), "GRANT CONNECTION_ADMIN ON *.*"+account)
			f("ALTER TABLE d.t ADD INDEX k (a)", "GRANT ")
			f("SHOW ENGINE INNODB STATUS", "GRANT PROCESS ON *.* TO")
			f("USE mysql", "GRANT SELECT ON `mysql`.*"+account)
			for _, c := range []Capability{HasInnodbMetrics, HasStatementDigests} {
				if a := x.Answer(c); a.Has || !strings.Contains(a.Fix, "GRANT") {
					t.Errorf("%s without privileges: %+v", c, a)
				}
			}
			if x.Facts().ReplicaKnown.OK() {
				t.Error("says whether it is a replica without being allowed to ask")
			}
		})
	}
}

func TestServerDiesInTheMiddle(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			x := open(t, s, "root")
			c, err := x.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ses, err := x.Session(t.Context(), SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer ses.Close()
			killed, err := x.Session(t.Context(), SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer killed.Close()

			s.Exec(t, fmt.Sprintf("KILL %d", killed.ID()))
			eventually(t, "a killed session is gone",
				func() bool { return KindOf(killed.Ping(t.Context())) == endpoint.Gone })

			errs := make(chan error, 2)
			go func() {
				_, err := c.ExecContext(context.Background(), "DO SLEEP(600)")
				errs <- err
			}()
			go func() {
				_, err := ses.Exec(context.Background(), "DO SLEEP(600)")
				errs <- err
			}()
			db := s.DB(t, "")
			eventually(t, "both sleep", func() bool {
				var n int
				if err := db.QueryRow(
					"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'").
					Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n == 2
			})
			s.Kill(t)
			for range 2 {
				if err := <-errs; KindOf(err) != endpoint.Gone || !strings.Contains(HintOf(err), "error log") {
					t.Errorf("%v: %v, %s", KindOf(err), err, HintOf(err))
				}
			}
			if _, err := x.Conn(t.Context()); KindOf(err) != endpoint.Refused && KindOf(err) != endpoint.Gone {
				t.Errorf("after its death: %v: %v", KindOf(err), err)
			}
		})
	}
}

// TestTargetHidesThePassword: no way of printing a target, or an error of one, shows what it logs in with.
func TestTargetHidesThePassword(t *testing.T) {
	s := endpoint.Spec{Network: "tcp", Address: "h:3306", User: "u", Password: endpoint.NewSecret(password)}
	x := &Target{spec: s}
	e := wrap(s, "do", errors.New("x"))
	for _, v := range []any{x, *x, []*Target{x}, e, &endpoint.Error{Op: "x", Err: e}} {
		hide := func(how, got string) {
			t.Helper()
			if strings.Contains(got, password) || strings.Contains(got, fmt.Sprintf("%x", password)) {
				t.Errorf("%T %s shows the password: %s", v, how, got)
			}
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			hide(verb, fmt.Sprintf(verb, v))
		}
		if b, err := json.Marshal(v); err == nil { // a target itself has no such form
			hide("json", string(b))
		}
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
			slog.New(h).Info("x", "v", v)
		}
		hide("slog", log.String())
	}
}
