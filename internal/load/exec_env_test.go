package load

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

func TestExecEnvironment(t *testing.T) {
	inherited := []string{"PATH=/bin", "DYNO_PASSWORD=hush", "MYSQL_PWD=hush", "DYNO_HOST=other", "DYNO_HOME=/d"}
	p := Programs{Secrets: []string{"MYSQL_PWD"}, File: func(s endpoint.Spec) ([]byte, error) {
		return []byte(s.Password.Reveal()), nil
	}}
	f := func(s endpoint.Spec, want ...string) {
		t.Helper()
		env, remove, err := execEnvironment(s, p, inherited)
		if err != nil {
			t.Fatal(err)
		}
		file := ""
		for _, kv := range env {
			if name, is := strings.CutPrefix(kv, "DYNO_DEFAULTS_FILE="); is {
				file = name
			}
		}
		defer func() {
			remove()
			if _, err := os.Stat(filepath.Dir(file)); file != "" && !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", file, err)
			}
		}()
		if (file == "") != (s == endpoint.Spec{}) {
			t.Errorf("%+v: the file with the login is %q", s, file)
		}
		if file != "" {
			if b, err := os.ReadFile(file); err != nil || string(b) != s.Password.Reveal() {
				t.Errorf("%q, %v", b, err)
			}
			for _, p := range []string{file, filepath.Dir(file)} {
				if st, err := os.Stat(p); err != nil || st.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s is open to others: %v, %v", p, st.Mode(), err)
				}
			}
		}
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
