package app

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/program"
)

// TestAllow: what a request over HTTP may have sent, and where.
func TestAllow(t *testing.T) {
	a := alone(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var theirs net.Listener
	program.AsNobody(t, func() { theirs, err = net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	ours, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	stranger, own := "mysql://"+theirs.Addr().String(), "mysql://"+ours.Addr().String()
	served := "mysql://" + asServer(t)
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	write(filepath.Join(home, ".my.cnf"), "[client]\nuser=root\npassword=x\nhost=db.example\nport=3310\n")
	kept := write(filepath.Join(t.TempDir(), "kept.cnf"), "[client]\npassword=x\n")
	dir := a.Credentials()
	write(filepath.Join(dir, "bare.cnf"), "[client]\npassword=x\n")
	write(filepath.Join(dir, "led.cnf"), "[client]\npassword=x\nhost=db9\nssl-mode=REQUIRED\n")
	write(filepath.Join(dir, "ca.pem"), "x")
	write(filepath.Join(dir, "ca.cnf"), "[client]\npassword=x\nhost=db9\nssl-ca="+filepath.Join(dir, "ca.pem")+"\n")
	for _, e := range []ledger.Target{
		{Name: "kept", URL: "mysql://db1", Defaults: kept},
		{Name: "usual", URL: "mysql://db2"},
		{Name: "env", URL: "mysql://db3", PasswordEnv: "SHOP_PASSWORD"},
		{Name: "ca", URL: "mysql://db6/?ssl-ca=" + filepath.Join(dir, "ca.pem"), PasswordEnv: EnvPrefix + "CA"},
		{Name: "watched", URL: "mysql://db7/?node-exporter=http://metrics:9100/db7", Defaults: os.DevNull},
		{Name: "far", URL: "mysql://db4/?ssh=ssh://me@jump", Defaults: os.DevNull},
	} {
		if _, err := (Inventory{a}).AddTarget(t.Context(), e, false); err != nil {
			t.Fatal(err)
		}
	}
	f := func(url, file, env, want string) {
		t.Helper()
		got, err := a.Allow(t.Context(), ledger.Target{URL: url, Defaults: file, PasswordEnv: env})
		switch {
		case err != nil && (target.KindOf(err) != endpoint.BadTarget ||
			!strings.Contains(err.Error()+target.HintOf(err), want) || want == ""):
			t.Errorf("%s %s%s: %v, want %q", url, file, env, err, want)
		case err == nil && got.Defaults != want:
			t.Errorf("%s %s%s: allowed with %q, want %q", url, file, env, got.Defaults, want)
		}
	}
	const nothing = os.DevNull
	in := func(name string) string { return filepath.Join(dir, name) }
	// What is there for all servers goes where the defaults files lead, or where the inventory sends it.
	f("mysql://db.example:3310", "", "", "")
	f("mysql://", "", "", "")
	f("mysql://db2", "", "", "")
	f("mysql://db.example", "", "", nothing)
	f("mysql://db.example:3310/?tls=disabled", "", "", nothing)
	f("mysql://db.example:3310/?ssh=ssh://me@jump", "", "", nothing)
	f("mysql://evil.example/?tls=verify-full", "", "", nothing)
	f(own, "", "", nothing)
	f(stranger, "", "", nothing)
	f("unix://"+socket, "", "", nothing)
	f(stranger, nothing, "", nothing)
	// A file of the directory, and one that only the inventory has.
	f("mysql://db9", "led.cnf", "", in("led.cnf"))
	f("mysql://db9/?tls=disabled", "led.cnf", "", "verify-full")
	f("mysql://db1", in("led.cnf"), "", "verify-full")
	f("mysql://DB9:3307/?tls=verify-full", in("led.cnf"), "", in("led.cnf"))
	// whoever asks may have put it there
	f("mysql://db9/?tls=verify-full&ssl-ca="+in("ca.pem"), "led.cnf", "", "verify-full")
	f("mysql://db9:3307/?tls=verify-full", "ca.cnf", "", in("ca.cnf"))
	f("mysql://db9:3307/?ssl-ca="+in("ca.pem"), "ca.cnf", "", in("ca.cnf"))
	f("mysql://db9:3307/?tls=verify-full&ssl-ca="+in("ca2.pem"), "ca.cnf", "", "verify-full")
	f("mysql://db6:3307/?tls=verify-full&ssl-ca="+in("ca.pem"), "", EnvPrefix+"CA", "")
	f("mysql://db6:3307/?tls=verify-full&ssl-ca="+in("ca2.pem"), "", EnvPrefix+"CA", "verify-full")
	f("mysql://db6:3307/?tls=verify-full", "", EnvPrefix+"CA", "verify-full")
	f("mysql://db3:3307/?tls=verify-full&ssl-ca="+in("ca.pem"), "", "SHOP_PASSWORD", "verify-full")
	f("mysql://db9/?server-public-key-path=/etc/ssl/key.pem", nothing, "", "server-public-key-path")
	f("mysql://db9/?server-public-key-path="+in("key.pem"), nothing, "", nothing)
	f("mysql://db9/?tls=verify-full&ssl-ca=/tmp/ca.pem", "led.cnf", "", "ssl-ca")
	f("mysql://db1", "bare.cnf", "", "verify-full")
	f(served, "bare.cnf", "", in("bare.cnf"))
	f(own, "bare.cnf", "", "verify-full") // of this account, but no server
	f("unix://"+socket, "bare.cnf", "", in("bare.cnf"))
	f(stranger, "bare.cnf", "", "verify-full")
	f("mysql://db1", kept, "", kept)
	f("mysql://db2", kept, "", "verify-full")
	f(own, kept, "", "verify-full")
	f("mysql://db1/?tls=disabled", kept, "", "verify-full")
	f("mysql://db1:3307/d?tls=verify-full", kept, "", kept)
	f("mysql://db1:3307/?tls=verify-ca&ssl-ca="+in("ca.pem"), kept, "", "verify-full")
	f("mysql://db1/?tls=verify-full", in("../.my.cnf"), "", "credentials")
	f("mysql://db1/?tls=verify-full", dir+"/../x.cnf", "", "credentials")
	f("mysql://db1/?tls=verify-full", dir+"x/x.cnf", "", "credentials")
	f("mysql://db1/?tls=verify-full", "../x.cnf", "", "credentials")
	f("mysql://db1/?tls=verify-full", "none.cnf", "", "no such file")
	// A variable.
	f("mysql://db3", "", "SHOP_PASSWORD", "")
	f("mysql://db1", "", "SHOP_PASSWORD", "verify-full")
	f("mysql://db3:3307/?tls=verify-full", "", "SHOP_PASSWORD", "")
	f("mysql://db1/?tls=verify-full", "", "OTHER", EnvPrefix)
	f("mysql://db1/?tls=verify-full", "", "DYNO_PASSWORD", EnvPrefix)
	// Another way to seal the password, or an older TLS, than the owner said.
	for _, x := range []string{"get-server-public-key=1", "server-public-key-path=" +
		in("ca.pem"), "tls-version=TLSv1"} {
		f("mysql://db1/?"+x, kept, "", "verify-full")
		f("mysql://db9/?"+x, "led.cnf", "", "verify-full")
		f("mysql://db.example:3310/?"+x, "", "", nothing)
	}
	f(served+"/?get-server-public-key=1", "bare.cnf", "", "verify-full")
	f("mariadb://db1", kept, "", "verify-full")
	// A host for which whoever asks may have a certificate.
	const add = "`dyno target add NAME URL --"
	f("mysql://evil.example/?tls=verify-full", "led.cnf", "", add+"from-defaults "+in("led.cnf"))
	f("mysql://evil.example/?tls=verify-full", "bare.cnf", "", add)
	f("mysql://evil.example/?tls=verify-full", kept, "", add)
	f("mysql://db1/?tls=verify-full&server-name=evil.example", kept, "", add)
	f("mysql://db9/?tls=verify-full&server-name=evil.example", "led.cnf", "", add)
	f("mysql://db1/?tls=verify-full&ssh=ssh://me@jump", kept, "", add)
	f("mysql://evil.example/?tls=verify-full", "", "SHOP_PASSWORD", add+"password-env SHOP_PASSWORD")
	f("mysql://evil.example/?tls=verify-full", "", EnvPrefix+"X", add+"password-env "+EnvPrefix+"X")
	f("mysql://db1/?tls=verify-ca", "", EnvPrefix+"X", "verify-full")
	f(stranger, "", EnvPrefix+"X", "verify-full")
	f(served, "", EnvPrefix+"X", "")
	f(own, "", EnvPrefix+"X", "verify-full")
	f(served, "", "SHOP_PASSWORD", "verify-full") // it is for db3
	// A jump host.
	f("mysql://db5/?ssh=ssh://me@jump", nothing, "", nothing)
	f("mysql://db8/?node-exporter=http://DB8:9100", nothing, "", nothing)
	f("mysql://db8/?node-exporter=http://metrics:9100/db7", nothing, "", nothing)
	f("mysql://db8/?node-exporter=http://db9:9100/metrics", nothing, "", "node-exporter")
	f("mysql://db8/?node-exporter=http://db8:9100/stop", nothing, "", "node-exporter")
	f("mysql://db8/?node-exporter=http://db8:9100/metrics%3Fx=y", nothing, "", "node-exporter")
	f("unix:///s?node-exporter=http://127.0.0.1:9100/metrics", nothing, "", "node-exporter")
	f("mysql://db5/?ssh=ssh://root@jump", nothing, "", "jump host")

	// With files that name no server, the usual place counts as theirs; here nobody is there.
	write(filepath.Join(home, ".my.cnf"), "[client]\nuser=root\npassword=x\n")
	f(own, "", "", nothing)
	f(stranger, "", "", nothing)
	f("unix://"+socket, "", "", nothing)
}

// asServer returns an address at which a program with a server's name listens.
func asServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(t.TempDir(), "mysqld")
	if out, err := exec.Command("cp", sleep, server).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.Command(server, "300")
	c.ExtraFiles = []*os.File{file}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return l.Addr().String()
}
