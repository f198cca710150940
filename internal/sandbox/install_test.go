package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
)

// systemState lists the files of the system's apt and dpkg with their times.
func systemState(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{"/var/lib/apt", "/var/cache/apt", "/var/lib/dpkg", "/etc/apt", "/var/log/apt"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what cannot be read is none of the listing
			}
			if fi, err := d.Info(); err == nil {
				b.WriteString(path + " " + fi.ModTime().String() + "\n")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// The real thing: some 25 MB from the Debian mirror of this machine. The other builds are in the tests with the tag
// install.
func TestInstall(t *testing.T) {
	ctx := context.Background()
	y := yard(t)
	y.ServerDirs = nil
	before := systemState(t)
	var bytes float64
	steps := map[string]bool{}
	s, err := y.Install(ctx, "mariadb", func(p progress.Progress) {
		steps[strings.Fields(p.Step)[0]] = true
		if p.Unit == "bytes" {
			if p.Done > p.Total {
				t.Errorf("%v of %v bytes", p.Done, p.Total)
			}
			bytes = max(bytes, p.Total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Flavor != "mariadb" || s.Origin != Installed || s.Path != filepath.Join(y.servers, "mariadb-"+
		s.Version, "usr/sbin/mariadbd") {
		t.Fatalf("%+v", s)
	}
	for _, step := range []string{"reading", "downloading", "unpacking"} {
		if !steps[step] {
			t.Errorf("no progress of %s: %v", step, steps)
		}
	}
	if bytes < 10e6 {
		t.Errorf("progress told of %v bytes", bytes)
	}
	if after := systemState(t); after != before {
		t.Error("the system's apt or dpkg was touched")
	}
	entries, err := os.ReadDir(y.servers)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in servers: %v %v", entries, err)
	}
	again, err := y.Install(ctx, s.Spec(), nil)
	if err != nil || again != s {
		t.Errorf("what is there is installed again: %+v %v", again, err)
	}
	box := up(t, y, Config{
		Name: "a", Server: s.Spec(),
		Settings: map[string]string{"plugin_load_add": "ha_rocksdb.so"},
	})
	db := open(t, box)
	if got := value(t, db, "SELECT VERSION()"); !strings.HasPrefix(got, s.Version) {
		t.Errorf("version %s", got)
	}
	if got := value(t, db, "SELECT SUPPORT FROM information_schema.ENGINES WHERE ENGINE = 'ROCKSDB'"); got != "YES" {
		t.Errorf("RocksDB: %s", got)
	}
	client := s.Client()
	if len(client) == 0 || !strings.HasPrefix(client[len(client)-1], y.servers) {
		t.Errorf("client %q", client)
	}

	// A version that the release does not have is refused before the download, with the one it has.
	_, err = y.Install(ctx, "mariadb@"+strings.Join(strings.Split(s.Version, ".")[:2], ".")+".999", nil)
	if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), s.Version) {
		t.Error(err)
	}

	// What an interrupted install left goes with everything else; builds stay.
	if err := os.MkdirAll(filepath.Join(y.servers, ".staging-mysql-8.0.33", "download"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := y.RemoveAll(ctx); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(y.servers); err != nil || len(entries) != 1 {
		t.Errorf("after RemoveAll: %v %v", entries, err)
	}
}

// Without a mirror the error names what could not be fetched, and nothing is left.
func TestInstallOffline(t *testing.T) {
	y := yard(t)
	y.sources = t.TempDir()
	source := "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://127.0.0.1:1/debian bookworm main\n"
	if err := os.WriteFile(filepath.Join(y.sources, "sources.list"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := y.Install(context.Background(), "mysql", nil)
	var e *Error
	if !errors.Is(err, ErrFetch) || !strings.Contains(err.Error(), "http://127.0.0.1:1/debian/dists/sid/InRelease") ||
		!errors.As(err, &e) || !strings.Contains(target.HintOf(err), "mirror") {
		t.Fatalf("%v", err)
	}
	if exists(y.servers) {
		t.Error("left behind")
	}
}

// Packages that no key of the machine has signed are not taken.
func TestInstallUnsigned(t *testing.T) {
	y := yard(t)
	sources, err := readAptSources("/etc/apt")
	if err != nil {
		t.Fatal(err)
	}
	id, codename, err := osRelease("/etc/os-release")
	if err != nil || id != "debian" {
		t.Fatal(id, err)
	}
	source, ok := archive(sources, codename)
	if !ok {
		t.Fatal("no Debian mirror")
	}
	y.sources = t.TempDir()
	empty := filepath.Join(y.sources, "debian-archive-keyring.gpg")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	text := "deb [signed-by=" + empty + " trusted=yes] " + source.uris[0] + " " + codename + " main\n"
	if err := os.WriteFile(filepath.Join(y.sources, "sources.list"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := y.Install(context.Background(), "mysql", nil); !errors.Is(err, ErrFetch) {
		t.Fatalf("%+v %v", s, err)
	}
}

func TestInstallCancelled(t *testing.T) {
	y := yard(t)
	for _, step := range []string{"reading", "downloading"} {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := y.Install(ctx, "mariadb", func(p progress.Progress) {
			if strings.HasPrefix(p.Step, step) {
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", step, err)
		}
		if exists(y.servers) {
			t.Fatalf("%s: left behind", step)
		}
	}
}

func TestInstallRefuses(t *testing.T) {
	y := yard(t)
	for _, spec := range []string{"oracle", "percona", "mysql@5.1", "mariadb@9", "postgres@9", "/usr/sbin/mysqld", ""} {
		if _, err := y.Install(context.Background(), spec, nil); !errors.Is(err, ErrNoServer) {
			t.Errorf("%q: %v", spec, err)
		}
		if exists(y.servers) {
			t.Errorf("%q: left behind", spec)
		}
	}
}
