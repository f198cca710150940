package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the server runs as. The zero account is ourselves.
type account struct {
	name     string
	uid, gid int
}

// accounts are whom root hands a server to, the first one that exists. nobody is the poor choice: other programs run as nobody too.
var accounts = []string{"mysql", "nobody"}

// serverAccount returns the account that servers started by us run as.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range accounts {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return account{name, uid, gid}, nil
		}
	}
	return account{}, hint(fmt.Errorf("%w: a server does not run as root, and there is no account mysql or nobody", ErrAccount),
		"make one: useradd --system --shell /usr/sbin/nologin mysql")
}

// give hands a file or directory to the account.
func (a account) give(path string) error {
	if a.name == "" {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// attributes are those of a process that runs as the account.
func (a account) attributes() *syscall.SysProcAttr {
	s := &syscall.SysProcAttr{}
	if a.name != "" {
		s.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return s
}

// canReach returns an error when the account cannot enter a directory on the way to path, or path itself. remedy is added to the
// advice.
func (a account) canReach(path, remedy string) error {
	if a.name == "" {
		return nil
	}
	var dirs []string
	for d := filepath.Clean(path); ; d = filepath.Dir(d) {
		dirs = append(dirs, d)
		if d == filepath.Dir(d) {
			break
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		fi, err := os.Stat(dirs[i])
		if err != nil {
			return err
		}
		if !a.mayExecute(fi) {
			return hint(fmt.Errorf("%w: %s may not enter %s (mode %04o)", ErrAccount, a.name, dirs[i], fi.Mode().Perm()),
				remedy+", or let others in: chmod o+x "+dirs[i])
		}
	}
	return nil
}

// mayExecute reports whether the account may enter a directory or execute a file.
func (a account) mayExecute(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	switch perm := fi.Mode().Perm(); {
	case int(st.Uid) == a.uid:
		return perm&0o100 != 0
	case int(st.Gid) == a.gid:
		return perm&0o010 != 0
	default:
		return perm&0o001 != 0
	}
}
