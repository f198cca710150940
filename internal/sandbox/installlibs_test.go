package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func TestLacks(t *testing.T) {
	program := filepath.Join(openDir(t), "mysqld")
	f := func(script, want string) {
		t.Helper()
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := lacks(context.Background(), program)
		if got != want || err != nil {
			t.Errorf("%s: %q %v", script, got, err)
		}
	}
	const said = "echo '/x/mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object " +
		"file: No such file or directory' >&2; exit "
	f(said+"127", "libaio.so.1")
	f(said+"0", "") // it runs all the same
	f("echo 'mysqld  Ver 8.0.33 for Linux'", "")
	f("echo 'mysqld: /lib/libc.so.6: version GLIBC_2.99 not found' >&2; exit 1", "") // no package mends that
}

// A library that nobody knows a package for is named; for a client alone it is no error.
func TestAddMissingUnknown(t *testing.T) {
	f := func(program string, bad bool) {
		t.Helper()
		tree := openDir(t)
		if err := os.Mkdir(filepath.Join(tree, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\necho 'x: error while loading shared libraries: libodd.so.7: cannot open shared object " +
			"file: No such file' >&2; exit 127\n"
		if err := os.WriteFile(filepath.Join(tree, "bin", program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		err := aptSuite{suite: librarySuite, sources: t.TempDir()}.addMissing(context.Background(),
			job{dir: t.TempDir(), tree: tree})
		if (err != nil) != bad || bad && (!errors.Is(err, ErrNoServer) ||
			!strings.Contains(err.Error(), "libodd.so.7")) {
			t.Errorf("%s: %v", program, err)
		}
	}
	f("mysqld", true)
	f("mariadbd", true)
	f("mysql", false)
}

// A tree that has its own loader is run by it; that of glibc before 2.33 knows no --argv0.
func TestLauncherLoader(t *testing.T) {
	root := openDir(t)
	path := filepath.Join(root, "usr/sbin/mysqld")
	loader := filepath.Join(root, "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
	for file, text := range map[string]string{
		path: "echo 'mysqld  Ver 5.7.42 for Linux'",
		loader: "[ $1 = --library-path ] && shift 2\ncase $1 in --*) echo $1: cannot open shared object file; exit " +
			"127 ;; esac\nexec \"$@\"",
	} {
		if err := inline([]error{
			os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if argv := (Server{Path: path}).Launcher(); argv[0] != loader {
		t.Errorf("%q", argv)
	}
	if s, err := builds.ask(context.Background(), path, OfDir); err != nil || s.Version != "5.7.42" {
		t.Errorf("%+v %v", s, err)
	}
}

// A build with libraries of its own is started with them, from whatever it is started.
func TestLauncherLibraries(t *testing.T) {
	root := openDir(t)
	if err := inline([]error{
		os.Mkdir(filepath.Join(root, "bin"), 0o755),
		os.Mkdir(filepath.Join(root, maker.OwnLibraries), 0o755),
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", "mysqld")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"mysqld  Ver 5.6.14 for Linux $LD_LIBRARY_PATH\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	argv := (Server{Path: path}).Launcher()
	if len(argv) != 3 || argv[1] != "LD_LIBRARY_PATH="+filepath.Join(root, maker.OwnLibraries) || argv[2] != path {
		t.Errorf("%q", argv)
	}
	if s, err := builds.ask(context.Background(), path, OfDir); err != nil || s.Version != "5.6.14" {
		t.Errorf("%+v %v", s, err)
	}
}
