package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// vault is a directory that root alone may enter, with a file that must stay as it is.
type vault struct{ dir, secret string }

const secretText = "[ERROR] the secret of root\n"

func newVault(t *testing.T) vault {
	t.Helper()
	v := vault{dir: t.TempDir()}
	v.secret = filepath.Join(v.dir, "pid") // a name that a server's directory has too
	if err := errors.Join(os.Chmod(v.dir, 0o700), os.WriteFile(v.secret, []byte(secretText), 0o600)); err != nil {
		t.Fatal(err)
	}
	return v
}

// intact fails the test when anything in the vault was made, changed, given away or removed.
func (v vault) intact(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(v.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory of root has %v, %v", entries, err)
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(v.secret, &st); err != nil || st.Uid != 0 || st.Mode&0o777 != 0o600 {
		t.Errorf("the file of root has owner %d, mode %o: %v", st.Uid, st.Mode, err)
	}
	if b, err := os.ReadFile(v.secret); string(b) != secretText {
		t.Errorf("the file of root has %d bytes that are not its own, %v", len(b), err)
	}
}

// asUser runs a script as a user.
func asUser(t *testing.T, uid uint32, script string) {
	t.Helper()
	c := exec.Command("/bin/sh", "-ec", script)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", script, err, out)
	}
}

