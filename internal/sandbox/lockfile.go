package sandbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// leftoverLasts is how long processes that a killed server left behind are waited for, see maker.Log.Leftover: they end
// when they notice, at the latest after their statement.
const leftoverLasts = 15 * time.Second

// noProcess is a number that no process has: the kernel's limit is 2^22, proc(5) pid_max.
const noProcess = "2147483647"

// releaseLock replaces the number of a server that is gone in its lock file, if it has one, by a number that no process
// has. The caller knows that it is gone, the server that starts does not: the number may be another process's by now.
// The rest of the file stays, by which the server finds out whether processes of the other one still use the data.
func releaseLock(data, lockFile string) error {
	if lockFile == "" {
		return nil
	}
	root, err := openOwned(data)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.plain(lockFile, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	_, err = f.WriteAt(slices.Concat([]byte(noProcess+"\n"), rest), 0)
	return err
}
