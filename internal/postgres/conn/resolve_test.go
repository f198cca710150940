package conn

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

func TestResolve(t *testing.T) {
	dirs := SocketDirs
	if slices.Contains(dirs, "/tmp") {
		t.Error("a socket that anybody may have put there is found unasked")
	}
	defer func() { SocketDirs = dirs }()
	SocketDirs = []string{"/run/usual"} // which is not there
	home := t.TempDir()
	file := filepath.Join(home, ".pgpass")
	write := func(mode os.FileMode, text string) {
		t.Helper()
		os.Remove(file)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func(url string, env ...string) (endpoint.Spec, error) {
		t.Helper()
		s, err := endpoint.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		return Resolve(s, func(name string) string {
			for _, kv := range append(env, "HOME="+home) {
				if v, ok := strings.CutPrefix(kv, name+"="); ok {
					return v
				}
			}
			return ""
		})
	}
	f := func(url, want, password string, env ...string) {
		t.Helper()
		s, err := resolve(url, env...)
		if err != nil || s.URL() != want || s.Password.Reveal() != password {
			t.Errorf("%s %v: %s %q, %v, want %s %q", url, env, s.URL(), s.Password.Reveal(), err, want, password)
		}
	}
	f("postgres://u@h/d", "postgres://u@h:5432/d", "")
	f("postgres://", "postgres://me@localhost:5432/", "", "USER=me")
	f("postgres://", "postgres://u@g:5433/d", "p", "PGHOST=g", "PGPORT=5433", "PGUSER=u", "PGDATABASE=d",
		"PGPASSWORD=p", "USER=me")
	f("postgres://u@h:1/d", "postgres://u@h:1/d", "p", "PGHOST=g", "PGPORT=5433", "PGUSER=v", "PGDATABASE=e",
		"PGPASSWORD=p")
	f("postgres://u:q@h/d", "postgres://u@h:5432/d", "q", "PGPASSWORD=p", "DYNO_PASSWORD=r")
	f("postgres://u@h/d", "postgres://u@h:5432/d", "r", "PGPASSWORD=p", "DYNO_PASSWORD=r")
	f("postgres://:7/d", "postgres://u@g:7/d", "", "PGHOST=g", "PGPORT=8", "PGUSER=u")
	f("postgres:///d", "postgres://u@/d?host=/run/x&port=8", "", "PGHOST=/run/x", "PGPORT=8", "PGUSER=u")
	f("postgres://h/", "postgres://u@h:5432/?sslmode=require&connect_timeout=3", "", "PGSSLMODE=require",
		"PGCONNECT_TIMEOUT=3", "PGUSER=u")
	f("postgres://h/?sslmode=disable", "postgres://u@h:5432/?sslmode=disable", "", "PGSSLMODE=require", "PGUSER=u")
	f("postgres:///d?ssh=ssh://j", "postgres://u@localhost:5432/d?ssh=ssh://j", "", "PGHOST=g", "PGPORT=8", "PGUSER=u")

	write(0o600, "# a comment\n\nother:*:*:*:no\nh:5433:*:u:port\n*:5432:d:u:a\\:b\\\\c:d\nlocalhost:*:*:u:socket\n")
	f("postgres://u@h/d", "postgres://u@h:5432/d", `a:b\c:d`)
	f("postgres://u@h:5433/d", "postgres://u@h:5433/d", "port")
	f("postgres://u@h/e", "postgres://u@h:5432/e", "")
	f("postgres://u@/e?host=/run/usual", "postgres://u@/e?host=/run/usual", "socket")
	f("postgres://u@/e?host=/run/x", "postgres://u@/e?host=/run/x", "") // anybody's directory is not localhost
	f("postgres://u@h/d", "postgres://u@h:5432/d", "p", "PGPASSWORD=p")

	bad := func(want, url string, env ...string) {
		t.Helper()
		s, err := resolve(url, env...)
		if err == nil || !strings.Contains(err.Error(), want) || KindOf(err) != endpoint.BadTarget ||
			HintOf(err) == "" || strings.Contains(err.Error()+HintOf(err), "geheim") {
			t.Errorf("%s %v: %v, %v; %s", url, env, s, err, HintOf(err))
		}
	}
	// A login that needs no password works whatever the file is like; one that does says what is wrong with it.
	none := func(want string) {
		t.Helper()
		s, err := resolve("postgres://u@h/d")
		hint := authHint(errors.New("password authentication failed"), &s)
		if err != nil || !s.Password.Empty() || !strings.Contains(hint, want) || strings.Contains(hint, "geheim") {
			t.Errorf("%v, %s", err, hint)
		}
	}
	write(0o640, "*:*:*:*:geheim\n")
	none("others may read it")
	f("postgres://u@h/d", "postgres://u@h:5432/d", "p", "PGPASSWORD=p") // it is not needed
	write(0o600, "*:*:*:geheim\n")
	none(".pgpass:1: 4 fields")
	write(0o600, "#"+strings.Repeat("x", 70_000)+"\n*:*:*:geheim\nh:*:*:u:found")
	f("postgres://u@h/d", "postgres://u@h:5432/d", "found")
	os.Remove(file)
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	none("not a regular file")
	bad("no such file", "postgres://u@h/d", "PGPASSFILE=/nowhere/at/all")
	bad("not a number", "postgres:///d", "PGPORT=geheim")
	bad("several", "postgres:///d", "PGHOST=a,b")
	bad("the TLS mode is", "postgres://h/d", "PGSSLMODE=geheim")
	bad("timeout", "postgres://h/d", "PGCONNECT_TIMEOUT=geheim")
	os.Remove(file)
	f("postgres://u@h/d", "postgres://u@h:5432/d", "")
}
