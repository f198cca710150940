package digestsource

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

const (
	// pieceSize is how much of a log is read at a time, bytes. It stays within the processor's second cache, so that
	// what was just read is still there when it is parsed.
	pieceSize = 1 << 20
	// maxEntry bounds one entry, bytes: max_allowed_packet is at most 1 GiB (manual: "Server System Variables"), and
	// the figures stand beside the statement.
	maxEntry = 1<<30 + 1<<20
	// maxLine bounds what is kept of a line that is not an entry's, bytes: an entry's first line is shorter.
	maxLine = 64 << 10

	unreadable = "the rest of the file cannot be read: %v"
)

// maxStray bounds how much of what stands before a log's first entry is kept together, bytes.
const maxStray = 64 << 20

// lines tells where the entries of one kind of log begin. Both functions judge by the bytes alone, so that a log falls
// into the same entries however it is read.
type lines struct {
	// cut returns the length of the longest beginning of a piece that ends between two entries, 0 when there is none.
	cut func(piece []byte) int
	// first returns where an entry begins for the first time behind the beginning of a piece, which may lie within one;
	// -1 when none does.
	first func(piece []byte) int
	// mark stands before every entry but the first.
	mark string
}

// piece is a part of a log that begins and ends between entries.
type piece struct {
	data   []byte // valid until it is given back
	offset int64  // of its first byte in the (decompressed) log
	buf    []byte // what data lies in
}

// pieces reads a log piece by piece. An entry that is longer than a piece is read whole, up to maxEntry.
type pieces struct {
	in    io.Reader
	lines lines
	size  int  // of an ordinary piece
	limit int  // of the longest entry that is read
	open  bool // more may be written after the end: what follows the last boundary is kept
	free  *buffers

	buf    []byte // read and not handed out; its capacity is what is read up to
	offset int64  // of buf[0]
	begun  bool   // the log's first entry was seen
	lost   int64  // bytes before buf[0] of an entry that is too long, 0 = there is none
	err    error  // why reading ended

	skipped []slowlog.Skip // by pieces itself
}

func newPieces(in io.Reader, l lines, size, limit int, free *buffers) *pieces {
	return &pieces{in: in, lines: l, size: size, limit: limit, free: free, buf: free.get(size)}
}

// next returns the next piece; not ok at the end of the log, or of what is written so far when the log is open. The
// piece goes back by done.
func (p *pieces) next() (_ piece, ok bool) {
	for {
		p.fill()
		ended := errors.Is(p.err, io.EOF)
		if p.lost > 0 && !p.pass() {
			switch {
			case p.err == nil:
				continue
			case ended && p.open:
				p.err = nil
			default:
				p.skip(p.offset-p.lost, p.lost, p.tooLong())
				p.lost = 0
			}
			return piece{}, false
		}
		if ended && !p.open && len(p.buf) > 0 {
			return p.hand(len(p.buf)), true
		}
		if n := p.lines.cut(p.buf); n > 0 {
			p.begun = true
			return p.hand(n), true
		}
		switch {
		case p.err == nil && p.stray():
			return p.hand(lastLine(p.buf)), true
		case p.err == nil:
			p.grow()
		case ended && p.open:
			p.err = nil
			return piece{}, false
		default:
			if !ended { // half an entry is no figure
				p.skip(p.offset, int64(len(p.buf)), fmt.Sprintf(unreadable, p.err))
				p.drop(len(p.buf))
			}
			return piece{}, false
		}
	}
}

// rest hands out what follows the last boundary of an open log; not ok when there is nothing.
func (p *pieces) rest() (_ piece, ok bool) {
	if len(p.buf) == 0 || p.lost > 0 {
		return piece{}, false
	}
	return p.hand(len(p.buf)), true
}

// fill reads until the buffer is full or the log ends.
func (p *pieces) fill() {
	for empty := 0; p.err == nil && len(p.buf) < cap(p.buf); {
		n, err := p.in.Read(p.buf[len(p.buf):cap(p.buf)])
		p.buf = p.buf[:len(p.buf)+n]
		p.err = err
		if n > 0 || err != nil {
			empty = 0
		} else if empty++; empty > 100 {
			p.err = io.ErrNoProgress
		}
	}
}

// hand gives the first n bytes away and keeps the rest.
func (p *pieces) hand(n int) piece {
	out := piece{data: p.buf[:n], offset: p.offset, buf: p.buf}
	rest := p.buf[n:]
	p.buf = append(p.free.get(p.room(len(rest))), rest...)
	p.offset += int64(n)
	return out
}

// room returns the size of a buffer that holds n bytes and leaves space to read on.
func (p *pieces) room(n int) int {
	size := p.size
	for size < n+n/4 {
		size *= 2
	}
	return size
}

// done takes a piece back.
func (p *pieces) done(x piece) { p.free.put(x.buf) }

// stray reports whether what was read is no entry but stands before the first one, as in a log whose beginning was cut
// off.
func (p *pieces) stray() bool {
	if p.begun || bytes.HasPrefix(p.buf, []byte(p.lines.mark[1:])) {
		p.begun = true
		return false
	}
	return len(p.buf) >= maxStray || !bytes.Contains(p.buf, []byte(p.lines.mark))
}

// grow makes room for an entry that does not fit, or begins to pass over it.
func (p *pieces) grow() {
	if len(p.buf) < p.limit {
		next := append(p.free.get(min(2*cap(p.buf), p.limit)), p.buf...)
		p.free.put(p.buf)
		p.buf = next
		return
	}
	p.lost = p.forget()
}

// pass looks for the end of an entry that is too long, and reports whether it was found.
func (p *pieces) pass() bool {
	n := p.lines.first(p.buf)
	if n < 0 {
		p.lost += p.forget()
		return false
	}
	p.drop(n)
	p.skip(p.offset-p.lost-int64(n), p.lost+int64(n), p.tooLong())
	p.lost = 0
	return true
}

func (p *pieces) tooLong() string { return fmt.Sprintf("an entry longer than %d MiB", p.limit>>20) }

// forget drops what the end of an entry that is too long cannot be in, and returns its length.
func (p *pieces) forget() int64 {
	n := len(p.buf)
	if p.err == nil || p.open {
		n = max(lastLine(p.buf)-len(p.lines.mark)-1, 0) // the end of an entry shows where the next one begins
	}
	if n == 0 && p.err == nil {
		n = len(p.buf)
	}
	p.drop(n)
	return int64(n)
}

// drop forgets the first n bytes, and a buffer that is larger than usual.
func (p *pieces) drop(n int) {
	rest, into := p.buf[n:], p.buf[:0]
	if room := p.room(len(rest)); cap(into) > room {
		into = p.free.get(room)
	}
	p.buf = append(into, rest...)
	p.offset += int64(n)
}

func (p *pieces) skip(offset, length int64, reason string) {
	p.skipped = append(p.skipped, slowlog.Skip{Offset: offset, Length: length, Reason: reason})
}

// lastLine returns where the last line of b begins, of which more may follow; the end of b when that line is too long
// to begin an entry.
func lastLine(b []byte) int {
	i := bytes.LastIndexByte(b, '\n') + 1
	if i == 0 || len(b)-i > maxLine {
		return len(b)
	}
	return i
}
