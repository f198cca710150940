package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

// alone gives a test an App of its own: a home without an inventory, and a home directory without the developer's own
// files.
func alone(t *testing.T, env ...string) *app.App {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	m := map[string]string{"HOME": os.Getenv("HOME")}
	for i := 0; i+1 < len(env); i += 2 {
		m[env[i]] = env[i+1]
	}
	a := &app.App{Home: t.TempDir(), Version: "test", Environ: func(k string) string { return m[k] }}
	t.Cleanup(func() { a.Close() })
	return a
}

func clientFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(os.Getenv("HOME"), ".my.cnf")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func search(t *testing.T, a *app.App, only ...string) Discovery {
	t.Helper()
	d, err := discover(t.Context(), a, Options{Only: only, Within: 30 * time.Second}, newMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDiscoverByDefaultsFile: the user's ~/.my.cnf leads to a server, whose password is used there.
func TestDiscoverByDefaultsFile(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	s.Exec(t, "CREATE USER joe@localhost IDENTIFIED BY 'open, Sesame'", "GRANT PROCESS ON *.* TO joe@localhost")
	a := alone(t)
	clientFile(t, "[client]\nuser=joe\npassword=\"open, Sesame\"\nsocket="+s.Socket+"\n")
	d := search(t, a, s.Socket)
	if len(d.Found) != 1 {
		t.Fatalf("found %+v, notes %q", d.Found, d.Notes)
	}
	f := d.Found[0]
	if f.Login != LoginOK || f.User != "joe@localhost" || f.Flavor != "mariadb" || !strings.HasPrefix(f.Version, "1") ||
		f.Name != fmt.Sprintf("mariadb-%d", s.Port) {
		t.Errorf("found %+v", f)
	}
	if f.DefaultsFile != "" || f.URL != "unix://"+s.Socket+"?user=joe" {
		t.Errorf("to add: %s with defaults %q", f.URL, f.DefaultsFile)
	}
	if !slices.ContainsFunc(f.Lacks, func(l Lack) bool { return l.Fix != "" }) {
		t.Errorf("joe may not read digests, and nothing tells so: %+v", f.Lacks)
	}
	if b, _ := json.Marshal(d); strings.Contains(string(b), "Sesame") {
		t.Errorf("the password is told: %s", b)
	}
	taken, err := Adopt(t.Context(), a, d)
	if err != nil || len(taken) != 1 {
		t.Fatalf("%v, %v", taken, err)
	}
	c, err := app.Inspection{App: a}.Inspect(t.Context(), ledger.Target{Name: f.Name})
	if err != nil || !c.Reached || c.User != "joe@localhost" {
		t.Errorf("as a target: %+v, %v", c, err)
	}
	if d := search(t, a, s.Socket); len(d.Found) != 1 || d.Found[0].Target != f.Name ||
		d.Found[0].Login != LoginUntried {
		t.Errorf("found again: %+v", d.Found)
	}
}

// TestDiscoverSaysThatItIsRoot has the only login be one that may do everything: it is taken, with a warning, and gets
// no plans.
func TestDiscoverSaysThatItIsRoot(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	a := alone(t)
	clientFile(t, "[client]\nuser=root\nsocket="+s.Socket+"\n")
	d := search(t, a, s.Socket)
	if len(d.Found) != 1 {
		t.Fatalf("found %+v, notes %q", d.Found, d.Notes)
	}
	f := d.Found[0]
	if f.Login != LoginOK || !strings.Contains(f.Reason, "root@localhost") || f.Fix == "" ||
		!slices.Equal(f.Create, mysql.Family{}.NewAccount("mariadb", false, "")) {
		t.Errorf("found %+v", f)
	}
	if _, err := Adopt(t.Context(), a, d); err != nil {
		t.Fatal(err)
	}
	c, err := app.Inspection{App: a}.Inspect(t.Context(), ledger.Target{Name: f.Name})
	if err != nil || !slices.ContainsFunc(c.Sources, func(s source.Source) bool {
		return s.Name == "plans" &&
			s.State == source.Denied && s.Fix != ""
	}) {
		t.Errorf("as a target: %+v, %v", c, err)
	}
	f2 := func(l app.Login, want string) {
		t.Helper()
		if p, err := (app.Inspection{App: a}).ExplainText(t.Context(), f.Name, l,
			"SELECT id FROM t", "d"); err != nil ||
			!strings.Contains(p, want) {
			t.Errorf("plan: %q, %v", p, err)
		}
	}
	f2(app.Login{}, "not run: this account may execute stored routines")
	f2(app.Login{ExplainSchemas: []string{"other"}}, "not run")
	f2(app.Login{ExplainSchemas: []string{"other", "d"}}, "\tt\t")
	s.Exec(t, append(mysql.Family{}.NewAccount("mariadb", false, ""), "GRANT SELECT ON d.* TO dyno@localhost")...)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), ledger.Target{
		Name: "shop", URL: "unix://" + s.Socket + "?user=dyno",
		PasswordEnv: "OWN",
	}, false); err != nil {
		t.Fatal(err)
	}
	a.Environ = func(name string) string { return map[string]string{"OWN": "choose a password"}[name] }
	if p, err := (app.Inspection{App: a}).ExplainText(t.Context(), "shop", app.Login{},
		"SELECT id FROM t", "d"); err != nil ||
		!strings.Contains(p, "\tt\t") {
		t.Errorf("with an account of its own: %q, %v", p, err)
	}
}

