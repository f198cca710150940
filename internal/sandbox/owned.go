package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/platform"
)

// owned is a directory whose owner may put links, pipes and other people's files there while we
// work in it as root. Nothing that is done through it leaves the directory.
type owned struct {
	*os.Root
	uid int
}

// openOwned opens a directory whose path nobody else can change.
func openOwned(dir string) (owned, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return owned{}, err
	}
	fi, err := root.Stat(".")
	if err != nil {
		root.Close()
		return owned{}, err
	}
	return owned{root, ownerID(fi)}, nil
}

// plain opens a file that is there. It must be a regular one with no other name, the owner's, and
// no link.
func (o owned) plain(name string, flag int) (*os.File, error) {
	before, err := o.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := o.OpenFile(name, flag|platform.NoFollow|platform.NonBlock, 0) // a pipe is not waited for
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !(os.SameFile(before, fi) && o.isPlain(fi)) {
		err = fmt.Errorf("%w: %s is not a file of the server", ErrData, filepath.Join(o.Name(), name))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (o owned) isPlain(fi fs.FileInfo) bool {
	f, ok := platform.FileOf(fi)
	return ok && fi.Mode().IsRegular() && f.Links == 1 && f.UID == o.uid
}

// seize makes a directory below ours and shuts others out: from then on nobody else changes what is
// in it.
func (o owned) seize(name string) error {
	d, err := o.OpenFile(name, os.O_RDONLY|platform.Directory|platform.NoFollow, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return inline([]error{d.Chown(os.Geteuid(), os.Getegid()), d.Chmod(0o700)})
}

// takeOver makes a tree that a server's account wrote ours, and removes what is neither a file nor
// a directory.
func takeOver(dir string) error {
	o, err := openOwned(dir)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.seize("."); err != nil {
		return err
	}
	return o.walk(func(rel string, d fs.DirEntry) error {
		switch {
		case d.IsDir():
			return o.seize(rel)
		case !d.Type().IsRegular():
			return o.Remove(rel)
		}
		f, err := o.plain(rel, os.O_RDONLY)
		if err != nil {
			return err
		}
		return inline([]error{f.Chown(os.Geteuid(), os.Getegid()), f.Close()})
	})
}

// walk calls visit for all that is in the directory, and not for the directory itself.
func (o owned) walk(visit func(rel string, d fs.DirEntry) error) error {
	return fs.WalkDir(o.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err != nil || rel == "." {
			return err
		}
		return visit(rel, d)
	})
}
