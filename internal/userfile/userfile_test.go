package userfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
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

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	put := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	broken := errors.New("broken")
	fail := func(w io.Writer) error { return errors.Join(put("half")(w), broken) }
	f := func(write func(io.Writer) error, want string, mode os.FileMode) {
		t.Helper()
		if err := Replace(path, write); err != nil {
			t.Fatal(err)
		}
		alone(t, path, want)
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%v, %v, want %v", fi.Mode(), err, mode)
		}
	}
	if err := Replace(path, fail); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that could not be written is there: %v", err)
	}
	f(put("first"), "first", 0o600)
	if err := Replace(path, fail); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	alone(t, path, "first")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	f(put("second"), "second", 0o640)
	f(put("third"), "third", 0o640)

	// A link stays one, a directory is refused, a device is written to.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, put("by the link")); err != nil {
		t.Error(err)
	}
	alone(t, path, "by the link")
	if fi, err := os.Lstat(link); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("%v %v", fi, err)
	}
	// So does one that leads to a file which is not there yet.
	ahead := filepath.Join(t.TempDir(), "ahead")
	if err := errors.Join(os.Symlink(ahead, ahead+".link"), Replace(ahead+".link", put("made"))); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(ahead); err != nil || string(b) != "made" {
		t.Errorf("%q %v", b, err)
	}
	if fi, err := os.Lstat(ahead + ".link"); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("%v %v", fi, err)
	}
	if os.Geteuid() == 0 { // somebody else's file stays his
		if err := errors.Join(os.Chown(path, 65534, 65534), Replace(path, put("his"))); err != nil {
			t.Error(err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Sys().(*syscall.Stat_t).Uid != 65534 {
			t.Errorf("%v %v", fi, err)
		}
		alone(t, path, "his")
	}
	if err := Replace(filepath.Dir(path), put("no")); err == nil {
		t.Error("a directory was replaced")
	}
	if err := Replace(os.DevNull, put("no")); err != nil {
		t.Error(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pipe := fmt.Sprintf("/dev/fd/%d", w.Fd()) // as the shell's >(…)
	if err := errors.Join(Check(pipe), Replace(pipe, put("piped")), w.Close()); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != "piped" {
		t.Errorf("%q, %v", b, err)
	}
	if fi, err := os.Stat(os.DevNull); err != nil || fi.Mode().IsRegular() {
		t.Errorf("%v %v", fi, err)
	}
}

// TestOthersLinks: in a directory in which everybody may write, whoever names a file there first gets neither what
// is written nor has it land elsewhere.
func TestOthersLinks(t *testing.T) {
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
			if err := Replace(path, put); err == nil || !strings.Contains(err.Error(), "another user of this machine") {
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
		if err := errors.Join(os.Remove(filepath.Join(own, "mine")),
			os.RemoveAll(filepath.Join(own, "new"))); err != nil {
			t.Fatal(err)
		}
		// Root's own links and new files there are fine.
		if err := errors.Join(os.Symlink(secret, at("roots")), Replace(at("roots"), put),
			Replace(at("fresh"), put)); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "report" {
			t.Errorf("%v: %q, %v", mode, b, err)
		}
	}
}

// TestWhoseLinksAreFollowed: the links and files of the account that runs Dyno, of the one that it runs for, and of a
// directory's group that it is in.
func TestWhoseLinksAreFollowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make what belongs to others")
	}
	const eve, crew, strangers = 65534, 54321, 54322
	sudoer := account{uids: []int{0, eve}, groups: []int{0}}
	member := account{uids: []int{0, 1000}, groups: []int{1000, crew}}
	f := func(u account, mode os.FileMode, owner, group int, want bool) {
		t.Helper()
		dir, own := t.TempDir(), t.TempDir()
		link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
		err := errors.Join(os.Symlink(filepath.Join(own, "to"), link), os.Lchown(link, eve, eve),
			os.WriteFile(file, nil, 0o664), os.Chown(file, eve, eve),
			os.Chown(dir, owner, group), os.Chmod(dir, mode))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{link, file} {
			err := u.replace(path, func(io.Writer) error { return nil })
			if (err == nil) != want {
				t.Errorf("%+v writes to the %s in a directory of %d:%d, %v: %v", u, filepath.Base(path),
					owner, group, mode, err)
			}
		}
	}
	shared := os.ModeSticky | 0o777
	f(sudoer, shared, 0, 0, true)
	f(member, shared, 0, 0, false)
	f(member, shared, 0, crew, false)
	f(member, 0o775|os.ModeSetgid, 0, crew, true)
	f(member, 0o775, eve, crew, true)
	f(member, 0o775, 0, strangers, false)

	t.Setenv("SUDO_UID", "65534")
	if u := invoker(); !slices.Contains(u.uids, eve) || !slices.Contains(u.groups, eve) { // nogroup is nobody's group
		t.Errorf("got %+v", u)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Link(path, path+"2"),
		os.Chmod(filepath.Dir(path), shared)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, os.O_WRONLY); err == nil {
		t.Error("a file with a second name was opened where others may have given it the first")
	}
}

// TestOthersAreQuick: an account that puts links in the place of its files, or of their directory,
// in the very moment has nothing written to what is not its own.
func TestOthersAreQuick(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make what belongs to others")
	}
	const eve, tries = 65534, 2000
	own, eves := t.TempDir(), t.TempDir()
	secret := filepath.Join(own, "secret")
	at := func(name string) string { return filepath.Join(eves, name) }
	err := errors.Join(os.Chown(eves, eve, eve), os.Chmod(eves, 0o755),
		os.WriteFile(secret, []byte("secret"), 0o600),
		os.WriteFile(at("file"), nil, 0o644), os.Chown(at("file"), eve, eve),
		os.Symlink(secret, at("file2")), os.Lchown(at("file2"), eve, eve),
		os.Mkdir(at("dir"), 0o755), os.Chown(at("dir"), eve, eve),
		os.Symlink(own, at("dir2")), os.Lchown(at("dir2"), eve, eve))
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"file", "dir"} {
				_ = unix.Renameat2(unix.AT_FDCWD, at(name), unix.AT_FDCWD, at(name+"2"), unix.RENAME_EXCHANGE)
			}
		}
	}()
	for i := range tries {
		for _, path := range []string{at("file"), at("dir/secret"), at("dir/made")} {
			if f, err := Open(path, os.O_WRONLY); err == nil {
				_, _ = f.WriteString("report")
				f.Close()
			}
			if i%10 == 0 {
				_ = Replace(path, func(io.Writer) error { return nil })
			}
		}
	}
	close(stop)
	<-stopped
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	if all, err := os.ReadDir(own); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestReplaceKeepsTheGroup: a file that a group could read is not one that another group can read.
func TestReplaceKeepsTheGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make what belongs to others")
	}
	const crew = 54321
	path := filepath.Join(t.TempDir(), "file")
	err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 0, crew), os.Chmod(path, 0o640),
		Replace(path, func(io.Writer) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, group := owns(fi); group != crew || fi.Mode().Perm() != 0o640 {
		t.Errorf("it is of group %d, mode %v", group, fi.Mode())
	}
}

