package load

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

func TestExecEnvironment(t *testing.T) {
	inherited := []string{"PATH=/bin", "DYNO_PASSWORD=hush", "MYSQL_PWD=hush", "DYNO_HOST=other", "DYNO_HOME=/d"}
	f := func(s endpoint.Spec, want ...string) {
		t.Helper()
		env, remove, err := execEnvironment(s, inherited)
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		for _, w := range append(want, "PATH=/bin", "DYNO_HOME=/d") {
			if !slices.Contains(env, w) {
				t.Errorf("%s is missing in %q", w, env)
			}
		}
		names := map[string]bool{}
		for _, kv := range env {
			n, _, _ := strings.Cut(kv, "=")
			if names[n] || strings.Contains(kv, "hush") {
				t.Errorf("%s stands twice, or shows the password: %q", n, env)
			}
			names[n] = true
		}
	}
	f(endpoint.Spec{}, "DYNO_HOST=", "DYNO_PORT=", "DYNO_SOCKET=", "DYNO_USER=", "DYNO_DATABASE=",
		"DYNO_DEFAULTS_FILE=")
	f(endpoint.Spec{
		Network: "tcp", Address: "[::1]:3307", User: "u", Database: "d", Password: endpoint.NewSecret("hush"),
	}, "DYNO_HOST=::1", "DYNO_PORT=3307", "DYNO_SOCKET=", "DYNO_USER=u", "DYNO_DATABASE=d")
	f(endpoint.Spec{Network: "unix", Address: "/a b/s"}, "DYNO_HOST=", "DYNO_PORT=", "DYNO_SOCKET=/a b/s")
}

// TestDefaultsFileIsRead reads with our own reader what we have written.
func TestDefaultsFileIsRead(t *testing.T) {
	f := func(s endpoint.Spec, host string, port int, mode endpoint.TLSMode) {
		t.Helper()
		env, remove, err := execEnvironment(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "DYNO_DEFAULTS_FILE=") })
		file := strings.TrimPrefix(env[i], "DYNO_DEFAULTS_FILE=")
		o, err := target.Defaults(file, "mysql")
		if err != nil {
			t.Fatal(err)
		}
		if o.Host != host || o.Port != port || o.User != s.User || o.Password != s.Password ||
			o.Database != s.Database || o.CA != s.CA || o.TLS != mode {
			t.Errorf("%+v gives %+v", s, o)
		}
		for _, p := range []string{file, filepath.Dir(file)} {
			if st, err := os.Stat(p); err != nil || st.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is open to others: %v, %v", p, st.Mode(), err)
			}
		}
		remove()
		if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", file, err)
		}
	}
	p := endpoint.NewSecret("\"quoted\" 'and' back\\slash\tx\ny#z ")
	f(endpoint.Spec{
		Network: "tcp", Address: "db1:3306", User: "a#b", Password: p, Database: "x",
		TLS: endpoint.TLSVerifyFull, CA: "/ca.pem",
	}, "db1", 3306, endpoint.TLSVerifyFull)
	f(endpoint.Spec{Network: "tcp", Address: "db1:3306", User: "a", TLS: endpoint.TLSRequired}, "db1",
		3306, endpoint.TLSRequired)
	f(endpoint.Spec{Network: "tcp", Address: "db1:3306", User: "a", TLS: endpoint.TLSDisabled}, "db1",
		3306, endpoint.TLSDisabled)
	f(endpoint.Spec{Network: "unix", Address: "/s", User: "a"}, "", 0, endpoint.TLSDisabled)
}
