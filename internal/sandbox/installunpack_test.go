package sandbox

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
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
	kind       byte // of tar, when it is no plain file or symbolic link
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

func makeTar(t *testing.T, ms ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, m := range ms {
		h := &tar.Header{Name: m.name, Mode: int64(m.mode.Perm()), Size: int64(len(m.text)), Typeflag: tar.TypeReg}
		switch {
		case m.kind != 0:
			h.Typeflag, h.Linkname, h.Size = m.kind, m.text, 0
		case m.mode.IsDir():
			h.Typeflag, h.Size = tar.TypeDir, 0
		case m.mode&fs.ModeSymlink != 0:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, m.text, 0
		}
		if m.mode&fs.ModeSetuid != 0 {
			h.Mode |= 0o4000
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(m.text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := inline([]error{w.Close(), g.Close()}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpackers are the kinds of archives, which keep the same rules.
var unpackers = map[string]struct {
	make   func(*testing.T, ...member) []byte
	unpack func(context.Context, string, string, keep, func(int64)) error
}{"zip": {makeZip, unzip}, "tar": {makeTar, untar}}

func everything(name string) string { return name }

func TestUnpack(t *testing.T) {
	for kind, u := range unpackers {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			archive, tree := filepath.Join(dir, "a"), filepath.Join(dir, "tree")
			b := u.make(t,
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
			err := u.unpack(context.Background(), archive, tree, func(name string) string {
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
			if err := u.unpack(ctx, archive, t.TempDir(), everything, func(int64) {}); !errors.Is(err, context.Canceled) {
				t.Errorf("stopped: %v", err)
			}
		})
	}
}

// An archive cannot write anywhere but into its tree.
func TestUnpackHostile(t *testing.T) {
	f := func(what, kinds string, ms ...member) {
		t.Helper()
		for kind, u := range unpackers {
			if !strings.Contains(kinds, kind) {
				continue
			}
			dir := t.TempDir()
			archive, tree := filepath.Join(dir, "a"), filepath.Join(dir, "tree")
			if err := inline([]error{os.WriteFile(archive, u.make(t, ms...), 0o600), os.Mkdir(tree, 0o755)}); err != nil {
				t.Fatal(err)
			}
			err := u.unpack(context.Background(), archive, tree, everything, func(int64) {})
			if err == nil {
				t.Errorf("%s in a %s is taken", what, kind)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 2 {
				t.Errorf("%s in a %s: %v is beside the tree", what, kind, entries)
			}
		}
	}
	file := func(name string) member { return member{name: name, text: "x", mode: 0o644} }
	link := func(name, to string) member { return member{name: name, text: to, mode: fs.ModeSymlink | 0o777} }
	f("a name that climbs", "zip tar", file("../evil"))
	f("a name that climbs from within", "zip tar", file("a/../../evil"))
	f("an absolute name", "zip tar", file("/tmp/evil"))
	f("a backslash", "zip tar", file(`..\evil`))
	f("a link that climbs", "zip tar", link("a/l", "../../evil"))
	f("an absolute link", "zip tar", link("l", "/etc/passwd"))
	f("a file twice", "zip tar", file("a"), file("a"))
	f("a file through a link to a file", "zip tar", file("b"), link("a", "b"), file("a"))
	f("a hard link", "tar", member{name: "h", text: "../evil", kind: tar.TypeLink})
	f("a device", "tar", member{name: "d", kind: tar.TypeChar})
	f("a pipe", "tar", member{name: "p", kind: tar.TypeFifo})
}

func TestUnpackBroken(t *testing.T) {
	dir := t.TempDir()
	whole := map[string][]byte{}
	for kind, u := range unpackers {
		whole[kind] = u.make(t, member{name: "bin/a", text: strings.Repeat("0123456789", 1000), mode: 0o755})
	}
	f := func(kind string, b []byte) {
		t.Helper()
		path := filepath.Join(dir, kind)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpackers[kind].unpack(context.Background(), path, t.TempDir(), everything, func(int64) {}); err == nil {
			t.Errorf("%s of %d bytes is taken", kind, len(b))
		}
	}
	for kind, b := range whole {
		f(kind, nil)
		f(kind, b[:len(b)/2])
		f(kind, []byte("no archive at all"))
		changed := bytes.Clone(b)
		changed[len(b)/2] ^= 0x55
		f(kind, changed)
	}
}
