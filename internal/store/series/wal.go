package series

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/wlog"
)

// The write-ahead log is a row of numbered segments; each is made of pages, and a record lies within one segment but
// may go over several pages. A crash can leave the last record cut short, and with a power cut the pages after it
// empty: that is normal. A record that does not match its checksum while a sound one follows is damage. See
// https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/wal.md
const (
	pageSize   = 32 << 10
	headerSize = 7 // type, length, CRC-32C
)

// segment is one file of the log as scan found it.
type segment struct {
	path  string
	index int
	size  int64
	good  int64 // bytes up to the end of the last sound record
	err   error // what is wrong after that, nil when all is sound
	more  bool  // a sound record follows behind what is wrong
}

// scan reads the whole log and opens every block, and returns the spans that cannot be read. torn is the segment whose
// last record a crash cut short, if there is one.
func scan(dir string) (spans []Span, torn *segment, err error) {
	spans, err = scanBlocks(dir)
	if err != nil {
		return nil, nil, err
	}
	wal := filepath.Join(dir, "wal")
	segs, err := readSegments(wal)
	if err != nil {
		return nil, nil, err
	}
	base := -1 // index of the last segment that a checkpoint stands for
	if cp, n, err := wlog.LastCheckpoint(wal); err == nil {
		base = n
		cps, err := readSegments(cp)
		if err != nil {
			return nil, nil, err
		}
		for i, c := range cps {
			if c.err != nil {
				spans = append(spans, c.span(dir, cps[:i], append(slices.Clone(cps[i+1:]), segs...)))
			}
		}
	} else if !errors.Is(err, record.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	// the last one with anything in it: an empty one follows when a crash came right after opening
	last := len(segs) - 1
	for last >= 0 && segs[last].good == 0 && segs[last].err == nil {
		last--
	}
	for i, s := range segs {
		if i == 0 && s.index > base+1 || i > 0 && s.index != segs[i-1].index+1 {
			gone := Span{Where: rel(dir, wal), Cause: fmt.Sprintf("the segment before %08d is missing", s.index)}
			gone.From, gone.To = lastTime(segs[:i]), firstTime(segs[i:])
			spans = append(spans, gone)
		}
		switch {
		case s.err == nil:
		case i == last && !s.more:
			torn = &s
		default:
			spans = append(spans, s.span(dir, segs[:i], segs[i+1:]))
		}
	}
	return spans, torn, nil
}

// span tells which time a damaged segment leaves unreadable, from the sound samples around it.
func (s segment) span(dir string, before, after []segment) Span {
	x := Span{Where: rel(dir, s.path), Cause: fmt.Sprintf("at byte %d: %v", s.good, s.err)}
	x.From = lastTime(append(slices.Clone(before), s))
	if x.To = timeBehind(s); x.To.IsZero() {
		x.To = firstTime(after)
	}
	return x
}

func rel(dir, path string) string {
	if r, err := filepath.Rel(dir, path); err == nil {
		return r
	}
	return path
}

// readSegments checks every record of the segments in dir, in order. No directory has no segments.
func readSegments(dir string) ([]segment, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var segs []segment
	for _, f := range files {
		n, err := strconv.Atoi(f.Name())
		if err != nil || f.IsDir() {
			continue
		}
		s := segment{path: filepath.Join(dir, f.Name()), index: n}
		if err := s.read(); err != nil {
			return nil, err
		}
		segs = append(segs, s)
	}
	slices.SortFunc(segs, func(a, b segment) int { return a.index - b.index })
	return segs, nil
}

// read checks every record of the segment.
func (s *segment) read() error {
	seg, err := wlog.OpenReadSegment(s.path)
	if err != nil {
		return err
	}
	in := wlog.NewSegmentBufReader(seg) // as tsdb reads it: the last page is filled up with zeros
	defer in.Close()
	st, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	s.size = st.Size()
	r := wlog.NewReader(in)
	for r.Next() {
		if len(r.Record()) == 0 { // one byte of a header that was cut short, filled up with zeros, looks like this
			s.err = errors.New("a record is empty")
			break
		}
		s.good = r.Offset()
	}
	if err := r.Err(); err != nil {
		s.err = err
		if bad := new(wlog.CorruptionErr); errors.As(err, &bad) {
			s.err = bad.Err
		}
	}
	if s.err != nil {
		for range behind(s.path, s.good) {
			s.more = true
			break
		}
	}
	return nil
}

// behind yields where records begin, or parts of records, that match their checksum behind damage at off. Within the
// damaged page they may begin anywhere, for the damage may be to a length.
func behind(path string, off int64) iter.Seq2[int64, recordType] {
	return func(yield func(int64, recordType) bool) {
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		page := make([]byte, pageSize)
		table := crc32.MakeTable(crc32.Castagnoli)
		damaged := false // parts of the damaged record itself may be sound
		for start := off - off%pageSize; ; start += pageSize {
			n, _ := f.ReadAt(page, start) // what cannot be read is not sound
			if n == 0 {
				return
			}
			for at := int(max(off-start, 0)); at+headerSize < n; {
				typ, length, sum := recordType(page[at]&7), int(binary.BigEndian.Uint16(page[at+1:])),
					binary.BigEndian.Uint32(page[at+3:])
				end := at + headerSize + length
				if page[at] >= 32 || typ < whole || typ > final || length == 0 || end > n ||
					crc32.Checksum(page[at+headerSize:end], table) != sum {
					if page[at] == 0 && !damaged && start+int64(at) == off {
						break // the damage is not here: the rest of this page is unused
					}
					damaged = true
					at++
					continue
				}
				if damaged && !yield(start+int64(at), typ) {
					return
				}
				at = end
			}
		}
	}
}

// recordType says which part of a record lies in a page.
type recordType byte

const (
	whole recordType = 1
	begin recordType = 2
	final recordType = 4
)

// sampleTimes calls f with the earliest and latest time of each record of samples in r until f returns false or r ends.
func sampleTimes(r io.Reader, f func(lo, hi int64) bool) {
	dec := record.NewDecoder(labels.NewSymbolTable(), nil)
	var buf []record.RefSample
	for rd := wlog.NewReader(bufio.NewReaderSize(r, pageSize)); rd.Next(); {
		switch dec.Type(rd.Record()) {
		case record.Samples, record.SamplesV2:
		default:
			continue
		}
		var err error
		if buf, err = dec.Samples(rd.Record(), buf[:0]); err != nil || len(buf) == 0 {
			continue
		}
		lo, hi := buf[0].T, buf[0].T
		for _, x := range buf {
			lo, hi = min(lo, x.T), max(hi, x.T)
		}
		if !f(lo, hi) {
			return
		}
	}
}

// lastTime returns the latest sample before the first damage of the last segment that has any.
func lastTime(segs []segment) (t time.Time) {
	for i := len(segs) - 1; i >= 0 && t.IsZero(); i-- {
		open(segs[i].path, 0, func(r io.Reader) {
			sampleTimes(r, func(_, hi int64) bool {
				if x := time.UnixMilli(hi); x.After(t) {
					t = x
				}
				return true
			})
		})
	}
	return t
}

// firstTime returns the earliest sample of the first record that has any.
func firstTime(segs []segment) (t time.Time) {
	for i := 0; i < len(segs) && t.IsZero(); i++ {
		t = firstFrom(segs[i].path, 0)
	}
	return t
}

// timeBehind returns the first sample that can be read behind the damage of s, zero when there is none.
func timeBehind(s segment) (t time.Time) {
	for off, typ := range behind(s.path, s.good) {
		if typ == whole || typ == begin {
			if t = firstFrom(s.path, off); !t.IsZero() {
				break
			}
		}
	}
	return t
}

func firstFrom(path string, off int64) (t time.Time) {
	open(path, off, func(r io.Reader) {
		sampleTimes(r, func(lo, _ int64) bool {
			t = time.UnixMilli(lo)
			return false
		})
	})
	return t
}

// open calls f with what the file holds from off. A file that cannot be opened tells no time: who asks has found it
// damaged.
func open(path string, off int64, f func(io.Reader)) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	f(io.NewSectionReader(file, off, 1<<62))
}

// isBlock reports whether a directory's name is that of a block, a ULID.
func isBlock(name string) bool {
	return len(name) == 26 && strings.Trim(name, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}
