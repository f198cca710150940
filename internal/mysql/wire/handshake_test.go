package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// logIn talks to a real server and returns what it sent, and the connection.
func logIn(t *testing.T, s *servers.Server, network string, h *Handshake) (c net.Conn, heard []byte, err error) {
	t.Helper()
	address := s.Socket
	if network == "tcp" {
		address = fmt.Sprint("127.0.0.1:", s.Port)
	}
	if c, err = net.Dial(network, address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	h.Local = network == "unix"
	for buf := make([]byte, 4096); ; {
		n, err := c.Read(buf)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("the server hangs up")
			}
			return c, heard, err
		}
		heard = append(heard, buf[:n]...)
		send, done, err := h.Feed(buf[:n])
		if err != nil || done {
			return c, heard, err
		}
		if _, err := c.Write(send); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogin(t *testing.T) {
	const password = "geheim – ünd läng, länger als zwanzig Bytes"
	accounts := map[string][]string{ // user → how to make it
		"mariadb": {
			"native IDENTIFIED VIA mysql_native_password USING PASSWORD('" + password + "')",
			"open IDENTIFIED VIA mysql_native_password USING ''",
		},
		"mysql": {
			"caching IDENTIFIED WITH caching_sha2_password BY '" + password + "'",
			"open IDENTIFIED WITH caching_sha2_password BY ''",
		},
	}
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d")
			for _, a := range accounts[flavor] {
				s.Exec(t, "CREATE USER "+a, "GRANT ALL ON *.* TO "+strings.Fields(a)[0])
			}
			w := &wireConn{t: t}
			f := func(network, user, password, name string) error {
				t.Helper()
				h := Handshake{
					User: user, Password: password, Database: "d",
					Attributes: [][2]string{{"program_name", "dyno"}, {"dyno_role", "load"}},
				}
				c, heard, err := logIn(t, s, network, &h)
				w.r.Caps = h.Caps()
				w.capture("login-"+name+"-"+network, heard)
				if err != nil {
					if password != "" && strings.Contains(err.Error(), password) {
						t.Errorf("the password is in the error: %v", err)
					}
					return err
				}
				q := wireConn{t: t, c: c, r: Reader{Caps: h.Caps()}, piece: 4096}
				if got, want := q.must("SELECT CONNECTION_ID(), USER(), DATABASE()")[0],
					fmt.Sprintf(`0:%d|"%s@localhost"|"d"`, h.Greeting().ID, user); got != want {
					t.Errorf("%s by %s: %s, want %s", user, network, got, want)
				}
				return nil
			}
			good := func(network, user, password, name string) {
				t.Helper()
				if err := f(network, user, password, name); err != nil {
					t.Errorf("%s by %s: %v", user, network, err)
				}
			}
			refused := func(network, user, password string) {
				t.Helper()
				if err := f(network, user, password, "refused"); number(err) != 1045 {
					t.Errorf("%s by %s: %v", user, network, err)
				}
			}
			user := strings.Fields(accounts[flavor][0])[0]
			for _, network := range []string{"tcp", "unix"} {
				s.Exec(t, "FLUSH PRIVILEGES") // MySQL forgets the passwords it has cached
				good(network, user, password, "full")
				good(network, user, password, "fast")
				good(network, "open", "", "open")
				refused(network, user, "wrong-pässword")
				refused(network, "open", "wrong-pässword")
				// MySQL gives a user that it does not know some plugin or other, so as not to tell.
				if err := f(network, "nobody", "wrong-pässword", "nobody"); number(err) != 1045 &&
					!errors.Is(err, ErrPlugin) {
					t.Errorf("nobody by %s: %v", network, err)
				}
			}
			if err := f("tcp", user, "", "empty"); number(err) != 1045 {
				t.Errorf("no password: %v", err)
			}
			h := Handshake{User: user, Password: password, Database: "nowhere"}
			if _, _, err := logIn(t, s, "unix", &h); number(err) != 1049 {
				t.Errorf("no such database: %v", err)
			}
		})
	}
}