// TestDiscoverKeepsPasswords: the password of ~/.my.cnf is for the server that the file leads to, and no other is shown
// it.
func TestDiscoverKeepsPasswords(t *testing.T) {
	mine, other := servers.Start(t, "mariadb"), servers.Start(t, "mariadb")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	account := "`" + me.Username + "`@localhost"
	for _, s := range []*servers.Server{mine, other} {
		s.Exec(t, "CREATE USER IF NOT EXISTS keeper@localhost", "GRANT ALL ON *.* TO keeper@localhost",
			"CREATE OR REPLACE USER "+account+" IDENTIFIED BY 'secret7'")
	}
	a := alone(t, "DYNO_PASSWORD", "")
	clientFile(t, "[client]\nuser="+me.Username+"\npassword=secret7\nsocket="+mine.Socket+"\n")
	d := search(t, a, mine.Socket, other.Socket)
	got := map[string]Found{}
	for _, f := range d.Found {
		got[f.Address] = f
	}
	if got[mine.Socket].Login != LoginOK {
		t.Errorf("the file's own server: %+v", got[mine.Socket])
	}
	f := got[other.Socket]
	if f.Login != LoginRefused || f.Flavor != "mariadb" || f.Version == "" {
		t.Fatalf("the other one, whose password is the same: %+v", f)
	}
	if !strings.Contains(f.Reason, "NO") { // the server's own word for: no password was sent
		t.Errorf("a password was sent: %s", f.Reason)
	}
	if want := (mysql.Family{}).NewAccount("mariadb", true, me.Username); !slices.Equal(f.Create, want) {
		t.Errorf("statements: %q", f.Create)
	}
	if b, _ := json.Marshal(d); strings.Contains(string(b), "secret7") {
		t.Errorf("the password is told: %s", b)
	}
}

// TestDiscoverWithoutFiles: a server that lets the system's user in by its name, found by its socket and its port, is
// one server. What may not be looked at is not.
func TestDiscoverWithoutFiles(t *testing.T) {
	for _, flavor := range servers.Flavors {
		s := servers.Start(t, flavor)
		a := alone(t)
		tcp := fmt.Sprintf("127.0.0.1:%d", s.Port)
		d := search(t, a, s.Socket, tcp)
		if me, err := user.Current(); err != nil || me.Username != "root" {
			t.Skip("the servers of tests know only root")
		}
		if len(d.Found) != 1 {
			t.Fatalf("%s: found %+v, notes %q", flavor, d.Found, d.Notes)
		}
		f := d.Found[0]
		if f.Login != LoginOK || string(f.Flavor) != flavor || f.Address != s.Socket ||
			!slices.Equal(f.Also, []string{tcp}) || f.DefaultsFile != os.DevNull {
			t.Errorf("found %+v", f)
		}
		before := s.Status(t, "Connections")
		if d := search(t, a, "/nowhere/at/all"); len(d.Found) != 0 {
			t.Errorf("found %+v", d.Found)
		}
		if n := s.Status(t, "Connections") - before; n > 1 { // this question's own
			t.Errorf("%d connections to a server that was not to be touched", n)
		}
	}
}

