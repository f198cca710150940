package sandbox

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var testTime = time.Unix(1_700_000_000, 0)

// member is one entry of an archive that a test makes.
type member struct {
	name, text string // text is the target of a link
	mode       fs.FileMode
}

func makeZip(t *testing.T, ms ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range ms {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: testTime}
		h.SetMode(m.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.text)); err != nil && !m.mode.IsDir() {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func everything(name string) string { return name }

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	archive, tree := filepath.Join(dir, "a"), filepath.Join(dir, "tree")
	b := makeZip(t,
		member{name: "top/bin/", mode: fs.ModeDir | 0o700},
		member{name: "top/bin/mysqld", text: "program", mode: 0o600},
		member{name: "top/lib/x.so.1", text: "library", mode: 0o4755 | fs.ModeSetuid},
		member{name: "top/lib/x.so", text: "x.so.1", mode: fs.ModeSymlink | 0o777},
		member{name: "top/share/a/b", text: "text", mode: 0o666},
		member{name: "top/share/up", text: "../lib/x.so.1", mode: fs.ModeSymlink | 0o777},
		member{name: "mysql-test/t", text: "left out", mode: 0o644},
	)
	if err := inline([]error{os.WriteFile(archive, b, 0o600), os.Mkdir(tree, 0o755)}); err != nil {
		t.Fatal(err)
	}
	var bytes int64
	err := unzip(context.Background(), archive, tree, func(name string) string {
		rest, _ := strings.CutPrefix(name, "top/")
		if rest == name {
			return ""
		}
		return rest
	}, func(n int64) { bytes += n })
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, text string, mode fs.FileMode) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(tree, name))
		fi, err2 := os.Stat(filepath.Join(tree, name))
		if err != nil || err2 != nil || string(b) != text || fi.Mode() != mode {
			t.Errorf("%s: %q %v %v %v", name, b, fi.Mode(), err, err2)
		}
	}
	f("bin/mysqld", "program", 0o755) // a program, though the archive has forgotten
	f("lib/x.so.1", "library", 0o755) // without setuid
	f("lib/x.so", "library", 0o755)
	f("share/a/b", "text", 0o644)
	f("share/up", "library", 0o755)
	if exists(filepath.Join(tree, "mysql-test")) {
		t.Error("what is not kept is there")
	}
	if bytes != int64(len("program")+len("library")+len("text")) {
		t.Errorf("told of %d bytes", bytes)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := unzip(ctx, archive, t.TempDir(), everything, func(int64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// An archive cannot write anywhere but into its tree.
func TestUnpackHostile(t *testing.T) {
	f := func(what string, ms ...member) {
		t.Helper()
		dir := t.TempDir()
		archive, tree := filepath.Join(dir, "a"), filepath.Join(dir, "tree")
		if err := inline([]error{os.WriteFile(archive, makeZip(t, ms...), 0o600), os.Mkdir(tree, 0o755)}); err != nil {
			t.Fatal(err)
		}
		err := unzip(context.Background(), archive, tree, everything, func(int64) {})
		if err == nil {
			t.Errorf("%s is taken", what)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Errorf("%s: %v is beside the tree", what, entries)
		}
	}
	file := func(name string) member { return member{name: name, text: "x", mode: 0o644} }
	link := func(name, to string) member { return member{name: name, text: to, mode: fs.ModeSymlink | 0o777} }
	f("a name that climbs", file("../evil"))
	f("a name that climbs from within", file("a/../../evil"))
	f("an absolute name", file("/tmp/evil"))
	f("a backslash", file(`..\evil`))
	f("a link that climbs", link("a/l", "../../evil"))
	f("an absolute link", link("l", "/etc/passwd"))
	f("a file twice", file("a"), file("a"))
	f("a file through a link to a file", file("b"), link("a", "b"), file("a"))
	f("a device", member{name: "d", mode: fs.ModeDevice | fs.ModeCharDevice | 0o644})
	f("a pipe", member{name: "p", mode: fs.ModeNamedPipe | 0o644})
}

func TestUnpackBroken(t *testing.T) {
	dir := t.TempDir()
	f := func(b []byte) {
		t.Helper()
		path := filepath.Join(dir, "a")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unzip(context.Background(), path, t.TempDir(), everything, func(int64) {}); err == nil {
			t.Errorf("%d bytes are taken", len(b))
		}
	}
	b := makeZip(t, member{name: "bin/a", text: strings.Repeat("0123456789", 1000), mode: 0o755})
	f(nil)
	f(b[:len(b)/2])
	f([]byte("no archive at all"))
	changed := bytes.Clone(b)
	changed[len(b)/2] ^= 0x55
	f(changed)
}
