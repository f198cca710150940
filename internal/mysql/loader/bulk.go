package loader

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
)

// bulkWay is how rows get into a table. All ways leave the same rows.
type bulkWay int32

const (
	// LOAD DATA LOCAL, every byte below 128: the server need not look for characters of several bytes
	streamASCII bulkWay = iota
	streamUTF8          // LOAD DATA LOCAL
	inserts             // INSERT with many rows: what always works
)

const (
	batchRows  = 1000      // of one INSERT; more gains nothing
	batchBytes = 512 << 10 // of one INSERT; half of the smallest max_allowed_packet that servers come with
	pieceBytes = 128 << 10 // of a stream, made while the server reads the one before
	chunkBytes = 16 << 20  // of one transaction; what a killed prepare loses at most
)

// odd finds the types whose values mean something else in a file of text than in an INSERT: a number for a BIT column
// is a character there. Whatever else the word may be in CREATE TABLE, an INSERT does no harm.
var odd = lazyregexp.New(
	`(?i)\b(bit|year|enum|json|vector|uuid|inet[46]|geometry\w*|(multi)?(point|linestring|polygon))\b|\bset\s*\(`)

// bulk writes rows of one table over one session.
type bulk struct {
	session *target.Session
	table   *workload.Table
	fill    func(row int, emit func([]workload.Datum))
	free    chan []byte
	insert  string // what an INSERT begins with
	into    string // what follows LOAD DATA LOCAL INFILE, but for the character set
}

func newBulk(s *target.Session, tb *workload.Table, seed uint64) *bulk {
	columns := " (" + quoted(tb.Columns) + ")"
	return &bulk{
		session: s, table: tb, fill: tb.Fill(seed), free: make(chan []byte, 4),
		insert: "INSERT INTO " + ddl.Quote(tb.Name) + columns + " VALUES ",
		into: "INTO TABLE " + ddl.Quote(tb.Name) +
			` CHARACTER SET %s FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'` + columns,
	}
}

func quoted(columns []string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = ddl.Quote(c)
	}
	return strings.Join(list, ", ")
}

// unfitError says that rows cannot go this way, and another has to be taken after a rollback.
type unfitError struct{ reason string }

func (e *unfitError) Error() string { return e.reason }

var (
	errNotASCII = &unfitError{"a value is not ASCII"}
	errNotText  = &unfitError{"a value is not UTF-8"}
)

// write sends the rows of the numbers from first on, at most to last, until about chunkBytes are sent. It returns the
// last number that was sent whole and how many rows that made. The caller commits or rolls back.
func (b *bulk) write(ctx context.Context, w bulkWay, first, last int) (end, rows int, err error) {
	done := make(chan struct{})
	made := b.generate(done, w, first, last)
	defer func() {
		close(done)
		for range made { // the goroutine has ended before its Fill is used again
		}
	}()
	in := &pieces{from: made, free: b.free, end: first - 1}
	if w == inserts {
		for in.next() {
			if _, err := b.session.Exec(ctx, string(in.rest)); err != nil {
				return in.end, in.rows, err
			}
		}
		return in.end, in.rows, in.err
	}
	charset := "latin1"
	if w == streamUTF8 {
		charset = "utf8mb4"
	}
	taken, err := b.session.LoadData(ctx, fmt.Sprintf(b.into, charset), in)
	if err != nil {
		return in.end, in.rows, err
	}
	if taken != int64(in.rows) {
		return in.end, in.rows, &unfitError{fmt.Sprintf("the server took %d of %d rows", taken, in.rows)}
	}
	// What would be an error of an INSERT is a warning here.
	warnings, err := askNumber(ctx, b.session, "SELECT @@warning_count")
	if err == nil && warnings > 0 {
		err = &unfitError{fmt.Sprintf("%d warnings", warnings)}
	}
	return in.end, in.rows, err
}

// piece is some rows as they are sent.
type piece struct {
	text []byte
	rows int
	end  int // the last number that is whole with it
	err  error
}

// generate makes pieces in a goroutine of its own, so that the server does not wait for rows. It ends when done is
// closed.
func (b *bulk) generate(done <-chan struct{}, w bulkWay, first, last int) <-chan piece {
	out := make(chan piece, 2)
	go func() {
		defer close(out)
		g := generation{bulk: b, way: w, done: done, out: out, end: first - 1}
		g.take()
		for n := first; n <= last && g.bytes < chunkBytes; n++ {
			b.fill(n, g.emit)
			if g.err != nil {
				break
			}
			g.end = n
		}
		if !errors.Is(g.err, errDone) {
			g.send()
		}
	}()
	return out
}

