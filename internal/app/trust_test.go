package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestTrust: a certificate that no CA vouches for is remembered, another one refused until it is accepted, and all of
// it is said.
func TestTrust(t *testing.T) {
	a := &App{Home: t.TempDir(), Environ: func(string) string { return "" }}
	defer a.Close()
	s := servers.Start(t, "mysql") // it makes itself a certificate
	s.Exec(t, "CREATE USER u@'127.0.0.1'")
	url := fmt.Sprintf("mysql://u@127.0.0.1:%d/", s.Port)
	look := func() Checked {
		t.Helper()
		c, err := Inspection{a}.Inspect(t.Context(), ledger.Target{Name: "x", URL: url, Defaults: os.DevNull})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := look()
	if !first.Reached || first.Trust != endpoint.TrustRemembered || first.Fingerprint == "" ||
		!strings.Contains(first.Doubt, "encrypted, not verified") || !strings.Contains(first.Doubt, "verify-full") {
		t.Fatalf("%+v", first)
	}
	s.Kill(t)
	for _, name := range []string{
		"server-cert.pem", "server-key.pem", "ca.pem", "ca-key.pem",
		"client-cert.pem", "client-key.pem",
	} {
		if err := os.Remove(s.Dir + "/data/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Trust(t.Context(), url, Login{NoDefaults: true}, false, false); err == nil {
		// and what was known stays known
		t.Error("a server that is down was trusted")
	}
	s.Launch(t)
	if c := look(); c.Reached || !strings.Contains(c.Reason, first.Fingerprint) ||
		!strings.Contains(c.Fix, "dyno target trust") {
		t.Errorf("%+v", c)
	}
	for _, add := range []bool{true, false} {
		x, err := a.Trust(t.Context(), url, Login{NoDefaults: true}, add, false)
		was, is := x.Was, x.Is
		if err != nil || !slices.Contains(was, first.Fingerprint) || is == first.Fingerprint || is == "" {
			t.Errorf("%q %q %v", was, is, err)
		}
		want := is
		if add {
			want = first.Fingerprint + ", " + is
		}
		if c := look(); !c.Reached || c.Fingerprint != want {
			t.Errorf("%+v", c)
		}
	}
	f := func(url, want string) {
		t.Helper()
		if got := Unverified(url); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", url, got)
		}
	}
	f("mysql://u@db/", "not verified")
	f("mysql://u@db/?tls=required", "not verified")
	f("mysql://u@db/?tls=disabled", "neither encrypted")
	f("mysql://u@db/?ssl-ca=/ca.pem", "")
	f("mysql://u@db/?tls=verify-ca&ssl-ca=/ca.pem", "")
	f("unix:///s?user=u", "")
	f("nonsense", "")
}

// A private PostgreSQL is trusted by its socket for its superuser alone.
func TestPostgresSandboxByItsSocket(t *testing.T) {
	home, err := os.MkdirTemp("", "dyno-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	a := &App{Home: home, Environ: func(string) string { return "" }}
	defer a.Close()
	yard, err := a.Yard()
	if err != nil {
		t.Fatal(err)
	}
	box, err := yard.Up(t.Context(), sandbox.Config{Name: "p", Server: pgserver.Tree(t, "17"), Owner: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer yard.Remove(t.Context(), box.Name)
	named := box.Spec()
	if named.Scheme != "postgres" || named.Network != "unix" || named.Address != box.Socket ||
		named.Database != "postgres" || os.Geteuid() == 0 && named.ServerUID <= 0 {
		t.Errorf("%+v", named)
	}
	asked := endpoint.Spec{Scheme: "postgres", Network: "unix", Address: box.Socket, User: named.User}
	if own, ok := a.ownSandbox(t.Context(), asked); !ok || own != named {
		t.Errorf("%+v %v, want %+v", own, ok, named)
	}
	asked.User = "other"
	if _, ok := a.ownSandbox(t.Context(), asked); ok {
		t.Error("another user counts as the superuser")
	}
}

// TestSandboxByItsAddress: sandboxes come and go on the same ports.
func TestSandboxByItsAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server")
	}
	home, err := os.MkdirTemp("", "dyno-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	a := &App{Home: home, Environ: func(string) string { return "" }}
	defer a.Close()
	yard, err := a.Yard()
	if err != nil {
		t.Fatal(err)
	}
	box, err := yard.Up(t.Context(), sandbox.Config{Name: "b", Server: "mariadb", Owner: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer yard.Remove(t.Context(), box.Name)
	f := func(url string, want bool) {
		t.Helper()
		spec, err := a.Resolve(t.Context(), url, Login{NoDefaults: true})
		if err != nil || (spec.Known != nil) != want {
			t.Errorf("%s: %v %v", url, spec.Known, err)
		}
	}
	f("sandbox:b", false)
	f(fmt.Sprintf("mysql://root@127.0.0.1:%d/", box.Port), false)
	f(fmt.Sprintf("mysql://root@localhost:%d/", box.Port), false)
	f(fmt.Sprintf("mysql://root@127.0.0.2:%d/", box.Port), true) // where anybody may listen
	f(fmt.Sprintf("mysql://root@[::1]:%d/", box.Port), true)
	f(fmt.Sprintf("mysql://root@127.0.0.1:%d/", box.Port+1), true)
	f(fmt.Sprintf("mysql://root@db.example:%d/", box.Port), true)

	// By its socket it is the same sandbox, with the same look at who answers: what lies there may lead elsewhere.
	named, err := a.Resolve(t.Context(), "sandbox:b", Login{NoDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	url := "unix://" + box.Socket + "?user=root"
	found, err := a.Resolve(t.Context(), url, Login{NoDefaults: true})
	if err != nil || found.ServerUID != named.ServerUID || found.ExplainSchemas != named.ExplainSchemas {
		t.Errorf("%+v, want as %+v; %v", found, named, err)
	}
	if os.Geteuid() != 0 {
		return // then the sandbox and every other server of the test are of one account
	}
	if err := os.Rename(box.Socket, box.Socket+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(servers.Start(t, "mariadb").Socket, box.Socket); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"sandbox:b", url} {
		if x, err := a.Open(t.Context(), text, Login{NoDefaults: true}); err == nil {
			x.Close()
			t.Errorf("%s leads to the server of another account", text)
		}
	}
}

// TestGeneralPasswordsGoWhereTheyWereMeantTo: who adds targets and acts on them over HTTP names servers that the
// administrator's own commands meet later: in the inventory, and in the journal when the name is gone.
func TestGeneralPasswordsGoWhereTheyWereMeantTo(t *testing.T) {
	a := alone(t)
	a.Environ = func(name string) string { return map[string]string{"DYNO_PASSWORD": "general"}[name] }
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER u@'127.0.0.1' IDENTIFIED BY 'general'")
	url := fmt.Sprintf("mysql://u@127.0.0.1:%d/", s.Port)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".my.cnf")
	if err := os.WriteFile(file, []byte("[client]\npassword=general\nhost=db.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	entry := journal.Entry{ID: "a-1", Target: "gone", URL: url}
	if x, err := (Actions{a}).OpenEntry(t.Context(), entry, Login{}); err == nil ||
		target.KindOf(err) != endpoint.AuthFailed {
		t.Errorf("an entry's URL: %v", err)
		if err == nil {
			x.Close()
		}
	}
	x, err := Actions{a}.OpenEntry(t.Context(), entry, Login{DefaultsFile: file}) // now it is named
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	if _, err := (Inventory{a}).AddTarget(t.Context(), ledger.Target{Name: "shop", URL: url, Defaults: os.DevNull},
		false); err != nil {
		t.Fatal(err)
	}
	for login, want := range map[string]bool{"": false, file: true} {
		got, err := a.Resolve(t.Context(), "shop", Login{DefaultsFile: login})
		if err != nil || got.Password.Empty() == want {
			t.Errorf("with %q: a password %v, %v", login, !got.Password.Empty(), err)
		}
	}
}

// TestUsualPlace: what is only guessed leads to root's servers, to those of the servers' own users and to one's own,
// and to nobody else's.
func TestUsualPlace(t *testing.T) {
	dir := t.TempDir()
	sock, link, plain := filepath.Join(dir, "mysql.sock"), filepath.Join(dir, "link.sock"), filepath.Join(dir, "plain")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(os.Symlink(sock, link), os.WriteFile(plain, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	const mysql, joe = 27, 1001
	all := []host.Listener{
		{Network: "tcp", Address: "[::1]:3306", PID: 0, UID: joe},
		{Network: "tcp", Address: "127.0.0.1:3307", PID: 0, UID: mysql},
		{Network: "tcp", Address: "127.0.0.1:3306", PID: 0, UID: mysql},
	}
	f := func(sockets []string, mine bool, listens []host.Listener, want string) {
		t.Helper()
		x := endpoint.Spec{Network: "tcp", Address: "localhost:3306", User: "u", TLS: endpoint.TLSVerifyFull}
		may := func(path string) bool { return path != "/forbidden" }
		got := UsualPlace(x, sockets, endpoint.DefaultPort, listens, may,
			func(uid int) bool {
				return uid == mysql || mine && uid == os.Geteuid()
			})
		if got.Network+" "+got.Address != want || got.User != "u" {
			t.Errorf("%q %+v: got %s %s, want %s", sockets, listens, got.Network, got.Address, want)
		}
		if got.Network == "tcp" && got.ServerName != "localhost" {
			t.Errorf("the certificate of localhost is expected as %q", got.ServerName)
		}
	}
	f([]string{sock}, true, nil, "unix "+sock)
	f([]string{"/forbidden", dir + "/none", plain, link}, true, nil, "unix "+link)
	f([]string{link, sock}, false, nil, " ") // another user's
	f([]string{link, sock}, false, all, "tcp 127.0.0.1:3306")
	f(nil, false, all[:2], " ")
	f(nil, false, nil, " ")
}

// TestLeads: what the files name is the user's word, where nobody else could have taken it.
func TestLeads(t *testing.T) {
	const mysql, joe = 27, 1001
	dir, own := t.TempDir(), t.TempDir()
	f := func(want bool, network, address string, listens ...host.Listener) {
		t.Helper()
		mine := endpoint.Spec{Network: network, Address: address}
		got := LeadsToTrusted(mine, listens, func(uid int) bool { return uid == mysql }, func(path string) bool {
			return filepath.Dir(path) == dir
		})
		if got != want {
			t.Errorf("%s %+v: %v", address, listens, got)
		}
	}
	f(true, "tcp", "localhost:3307", host.Listener{Network: "tcp", Address: "127.0.0.1:3307", PID: 0, UID: mysql},
		host.Listener{Network: "tcp", Address: "127.0.0.1:3308", PID: 0, UID: joe})
	f(false, "tcp", "localhost:3307", host.Listener{Network: "tcp", Address: "[::1]:3307", PID: 0, UID: joe},
		host.Listener{Network: "tcp", Address: "127.0.0.1:3307", PID: 0, UID: mysql})
	f(false, "tcp", "127.0.0.1:3307", host.Listener{Network: "tcp", Address: "127.0.0.1:3307", PID: 0, UID: -1})
	f(false, "tcp", "[::1]:3307", host.Listener{Network: "tcp", Address: "127.0.0.1:3307", PID: 0, UID: joe})
	f(true, "tcp", "localhost:306", host.Listener{Network: "tcp", Address: "127.0.0.1:306", PID: 0, UID: joe})
	f(true, "tcp", "db1:3306", host.Listener{Network: "tcp", Address: "127.0.0.1:3306", PID: 0, UID: joe})
	for _, at := range []string{dir, own} {
		l, err := net.Listen("unix", filepath.Join(at, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if err := errors.Join(os.Symlink(dir+"/s", own+"/to"), os.Symlink(own+"/s", dir+"/to")); err != nil {
		t.Fatal(err)
	}
	f(true, "unix", own+"/s")
	f(false, "unix", dir+"/s")
	f(false, "unix", own+"/to")
	f(false, "unix", dir+"/to")
	f(true, "unix", dir+"/none")
}

func TestBelowShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "all")
	if err := errors.Join(os.MkdirAll(dir+"/mine", 0o700), os.Chmod(dir, 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		dir + "/s": true, dir + "/mine/s": true, "/etc/s": false, "/s": false,
		"/etc/nowhere/s": true,
	} {
		if got := BelowShared(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