// TestOwnDir: what another account has made, or lets others write to, is not taken for our own.
func TestOwnDir(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(OwnDir(at("new")), OwnDir(at("new"))); err != nil {
		t.Error(err)
	}
	err := errors.Join(os.Symlink(at("new"), at("link")), os.WriteFile(at("file"), nil, 0o600),
		os.Mkdir(at("open"), 0o700), os.Chmod(at("open"), 0o777))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"link", "open", "file"}
	if os.Geteuid() == 0 {
		names = append(names, "eves")
		if err := errors.Join(os.Mkdir(at("eves"), 0o700), os.Chown(at("eves"), 65534, 65534)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if OwnDir(at(name)) == nil {
			t.Errorf("%s is taken for our own", name)
		}
	}
}

// TestCheck: nothing is left of asking, and what was there stays.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Check(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("a file was left")
	}
	if err := errors.Join(os.WriteFile(path, []byte("kept"), 0o600), Check(path)); err != nil {
		t.Error(err)
	}
	alone(t, path, "kept")
	if Check(filepath.Dir(path)) == nil {
		t.Error("a directory can be written")
	}
}

func TestUnlinked(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	f := func(path string, ok bool) {
		t.Helper()
		if got, err := unlinked(path); (err == nil) != ok || ok && got != filepath.Clean(path) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	f(filepath.Join(dir, "new"), true)
	f(filepath.Join(dir, "no", "such"), true)
	f(filepath.Join(dir, "link"), false)
	f(filepath.Join(dir, "link", "new"), false)
}
