package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestNpmConfig(t *testing.T) {
	f := func(rc string, env map[string]string, url, login string, bad bool) {
		t.Helper()
		t.Run("", func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			for _, k := range []string{"registry", "REGISTRY", "userconfig", "USERCONFIG", "globalconfig", "GLOBALCONFIG", "cafile", "CAFILE"} {
				p := "npm_config_"
				if k < "a" {
					p = "NPM_CONFIG_"
				}
				t.Setenv(p+k, "")
			}
			for k, v := range env {
				t.Setenv(k, v)
			}
			if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte(rc), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := npmConfig("@embedded-postgres")
			if bad {
				if !errors.Is(err, ErrFetch) {
					t.Errorf("%s: %v", rc, err)
				}
				return
			}
			if err != nil || r.url != url || r.header.Get("Authorization") != login {
				t.Errorf("%s: %s %v %v", rc, r.url, r.header, err)
			}
		})
	}
	f("", nil, npmPublic, "", false)
	f("registry = \"https://corp/npm\"\n", nil, "https://corp/npm/", "", false)
	f("; registry=https://no/\n# registry=https://no/\nfund=false\n", nil, npmPublic, "", false)
	f("registry=https://corp/npm/\n@embedded-postgres:registry=https://corp/pg/\n", nil, "https://corp/pg/", "", false)
	f("registry=https://corp/npm/", map[string]string{"npm_config_registry": "https://env/"}, "https://env/", "", false)
	f("registry=https://corp/npm/\n//corp/:_authToken=${DYNO_TEST_TOKEN}", map[string]string{"DYNO_TEST_TOKEN": "t"}, "https://corp/npm/", "Bearer t", false)
	f("registry=https://corp/npm/\n//corp/npm/:_auth=dTpw", nil, "https://corp/npm/", "Basic dTpw", false)
	f("registry=https://corp/npm/\n//corp/other/:_authToken=no\n//corp.evil/npm/:_authToken=no", nil, "https://corp/npm/", "", false)
	f("registry=nonsense", nil, "", "", true)
	f("cafile=/nonexistent/ca.pem", nil, "", "", true)
}
