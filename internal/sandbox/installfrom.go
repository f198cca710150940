package sandbox

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/progress"
)

// InstallFrom puts the server of a vendor's archive, a .tar, .tar.gz or .tar.xz of MySQL, Percona Server or MariaDB for
// Linux, beside the system's own, as Install does. from is a file or a URL. sum is the archive's SHA-256 in
// hexadecimal, which a URL needs and which may be empty for a file; the archive's is returned, also with an error once
// it is known.
//
// With an error, and when ctx ends, no build is left behind. Its causes are those of Install, and ErrFetch when the
// sums differ.
func (b *Builds) InstallFrom(
	ctx context.Context, from, sum string, sink progress.Sink,
) (s Server, got string, err error) {
	defer func() { err = wrap("install server", plainFrom(from), err) }()
	want, err := hex.DecodeString(sum)
	if err != nil || len(want) != 0 && len(want) != sha256.Size {
		return s, "", hint(fmt.Errorf("%q is not a SHA-256", sum), "give its 64 hexadecimal digits, as the vendor or "+
			"sha256sum shows them")
	}
	if isURL(from) && len(want) == 0 {
		return s, "", hint(errors.New("what a URL leads to must be known beforehand"),
			"add --sha256 with the sum that the vendor publishes")
	}
	err = b.installing(func() (err error) {
		if err := b.reachable(); err != nil {
			return err
		}
		staging := filepath.Join(b.servers, ".staging-from-"+hex.EncodeToString(want[:min(4, len(want))]))
		s, err = b.stage(ctx, staging, func(tree string) error {
			f, err := archiveOf(ctx, from, want, filepath.Join(staging, "download"), sink)
			if err != nil {
				return err
			}
			defer f.Close()
			if got, err = sumOf(ctx, f); err != nil {
				return err
			}
			if sum != "" && !strings.EqualFold(got, sum) {
				return fmt.Errorf("%w: it has the SHA-256 %s, not %s", ErrFetch, got, sum)
			}
			if err := untar(ctx, f, tree, sink); err != nil {
				return err
			}
			return b.aptSuite(librarySuite, "").addMissing(ctx, job{dir: staging, tree: tree, sink: sink})
		}, func(s Server) error {
			if home := b.home(s); isDir(home) {
				return hint(fmt.Errorf("%s is installed already", s.Spec()), "to replace it, remove "+home+" first")
			}
			return nil
		})
		return err
	})
	return s, got, err
}

func isURL(from string) bool {
	return strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
}

func plainFrom(from string) string {
	if isURL(from) {
		return plain(from)
	}
	return from
}

// archiveOf opens the file, or the one that the URL leads to.
func archiveOf(ctx context.Context, from string, sum []byte, dir string, sink progress.Sink) (*os.File, error) {
	if isURL(from) {
		if err := makeDirs(dir); err != nil {
			return nil, err
		}
		file := filepath.Join(dir, "archive")
		report := meter(sink, progress.Progress{Step: "downloading from " + hostOf(from)})
		if err := fetch(ctx, newClient(), remote{url: from, hash: sha256.New, sum: sum}, file, report); err != nil {
			return nil, err
		}
		from = file
	}
	fi, err := os.Stat(from) // before it is opened: a pipe would wait
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a regular file", errArchive)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(from)
}

func sumOf(ctx context.Context, f *os.File) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, contextReader{ctx, f}); err != nil {
		return "", err
	}
	_, err := f.Seek(0, io.SeekStart)
	return hex.EncodeToString(h.Sum(nil)), err
}

// layout are the directories of a server's tree. What else stands first in a name is the archive's own directory.
var layout = map[string]bool{
	"bin": true, "sbin": true, "libexec": true, "lib": true, "lib64": true,
	"share": true, "usr": true,
}

// ofVendor says where a file of a vendor's archive goes.
func ofVendor(name string) string {
	if top, rest, _ := strings.Cut(name, "/"); !layout[top] {
		name = rest
	}
	return needed(name)
}

// untar unpacks a tar archive, compressed or not, into the directory tree.
func untar(ctx context.Context, f *os.File, tree string, sink progress.Sink) (err error) {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { err = inline([]error{err, root.Close()}) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, report := int64(0), meter(sink, progress.Progress{Step: "unpacking"})
	plain, closed, err := decompressed(ctx, io.TeeReader(f,
		counter(func(n int) { read += int64(n); report(read, fi.Size()) })))
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		closed()
	}()
	unchecked := int64(0)
	u := &unpacker{ctx: ctx, root: root, keep: ofVendor, step: func(n int64) { unchecked += n }}
	for t := tar.NewReader(plain); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return u.checkLinks()
		}
		if err != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("%w: %w", errArchive, err))
		}
		if err := u.tarred(h, t); errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.Join(ctx.Err(), fmt.Errorf("%w: %w", errArchive, err))
		} else if err != nil {
			return err
		}
		if unchecked >= reserve/4 {
			if unchecked = 0; checkSpace(tree, 0) != nil {
				return checkSpace(tree, 0)
			}
		}
	}
}

type counter func(n int)

func (c counter) Write(b []byte) (int, error) {
	c(len(b))
	return len(b), nil
}

// decompressed returns what an archive holds, by its first bytes. closed ends the reading.
func decompressed(ctx context.Context, from io.Reader) (r io.Reader, closed func(), err error) {
	b := bufio.NewReader(from)
	switch head, _ := b.Peek(6); { // a shorter one is broken, which tar says
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		return z, func() {}, err
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		cmd := exec.CommandContext(ctx, "xz", "--decompress", "--stdout")
		cmd.Stdin = b
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if errors.Is(err, exec.ErrNotFound) {
			err = hint(errors.New("the program xz, which unpacks it, is missing"), "install the package xz-utils")
		}
		return out, func() { cmd.Wait() }, err
	case bytes.HasPrefix(head, []byte("PK")):
		return nil, nil, hint(fmt.Errorf("%w: it is a zip archive", errArchive),
			"take the vendor's .tar.gz or .tar.xz for Linux")
	}
	return b, func() {}, nil
}

// tarred puts one member in its place.
func (u *unpacker) tarred(h *tar.Header, from io.Reader) error {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader, tar.TypeDir:
		return u.ctx.Err()
	}
	to, err := u.place(h.Name)
	if err != nil || to == "" {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return u.file(to, h.FileInfo().Mode(), h.Size, from)
	case tar.TypeSymlink:
		u.links = append(u.links, to)
		return u.link(to, h.Linkname)
	case tar.TypeLink: // another name of a file that came before
		first, err := u.place(h.Linkname)
		if err != nil || first == "" {
			return errors.Join(err, fmt.Errorf("%w: %s is another name of %q, which is missing",
				errArchive, to, h.Linkname))
		}
		if fi, err := u.root.Lstat(first); err != nil || !fi.Mode().IsRegular() {
			return fmt.Errorf("%w: %s is another name of %q, which is no file", errArchive, to, h.Linkname)
		}
		return u.root.Link(first, to)
	}
	return fmt.Errorf("%w: %s is neither a file nor a directory nor a link", errArchive, path.Clean(h.Name))
}

// checkLinks returns an error when a link leads out by way of others. What it leads to may be missing.
func (u *unpacker) checkLinks() error {
	for _, name := range u.links {
		if _, err := u.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: the link %s: %w", errArchive, name, err)
		}
	}
	return nil
}
