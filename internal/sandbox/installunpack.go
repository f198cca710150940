package sandbox

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// errArchive says that an archive is not what a server comes in.
var errArchive = errors.New("the archive is broken")

const (
	archiveFiles = 100_000
	archiveBytes = 8 << 30
)

// keep says where a file of an archive goes below the tree, "" for nowhere.
type keep func(name string) string

// unpacker writes the files of an archive below a directory, and nowhere else: no name and no link leads out of it, a
// file is written once, nothing gets more rights than 0755.
type unpacker struct {
	ctx   context.Context
	root  *os.Root
	keep  keep
	step  func(n int64) // bytes written
	files int
	bytes int64
	links []string               // that are not checked yet
	room  func(size int64) error // asked before a file is written; nil when there is room for all
}

// place returns where a member goes, "" for one that is left out.
func (u *unpacker) place(name string) (string, error) {
	name = strings.TrimPrefix(name, "./")
	if !filepath.IsLocal(filepath.FromSlash(strings.TrimSuffix(name, "/"))) || strings.ContainsAny(name, "\x00\\") {
		return "", fmt.Errorf("%w: it has a file %q", errArchive, name)
	}
	to := u.keep(path.Clean(name))
	if to == "" {
		return "", nil
	}
	if u.files++; u.files > archiveFiles {
		return "", fmt.Errorf("%w: it has more than %d files", errArchive, archiveFiles)
	}
	return to, u.root.MkdirAll(path.Dir(to), 0o755)
}

// file writes a regular file of a size.
func (u *unpacker) file(to string, mode fs.FileMode, size int64, from io.Reader) (err error) {
	if size < 0 || size > archiveBytes-u.bytes {
		return fmt.Errorf("%w: it has more than %d bytes", errArchive, int64(archiveBytes))
	}
	if u.room != nil {
		if err := u.room(size); err != nil {
			return err
		}
	}
	u.bytes += size
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 || path.Dir(to) == "bin" { // some archives have lost who is a program
		perm = 0o755
	}
	f, err := u.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = inline([]error{err, f.Close()}) }()
	if err := f.Chmod(perm); err != nil { // whatever the umask is
		return err
	}
	// a byte more reads the end, where checksums are compared
	n, err := io.Copy(f, io.LimitReader(contextReader{u.ctx, from}, size+1))
	if err != nil {
		return fmt.Errorf("unpack %s: %w", to, err)
	}
	if n != size {
		return fmt.Errorf("%w: %s has not the %d bytes that it says", errArchive, to, size)
	}
	u.step(n)
	return nil
}

// link makes a symbolic link, when it leads to a place below the tree.
func (u *unpacker) link(to, target string) error {
	if path.IsAbs(target) || strings.ContainsAny(target, "\x00\\") ||
		!filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(to), target))) {
		return fmt.Errorf("%w: the link %s leads to %q", errArchive, to, target)
	}
	return u.root.Symlink(target, to)
}

// zipBytes returns what the members that are kept unpack to.
func zipBytes(archive string, k keep) (int64, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errArchive, err)
	}
	defer z.Close()
	var n int64
	for _, f := range z.File {
		if k(path.Clean(f.Name)) != "" && !f.FileInfo().IsDir() {
			n += int64(min(f.UncompressedSize64, archiveBytes))
		}
	}
	return n, nil
}

// unzip unpacks a zip archive (a jar is one) into the directory tree.
func unzip(ctx context.Context, archive, tree string, k keep, step func(int64)) (err error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("%w: %w", errArchive, err)
	}
	defer z.Close()
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { err = inline([]error{err, root.Close()}) }()
	u := &unpacker{ctx: ctx, root: root, keep: k, step: step}
	for _, f := range z.File {
		if err := u.zipped(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(f *zip.File) (err error) {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	to, err := u.place(f.Name)
	if err != nil || to == "" || f.Mode().IsDir() {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errArchive, f.Name, err)
	}
	defer func() { err = inline([]error{err, r.Close()}) }()
	switch m := f.Mode(); {
	case m.IsRegular():
		return u.file(to, m, int64(min(f.UncompressedSize64, archiveBytes+1)), r)
	case m.Type() == fs.ModeSymlink:
		target, err := io.ReadAll(io.LimitReader(r, 4096))
		if err != nil {
			return fmt.Errorf("%w: %s: %w", errArchive, f.Name, err)
		}
		return u.link(to, string(target))
	default:
		return fmt.Errorf("%w: %s is neither a file nor a directory nor a link", errArchive, f.Name)
	}
}
