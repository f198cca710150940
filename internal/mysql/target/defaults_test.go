package target

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// write makes files in a directory from name, text, name, text…
func write(t *testing.T, dir string, nameText ...string) {
	t.Helper()
	for i := 0; i < len(nameText); i += 2 {
		p := filepath.Join(dir, nameText[i])
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(nameText[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDefaults(t *testing.T) {
	f := func(text string, want Options, groups ...string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "my.cnf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Defaults(file, groups...)
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			return
		}
		got.Files = nil
		if got.Password != want.Password || got.User != want.User || got.Host != want.Host || got.Port != want.Port ||
			got.Socket != want.Socket ||
			got.Database != want.Database || got.TLS != want.TLS || got.CA != want.CA ||
			got.Cert != want.Cert || got.Key != want.Key ||
			got.ConnectTimeout != want.ConnectTimeout {
			t.Errorf("got  %+v %q\nwant %+v %q\nin %s", got, got.Password.Reveal(), want, want.Password.Reveal(), text)
		}
	}
	f("", Options{})
	f("# c\n; c\n\n[client]\n", Options{})
	f("[client]\nuser=u\nhost=h\nport=3307\nsocket=/s\ndatabase=d\npassword=p\nconnect_timeout=7\n", Options{
		User: "u", Host: "h", Port: 3307,
		Socket: "/s", Database: "d", Password: endpoint.NewSecret("p"), ConnectTimeout: 7 * time.Second,
	})
	f("\ufeff[client]\r\nuser = u\r\n  host\t=\th \r\n", Options{User: "u", Host: "h"})
	f("[mysqld]\nuser=mysql\nport=1\nport=what\n[client]\nport=2\n[mysqldump]\npassword=x\n", Options{Port: 2})
	f("[client]\nuser=a\n[client]\nuser=b\n", Options{User: "b"})
	f("[client]\nuser=a\n[client-mariadb]\nuser=b\n", Options{User: "a"})
	f("[client]\nuser=a\n[client-mariadb]\nuser=b\n", Options{User: "b"}, "client-mariadb")
	f("[client]\npassword=\"a b # c\"  # really\n", Options{Password: endpoint.NewSecret("a b # c")})
	f("[client]\npassword='it''s'\n", Options{Password: endpoint.NewSecret("it''s")})
	f("[client]\npassword=a\\sb\\\\c\n", Options{Password: endpoint.NewSecret(`a b\c`)})
	f("[client]\npassword\n", Options{})
	f("[client]\nuser=\n", Options{})
	f("[client]\nuser=größe\n", Options{User: "größe"})
	f("[client]\nno-auto-rehash\nprompt=\\u@\\h>\nauto-vertical-output\nunknown-key\n", Options{})
	f("[client]\nloose_user=u\n", Options{User: "u"})
	f("[client]\nssl-mode=VERIFY_CA\nssl_ca=a\nssl-cert=c\nssl_key=k\n",
		Options{TLS: endpoint.TLSVerifyCA, CA: "a", Cert: "c", Key: "k"})
	f("[client]\nssl\n", Options{TLS: endpoint.TLSRequired})
	f("[client]\nssl=0\n", Options{TLS: endpoint.TLSDisabled})
	f("[client]\nskip-ssl\n", Options{TLS: endpoint.TLSDisabled})
	f("[client]\ndisable_ssl\n", Options{TLS: endpoint.TLSDisabled})
	f("[client]\nssl\nssl-verify-server-cert\n", Options{TLS: endpoint.TLSVerifyFull})
	f("[client]\nssl-verify-server-cert=ON\nssl\n", Options{TLS: endpoint.TLSVerifyFull})
	f("[client]\nssl-verify-server-cert=off\n", Options{TLS: endpoint.TLSRequired})
}

func TestDefaultsIncludes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir,
		"my.cnf", "[client]\nuser=first\nhost=h\n!include sub/one.cnf\n!includedir "+dir+
			"/conf.d\n[client]\ndatabase=last\n",
		"sub/one.cnf", "[client]\nuser=one\nport=1\n!include two.cnf\n",
		"sub/two.cnf", "[client]\npassword=two\n",
		"conf.d/20.cnf", "[client]\nport=20\n",
		"conf.d/10.cnf", "[client]\nport=10\nsocket=/ten\n",
		"conf.d/99.txt", "[client]\nport=99\n")
	o, err := Defaults(dir + "/my.cnf")
	if err != nil {
		t.Fatal(err)
	}
	if o.User != "one" || o.Host != "h" || o.Port != 20 || o.Socket != "/ten" || o.Database != "last" ||
		o.Password.Reveal() != "two" || len(o.Files) != 5 {
		t.Errorf("got %+v", o)
	}
}

func TestDefaultsErrorsNameFileAndLine(t *testing.T) {
	f := func(want string, nameText ...string) {
		t.Helper()
		dir := t.TempDir()
		for i := 1; i < len(nameText); i += 2 {
			nameText[i] = strings.ReplaceAll(nameText[i], "DIR", dir)
		}
		write(t, dir, nameText...)
		o, err := Defaults(dir + "/my.cnf")
		want = strings.ReplaceAll(want, "DIR", dir)
		if err == nil || !strings.Contains(err.Error(), want) || KindOf(err) != endpoint.BadTarget ||
			HintOf(err) == "" {
			t.Errorf("got %v, %+v\nwant %s", err, o, want)
		}
		if err != nil && strings.Contains(err.Error(), "swordfish") {
			t.Errorf("the error shows a value: %v", err)
		}
	}
	f("DIR/my.cnf:1: a line before the first [group]", "my.cnf", "password=swordfish\n")
	f("DIR/my.cnf:2: port is not a number", "my.cnf", "[client]\nport=swordfish\n")
	f("DIR/my.cnf:3: the [ of a group is not closed", "my.cnf", "\n\n[client\n")
	f("DIR/my.cnf:1: something follows the ]", "my.cnf", "[client] user=swordfish\n")
	f("DIR/my.cnf:2: user needs a value", "my.cnf", "[client]\nuser\n")
	f("DIR/my.cnf:2: the TLS mode is", "my.cnf", "[client]\nssl-mode=swordfish\n")
	f("DIR/my.cnf:2: ssl: the value is", "my.cnf", "[client]\nssl=swordfish\n")
	f("DIR/my.cnf:2: the connect timeout", "my.cnf", "[client]\nconnect-timeout=swordfish\n")
	f("DIR/my.cnf:2: not valid UTF-8", "my.cnf", "[client]\npassword=swordfish\xff\n")
	f("DIR/my.cnf:1: unknown directive", "my.cnf", "!incldue x\n")
	f("DIR/my.cnf:1: !include without a path", "my.cnf", "!include \n")
	f("DIR/my.cnf:1: !include: stat DIR/gone.cnf", "my.cnf", "!include gone.cnf\n")
	f("DIR/my.cnf:1: !includedir: open DIR/gone", "my.cnf", "!includedir DIR/gone\n")
	f("DIR/my.cnf:2: !include: DIR/b.cnf:1: !include: DIR/my.cnf: the file includes itself", "my.cnf",
		"\n!include b.cnf", "b.cnf", "!include DIR/my.cnf")
	f("DIR/my.cnf:1: !include: DIR/sub: not a regular file", "my.cnf", "!include DIR/sub\n", "sub/x", "")
	f("stat DIR/my.cnf: no such file", "other", "")
}

func TestDefaultsFileThatAnybodyMayWriteIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(file, []byte("[client]\nhost=evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Defaults(file); err == nil || !strings.Contains(err.Error(), "every user may write") {
		t.Errorf("got %v", err)
	}
}

// TestOptionValuesAsTheClientsReadThem asks the program that shows how MariaDB's clients read a file.
func TestOptionValuesAsTheClientsReadThem(t *testing.T) {
	if testing.Short() {
		t.Skip("needs my_print_defaults")
	}
	tool, err := exec.LookPath("my_print_defaults")
	if err != nil {
		t.Fatal(err)
	}
	values := []string{
		"a", " a b ", `"a b"`, `'a b'`, `"h#x"  # c`, "ab#cd", "ab #cd", `a\sb\tc\\d\qe`, `"un'closed`, `'un"closed`,
		`ab"c#d"e`, `a\#b`, `'q\'q'`,
		`"q\"q"`, `"a"b"`, `"a"`, `""`, `''`, `"`, `\`, `a\`, `a=b`, `=`, `'a'#b'`, `"a\\"`, `a;b`, `grüße`,
	}
	var text strings.Builder
	text.WriteString("[client]\n")
	for _, v := range values {
		text.WriteString("host=" + v + "\n")
	}
	file := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "--defaults-file="+file, "client").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(values) {
		t.Fatalf("%d lines of %d: %s", len(lines), len(values), out)
	}
	for i, v := range values {
		if got, want := optionValue(v), strings.TrimPrefix(lines[i], "--host="); got != want {
			t.Errorf("host=%s: got %q, the clients read %q", v, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "full.cnf",
		"[client]\nuser=fu\npassword=fp\nhost=fh\nport=3310\ndatabase=fd\nssl-ca=/ca\n[client-mariadb]\nuser=fm\n",
		"sock.cnf", "[client]\nsocket=/run/s\nuser=fu\nssl\n", "local.cnf", "[client]\nhost=localhost\nsocket=/run/s\n",
		"empty.cnf", "")
	f := func(url, file string, env map[string]string, want endpoint.Spec, password string) {
		t.Helper()
		s, err := endpoint.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Resolve(s, dir+"/"+file, func(k string) string { return env[k] })
		if err != nil {
			t.Fatal(err)
		}
		if got.Password.Reveal() != password {
			t.Errorf("%s with %s: password %q, want %q", url, file, got.Password.Reveal(), password)
		}
		got.Password, got.PasswordInURL = endpoint.Secret{}, false
		if got != want {
			t.Errorf("%s with %s:\ngot  %+v\nwant %+v", url, file, got, want)
		}
	}
	env := map[string]string{"USER": "me", "MYSQL_PWD": "old"}
	f("mysql://", "empty.cnf", env,
		endpoint.Spec{Scheme: "mysql", Network: "tcp", Address: "localhost:3306", User: "me"}, "old")
	f("mysql://", "full.cnf", env, endpoint.Spec{
		Scheme: "mysql", Network: "tcp", Address: "fh:3310", User: "fu",
		Database: "fd", CA: "/ca",
	}, "fp")
	f("mariadb://", "full.cnf", env, endpoint.Spec{
		Scheme: "mariadb", Network: "tcp", Address: "fh:3310", User: "fm",
		Database: "fd", CA: "/ca",
	}, "fp")
	f("mysql://u@h/d", "full.cnf", env, endpoint.Spec{
		Scheme: "mysql", Network: "tcp", Address: "h:3306", User: "u",
		Database: "d", CA: "/ca",
	}, "fp")
	f("mysql://u:up@h/d", "full.cnf", map[string]string{"DYNO_PASSWORD": "dp"}, endpoint.Spec{
		Scheme: "mysql", Network: "tcp",
		Address: "h:3306", User: "u", Database: "d", CA: "/ca",
	}, "up")
	f("mysql://u@h/d", "full.cnf", map[string]string{"DYNO_PASSWORD": "dp"}, endpoint.Spec{
		Scheme: "mysql", Network: "tcp",
		Address: "h:3306", User: "u", Database: "d", CA: "/ca",
	}, "dp")
	f("mysql://", "sock.cnf", nil, endpoint.Spec{Scheme: "mysql", Network: "unix", Address: "/run/s", User: "fu"}, "")
	f("mysql://", "local.cnf", env, endpoint.Spec{Scheme: "mysql", Network: "unix", Address: "/run/s", User: "me"},
		"old")
	f("mysql://127.0.0.1", "local.cnf", env, endpoint.Spec{
		Scheme: "mysql", Network: "tcp",
		Address: "127.0.0.1:3306", User: "me",
	}, "old")
	f("mysql://:3999", "full.cnf", env, endpoint.Spec{
		Scheme: "mysql", Network: "tcp", Address: "fh:3999", User: "fu",
		Database: "fd", CA: "/ca",
	}, "fp")
}

func FuzzDefaults(f *testing.F) {
	for _, s := range []string{
		"[client]\nuser=a\npassword=\"x\\\"y\"#c\n!include x\n", "[a]\n[client]\nport=1\nssl\n",
		"[client]\nhost='", "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &fileReader{groups: []string{"client"}}
		if err := r.parse("f", []byte(text), func(string, bool) error { return nil }); err != nil &&
			!strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("no file and line: %v", err)
		}
	})
}

// TestDefaultsOfNone: --no-defaults reads nothing, not even what is in the home.
func TestDefaultsOfNone(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(home+"/.my.cnf", []byte("[client]\nuser=joe\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o, err := Defaults(""); err != nil || o.User != "joe" {
		t.Errorf("the usual files: user %q, %v", o.User, err)
	}
	if o, err := Defaults(os.DevNull); err != nil || o.User != "" || len(o.Files) != 0 {
		t.Errorf("no file: user %q of %v, %v", o.User, o.Files, err)
	}
}

// TestDefaultsFilesThatAreNone: nothing is read as a defaults file that waits or has no end.
func TestDefaultsFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	pipe := filepath.Join(dir, "pipe")
	err := errors.Join(os.WriteFile(large, make([]byte, endpoint.MaxFile+1), 0o600), syscall.Mkfifo(pipe, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/dev/zero": "not a regular file", dir: "not a regular file", pipe: "not a regular file",
		large: "larger than", dir + "/none": "no such file",
	} {
		if _, err := Defaults(name); KindOf(err) != endpoint.BadTarget || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