var errDone = errors.New("no one waits for more rows")

// generation is the state of the goroutine that makes rows.
type generation struct {
	*bulk
	way   bulkWay
	done  <-chan struct{}
	out   chan<- piece
	buf   []byte
	rows  int // in buf
	end   int // the last whole number
	bytes int // sent
	err   error
}

func (g *generation) take() {
	select {
	case g.buf = <-g.free:
		g.buf = g.buf[:0]
	default:
		g.buf = make([]byte, 0, pieceBytes+pieceBytes/4)
	}
	g.rows = 0
}

func (g *generation) emit(row []workload.Datum) {
	if g.err != nil {
		return
	}
	if g.way == inserts {
		if g.rows == 0 {
			g.buf = append(g.buf, g.insert...)
		} else {
			g.buf = append(g.buf, ',')
		}
		for i, d := range row {
			g.buf = appendValue(append(g.buf, "(,"[min(i, 1)]), d)
		}
		g.buf = append(g.buf, ')')
		if g.rows++; g.rows >= batchRows || len(g.buf) >= batchBytes {
			g.send()
		}
		return
	}
	for i, d := range row {
		if i > 0 {
			g.buf = append(g.buf, '\t')
		}
		if g.buf, g.err = appendField(g.buf, d, g.way == streamASCII); g.err != nil {
			return
		}
	}
	g.buf = append(g.buf, '\n')
	if g.rows++; len(g.buf) >= pieceBytes {
		g.send()
	}
}

// send hands over what is there, also when there is nothing: numbers may stand for no rows.
func (g *generation) send() {
	select {
	case g.out <- piece{g.buf, g.rows, g.end, g.err}:
		g.bytes += len(g.buf)
		g.take()
	case <-g.done:
		g.err = errDone
	}
}

// pieces is the reading side: it takes pieces one after the other.
type pieces struct {
	from  <-chan piece
	free  chan<- []byte
	whole []byte
	rest  []byte
	rows  int
	end   int
	err   error
}

// next goes to the next piece that has rows.
func (s *pieces) next() bool {
	if s.whole != nil {
		select {
		case s.free <- s.whole:
		default:
		}
		s.whole, s.rest = nil, nil
	}
	for s.err == nil {
		p, ok := <-s.from
		if !ok {
			return false
		}
		if s.err = p.err; s.err != nil {
			return false
		}
		s.rows += p.rows
		s.end = p.end
		if p.rows > 0 {
			s.whole, s.rest = p.text, p.text
			return true
		}
	}
	return false
}

// Read implements io.Reader.
func (s *pieces) Read(b []byte) (int, error) {
	if len(s.rest) == 0 && !s.next() {
		if s.err != nil {
			return 0, s.err
		}
		return 0, io.EOF
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// appendField appends d as LOAD DATA reads it with the escapes of bulk.into.
func appendField(dst []byte, d workload.Datum, ascii bool) ([]byte, error) {
	switch d.Kind() {
	case workload.NullDatum:
		return append(dst, `\N`...), nil
	case workload.IntDatum:
		return strconv.AppendInt(dst, int64(d.Bits()), 10), nil
	case workload.BytesDatum:
	default:
		return d.AppendLiteral(dst), nil
	}
	text := d.Raw()
	plain := 0 // where what is not copied yet begins
	high := false
	for i, c := range text {
		if c > '\\' {
			high = high || c >= utf8.RuneSelf
			continue
		}
		var escape byte
		switch c {
		case '\t':
			escape = 't'
		case '\n':
			escape = 'n'
		case '\\':
			escape = '\\'
		case 0:
			escape = '0'
		default:
			continue
		}
		dst = append(append(dst, text[plain:i]...), '\\', escape)
		plain = i + 1
	}
	switch {
	case high && ascii:
		return dst, errNotASCII
	case high && !utf8.Valid(text):
		return dst, errNotText
	}
	return append(dst, text[plain:]...), nil
}

// appendValue appends d as an INSERT has it. Bytes that are no text are written in hexadecimal, lest the server takes
// them for one.
func appendValue(dst []byte, d workload.Datum) []byte {
	if d.Kind() == workload.BytesDatum && !utf8.Valid(d.Raw()) {
		return append(hex.AppendEncode(append(dst, "x'"...), d.Raw()), '\'')
	}
	return d.AppendLiteral(dst)
}
