package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// cloneTree copies a directory of directories and regular files for an account: sharing blocks where the file system
// can, else copying what is not a hole. The copy is ours, and closed to others, until it is whole. Files become durable
// when the server that uses them makes them so: a sandbox that is not complete is thrown away anyway. step is told the
// bytes of each file when it is done.
func cloneTree(ctx context.Context, from, to string, a account, step func(bytes int64)) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dest := filepath.Join(to, rel)
		fi, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case rel == ".":
			if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				// a file system may be mounted there
				return err
			}
			return os.Chmod(to, 0o700)
		case d.IsDir():
			if err := os.Mkdir(dest, fi.Mode().Perm()); err != nil {
				return err
			}
		case d.Type().IsRegular():
			if err := cloneFile(path, dest, fi); err != nil {
				return fmt.Errorf("copy %s: %w", path, err)
			}
			step(fi.Size())
		default:
			return nil // a socket or pipe that a server left
		}
		return a.give(dest)
	})
	if err != nil {
		return err
	}
	return a.give(to)
}

func cloneFile(from, to string, fi fs.FileInfo) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fi.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if shareBlocks(out, in) == nil {
		return nil
	}
	return sparseCopy(in, out, fi.Size())
}

// sparseCopy copies the data of a file and leaves its holes: a redo log just made is one.
func sparseCopy(in, out *os.File, size int64) error {
	if err := out.Truncate(size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		start, err := in.Seek(at, seekData)
		if errors.Is(err, syscall.ENXIO) {
			return nil // a hole to the end
		}
		if err != nil {
			start = at // the file system does not know holes
		}
		end := size
		if err == nil {
			if end, err = in.Seek(start, seekHole); err != nil {
				return err
			}
		}
		if _, err := in.Seek(start, io.SeekStart); err != nil {
			return err
		}
		if _, err := out.Seek(start, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, end-start); err != nil {
			return err
		}
		at = end
	}
	return nil
}
