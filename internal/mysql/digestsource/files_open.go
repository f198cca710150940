package digestsource

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

const (
	headSize = 64 << 10 // of a log is looked at to tell what it is, bytes
	// maxWindow bounds what decompression of one file may remember, bytes: zstd --long=29 and less.
	maxWindow = 512 << 20
)

// stream is an opened log, decompressed.
type stream struct {
	io.Reader       // from the log's first byte
	stored    int64 // bytes of the file as it is stored, 0 = not known
	read      *atomic.Int64
	again     bool   // can be opened again and gives the same bytes
	id        fileID // of such a one
	plain     bool   // not compressed
	close     func()
}

// openStream opens a log by its path, - for stdin. What it is compressed with shows in its first bytes, not in its
// name.
func openStream(ctx context.Context, path string, stdin io.Reader) (*stream, error) {
	s := &stream{read: new(atomic.Int64), close: func() {}}
	var raw io.Reader
	if path == "-" {
		if stdin == nil {
			return nil, errors.New("there is no standard input to read")
		}
		p := newPump(ctx, stdin)
		s.close = p.abandon
		raw = p
	} else {
		f, err := openFile(ctx, path)
		if err != nil {
			return nil, err
		}
		st, err := f.Stat()
		switch {
		case err != nil:
			f.Close()
			return nil, reason(err)
		case st.IsDir():
			f.Close()
			return nil, errors.New("it is a directory: name the logs in it")
		case st.Mode().IsRegular():
			s.stored, s.again, s.id = st.Size(), true, idOf(st)
			s.close = func() { f.Close() }
			raw = f
		default: // a pipe may stay silent for long
			p := newPump(ctx, f)
			s.close = func() { p.abandon(); f.Close() }
			raw = p
		}
	}
	raw = &tallied{raw, s.read}
	magic := make([]byte, 8)
	n, err := io.ReadFull(raw, magic)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.close()
		return nil, reason(err)
	}
	magic = magic[:n]
	raw = io.MultiReader(bytes.NewReader(magic), raw)
	if err := s.decompress(ctx, magic, raw); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// decompress sets the stream's reader. Decompression runs ahead in a goroutine that close ends.
func (s *stream) decompress(ctx context.Context, magic []byte, raw io.Reader) error {
	is := func(m string) bool { return bytes.HasPrefix(magic, []byte(m)) }
	ahead := func(r io.Reader, end func()) {
		p, below := newPump(ctx, r), s.close
		// What it reads from is closed first: it may be waiting for a silent pipe.
		s.Reader, s.close = p, func() { p.abandon(); below(); p.wait(); end() }
	}
	switch {
	case is("\x1f\x8b"):
		z, err := gzip.NewReader(raw)
		if err != nil {
			return fmt.Errorf("read gzip: %w", err)
		}
		ahead(wrapped{z, "read gzip"}, func() {})
	case is("\x28\xb5\x2f\xfd"), len(magic) >= 4 && magic[0]&0xf0 == 0x50 && string(magic[1:4]) == "\x2a\x4d\x18":
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderMaxMemory(1<<62))
		if err != nil {
			return fmt.Errorf("read zstd: %w", err)
		}
		ahead(wrapped{z, "read zstd"}, z.Close)
	case is("BZh"):
		return foreign("bzip2")
	case is("\xfd7zXZ\x00"):
		return foreign("xz")
	case is("\x04\x22\x4d\x18"):
		return foreign("lz4")
	case is("PK\x03\x04"):
		return errors.New("it is a zip archive: unpack it first, or pipe it in: unzip -p FILE | dyno digest -")
	default:
		s.Reader, s.plain = raw, true
	}
	return nil
}

func foreign(tool string) error {
	return fmt.Errorf("it is compressed with %[1]s; gzip and zstd are read as they are, others through a pipe: %[1]s "+
		"-dc FILE | dyno digest -", tool)
}

// openFile opens a file; of a pipe nobody writes to it waits for the writer.
func openFile(ctx context.Context, path string) (*os.File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	if st.Mode()&os.ModeNamedPipe == 0 {
		f, err := os.Open(path)
		return f, reason(err)
	}
	type opened struct {
		f   *os.File
		err error
	}
	c := make(chan opened, 1)
	go func() { // outlives ctx only while nobody opens the other end
		f, err := os.Open(path)
		c <- opened{f, err}
	}()
	select {
	case o := <-c:
		return o.f, reason(o.err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reason drops the path from a file's error: whoever reports it names the file.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// tallied counts what is read.
type tallied struct {
	io.Reader
	n *atomic.Int64
}

func (c *tallied) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// wrapped tells in its errors what was being done.
type wrapped struct {
	io.Reader
	doing string
}

func (w wrapped) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w", w.doing, err)
	}
	return n, err
}
