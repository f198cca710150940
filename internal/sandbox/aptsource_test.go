package sandbox

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseSourcesList(t *testing.T) {
	got := parseSourcesList(`# deb http://x y main
deb http://deb.debian.org/debian bookworm main contrib # comment
deb-src http://deb.debian.org/debian bookworm main
deb [arch=amd64 Signed-By=/usr/share/keyrings/k.gpg] https://mirror.example/debian/ bookworm main
deb [arch=amd64 https://broken
deb https://apt.example/ ./
`)
	want := []aptSource{
		{
			uris: []string{"http://deb.debian.org/debian"}, suites: []string{"bookworm"},
			components: []string{"main", "contrib"},
		},
		{
			uris: []string{"https://mirror.example/debian/"}, suites: []string{"bookworm"},
			components: []string{"main"},
			signedBy:   "/usr/share/keyrings/k.gpg",
		},
		{uris: []string{"https://apt.example/"}, suites: []string{"./"}, components: []string{}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%#v", got)
	}
}

func TestParseDeb822(t *testing.T) {
	got := parseDeb822(`Types: deb
# a comment
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm

Types: deb-src
URIs: http://src.example/debian
Suites: bookworm

Types: deb deb-src
URIs: http://key.example/debian
Suites: bookworm
Components: main
Trusted: yes
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----`)
	if len(got) != 2 {
		t.Fatalf("%#v", got)
	}
	if !reflect.DeepEqual(got[0].suites, []string{"bookworm", "bookworm-updates"}) ||
		got[0].signedBy != "/usr/share/keyrings/debian-archive-keyring.gpg" {
		t.Errorf("%#v", got[0])
	}
	s := got[1].stanza("sid")
	if back := parseDeb822(s); len(back) != 1 || back[0].signedBy != got[1].signedBy || back[0].suites[0] != "sid" {
		t.Errorf("%q", s)
	}
	if strings.Contains(s, "rusted") {
		t.Errorf("a source that is trusted unseen stays so: %q", s)
	}
}

func TestArchive(t *testing.T) {
	s := func(uri, suite, components, key string) aptSource {
		return aptSource{
			uris: []string{uri}, suites: strings.Fields(suite), components: strings.Fields(components),
			signedBy: key,
		}
	}
	f := func(want string, sources ...aptSource) {
		t.Helper()
		got, ok := archive(sources, "bookworm")
		if ok != (want != "") || ok && got.uris[0] != want {
			t.Errorf("got %+v %v, want %s", got, ok, want)
		}
	}
	const key = "/usr/share/keyrings/debian-archive-keyring.gpg"
	mine := s("http://mirror.example/debian", "bookworm bookworm-updates", "main", key)
	security := s("http://deb.debian.org/debian-security", "bookworm-security", "main", key)
	other := s("https://packages.example/apt", "bookworm", "main", "/k.gpg")
	f("http://mirror.example/debian", security, other, mine)
	f("http://ftp.example/debian/", s("http://ftp.example/debian/", "stable", "main", ""))
	f("mirror+file:/etc/apt/mirrors/debian.list", s("mirror+file:/etc/apt/mirrors/debian.list", "bookworm",
		"main", key), security)
	f("", security, other)
	f("")
}

func TestReadAptSources(t *testing.T) {
	dir := t.TempDir()
	if got, err := readAptSources(dir); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sources.list.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"sources.list": "deb http://a/debian x main\n", "sources.list.d/b.list": "deb http://b/debian x main\n",
		"sources.list.d/c.sources":   "Types: deb\nURIs: http://c/debian\nSuites: x\nComponents: main\n",
		"sources.list.d/d.list.save": "deb http://d/debian x main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readAptSources(dir)
	if err != nil || len(got) != 3 || got[2].uris[0] != "http://c/debian" {
		t.Fatal(got, err)
	}
}

func TestOSRelease(t *testing.T) {
	f := filepath.Join(t.TempDir(), "os-release")
	if err := os.WriteFile(f, []byte("PRETTY_NAME=\"Debian GNU/Linux 12 "+
		"(bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\nID_LIKE=x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if id, code, err := osRelease(f); id != "debian" || code != "bookworm" || err != nil {
		t.Fatal(id, code, err)
	}
}