// TestDiscoverOnceEach counts what a search does to a server by the server's own counters.
func TestDiscoverOnceEach(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	before := s.Status(t, "Connections")
	search(t, a, s.Socket, fmt.Sprintf("127.0.0.1:%d", s.Port))
	if n := s.Status(t, "Connections") - before - 1; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestDiscoverBadFile(t *testing.T) {
	a := alone(t)
	clientFile(t, "[client]\nuser\npassword=hidden9\n")
	d := search(t, a, "/nowhere")
	if len(d.Notes) != 2 || !strings.Contains(d.Notes[0], ".my.cnf:2") || strings.Contains(d.Notes[0], "hidden9") {
		t.Errorf("notes %q", d.Notes)
	}
	if !strings.Contains(d.Notes[1], "there is no server at /nowhere") {
		t.Errorf("notes %q", d.Notes)
	}
}

// unnamed skips the test where the machine's own files, which a test cannot put aside, lead to a server.
func unnamed(t *testing.T) {
	t.Helper()
	if o, err := target.Defaults(""); err != nil || o.Host != "" || o.Socket != "" || o.Port != 0 {
		t.Skip("the defaults files of this machine name a server")
	}
}

// TestDiscoverGuesses: a login that names no server goes to the usual place, unless that is somebody else's.
func TestDiscoverGuesses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives a file to another user")
	}
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER joe@localhost IDENTIFIED BY 'secret7'")
	a := alone(t, "DYNO_PASSWORD", "secret7")
	unnamed(t)
	clientFile(t, "[client]\nuser=joe\n")
	defer func(old []string) { mysql.UsualSockets = old }(mysql.UsualSockets)
	mysql.UsualSockets = []string{s.Socket}
	const nobody = 65534
	for uid, want := range map[int]LoginState{0: LoginOK, nobody: LoginUntried} {
		if err := os.Chown(s.Socket, uid, -1); err != nil {
			t.Fatal(err)
		}
		d := search(t, a, s.Socket)
		if len(d.Found) != 1 || d.Found[0].Login != want {
			t.Errorf("the socket of user %d: %+v, want %s", uid, d.Found, want)
		}
	}
}

// TestDiscoverTaken: a password does not go to a socket that the defaults files name where somebody else could have put
// it, whatever name it was made under.
func TestDiscoverTaken(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives a file to another user")
	}
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER joe@localhost IDENTIFIED BY 'secret7'")
	a := alone(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(dir, "db.sock")
	if err := os.Link(s.Socket, moved); err != nil {
		t.Fatal(err)
	}
	clientFile(t, "[client]\nuser=joe\npassword=secret7\nsocket="+moved+"\n")
	const nobody = 65534
	for uid, want := range map[int]LoginState{0: LoginOK, nobody: LoginUntried} {
		if err := os.Chown(moved, uid, -1); err != nil {
			t.Fatal(err)
		}
		before := s.Status(t, "Connections")
		d := search(t, a, moved)
		if len(d.Found) != 1 || d.Found[0].Login != want || (len(d.Notes) == 1) != (want == LoginUntried) {
			t.Errorf("the socket of user %d: %+v, notes %q, want %s", uid, d.Found, d.Notes, want)
		}
		if n := s.Status(t, "Connections") - before - 1; n > 1 {
			t.Errorf("%d connections", n)
		}
	}
}

// TestDiscoverLocalhost: what the file calls localhost is the address that may be looked at.
func TestDiscoverLocalhost(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER joe@localhost IDENTIFIED BY 'secret7'",
		"CREATE USER joe@'127.0.0.1' IDENTIFIED BY 'secret7'")
	a := alone(t)
	clientFile(t, fmt.Sprintf("[client]\nuser=joe\npassword=secret7\nhost=localhost\nport=%d\n", s.Port))
	d := search(t, a, fmt.Sprintf("127.0.0.1:%d", s.Port))
	if len(d.Found) != 1 || d.Found[0].Login != LoginOK || !slices.Contains(d.Found[0].By, "defaults file") {
		t.Errorf("found %+v, notes %q", d.Found, d.Notes)
	}
	if d := search(t, a, "127.0.0.1:1"); len(d.Found) != 0 {
		t.Errorf("found where it may not look: %+v", d.Found)
	}
}