// TestLoginSwitches logs in to accounts whose plugin is not the server's usual one.
func TestLoginSwitches(t *testing.T) {
	s := servers.Start(t, "mariadb", "secure_auth=OFF")
	s.Exec(t, "CREATE USER old IDENTIFIED VIA mysql_old_password USING '0123456789abcdef'")
	h := Handshake{User: "old", Password: "x"}
	if _, _, err := logIn(t, s, "unix", &h); !errors.Is(err, ErrPlugin) {
		t.Errorf("mysql_old_password: %v", err)
	}
	// An account of the Unix user needs no proof. It may be the tests' own, so this comes last.
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "CREATE OR REPLACE USER '"+me.Username+"'@localhost IDENTIFIED VIA unix_socket")
	h = Handshake{User: me.Username}
	if _, _, err := logIn(t, s, "unix", &h); err != nil {
		t.Errorf("unix_socket: %v", err)
	}
	m := servers.Start(t, "mysql", "authentication_policy=sha256_password")
	m.Exec(t, "CREATE USER c IDENTIFIED WITH caching_sha2_password BY 'x'",
		"CREATE USER sha IDENTIFIED WITH sha256_password BY 'x'")
	for range 2 {
		h = Handshake{User: "c", Password: "x"}
		if _, _, err := logIn(t, m, "unix", &h); err != nil {
			t.Errorf("caching_sha2_password where %s is usual: %v", h.Greeting().Plugin, err)
		}
	}
	h = Handshake{User: "sha", Password: "x"}
	if _, _, err := logIn(t, m, "unix", &h); !errors.Is(err, ErrPlugin) {
		t.Errorf("sha256_password: %v", err)
	}
}

// TestHandshakeRefuses tries what no server sends.
func TestHandshakeRefuses(t *testing.T) {
	greeting := "\x0a5.7.0\x00\x01\x00\x00\x0012345678\x00\xff\xff\x2d\x02\x00\xff\xc1\x15\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00123456789012\x00mysql_native_password\x00"
	packet := func(seq byte, payload string) string {
		return string(seal(append(make([]byte, headSize), payload...), 0, seq))
	}
	f := func(want string, packets ...string) {
		t.Helper()
		h := Handshake{User: "u", Password: "p"}
		var done bool
		var err error
		for _, p := range packets {
			if _, done, err = h.Feed([]byte(p)); done || err != nil {
				break
			}
		}
		if got := fmt.Sprint(done, err); !strings.Contains(got, want) {
			t.Errorf("%.60q: %s, want %s", packets, got, want)
		}
	}
	f("false <nil>", packet(0, greeting))
	f("true <nil>", packet(0, greeting), packet(2, "\x00\x00\x00\x02\x00\x00\x00"))
	f("out of sequence", packet(0, greeting), packet(3, "\x00\x00\x00\x02\x00\x00\x00"))
	f("another protocol", packet(0, "\x09"+greeting[1:]))
	f("too short", packet(0, greeting[:40]))
	f("Error 1040: Too many", packet(0, "\xff\x10\x04Too many connections"))
	f("Error 1045 (28000): no", packet(0, greeting), packet(2, "\xff\x15\x04#28000no"))
	f("without its number", packet(0, greeting), packet(2, "\xff"))
	f("unknown way", packet(0, greeting), packet(2, "\xfe"))
	f("unknown way", packet(0, greeting), packet(2, "\xfedialog\x00what?"))
	f("without its scramble", packet(0, greeting), packet(2, "\xfecaching_sha2_password\x00123"))
	f("name's end", packet(0, greeting), packet(2, "\xfecaching_sha2_password"))
	f("answer to a proof", packet(0, greeting), packet(2, "\x01\x04"))
	f("more than a login", packet(0, greeting), packet(2, "\x00\x00\x00\x02\x00\x00\x00")+packet(3, "\x00"))
	sha := packet(2, "\xfecaching_sha2_password\x0012345678901234567890\x00")
	f("answer to a proof", packet(0, greeting), sha, packet(4, "\x01\x09"))
	f("not PEM", packet(0, greeting), sha, packet(4, "\x01\x04"), packet(6, "\x01no key"))
	f("cannot be read", packet(0, greeting), sha, packet(4, "\x01\x04"),
		packet(6, "\x01-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	f("out of turn", packet(0, greeting), sha, packet(4, "\x01\x04"), packet(6, sha[4:]))
}

// TestLoginWithoutEnd: whoever answers a login may say one thing of any length, of which no more is kept than a server
// has to say.
func TestLoginWithoutEnd(t *testing.T) {
	h := Handshake{}
	piece := make([]byte, 16<<10)
	_, _, err := h.Feed([]byte{0xfe, 0xff, 0xff, 0, 10})
	for n := 0; err == nil && n < 1<<24; n += len(piece) {
		_, _, err = h.Feed(piece)
	}
	if !errors.Is(err, ErrMalformed) || cap(h.own) > mostOfLogin {
		t.Errorf("%d bytes are kept: %v", cap(h.own), err)
	}
}
