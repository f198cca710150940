package trials

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dyno-perf/dyno/internal/platform"
)

// partly ends the name of a file that is being written.
const partly = ".tmp"

// write puts a file in place as a whole or not at all, and returns when it survives a crash of the machine.
func write(name string, b []byte) (err error) {
	tmp := name + partly
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) { // that somebody was killed over
		return err
	}
	err = writeNew(tmp, b)
	if err == nil {
		err = os.Rename(tmp, name)
	}
	if err != nil {
		_ = os.Remove(tmp) // makes room again; otherwise the next opening does
		return err
	}
	return syncDir(filepath.Dir(name))
}

// writeNew writes a file that is not there yet, and flushes it. Its name is not durable before syncDir.
func writeNew(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return short(filepath.Dir(name), len(b), err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return short(filepath.Dir(name), len(b), errors.Join(err, f.Close()))
}

// short adds to an error of a full disk how much was needed and how much there is.
func short(dir string, need int, err error) error {
	if err == nil || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	free, _, e := platform.Space(dir)
	if e != nil {
		return err
	}
	return &shortError{need: need, free: free, err: err}
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(platform.SyncDir(f), f.Close())
}

// layAside renames a damaged file so that it is in nobody's way, and returns its new name.
func layAside(name string) (string, error) {
	for i := 1; ; i++ {
		aside := name + ".bad"
		if i > 1 {
			aside += strconv.Itoa(i)
		}
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(name, aside); err != nil {
			return "", err
		}
		return aside, syncDir(filepath.Dir(name))
	}
}

// acquire locks the directory for this process. The lock ends with the process, however it ends; the file stays and
// holds the process id for those who come in vain.
func acquire(dir string) (*os.File, error) {
	const op = "open experiment"
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, failed(op, dir, err)
	}
	if err := platform.Lock(f, true); err != nil {
		b, _ := io.ReadAll(io.LimitReader(f, 32)) // without it the answer lacks the process id
		_ = f.Close()
		if errors.Is(err, platform.ErrLocked) {
			pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			return nil, &BusyError{Dir: dir, PID: pid}
		}
		return nil, failed(op, dir, err)
	}
	// The number is for people only: a full disk must not keep anybody from opening what is there.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	return f, nil
}

// release gives the lock back.
func release(f *os.File) error {
	_ = f.Truncate(0) // the process id is for people only
	return f.Close()
}