// forward listens on all addresses, as a container's engine does for a server in it, and returns the port.
func forward(t *testing.T, socket string) string {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
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
				d, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				defer d.Close()
				go func() {
					_, _ = io.Copy(d, c) // either end may go first
					d.Close()
				}()
				_, _ = io.Copy(c, d)
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// TestDiscoverNamed: an address that was named is looked at, though no server's process is seen to listen there.
func TestDiscoverNamed(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	port := forward(t, s.Socket)
	for _, host := range []string{"127.0.0.1:", "localhost:", "127.0.0.2:"} { // the last is not as the kernel tells it
		d := search(t, a, host+port)
		if len(d.Found) != 1 || d.Found[0].Flavor != "mariadb" || !slices.Equal(d.Found[0].By, []string{"port"}) ||
			len(d.Notes) != 0 {
			t.Errorf("%s: found %+v, notes %q", host+port, d.Found, d.Notes)
		}
	}
}

// TestDiscoverNone: where nothing shall be looked for nothing is.
func TestDiscoverNone(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	clientFile(t, "[client]\nsocket="+s.Socket+"\n")
	before := s.Status(t, "Connections")
	d, err := discover(t.Context(), a, Options{None: true}, newMemory(), nil)
	if err != nil || len(d.Found) != 0 || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "--discover=false") {
		t.Errorf("%+v, %v", d, err)
	}
	if n := s.Status(t, "Connections") - before - 1; n != 0 {
		t.Errorf("%d connections", n)
	}
}

// TestDiscoverRemembersRefusals counts by the server's own counters what a page that stays open does to a server that
// lets nobody in.
func TestDiscoverRemembersRefusals(t *testing.T) {
	s := servers.Start(t, "mariadb")
	a := alone(t)
	s.Exec(t, "CREATE USER joe@localhost IDENTIFIED BY 'secret7'")
	clientFile(t, "[client]\nuser=joe\npassword=secret8\nsocket="+s.Socket+"\n")
	m := newMemory()
	look := func(want LoginState, connections uint64) (d Discovery) {
		t.Helper()
		before := s.Status(t, "Connections")
		d, err := discover(t.Context(), a, Options{Only: []string{s.Socket}, Within: 30 * time.Second}, m, nil)
		if err != nil || len(d.Found) != 1 || d.Found[0].Login != want {
			t.Fatalf("%+v, %v, want %s", d, err, want)
		}
		if n := s.Status(t, "Connections") - before - 1; n != connections {
			t.Errorf("%d connections, want %d", n, connections)
		}
		return d
	}
	first := look(LoginRefused, 2) // the login, and the greeting
	if again := look(LoginRefused, 0); !reflect.DeepEqual(again, first) {
		t.Errorf("from memory it is\n%+v, not\n%+v", again, first)
	}
	later := func() {
		for k, r := range m.refused {
			r.until = time.Now().Add(-time.Second)
			m.refused[k] = r
		}
	}
	later()
	look(LoginRefused, 1)
	for _, r := range m.refused {
		if r.pause != 2*refusedFirst {
			t.Errorf("it is tried again after %v", r.pause)
		}
	}
	look(LoginRefused, 0)
	// another login is not the one that was refused
	clientFile(t, "[client]\nuser=joe\npassword=secret7\nsocket="+s.Socket+"\n")
	look(LoginOK, 1)
	look(LoginOK, 1)
	clientFile(t, "[client]\nuser=joe\npassword=secret8\nsocket="+s.Socket+"\n")
	s.Exec(t, "SET PASSWORD FOR joe@localhost = PASSWORD('secret8')")
	later()
	look(LoginOK, 1)
	if len(m.refused) != 0 {
		t.Errorf("%d refusals are left", len(m.refused))
	}
}

