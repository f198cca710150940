package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/dyno-perf/dyno/internal/platform"
)

// account is who the server runs as. The zero account is ourselves.
type account struct {
	name     string
	uid, gid int
}

const (
	// accountName is the account that root hands servers to, and no other program: who runs as
	// mysql or nobody must not be able to reach a sandbox, nor a sandbox the server of production.
	accountName = "dyno"

	// accountID is the user and the group in its place where there is no such account. A process
	// needs no entry in /etc/passwd. Debian (policy 9.2.2) and systemd (UIDS-GIDS) give this number
	// to nobody, and it is small enough to exist in a container.
	accountID = 65521
)

// serverAccount returns the account that servers and programs started by us run as.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	if u, err := user.Lookup(accountName); err == nil {
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return account{accountName, uid, gid}, nil
		}
	}
	number := strconv.Itoa(accountID)
	if u, err := user.LookupId(number); err == nil {
		return account{}, hint(fmt.Errorf("%w: there is no account %s, and user %s is %s", ErrAccount,
			accountName, number, u.Username),
			"make one: useradd --system --shell /usr/sbin/nologin "+accountName)
	}
	return account{number, accountID, accountID}, nil
}

// ownerOf returns the account that the data directory of a sandbox belongs to.
func ownerOf(data string) (account, error) {
	fi, err := os.Lstat(data)
	if err != nil {
		return account{}, err
	}
	a, err := serverAccount()
	if err != nil {
		return a, err
	}
	switch uid := ownerID(fi); {
	case uid == a.id():
		return a, nil
	case a.name != "" && uid == accountID: // made before there was an account
		return account{strconv.Itoa(accountID), accountID, accountID}, nil
	default:
		return account{}, hint(fmt.Errorf("%w: %s belongs to user %d, and servers run as user %d",
			ErrAccount, data, uid, a.id()),
			"start the sandbox as the user who made it, or remove it with `dyno sandbox rm` and create it again")
	}
}

// ownerID returns the user that a file belongs to, -1 when it is not known.
func ownerID(fi fs.FileInfo) int {
	f, _ := platform.FileOf(fi)
	return f.UID
}

// id returns the account's user.
func (a account) id() int {
	if a.name == "" {
		return os.Geteuid()
	}
	return a.uid
}

// give hands a file or directory to the account.
func (a account) give(path string) error {
	if a.name == "" {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// canReach returns an error when the account cannot enter a directory on the way to path, or path itself. remedy is
// added to the advice.
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
			return hint(fmt.Errorf("%w: user %s may not enter %s (mode %04o)", ErrAccount, a.name,
				dirs[i], fi.Mode().Perm()),
				remedy+", or let others in: chmod o+x "+dirs[i])
		}
	}
	return nil
}

// mayExecute reports whether the account may enter a directory or execute a file.
func (a account) mayExecute(fi fs.FileInfo) bool {
	f, ok := platform.FileOf(fi)
	if !ok {
		return true
	}
	switch perm := fi.Mode().Perm(); {
	case f.UID == a.uid:
		return perm&0o100 != 0
	case f.GID == a.gid:
		return perm&0o010 != 0
	default:
		return perm&0o001 != 0
	}
}
