package series

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/platform"
)

// acquire locks the directory for this process. The lock ends with the process, however it ends; the file stays and
// holds the process id for those who come in vain. It is the file that Prometheus' own tools lock.
func acquire(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, failed("lock", dir, err)
	}
	if err := platform.Lock(f, true); err != nil {
		b, _ := io.ReadAll(io.LimitReader(f, 32)) // without it the answer lacks the process id
		_ = f.Close()
		if errors.Is(err, platform.ErrLocked) {
			pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			return nil, &BusyError{Dir: dir, PID: pid}
		}
		return nil, failed("lock", dir, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		return nil, failed("lock", dir, errors.Join(err, f.Close()))
	}
	return f, nil
}

// release gives the lock back.
func release(f *os.File) error {
	return errors.Join(f.Truncate(0), f.Close())
}
