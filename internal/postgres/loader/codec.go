package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dyno-perf/dyno/internal/workload"
)

// codec speaks the frontend/backend protocol, version 3, for an event loop: the part of it that a load needs after the
// login. It is a load.Codec.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
type codec struct {
	plan  *workload.Plan
	stmts []*prepared // nil where the text is sent

	in   []byte   // what is yet to be read
	rest []byte   // the memory for a message whose end has not arrived
	oids []uint32 // types of the columns of the rows that come
	row  []workload.Datum
	err  error // the server's, of the answer under way
	text []byte
}

// prepared is a statement that the server has prepared.
type prepared struct {
	head   []byte // of Bind: portal, name, and no formats, so that all arguments are texts
	params int
	oids   []uint32
}

func newPrepared(d *pgconn.StatementDescription) *prepared {
	p := &prepared{params: len(d.ParamOIDs)}
	p.head = append(append(append(p.head, 0), d.Name...), 0, 0, 0)
	for _, f := range d.Fields {
		p.oids = append(p.oids, f.DataTypeOID)
	}
	return p
}

// executeSync follows the arguments in Bind: all results as texts; then Execute of the unnamed portal to its end, and
// Sync.
const executeSync = "\x00\x00" + "E\x00\x00\x00\x09\x00\x00\x00\x00\x00" + "S\x00\x00\x00\x04"

// longest bounds a message, as the server's own limit of an allocation does.
const longest = 1 << 30

// AppendCall appends the messages for one statement.
func (c *codec) AppendCall(dst []byte, call *workload.Call) ([]byte, error) {
	st := &c.plan.Statements[call.Statement]
	p := c.stmts[call.Statement]
	switch {
	case call.Text != nil:
		return c.query(dst, call.Text), nil
	case p == nil:
		var err error
		c.text, err = st.AppendTextIn(workload.PostgreSQL, c.text[:0], call.Args)
		if err != nil {
			return dst, err
		}
		return c.query(dst, c.text), nil
	case len(call.Args) != p.params:
		return dst, fmt.Errorf("execute: the statement takes %d values, %d were given", p.params, len(call.Args))
	}
	c.begin(p.oids)
	from := len(dst)
	dst = append(append(dst, 'B', 0, 0, 0, 0), p.head...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(call.Args)))
	for _, a := range call.Args {
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		if a.IsNull() {
			binary.BigEndian.PutUint32(dst[at:], math.MaxUint32)
			continue
		}
		dst = appendValue(dst, a)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	binary.BigEndian.PutUint32(dst[from+1:], uint32(len(dst)-from-1+2)) // the formats of the results belong to it
	return append(dst, executeSync...), nil
}

// appendValue appends an argument as the server reads it in text format.
func appendValue(dst []byte, a workload.Datum) []byte {
	switch a.Kind() {
	case workload.IntDatum:
		return strconv.AppendInt(dst, int64(a.Bits()), 10)
	case workload.UintDatum:
		return strconv.AppendUint(dst, a.Bits(), 10)
	case workload.FloatDatum:
		return strconv.AppendFloat(dst, math.Float64frombits(a.Bits()), 'g', -1, 64)
	case workload.BytesDatum:
		return append(dst, a.Raw()...)
	case workload.NullDatum:
	}
	return dst
}

// AppendText appends the message for a text.
func (c *codec) AppendText(dst []byte, sql string) []byte {
	c.text = append(c.text[:0], sql...)
	return c.query(dst, c.text)
}

func (c *codec) query(dst, sql []byte) []byte {
	c.begin(nil)
	dst = binary.BigEndian.AppendUint32(append(dst, 'Q'), uint32(4+len(sql)+1))
	return append(append(dst, sql...), 0)
}

// begin says that an answer follows.
func (c *codec) begin(oids []uint32) { c.oids, c.err = append(c.oids[:0], oids...), nil }

// Feed takes what has arrived.
func (c *codec) Feed(b []byte) {
	if len(c.in) > 0 {
		c.rest = append(c.in, b...) //nolint:gocritic // in is all of rest here
		b = c.rest
	}
	c.in = b
}

// keep copies the beginning of a message to memory of its own: that which Feed was given is not.
func (c *codec) keep() {
	if len(c.in) == 0 || len(c.rest) > 0 && &c.in[0] == &c.rest[0] {
		return
	}
	c.rest = append(c.rest[:0], c.in...)
	c.in = c.rest
}

// Next reads messages up to ReadyForQuery and hands rows to gen.
func (c *codec) Next(gen workload.Generator) (done bool, err error) {
	for {
		if len(c.in) < 5 {
			c.keep()
			return false, nil
		}
		kind, n := c.in[0], binary.BigEndian.Uint32(c.in[1:])
		if n < 4 || n > longest {
			return true, fmt.Errorf("the server sent a message %q of %d bytes", kind, n)
		}
		if uint32(len(c.in)) < 1+n {
			c.keep()
			return false, nil
		}
		body := c.in[5 : 1+n]
		c.in = c.in[1+n:]
		switch kind {
		case 'D':
			if err := c.columns(body); err != nil {
				return true, err
			}
			if gen != nil {
				gen.Row(c.row)
			}
		case 'Z':
			c.keep()
			return true, c.err
		case 'T':
			if err := c.description(body); err != nil {
				return true, err
			}
		case 'E':
			var m pgproto3.ErrorResponse
			if err := m.Decode(body); err != nil {
				return true, fmt.Errorf("read an error of the server: %w", err)
			}
			c.err = pgconn.ErrorResponseToPgError(&m)
			if s := m.SeverityUnlocalized; s == "FATAL" || s == "PANIC" { // nothing follows
				return true, c.err
			}
		case 'G', 'W':
			return true, errCopy
		default: // the end of a command, notices, changes of parameters
		}
	}
}

var (
	errRow  = errors.New("the server sent a row that ends too early")
	errCopy = errors.New("COPY FROM STDIN: a load has no rows to send")
)

// columns reads a row.
func (c *codec) columns(b []byte) error {
	if len(b) < 2 {
		return errRow
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	c.row = c.row[:0]
	for i := range n {
		if len(b) < 4 {
			return errRow
		}
		size := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if size < 0 {
			c.row = append(c.row, workload.Datum{})
			continue
		}
		if int(size) > len(b) {
			return errRow
		}
		oid := uint32(0)
		if i < len(c.oids) {
			oid = c.oids[i]
		}
		c.row = append(c.row, datum(b[:size:size], oid))
		b = b[size:]
	}
	return nil
}

// description reads the types of the columns that follow.
func (c *codec) description(b []byte) error {
	if len(b) < 2 {
		return errRow
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	c.oids = c.oids[:0]
	for range n {
		for len(b) > 0 && b[0] != 0 { // the name
			b = b[1:]
		}
		if len(b) < 19 { // its end, table, number, type, size, modifier, format
			return errRow
		}
		c.oids = append(c.oids, binary.BigEndian.Uint32(b[7:]))
		b = b[19:]
	}
	return nil
}

// Unasked says that the server may say something between two answers.
func (c *codec) Unasked() {}
