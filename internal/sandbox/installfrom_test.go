package sandbox

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func makeTar(t *testing.T, hs ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range hs {
		text := ""
		if h.Typeflag == tar.TypeReg {
			text, h.Linkname, h.Size = h.Linkname, "", int64(len(h.Linkname))
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sumHex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func text(name, text string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Linkname: text}
}

func linked(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

func alike(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
}

func script(version string) string { return "#!/bin/sh\necho '" + version + "'\n" }

func TestInstallFrom(t *testing.T) {
	y, err := Open(filepath.Join(openDir(t), "home"), makers...)
	if err != nil {
		t.Fatal(err)
	}
	const v84 = "/x/bin/mysqld  Ver 8.4.7 for Linux on x86_64 (MySQL Community Server - GPL)"
	mysql := makeTar(t,
		tar.Header{Name: "./mysql-8.4.7-linux-glibc2.28-x86_64/bin/", Typeflag: tar.TypeDir},
		text("./mysql-8.4.7-linux-glibc2.28-x86_64/bin/mysqld", script(v84)),
		text("./mysql-8.4.7-linux-glibc2.28-x86_64/LICENSE", "GPL"),
		text("./mysql-8.4.7-linux-glibc2.28-x86_64/mysql-test/t", "left out"),
		text("./mysql-8.4.7-linux-glibc2.28-x86_64/lib/private/x.so.1", "library"),
		linked("./mysql-8.4.7-linux-glibc2.28-x86_64/lib/private/x.so", "x.so.1"),
		linked("./mysql-8.4.7-linux-glibc2.28-x86_64/lib/plugin/gone.so", "nowhere.so"),
		alike("./mysql-8.4.7-linux-glibc2.28-x86_64/lib/again.so",
			"./mysql-8.4.7-linux-glibc2.28-x86_64/lib/private/x.so.1"),
	)
	web := serve(t, mysql)
	if _, _, err := y.InstallFrom(t.Context(), web.URL, "", nil); err == nil ||
		len(web.asked) > 0 || exists(y.servers) {
		t.Errorf("a URL without a sum: %v", err)
	}
	if _, _, err := y.InstallFrom(t.Context(), web.URL, strings.Repeat("ab", 32), nil); !errors.Is(err, ErrFetch) ||
		exists(y.servers) {
		t.Errorf("a URL with another sum: %v", err)
	}
	s, got, err := y.InstallFrom(t.Context(), web.URL+"/a.tar.gz?token=1", sumHex(mysql), nil)
	if err != nil || got != sumHex(mysql) || s.Spec() != "mysql@8.4.7" || s.Origin != Installed ||
		s.Path != filepath.Join(y.servers, "mysql-8.4.7/bin/mysqld") {
		t.Fatalf("%+v %s %v", s, got, err)
	}
	tree := filepath.Join(y.servers, "mysql-8.4.7")
	for _, name := range []string{"lib/private/x.so", "lib/again.so"} {
		if b, err := os.ReadFile(filepath.Join(tree, name)); err != nil || string(b) != "library" {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if exists(filepath.Join(tree, "mysql-test")) {
		t.Error("what no server reads is there")
	}
	if all, err := y.Servers(t.Context()); err != nil || len(all) == 0 {
		t.Error(all, err)
	}

	file := filepath.Join(t.TempDir(), "server")
	f := func(b []byte, sum, want, spec string) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, got, err := y.InstallFrom(t.Context(), file, sum, nil)
		if want == "" && (err != nil || got != sumHex(b) || s.Spec() != spec) {
			t.Errorf("%+v %s %v, want %s", s, got, err, spec)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %s", err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(y.servers, ".staging*")); len(left) > 0 {
			t.Errorf("left behind: %s", left)
		}
	}
	f(mysql, "", "installed already", "")
	f(mysql, "12", "not a SHA-256", "")
	f(mysql, strings.Repeat("0", 64), "it has the SHA-256 "+sumHex(mysql), "")
	f(mysql[:len(mysql)/2], "", errArchive.Error(), "")
	f([]byte("PK\x03\x04"), "", "zip archive", "")
	f(makeTar(t, text("a/bin/mysql", "")), "", "what was unpacked does not run", "")
	percona := makeTar(t, text("Percona-Server-8.0.43/bin/mysqld",
		script("mysqld  Ver 8.0.43-34 for Linux on x86_64 (Percona Server (GPL), Release 34)")))
	f(percona, strings.ToUpper(sumHex(percona)), "", "percona@8.0.43")
	f(makeTar(t, text("bin/mariadbd", script("mariadbd  Ver 11.4.9-MariaDB for Linux on x86_64 (MariaDB Server)"))),
		"", "", "mariadb@11.4.9")
	if xz, err := exec.LookPath("xz"); err == nil {
		cmd := exec.Command(xz, "--stdout")
		plain := exec.Command("gzip", "-dc")
		plain.Stdin = bytes.NewReader(makeTar(t, text("m/bin/mysqld",
			script("mysqld  Ver 5.7.44 for linux-glibc2.12 on x86_64 (MySQL Community Server (GPL))"))))
		raw, err := plain.Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = bytes.NewReader(raw)
		b, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		f(b[:len(b)/2], "", errArchive.Error(), "")
		f(b, "", "", "mysql@5.7.44")
	}
}

// A vendor's archive cannot write or lead anywhere but into its tree.
func TestUntarHostile(t *testing.T) {
	f := func(what string, hs ...tar.Header) {
		t.Helper()
		dir := t.TempDir()
		file, tree := filepath.Join(dir, "a"), filepath.Join(dir, "tree")
		if err := errors.Join(os.WriteFile(file, makeTar(t, hs...), 0o600), os.Mkdir(tree, 0o755)); err != nil {
			t.Fatal(err)
		}
		a, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		_, _, err = untar(t.Context(), a, tree, builds.ofVendor, nil)
		if !errors.Is(err, errArchive) && !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", what, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("%s: %v is beside the tree", what, entries)
		}
	}
	f("a name that climbs", text("../evil", "x"))
	f("an absolute name", text("/bin/evil", "x"))
	f("a link that climbs", linked("a/bin/l", "../../evil"))
	f("an absolute link", linked("a/bin/l", "/etc/passwd"))
	f("a link that climbs by way of another", linked("bin/p/up", "../.."), linked("bin/l", "p/up/../../../etc/passwd"),
		linked("bin/m", "p/up/.."))
	f("another name of what is outside", alike("bin/l", "../../../etc/passwd"))
	f("another name of what is missing", alike("bin/l", "bin/no"))
	f("another name of a link", linked("bin/k", "mysqld"), alike("bin/l", "bin/k"))
	f("a file twice", text("bin/a", "x"), text("bin/a", "y"))
	f("a device", tar.Header{Name: "bin/d", Typeflag: tar.TypeChar})
	f("a pipe", tar.Header{Name: "bin/p", Typeflag: tar.TypeFifo})
}

// The system's own server, packed as the vendor packs it.
func TestInstallFromReal(t *testing.T) {
	y := yard(t)
	y.ServerDirs = nil
	of, err := y.Resolve(t.Context(), "mariadb")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	top, share := filepath.Join(dir, "mariadb-linux-x86_64"), ""
	for _, p := range []string{"share/mysql", "share/mariadb", "share"} {
		if d := filepath.Join(cmp.Or(of.Base(), "/usr"), p); share == "" && maker.IsDir(d+"/charsets") {
			share = d
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(top, "bin"), 0o755),
		os.Symlink(of.Path, filepath.Join(top, "bin/mariadbd")),
		os.Symlink(share, filepath.Join(top, "share"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a.tar.gz")
	if out, err := exec.Command("tar", "--dereference", "-czf", file, "-C", dir, filepath.Base(top)).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s, _, err := y.InstallFrom(t.Context(), file, "", nil)
	if err != nil || s.Spec() != of.Spec() || s.Path != filepath.Join(y.servers, "mariadb-"+
		s.Version, "bin/mariadbd") {
		t.Fatalf("%+v %v", s, err)
	}
	box := up(t, y, Config{Name: "a", Server: s.Path})
	if got := value(t, open(t, box), "SELECT VERSION()"); !strings.HasPrefix(got, s.Version) {
		t.Errorf("version %s", got)
	}
}

// TestUntarReadsAll: what was unpacked is what was hashed, also what follows the archive's end.
func TestUntarReadsAll(t *testing.T) {
	f := func(what string, b []byte, want error) {
		t.Helper()
		dir := t.TempDir()
		file, tree := filepath.Join(dir, "a"), filepath.Join(dir, "tree")
		if err := errors.Join(os.WriteFile(file, b, 0o600), os.Mkdir(tree, 0o755)); err != nil {
			t.Fatal(err)
		}
		a, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		links, sum, err := untar(t.Context(), a, tree, builds.ofVendor, nil)
		if !errors.Is(err, want) || err == nil && (sum != sumHex(b) || len(links) != 1) {
			t.Errorf("%s: %v %s %v", what, links, sum, err)
		}
	}
	z := makeTar(t, text("bin/a", "x"), linked("bin/l", "../lib/gone/x"))
	r, err := gzip.NewReader(bytes.NewReader(z))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	xz := exec.Command("xz", "-c")
	xz.Stdin = bytes.NewReader(plain)
	x, err := xz.Output()
	if err != nil {
		t.Fatal(err)
	}
	f("plain", plain, nil)
	f("gzip", z, nil)
	f("xz", x, nil)
	f("a filled record", append(bytes.Clone(plain), make([]byte, 10<<10)...), nil)
	f("a compressed one that is filled up", append(bytes.Clone(z), make([]byte, 10<<10)...), nil)
	f("xz, whose end is missing", x[:len(x)-8], errArchive)
	f("more than that", append(bytes.Clone(plain), make([]byte, 2<<20)...), errArchive)
}

// TestLinksAreCheckedAgain: a link that led to nothing may lead out once something is there.
func TestLinksAreCheckedAgain(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tree")
	if err := errors.Join(os.MkdirAll(filepath.Join(tree, "lib/a/b"), 0o755),
		os.Mkdir(filepath.Join(tree, "share"), 0o755), os.Symlink("../../../libs", filepath.Join(tree, "lib/a/b/z")),
		os.Symlink("../lib/a/b/z/../../../foo", filepath.Join(tree, "share/x.sql"))); err != nil {
		t.Fatal(err)
	}
	links := []string{"lib/a/b/z", "share/x.sql"}
	if err := checkLinks(tree, links); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tree, "libs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := checkLinks(tree, links); !errors.Is(err, errArchive) {
		t.Error(err)
	}
}
