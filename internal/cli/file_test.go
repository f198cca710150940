package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyno/internal/store/trials"
)

// alone fails when a file has another text than want, or when anything lies beside it.
func alone(t *testing.T, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %q, want %q: %v", filepath.Base(path), b, want, err)
	}
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(all) != 1 {
		t.Errorf("beside %s lies something: %v: %v", filepath.Base(path), all, err)
	}
}

func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	put := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	broken := errors.New("broken")
	fail := func(w io.Writer) error { return errors.Join(put("half")(w), broken) }
	f := func(perm os.FileMode, write func(io.Writer) error, want string, mode os.FileMode) {
		t.Helper()
		if err := replaceFile(path, perm, write); err != nil {
			t.Fatal(err)
		}
		alone(t, path, want)
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%v, %v, want %v", fi.Mode(), err, mode)
		}
	}
	if err := replaceFile(path, 0o600, fail); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that could not be written is there: %v", err)
	}
	f(0o600, put("first"), "first", 0o600)
	if err := replaceFile(path, 0o600, fail); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	alone(t, path, "first")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	f(0o666, put("second"), "second", 0o640)
	f(0o600, put("third"), "third", 0o600)

	// A link stays one, a directory is refused, a device is written to.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(link, 0o600, put("by the link")); err != nil {
		t.Error(err)
	}
	alone(t, path, "by the link")
	if fi, err := os.Lstat(link); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("%v %v", fi, err)
	}
	// So does one that leads to a file which is not there yet.
	ahead := filepath.Join(t.TempDir(), "ahead")
	if err := errors.Join(os.Symlink(ahead, ahead+".link"), replaceFile(ahead+".link", 0o600, put("made"))); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(ahead); err != nil || string(b) != "made" {
		t.Errorf("%q %v", b, err)
	}
	if fi, err := os.Lstat(ahead + ".link"); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("%v %v", fi, err)
	}
	if os.Geteuid() == 0 { // somebody else's file stays his
		if err := errors.Join(os.Chown(path, 65534, 65534), replaceFile(path, 0o600, put("his"))); err != nil {
			t.Error(err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Sys().(*syscall.Stat_t).Uid != 65534 {
			t.Errorf("%v %v", fi, err)
		}
		alone(t, path, "his")
	}
	if err := replaceFile(filepath.Dir(path), 0o600, put("no")); err == nil {
		t.Error("a directory was replaced")
	}
	if err := replaceFile(os.DevNull, 0o600, put("no")); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(os.DevNull); err != nil || fi.Mode().IsRegular() {
		t.Errorf("%v %v", fi, err)
	}
}

// TestNothingIsWrittenThroughOthersLinks: in a directory in which everybody may write, whoever names a file there first gets neither what
// is written nor has it land elsewhere.
func TestNothingIsWrittenThroughOthersLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make what belongs to others")
	}
	const eve = 65534
	own := t.TempDir()
	secret := filepath.Join(own, "secret")
	put := func(w io.Writer) error { _, err := io.WriteString(w, "report"); return err }
	for _, mode := range []os.FileMode{0o777 | os.ModeSticky, 0o777, 0o755} { // the last is eve's own
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Chmod(dir, mode),
			os.Symlink(secret, at("link")), os.Lchown(at("link"), eve, eve),
			os.Symlink(at("link"), filepath.Join(own, "mine")),
			os.Symlink(filepath.Join(own, "new"), at("dangling")), os.Lchown(at("dangling"), eve, eve),
			os.Symlink(own, at("dir")), os.Lchown(at("dir"), eve, eve),
			os.WriteFile(at("file"), nil, 0o666), os.Chown(at("file"), eve, eve))
		paths := []string{at("link"), at("dangling"), at("dir/new"), at("dir") + "/../new", filepath.Join(own, "mine")}
		if mode == 0o755 {
			err = errors.Join(err, os.Chown(dir, eve, eve))
		} else {
			paths = append(paths, at("file"))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if err := replaceFile(path, 0o666, put); err == nil || !strings.Contains(err.Error(), "belongs to another user of this machine") {
				t.Errorf("%v, %s: got %v", mode, filepath.Base(path), err)
			}
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
			t.Errorf("%v: what the link leads to holds %q, %v", mode, b, err)
		}
		if _, err := os.Lstat(filepath.Join(own, "new")); err == nil {
			t.Errorf("%v: a file was made where the link leads", mode)
		}
		if b, err := os.ReadFile(at("file")); err != nil || len(b) > 0 {
			t.Errorf("%v: eve was given %q, %v", mode, b, err)
		}
		if err := errors.Join(os.Remove(filepath.Join(own, "mine")), os.RemoveAll(filepath.Join(own, "new"))); err != nil {
			t.Fatal(err)
		}
		// Root's own links and new files there are fine.
		if err := errors.Join(os.Symlink(secret, at("roots")), replaceFile(at("roots"), 0o600, put), replaceFile(at("fresh"), 0o600, put)); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "report" {
			t.Errorf("%v: %q, %v", mode, b, err)
		}
	}
}

// TestBundleStays: an experiment that is not there, or that cannot be read, costs nobody the bundle that was.
func TestBundleStays(t *testing.T) {
	home := t.TempDir()
	d, err := trials.Create(filepath.Join(home, "experiments", "x-1"), trials.Header{ID: "x-1", Started: time.Now(), Plan: "dyno_plan: 1\nname: mine\n"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "good.tar.gz")
	if err := os.WriteFile(path, []byte("a good one"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(id string) (int, string) {
		var out, said bytes.Buffer
		code := Run(t.Context(), []string{"compare", "--bundle-of", id, "--bundle", path}, Streams{In: strings.NewReader(""), Out: &out, Err: &said}, func(k string) string {
			return map[string]string{"DYNO_HOME": home, "HOME": home}[k]
		}, "test")
		return code, said.String()
	}
	if code, said := run("x-typo"); code != 1 || !strings.Contains(said, "no experiment has the id x-typo") {
		t.Errorf("exit %d: %s", code, said)
	}
	alone(t, path, "a good one")
	if code, said := run("x-1"); code != 0 || !strings.Contains(said, "Bundle: "+path) {
		t.Errorf("exit %d: %s", code, said)
	}
	b, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		t.Errorf("no bundle: %.20q %v", b, err)
	}
	alone(t, path, string(b))
	if err := os.WriteFile(filepath.Join(home, "experiments", "x-1", "experiment.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := run("x-1"); code == 0 {
		t.Errorf("a damaged experiment was written: %s", said)
	}
	alone(t, path, string(b))
}
