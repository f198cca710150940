package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Restored says what a restore did.
type Restored struct {
	Files   int           `json:"files"`   // of the data set
	Size    int64         `json:"size"`    // of them, bytes
	Changed int           `json:"changed"` // files that were not as they should be
	Removed int           `json:"removed"` // files that the data set does not have
	Written int64         `json:"written"` // bytes
	Punched int64         `json:"punched"` // bytes given back to the file system where the data set has holes
	Shared  int64         `json:"shared"`  // bytes of the files that now share their blocks with the data set
	Took    time.Duration `json:"took_ns"`
}

// transfer makes a directory equal to another one that does not change.
type transfer struct {
	from, to string
	tree     tree // of from
	account  account
	durable  bool // what is written is on disk when it returns

	done, written, punched, shared atomic.Int64
	changed                        atomic.Int32
	unshared                       atomic.Bool // the file systems cannot share blocks
}

const (
	segment = 4 << 20   // bytes of a file that one goroutine compares at a time
	chunk   = 256 << 10 // bytes compared at a time
	grain   = 4 << 10   // bytes written at least, and aligned to: the page of the kernel's cache

	// minShared is the size from which sharing blocks is cheaper than comparing them.
	minShared = 256 << 10
)

// run makes m.to, which is there, equal to m.from: it reads both and writes only what differs, so that little work is
// left to the disk. A hole becomes a hole. report is told the bytes that are done.
func (m *transfer) run(ctx context.Context, report func(done int64)) (Restored, error) {
	began := time.Now()
	in, err := openOwned(m.from)
	if err != nil {
		return Restored{}, err
	}
	defer in.Close()
	out, err := openOwned(m.to)
	if err != nil {
		return Restored{}, err
	}
	defer out.Close()
	r := Restored{Files: len(m.tree.Files), Size: m.tree.size()}
	if r.Removed, err = m.tree.clean(out); err != nil {
		return r, err
	}
	if err := m.tree.makeDirs(out, m.account); err != nil {
		return r, err
	}
	work := make(chan piece)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(work)
		return m.split(ctx, in, out, work)
	})
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			b := buffers{make([]byte, chunk), make([]byte, chunk)}
			for p := range work {
				err := ctx.Err()
				if err == nil {
					err = m.piece(p, b)
				}
				if err = errors.Join(err, p.file.release(m)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case err = <-ended:
			waiting = false
		case <-tick.C:
		}
		report(m.done.Load())
	}
	r.Changed, r.Written, r.Punched, r.Shared = int(m.changed.Load()), m.written.Load(),
		m.punched.Load(), m.shared.Load()
	r.Took = time.Since(began)
	return r, err
}

// pair is one file and what it is to become.
type pair struct {
	name    string
	in, out *os.File
	size    int64
	fresh   bool         // out was made just now: it is one hole
	left    atomic.Int32 // pieces not done
	changed atomic.Bool
}

// piece is a part of a file.
type piece struct {
	file     *pair
	from, to int64
}

type buffers struct{ in, out []byte }

// split opens the files, largest first, and hands out their pieces.
func (m *transfer) split(ctx context.Context, in, out owned, work chan<- piece) error {
	names := make([]string, 0, len(m.tree.Files))
	for n := range m.tree.Files {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(m.tree.Files[b].Size, m.tree.Files[a].Size), cmp.Compare(a, b))
	})
	for _, n := range names {
		p, err := m.open(in, out, n)
		if err != nil {
			return fmt.Errorf("restore %s: %w", n, err)
		}
		pieces := int32((p.size + segment - 1) / segment)
		if pieces == 0 || m.share(p) {
			m.done.Add(p.size)
			p.left.Store(1)
			if err := p.release(m); err != nil {
				return err
			}
			continue
		}
		p.left.Store(pieces)
		for at := int64(0); at < p.size; at += segment {
			select {
			case work <- piece{p, at, min(at+segment, p.size)}:
			case <-ctx.Done():
				p.in.Close() // which fails those who still read
				p.out.Close()
				return ctx.Err()
			}
		}
	}
	return nil
}

