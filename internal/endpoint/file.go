package endpoint

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/dyno-perf/dyno/internal/platform"
)

// MaxFile bounds the files that are named to reach a server, bytes.
const MaxFile = 1 << 20

// ReadFile reads a small file whole, and tells what it is. Its name may come from elsewhere: a device has no end, and a
// pipe keeps whoever opens it waiting, so only regular files are read. One that says it is empty is not read either,
// for what lies in /proc may wait too.
func ReadFile(name string) ([]byte, fs.FileInfo, error) {
	st, err := os.Stat(name) // before it is opened, which alone does something to some devices
	if err == nil {
		err = small(name, st)
	}
	if err != nil {
		return nil, st, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|platform.NonBlock, 0) // it may have become a pipe meanwhile
	if err != nil {
		return nil, st, err
	}
	defer f.Close()
	if st, err = f.Stat(); err == nil {
		err = small(name, st)
	}
	if err != nil || st.Size() == 0 {
		return nil, st, err
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile))
	return b, st, err
}

func small(name string, st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", name)
	}
	if st.Size() > MaxFile {
		return fmt.Errorf("%s: larger than %d bytes", name, MaxFile)
	}
	return nil
}
