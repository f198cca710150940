package pgserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/dyno-perf/dyno/internal/userfile"
)

// nobody is the account that servers of root's tests run as: PostgreSQL refuses root. Nil: ourselves.
var nobody = sync.OnceValues(func() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
})

// command is exec.Command as the servers' account, which find has seen.
func command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"} // nothing of PG* of ours
	a, _ := nobody()
	c.SysProcAttr = &syscall.SysProcAttr{Credential: a}
	return c
}

// own gives a directory to the servers' account.
func own(path string) error {
	a, err := nobody()
	if err != nil || a == nil {
		return err
	}
	return os.Chown(path, int(a.Uid), int(a.Gid))
}

var once sync.Mutex

// locked calls f with the directory of templates and copies, one for all test programs of this user, while no other
// program does.
func locked(f func(root string) error) error {
	once.Lock()
	defer once.Unlock()
	own := filepath.Join(os.TempDir(), fmt.Sprintf("dyno-test-templates-%d", os.Getuid()))
	if err := userfile.OwnDir(own); err != nil {
		return err
	}
	l, err := os.OpenFile(own+"/postgres.lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := syscall.Flock(int(l.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return f(own)
}

// reachable returns the programs' directory, or that of a copy where the servers' account may not enter the original:
// caches below root's home are closed to others.
func reachable(b build) (dir string, err error) {
	a, err := nobody()
	if err != nil || a == nil || command("/usr/bin/test", "-x", b.dir+"/postgres").Run() == nil {
		return b.dir, err
	}
	err = locked(func(string) error {
		root := filepath.Join(os.TempDir(), "dyno-test-postgres-"+strconv.Itoa(os.Getuid()))
		if err := os.Mkdir(root, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
		fi, err := os.Lstat(root)
		if err != nil {
			return err
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || !fi.IsDir() || int(st.Uid) != os.Getuid() || fi.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s is not a directory of ours alone. Fix: remove it", root)
		}
		if err := os.Chmod(root, 0o755); err != nil { // whatever the umask is
			return err
		}
		sum := sha256.Sum256([]byte(b.dir))
		tree := filepath.Join(root, b.version+"-"+hex.EncodeToString(sum[:4]))
		dir = tree + "/bin"
		if _, err := os.Stat(dir + "/postgres"); err == nil {
			return nil
		}
		if err := os.RemoveAll(tree + ".new"); err != nil {
			return err
		}
		out, err := exec.Command("cp", "-a", filepath.Dir(b.dir), tree+".new").CombinedOutput()
		if err != nil {
			return fmt.Errorf("copy %s: %w: %s", b.dir, err, out)
		}
		return os.Rename(tree+".new", tree)
	})
	return dir, err
}

// template returns a data directory to copy, made once for all test programs of this user.
func template(b build) (path string, err error) {
	err = locked(func(root string) error {
		sum := sha256.Sum256([]byte(b.dir))
		path = root + "/postgres-" + b.version + "-" + hex.EncodeToString(sum[:4])
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		// the account may not enter root, which is closed to others
		dir, err := os.MkdirTemp("", "dyno-pg-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := own(dir); err != nil {
			return err
		}
		c := command(b.dir+"/initdb", "-D", dir+"/data", "-U", Superuser, "-A", "trust", "-E", "UTF8", "--locale=C",
			"--no-sync")
		c.Dir = "/"
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
		}
		if err := os.RemoveAll(path + ".new"); err != nil {
			return err
		}
		if out, err := exec.Command("cp", "-a", dir+"/data", path+".new").CombinedOutput(); err != nil {
			return fmt.Errorf("keep the data directory: %w: %s", err, out)
		}
		return os.Rename(path+".new", path)
	})
	return path, err
}
