package loader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestDefaultsFileIsRead reads with our own reader what we have written.
func TestDefaultsFileIsRead(t *testing.T) {
	f := func(s endpoint.Spec, host string, port int, mode endpoint.TLSMode) {
		t.Helper()
		text, err := defaultsFile(s)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "login")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := target.Defaults(file, "mysql")
		if err != nil {
			t.Fatal(err)
		}
		if o.Host != host || o.Port != port || o.User != s.User || o.Password != s.Password ||
			o.Database != s.Database || o.CA != s.CA || o.TLS != mode {
			t.Errorf("%+v gives %+v", s, o)
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

// TestExecReachesTheServer lets the command-line client log in with a password that has everything in it which option
// files treat specially, and looks for that password where others could read it.
func TestExecReachesTheServer(t *testing.T) {
	const password = `a b#c"d'e\n;$x%`
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor)
			user := `CREATE USER app@'%' IDENTIFIED BY 'a b#c"d''e\\n;$x%'`
			s.Exec(t, "CREATE DATABASE x", "CREATE TABLE x.t (n INT)", user, "GRANT ALL ON x.* TO app@'%'")
			spec := endpoint.Spec{
				Scheme: "mysql", Network: "unix", Address: s.Socket, User: "app",
				Password: endpoint.NewSecret(password), Database: "x",
			}
			file := filepath.Join(t.TempDir(), "seen")
			command :=
				`{ env; tr '\0' ' ' </proc/$$/cmdline; echo; stat -c %a "$DYNO_DEFAULTS_FILE"; echo "$DYNO_DEFAULTS_FILE"; } >` + file +
					` && mysql --defaults-file="$DYNO_DEFAULTS_FILE" -e 'INSERT INTO t VALUES (1)'`
			r, err := load.Exec(t.Context(), load.ExecConfig{
				Command: command, Server: spec, Programs: Programs, Events: 7,
			}, nil)
			if err != nil || r.Total.Operations() != 7 {
				t.Fatalf("%d operations, %v", r.Total.Operations(), err)
			}
			var n int
			if err := s.DB(t, "x").QueryRow("SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 7 {
				t.Errorf("the server has %d rows of 7, %v", n, err)
			}
			b, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(b), password) {
				t.Errorf("the password is there to be read, %v", err)
			}
			for _, want := range []string{
				"DYNO_SOCKET=" + s.Socket, "DYNO_USER=app", "DYNO_DATABASE=x",
				"DYNO_HOST=\n", "\n600\n",
			} {
				if !strings.Contains(string(b), want) {
					t.Errorf("%q is missing in what the command sees", want)
				}
			}
			all := strings.Fields(string(b))
			if _, err := os.Stat(all[len(all)-1]); !os.IsNotExist(err) {
				t.Errorf("%s: %v; it should be gone", all[len(all)-1], err)
			}
		})
	}
}
