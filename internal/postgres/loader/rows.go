package loader

import (
	"fmt"
	"io"

	"github.com/dyno-perf/dyno/internal/workload"
)

// rows makes the rows of a part of a table as COPY reads them in text format
// (https://www.postgresql.org/docs/current/sql-copy.html, "Text Format"). It is an io.Reader for one goroutine.
type rows struct {
	fill func(row int, emit func([]workload.Datum))
	next int // the number that comes next
	last int
	made func(numbers int) // told how many numbers are made

	buf  []byte
	rest []byte // of buf
	err  error
}

// batch is how much is made at once, bytes.
const batch = 64 << 10

// Read implements io.Reader.
func (r *rows) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		r.buf = r.buf[:0]
		first := r.next
		for r.next <= r.last && len(r.buf) < batch && r.err == nil {
			r.fill(r.next, r.emit)
			r.next++
		}
		r.rest = r.buf
		if r.err != nil {
			return 0, r.err
		}
		if r.next > first {
			r.made(r.next - first)
		}
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *rows) emit(row []workload.Datum) {
	for i, d := range row {
		if i > 0 {
			r.buf = append(r.buf, '\t')
		}
		r.field(d)
	}
	r.buf = append(r.buf, '\n')
}

func (r *rows) field(d workload.Datum) {
	switch d.Kind() {
	case workload.NullDatum:
		r.buf = append(r.buf, `\N`...)
		return
	case workload.BytesDatum:
	default:
		r.buf = d.AppendLiteral(r.buf)
		return
	}
	for _, c := range d.Raw() {
		switch c {
		case '\\':
			r.buf = append(r.buf, '\\', '\\')
		case '\t':
			r.buf = append(r.buf, '\\', 't')
		case '\n':
			r.buf = append(r.buf, '\\', 'n')
		case '\r':
			r.buf = append(r.buf, '\\', 'r')
		case 0:
			r.err = fmt.Errorf("row %d has a zero byte, which no text of PostgreSQL holds", r.next)
		default:
			r.buf = append(r.buf, c)
		}
	}
}