// TestDiscoverFollowsNoStranger: the kernel goes on telling the path at which a socket was made, whatever lies there
// now. A link that another user put there to a server's socket is that user's place: he may have it lead elsewhere once
// Dyno has learned it.
func TestDiscoverFollowsNoStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives a directory to another user")
	}
	a := alone(t)
	listen := func(path string) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	roots, eves, shared := t.TempDir(), t.TempDir(), t.TempDir()
	server, planted := filepath.Join(roots, "mysqld.sock"), filepath.Join(eves, "mysql.sock")
	listen(server)
	listen(planted)
	for _, path := range []string{filepath.Join(shared, "mysql.sock"), filepath.Join(shared, "other.sock")} {
		// the second is not there for the kernel
		if strings.HasSuffix(path, "mysql.sock") {
			listen(path)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Symlink(server, path), os.Lchown(path, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(shared, 0o777|os.ModeSticky), os.Remove(planted), os.Symlink(server, planted),
		os.Chown(eves, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		server: "", planted: strange, filepath.Join(shared, "mysql.sock"): strange,
		filepath.Join(shared, "other.sock"): strange,
	} {
		all, _, notes := spots(t.Context(), a, Options{Only: []string{path}})
		if len(all) != 1 || len(all[0].at) != 1 || all[0].at[0].Address != path || all[0].untried != want {
			t.Errorf("%s: %+v, notes %q, want %q", path, all, notes, want)
		}
	}
}

// TestStrangersCrowdNobodyOut: however many sockets another account listens on, a server that may
// be logged in to is looked at.
func TestStrangersCrowdNobodyOut(t *testing.T) {
	a := alone(t)
	eve := os.Geteuid() + 4711
	var all []host.Listener
	for i := range 1000 {
		at := fmt.Sprintf("127.1.%d.%d:3306", i/250, i%250)
		// half of them of one process
		all = append(all, host.Listener{Network: "tcp", Address: at, PID: i % 2, UID: eve})
	}
	all = append(all, host.Listener{Network: "tcp", Address: "127.0.0.1:3306", PID: 4712, UID: os.Geteuid()})
	spots, left := candidates(a, finders()[0], all, endpoint.Spec{})
	if first := spots[0]; first.pid != 4712 || first.untried != "" {
		t.Errorf("first is %+v", first)
	}
	if len(spots) > mostServers+1 || len(spots)-1+left != 501 {
		t.Errorf("%d spots, %d left out", len(spots), left)
	}
	for _, s := range spots {
		if len(s.at) > mostServers {
			t.Errorf("%d addresses of process %d", len(s.at), s.pid)
		}
	}
}

// TestDiscoverStrangers: of a server that is left alone the greeting is taken, once.
func TestDiscoverStrangers(t *testing.T) {
	s := servers.Start(t, "mariadb")
	m := newMemory()
	before := s.Status(t, "Connections")
	for range 3 {
		x := endpoint.Spec{Network: "unix", Address: s.Socket}
		if flavor, version := m.greeted(t.Context(), x); flavor != "mariadb" || version == "" {
			t.Errorf("it greets with %q %q", flavor, version)
		}
		x.Jump.Host = "bastion" // a socket of another machine
		if flavor, _ := (mysql.Family{}).Greeting(t.Context(), x); flavor != "" {
			t.Errorf("behind a jump host is %s", flavor)
		}
	}
	if n := s.Status(t, "Connections") - before - 1; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestMerged(t *testing.T) {
	socket := Found{Address: "/s", server: "x", Login: LoginOK, Name: "a"}
	watched := Found{
		Address: "127.0.0.1:1", Also: []string{"[::1]:1"}, server: "x",
		Login: LoginUntried, Target: "shop",
	}
	refused := Found{Address: "/r", pid: 7, Login: LoginRefused}
	let := Found{Address: "127.0.0.1:2", pid: 7, Login: LoginOK}
	gone := Found{Address: "/gone", Login: LoginFailed, By: []string{"socket"}}
	f := func(want string, all ...Found) {
		t.Helper()
		var got []string
		for _, x := range merged(all) {
			got = append(got, fmt.Sprintf("%s %s %v %s", x.Target, x.Address, x.Also, x.Login))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("got %s, want %s", s, want)
		}
	}
	f("shop 127.0.0.1:1 [/s [::1]:1] untried", socket, watched)
	f("shop 127.0.0.1:1 [[::1]:1 /s] untried", watched, socket)
	f(" 127.0.0.1:2 [/r] ok", refused, let)
	f(" 127.0.0.1:2 [/r] ok", let, refused, gone)
	f(" /s [] ok;  /r [] refused", socket, refused)
}

func TestSeeker(t *testing.T) {
	var k Seeker
	n := 0
	look := func(context.Context, *memory) (Discovery, error) {
		n++
		return Discovery{Notes: []string{strconv.Itoa(n)}}, nil
	}
	find := func(want string) {
		t.Helper()
		d, err := k.find(t.Context(), time.Hour, look)
		if err != nil || len(d.Notes) != 1 || d.Notes[0] != want {
			t.Errorf("%+v, %v, want %s", d, err, want)
		}
	}
	find("1")
	find("1")
	k.Forget()
	find("2")

	// What is forgotten while a search runs is not what that search finds, and neither forgetting nor giving up waits
	// for it.
	k.Forget()
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan *memory, 1)
	var first *memory
	go func() {
		_, _ = k.find(t.Context(), time.Hour, func(_ context.Context, m *memory) (Discovery, error) {
			first = m
			close(began)
			<-end
			return Discovery{Notes: []string{"old"}}, nil
		})
		done <- first
	}()
	<-began
	k.Forget()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.find(ctx, time.Hour, look); !errors.Is(err, context.Canceled) {
		t.Errorf("one who does not wait is told %v", err)
	}
	close(end)
	old := <-done
	find("3")
	if k.known == old {
		t.Error("what was refused before is not forgotten")
	}

	// A search that was given up is no answer for others.
	k.Forget()
	_, err := k.find(ctx, time.Hour, look)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	find("5")
}

func TestFreeName(t *testing.T) {
	taken := map[string]bool{"a": true, "a-2": true}
	for name, want := range map[string]string{"a": "a-3", "b": "b"} {
		if got := freeName(name, taken); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestDiscoverWatched: a server that is watched is not offered again at another of its addresses, nor taken for one
// behind a jump host.
func TestDiscoverWatched(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER joe@localhost IDENTIFIED BY 'secret7'")
	a := alone(t)
	clientFile(t, "[client]\nuser=joe\npassword=secret7\nsocket="+s.Socket+"\n")
	add := func(name, url string) {
		t.Helper()
		if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), ledger.Target{Name: name, URL: url},
			false); err != nil {
			t.Fatal(err)
		}
	}
	add("far", "unix://"+s.Socket+"?ssh=ssh://bastion")
	if d := search(t, a, s.Socket); len(d.Found) != 1 || d.Found[0].Target != "" || d.Found[0].Login != LoginOK {
		t.Errorf("beside one of the same path on another machine: %+v", d.Found)
	}
	l, err := a.Ledger(t.Context())
	if err == nil {
		err = l.RemoveTarget(t.Context(), "far")
	}
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := "127.0.0.1:" + forward(t, s.Socket)
	add("shop", "mysql://joe@"+elsewhere)
	x, err := a.Open(t.Context(), "shop", app.Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var k Seeker
	watched := func() map[string]string { return map[string]string{"shop": x.About().Server} }
	d, err := k.Discover(t.Context(), a, Options{Only: []string{s.Socket, elsewhere}, Within: 30 * time.Second},
		watched)
	if err != nil || len(d.Found) != 1 {
		t.Fatalf("found %+v, notes %q, %v", d.Found, d.Notes, err)
	}
	if f := d.Found[0]; f.Target != "shop" || f.Name != "shop" || len(f.Also) != 1 || f.Also[0] == f.Address {
		t.Errorf("found %+v", f)
	}
	if taken, err := Adopt(t.Context(), a, d); err != nil || len(taken) != 0 {
		t.Errorf("taken again: %+v, %v", taken, err)
	}
}
