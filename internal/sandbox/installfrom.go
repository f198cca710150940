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

	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
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
			if got = hex.EncodeToString(want); !isURL(from) { // of what was fetched, that was looked at
				if got, err = sumOf(ctx, f); err != nil {
					return err
				}
			}
			if sum != "" && !strings.EqualFold(got, sum) {
				return fmt.Errorf("%w: it has the SHA-256 %s, not %s", ErrFetch, got, sum)
			}
			links, read, err := untar(ctx, f, tree, b.ofVendor, sink)
			if err == nil && read != got { // what is run next
				err = fmt.Errorf("%w: it changed while it was read", ErrFetch)
			}
			if err != nil {
				return err
			}
			err = b.aptSuite(librarySuite, nil).addMissing(ctx, job{dir: staging, tree: tree, sink: sink})
			if err != nil {
				return err
			}
			return checkLinks(tree, links) // again: what they led to may be there now
		}, func(s Server) error {
			if home := b.home(s); maker.IsDir(home) {
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
	f, err := os.OpenFile(from, os.O_RDONLY|platform.NonBlock, 0) // a pipe is not waited for
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a regular file", errArchive)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
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

// mostAfter is how much may follow the end of a tar archive, in bytes: its last record is filled up.
const mostAfter = 1 << 20

// untar unpacks a tar archive, compressed or not, into the directory tree. It returns the links in it, and the SHA-256
// of what it read, which is all of the file.
func untar(
	ctx context.Context, f *os.File, tree string, k keep, sink progress.Sink,
) (links []string, sum string, err error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = inline([]error{err, root.Close()}) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, report := int64(0), meter(sink, progress.Progress{Step: "unpacking"})
	hash := sha256.New()
	packed := io.TeeReader(contextReader{ctx, io.LimitReader(f, fi.Size())}, io.MultiWriter(hash,
		counter(func(n int) { read += int64(n); report(read, fi.Size()) })))
	plain, closed, err := decompressed(ctx, packed)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		cancel()
		_ = closed()
	}()
	unchecked := int64(0)
	u := &unpacker{ctx: ctx, root: root, keep: k, step: func(int64) {}, room: func(size int64) error {
		if unchecked += size; unchecked < reserve/4 {
			return nil
		}
		unchecked = 0
		return checkSpace(tree, size)
	}}
	for t := tar.NewReader(plain); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", errors.Join(ctx.Err(), fmt.Errorf("%w: %w", errArchive, err))
		}
		if err := u.tarred(h, t); errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, "", errors.Join(ctx.Err(), fmt.Errorf("%w: %w", errArchive, err))
		} else if err != nil {
			return nil, "", err
		}
	}
	n, err := io.Copy(io.Discard, io.LimitReader(plain, mostAfter))
	if errors.Is(err, gzip.ErrHeader) { // what follows is not compressed: gzip(1) passes over it
		err = nil
	}
	if err == nil && n == mostAfter {
		err = errors.New("it continues after its end")
	}
	if err == nil {
		err = closed()
	}
	if err == nil { // and what follows the compressed part
		_, err = io.Copy(io.Discard, packed)
	}
	if err != nil {
		return nil, "", errors.Join(ctx.Err(), fmt.Errorf("%w: %w", errArchive, err))
	}
	return u.links, hex.EncodeToString(hash.Sum(nil)), checkLinks(tree, u.links)
}

type counter func(n int)

func (c counter) Write(b []byte) (int, error) {
	c(len(b))
	return len(b), nil
}

// decompressed returns what an archive holds, by its first bytes. closed ends the reading, with what went wrong at its
// end.
func decompressed(ctx context.Context, from io.Reader) (r io.Reader, closed func() error, err error) {
	b := bufio.NewReader(from)
	nothing := func() error { return nil }
	switch head, _ := b.Peek(6); { // a shorter one is broken, which tar says
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		return z, nothing, err
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
		return out, cmd.Wait, err
	case bytes.HasPrefix(head, []byte("PK")):
		return nil, nil, hint(fmt.Errorf("%w: it is a zip archive", errArchive),
			"take the vendor's .tar.gz or .tar.xz for Linux")
	}
	return b, nothing, nil
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

// checkLinks returns an error when one of the links in the directory tree leads out of it by way of others. What it
// leads to may be missing.
func checkLinks(tree string, links []string) (err error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { err = inline([]error{err, root.Close()}) }()
	for _, name := range links {
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: the link %s: %w", errArchive, name, err)
		}
	}
	return nil
}
