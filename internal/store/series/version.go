package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// version is that of the layout, in the file VERSION. 1 (without the file) had every sample of Append only; 2 has the
// sparse rounds of AppendRound and the level of minutes. 2 reads 1.
const (
	version     = 2
	versionFile = "VERSION"
)

// VersionError says that a newer Dyno wrote the store.
type VersionError struct {
	Dir          string
	Found, Known int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("open series store (%s): it has version %d, this dyno reads up to version %d: use the dyno "+
		"that wrote it, or another directory", e.Dir, e.Found, e.Known)
}

// checkVersion refuses a newer store and marks one that has no version or an older one.
func checkVersion(dir string) error {
	file := filepath.Join(dir, versionFile)
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("open", dir, err)
	}
	if err == nil {
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		switch {
		case err != nil || n < 1:
			return &CorruptError{
				Op: "open", Dir: dir,
				Spans: []Span{{Where: versionFile, Cause: fmt.Sprintf("%.40q is not a version", b)}},
			}
		case n > version:
			return &VersionError{Dir: dir, Found: n, Known: version}
		case n == version:
			return nil
		}
	}
	if err := replace(file, fmt.Appendln(nil, version)); err != nil {
		return failed("open", dir, err)
	}
	return nil
}

// replace writes a file so that it has the old or the new content whatever happens.
func replace(file string, content []byte) error {
	f, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
