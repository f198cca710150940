package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// maxSocket is the longest path a socket can have, unix(7): 108 bytes with the final zero.
const maxSocket = 107

// runDir returns where a sandbox's socket goes, whose name is at most as long as name. A short path
// lies where everybody can write: its name cannot be guessed, and the server's directory is in one
// of ours, so that its account cannot put something else in its place.
func runDir(dir, name string) string {
	run := filepath.Join(dir, "run")
	if len(filepath.Join(run, name)) <= maxSocket {
		return run
	}
	var b [8]byte
	rand.Read(b[:])
	return "/tmp/dyno-" + hex.EncodeToString(b[:]) + "/run"
}

var shortRun = lazyregexp.New(`^(/tmp/dyno-[0-9a-f]{16})(/run)?$`)

// makeRunDir makes a sandbox's run directory for the account, if it is not there, and returns where
// it is: elsewhere than it was, when what lay in /tmp was cleaned away and another account has
// taken the place.
func makeRunDir(dir, run, name string, a account) (string, error) {
	if top := filepath.Dir(run); top != dir {
		if err := makeDir(top); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		fi, err := os.Lstat(top)
		if err != nil {
			return "", err
		}
		if !fi.IsDir() || ownerID(fi) != os.Geteuid() {
			return makeRunDir(dir, runDir(dir, name), name, a)
		}
		if fi.Mode().Perm()&0o022 != 0 {
			return "", hint(fmt.Errorf("%w: others can write %s", ErrAccount, top),
				"remove the sandbox with `dyno sandbox rm` and create it again")
		}
	}
	return run, makePrivate(run, a)
}

// removeRunDir removes a run directory that lies outside its sandbox, unless it is another
// account's.
func removeRunDir(dir, run string) error {
	m := shortRun.FindStringSubmatch(run)
	if filepath.Dir(run) == dir || m == nil {
		return nil
	}
	if fi, err := os.Lstat(m[1]); err == nil && ownerID(fi) != os.Geteuid() {
		return nil
	}
	return os.RemoveAll(m[1])
}