// TestPlantedLinks has the server's account put links at every path that root uses in the
// directories of that account.
func TestPlantedLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the server runs as another account for root alone")
	}
	ctx := context.Background()
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb"})
	dir := sandboxDir(y.Home, "a")
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(dir, "data"), &st); err != nil {
		t.Fatal(err)
	}
	uid, run := st.Uid, filepath.Dir(s.Socket)
	stop := func(t *testing.T) {
		t.Helper()
		if err := y.Down(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("socket", func(t *testing.T) {
		other := servers.Start(t, "mariadb")
		asUser(t, uid, "mv "+s.Socket+" "+run+"/kept; ln -s "+other.Socket+" "+s.Socket)
		if x, err := target.Open(ctx, s.Spec()); err == nil {
			t.Errorf("logged in as %s to the server of another account", value(t, x.DB(), "SELECT CURRENT_USER()"))
			x.Close()
		}
		asUser(t, uid, "mv "+run+"/kept "+s.Socket)
		value(t, open(t, s), "SELECT 1")
	})
	t.Run("console", func(t *testing.T) {
		stop(t)
		v := newVault(t)
		asUser(t, uid, "ln -sf "+v.dir+"/cron-entry "+dir+"/log/console")
		if _, err := y.Up(ctx, Config{Name: "a"}, nil); err != nil {
			t.Error(err)
		}
		v.intact(t)
		asUser(t, uid, "rm "+dir+"/log/console")
	})
	t.Run("error log, pid file and socket", func(t *testing.T) {
		stop(t)
		v := newVault(t)
		for _, f := range []string{dir + "/log/error.log", run + "/pid", run + "/socket"} {
			asUser(t, uid, "ln -sf "+v.secret+" "+f)
		}
		// whether a server that cannot write its log starts is the server's affair
		_, err := y.Up(ctx, Config{Name: "a"}, nil)
		if said := fmt.Sprint(err, y.LastError("a")); strings.Contains(said, "secret") {
			t.Error(said)
		}
		v.intact(t)
		stop(t)
		asUser(t, uid, "rm -f "+dir+"/log/error.log")
		up(t, y, Config{Name: "a"})
	})
	t.Run("saved data", func(t *testing.T) {
		v := newVault(t)
		if err := os.Link(v.secret, dir+"/data/planted"); err != nil {
			// as anybody may where fs.protected_hardlinks is 0
			t.Fatal(err)
		}
		if err := y.SaveData(ctx, "a", "k", nil, nil); !errors.Is(err, ErrData) {
			t.Error(err)
		}
		v.intact(t)
		if err := os.Remove(dir + "/data/planted"); err != nil {
			t.Fatal(err)
		}
		if err := y.SaveData(ctx, "a", "k", nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(dir + "/data/ibdata1"); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(v.secret, dir+"/data/ibdata1"); err != nil {
			t.Fatal(err)
		}
		if _, err := y.RestoreData(ctx, "a", nil); err != nil {
			t.Error(err)
		}
		v.intact(t)
		up(t, y, Config{Name: "a"})
	})
	t.Run("template", func(t *testing.T) {
		dirs, err := filepath.Glob(filepath.Join(templatesIn(y.Home), "*", "data", "*"))
		if err != nil || len(dirs) == 0 {
			t.Fatal(dirs, err)
		}
		for _, f := range dirs {
			if err := syscall.Lstat(f, &st); err != nil || st.Uid != 0 {
				t.Errorf("%s, which new sandboxes are copied from, is user %d's: %v", f, st.Uid, err)
			}
		}
	})
}

// A run directory outside of the home lies where everybody can write.
func TestPlantedRunDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the server runs as another account for root alone")
	}
	ctx := context.Background()
	y := yard(t)
	y.Home = filepath.Join(y.Home, strings.Repeat("d", 60), strings.Repeat("e", 60))
	s := up(t, y, Config{Name: "a", Server: "mariadb"})
	t.Cleanup(func() {
		if err := y.RemoveAll(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	run := filepath.Dir(s.Socket)
	if err := syscall.Stat(run, &st); err != nil {
		t.Fatal(err)
	}
	v := newVault(t)
	asUser(t, st.Uid, "top="+run+"; while [ $(dirname $top) != /tmp ]; do top=$(dirname $top); done; if mv $top "+
		"$top-away; then ln -s "+v.dir+" $top; fi")
	_, err := y.Up(ctx, Config{Name: "a"}, nil)
	v.intact(t)
	if err != nil {
		t.Error(err)
	}

	// Nor is another account taken for the server's where what lies in /tmp was cleaned away.
	top := filepath.Dir(run)
	check := func() {
		t.Helper()
		if s, err := y.Find(ctx, "a"); err != nil || s.Spec().ServerUID != int(st.Uid) {
			t.Errorf("user %d is to answer, want %d; %v", s.Spec().ServerUID, st.Uid, err)
		}
	}
	check()
	if err := os.RemoveAll(top); err != nil {
		t.Fatal(err)
	}
	check()
	asUser(t, 65534, "mkdir -p "+run)
	check()
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if s, err = y.Up(ctx, Config{Name: "a"}, nil); err != nil || filepath.Dir(s.Socket) == run {
		t.Errorf("it cannot be started elsewhere: %s, %v", s.Socket, err)
	}
	check()
	if err := y.Remove(ctx, "a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(run); err != nil {
		t.Errorf("what is another account's was removed: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(s.Socket)); err == nil {
		t.Error("the run directory stays")
	}
	if err := os.RemoveAll(top); err != nil {
		t.Fatal(err)
	}
}

// What changes between the look at a tree and the copy is not followed.
func TestTransferFollowsNoLink(t *testing.T) {
	v := newVault(t)
	from, to := t.TempDir(), t.TempDir()
	list := tree{
		Dirs:  map[string]os.FileMode{"sub": 0o700},
		Files: map[string]treeFile{"sub/pid": {Size: int64(len(secretText)), Mode: 0o600}},
	}
	if err := os.Symlink(v.dir, filepath.Join(from, "sub")); err != nil {
		t.Fatal(err)
	}
	if _, err := (&transfer{from: from, to: to, tree: list}).run(t.Context(), func(int64) {}); err == nil {
		t.Error("copied what a link leads to")
	}
	if b, err := os.ReadFile(filepath.Join(to, "sub", "pid")); len(b) > 0 {
		t.Errorf("the copy has %q, %v", b, err)
	}
	if err := os.Remove(filepath.Join(from, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(from, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(from, "sub", "pid"), 0o600); err != nil { // whoever opens it waits for ever
		t.Fatal(err)
	}
	if _, err := (&transfer{from: from, to: to, tree: list}).run(t.Context(), func(int64) {}); err == nil {
		t.Error("copied a pipe")
	}
	v.intact(t)
}