// open opens a file and its counterpart, made if it is missing and cut or lengthened to the right size.
func (m *transfer) open(in, out owned, name string) (_ *pair, err error) {
	want := m.tree.Files[name]
	p := &pair{name: name, size: want.Size}
	if p.in, err = in.plain(name, os.O_RDONLY); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.in.Close()
			if p.out != nil {
				p.out.Close()
			}
		}
	}()
	fi, err := p.in.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() != want.Size {
		return nil, fmt.Errorf("%w: its size has changed", ErrData)
	}
	p.out, err = out.plain(name, os.O_RDWR)
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 && out.Chmod(name, 0o600) == nil {
		// its own owner may not write it
		p.out, err = out.plain(name, os.O_RDWR)
	}
	if errors.Is(err, ErrData) { // somebody else's, or half made
		err = out.Remove(name)
	}
	if p.out == nil && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		p.fresh = true
		p.changed.Store(true)
		p.out, err = out.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if fi, err = p.out.Stat(); err != nil {
		return nil, err
	}
	if err := m.account.take(p.out, want.Mode); err != nil {
		return nil, err
	}
	if fi.Size() != want.Size {
		p.changed.Store(true)
		if err := p.out.Truncate(want.Size); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// share lets the counterpart share the file's blocks, if the file system can and it is worth it.
func (m *transfer) share(p *pair) bool {
	if p.size < minShared && !p.fresh || m.unshared.Load() {
		return false
	}
	if err := shareBlocks(p.out, p.in); err != nil {
		m.unshared.Store(true)
		return false
	}
	m.shared.Add(p.size)
	p.changed.Store(true)
	return true
}

// release ends a piece, and with the last one the work on its file.
func (p *pair) release(m *transfer) error {
	if p.left.Add(-1) > 0 {
		return nil
	}
	var err error
	if p.changed.Load() {
		m.changed.Add(1)
		if m.durable {
			err = p.out.Sync()
		}
	}
	return errors.Join(err, p.in.Close(), p.out.Close())
}

// piece makes a part of a file equal.
func (m *transfer) piece(p piece, b buffers) error {
	err := func() error {
		for at := p.from; at < p.to; {
			start, end, err := nextData(p.file.in, at, p.to)
			if err != nil {
				return err
			}
			if start > at && !p.file.fresh {
				if err := m.empty(p.file, at, start, b); err != nil {
					return err
				}
			}
			for at = start; at < end; {
				n := min(chunk, end-at)
				if err := m.chunk(p.file, at, n, b); err != nil {
					return err
				}
				at += n
			}
		}
		m.done.Add(p.to - p.from)
		return nil
	}()
	if err != nil {
		return fmt.Errorf("restore %s: %w", p.file.name, err)
	}
	return nil
}

// nextData returns the first range from at on, and before limit, that is no hole; start and end are limit when there is
// none.
func nextData(f *os.File, at, limit int64) (start, end int64, err error) {
	start, err = f.Seek(at, seekData)
	switch {
	case errors.Is(err, syscall.ENXIO): // a hole to the end
		return limit, limit, nil
	case errors.Is(err, syscall.EINVAL): // the file system does not know holes
		return at, limit, nil
	case err != nil:
		return 0, 0, err
	case start >= limit:
		return limit, limit, nil
	}
	end, err = f.Seek(start, seekHole)
	if err != nil {
		return 0, 0, err
	}
	return start, min(end, limit), nil
}

// chunk makes n bytes equal.
func (m *transfer) chunk(p *pair, at, n int64, b buffers) error {
	in := b.in[:n]
	if _, err := p.in.ReadAt(in, at); err != nil {
		return err
	}
	if p.fresh {
		return m.write(p, in, at)
	}
	out := b.out[:n]
	if _, err := p.out.ReadAt(out, at); err != nil {
		return err
	}
	return m.differing(p, in, out, at)
}

// differing writes those parts of in that out has not.
func (m *transfer) differing(p *pair, in, out []byte, at int64) error {
	if bytes.Equal(in, out) {
		return nil
	}
	for i := 0; i < len(in); {
		// to the next multiple of grain in the file
		step := func(i int) int { return i + grain - int((at+int64(i))%grain) }
		end := min(step(i), len(in))
		if bytes.Equal(in[i:end], out[i:end]) {
			i = end
			continue
		}
		from := i
		for i = end; i < len(in); i = end {
			end = min(step(i), len(in))
			if bytes.Equal(in[i:end], out[i:end]) {
				break
			}
		}
		if err := m.write(p, in[from:i], at+int64(from)); err != nil {
			return err
		}
	}
	return nil
}

func (m *transfer) write(p *pair, b []byte, at int64) error {
	p.changed.Store(true)
	m.written.Add(int64(len(b)))
	_, err := p.out.WriteAt(b, at)
	return err
}

// empty makes the range a hole, or zero where the file system cannot.
func (m *transfer) empty(p *pair, at, end int64, b buffers) error {
	for at < end {
		start, stop, err := nextData(p.out, at, end)
		if err != nil || start == end {
			return err
		}
		past := stop
		if stop == p.size { // the last block is given back only as a whole
			past = (stop + grain - 1) / grain * grain
		}
		err = punch(p.out, start, past-start)
		switch {
		case err == nil:
			p.changed.Store(true)
			m.punched.Add(stop - start)
		case errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS):
			if err := m.zero(p, start, stop, b); err != nil {
				return err
			}
		default:
			return err
		}
		at = stop
	}
	return nil
}

// zero writes zeros where there are none.
func (m *transfer) zero(p *pair, at, end int64, b buffers) error {
	for at < end {
		n := min(chunk, end-at)
		in, out := b.in[:n], b.out[:n]
		clear(in)
		if _, err := p.out.ReadAt(out, at); err != nil {
			return err
		}
		if err := m.differing(p, in, out, at); err != nil {
			return err
		}
		at += n
	}
	return nil
}
