package wire

// Event is what a Reader has found in the bytes that arrived.
type Event uint8

const (
	More Event = iota // the answer goes on, and more bytes are needed
	Row               // a row, see Reader.Row
	Done              // the answer is complete, see Reader.OK
)

// OK is what the server says at the end of an answer.
type OK struct {
	Affected uint64 // rows that were changed
	InsertID uint64 // the first automatic number that an INSERT took
	Status   Status
	Warnings uint16
}

// Status tells the state of the session after a statement.
type Status uint16

const (
	InTransaction Status = 1 << 0
	AutoCommit    Status = 1 << 1
	moreResults   Status = 1 << 3
)

// Reader reads the answers to commands, from bytes in whatever pieces they arrive. The zero value with Caps set is
// ready. It belongs to one connection.
type Reader struct {
	Caps Caps // as agreed at the login

	packets
	state  state
	binary bool  // rows are in the binary protocol
	stmt   *Stmt // whose columns the rows have
	asked  *Stmt // the statement of the command, nil for a text
	plain  Stmt  // stmt for texts, and for further results
	left   int   // descriptions that are still to come
	later  int   // columns of a prepare, while its parameters come
	result int
	ok     OK
	broken error // why nothing more can be read
	row    []Value
	text   []byte // dates and times of the row
}

type state uint8

const (
	idle       state = iota // nothing is asked
	head                    // the first packet of a result
	columns                 // descriptions of its columns
	columnsEOF              // their end
	rows                    // its rows
	prepared                // the first packet of the answer to a prepare
	params                  // descriptions of parameters
	paramsEOF               // their end
	preparedColumns
	preparedColumnsEOF
	okOnly // nothing but OK or an error
)

// maxColumns is more than a result has on any server.
const maxColumns = 1 << 16

// Reset makes the Reader ready for another connection. Its room is kept.
func (r *Reader) Reset(c Caps) {
	*r = Reader{Caps: c, packets: packets{own: r.own[:0]}, plain: Stmt{
		Columns: r.plain.Columns[:0],
		plan:    r.plain.plan[:0],
	}, row: r.row, text: r.text}
}

func (r *Reader) expect(s state, asked *Stmt) {
	r.state, r.asked, r.any, r.result = s, asked, true, 0
}

// ExpectText begins the answer to AppendQuery.
func (r *Reader) ExpectText() {
	r.expect(head, nil)
	r.stmt, r.binary = &r.plain, false
}

// ExpectRows begins the answer to Stmt.AppendExecute.
func (r *Reader) ExpectRows(s *Stmt) {
	r.expect(head, s)
	r.stmt, r.binary = s, true
}

// ExpectPrepare begins the answer to AppendPrepare, which fills in s.
func (r *Reader) ExpectPrepare(s *Stmt) {
	r.expect(prepared, s)
	*s = Stmt{}
	r.stmt = s
}

// ExpectOK begins the answer to AppendPing.
func (r *Reader) ExpectOK() { r.expect(okOnly, nil) }

// Row returns the values of the row that Next has found, whole numbers as Int in both protocols. They and their bytes
// are valid until the next call of Next or Feed.
func (r *Reader) Row() []Value { return r.row }

// Result returns the number of the result that the row belongs to, from 0. Only a procedure has several.
func (r *Reader) Result() int { return r.result }

// OK returns what the server said at the end of the answer.
func (r *Reader) OK() OK { return r.ok }

// Idle reports whether no answer is under way.
func (r *Reader) Idle() bool { return r.state == idle }

// Next finds what comes next. An *Error ends the answer as Done does. Any other error says that the connection is of no
// more use.
func (r *Reader) Next() (Event, error) {
	for {
		p, ok, err := r.next()
		if !ok || len(p) == 0 || r.broken != nil {
			return r.without(ok, err)
		}
		if p[0] == 0xff {
			return r.refused(p)
		}
		switch r.state {
		case rows:
			switch {
			case p[0] == 0 && r.binary:
				if !r.binaryRow(p) {
					return r.fail("a row that does not fit its columns")
				}
				return Row, nil
			case p[0] == 0xfe && r.ends(p):
				if !r.end(p) {
					return r.fail("an end of rows that is too short")
				}
				if r.ok.Status&moreResults == 0 {
					return r.done()
				}
				r.further()
			case r.binary:
				return r.fail("a row of another protocol")
			default:
				if !r.textRow(p) {
					return r.fail("a row that does not fit its columns")
				}
				return Row, nil
			}
		case head:
			switch p[0] {
			case 0:
				if !r.end(p) {
					return r.fail("an OK that is too short")
				}
				if r.ok.Status&moreResults == 0 {
					return r.done()
				}
				r.further()
			case 0xfb:
				return r.fail("the server asks for a file of this machine, which Dyno refuses")
			default:
				if !r.count(p) {
					return r.fail("a result without columns")
				}
			}
		case columns, preparedColumns:
			c, ok := parseColumn(p)
			if !ok {
				return r.fail("the description of a column")
			}
			r.stmt.Columns = append(r.stmt.Columns, c)
			r.stmt.plan = append(r.stmt.plan, c.op())
			if r.left--; r.left > 0 {
				continue
			}
			if r.state == columns {
				if r.state = columnsEOF; r.Caps.Has(DeprecateEOF) {
					r.begin()
				}
			} else if r.state = preparedColumnsEOF; r.Caps.Has(DeprecateEOF) {
				return r.done()
			}
		case columnsEOF:
			if !isEOF(p) {
				return r.fail("columns without end")
			}
			r.begin()
		case prepared:
			if done, ok := r.header(p); !ok {
				return r.fail("the answer to a prepare")
			} else if done {
				return r.done()
			}
		case params:
			if _, ok := parseColumn(p); !ok {
				return r.fail("the description of a parameter")
			}
			if r.left--; r.left > 0 {
				continue
			}
			if r.state = paramsEOF; r.Caps.Has(DeprecateEOF) {
				if r.afterParams() {
					return r.done()
				}
			}
		case paramsEOF:
			if !isEOF(p) {
				return r.fail("parameters without end")
			}
			if r.afterParams() {
				return r.done()
			}
		case preparedColumnsEOF:
			if !isEOF(p) {
				return r.fail("columns without end")
			}
			return r.done()
		case okOnly:
			if p[0] != 0 || !r.end(p) {
				return r.fail("something else than OK")
			}
			return r.done()
		default:
			return r.fail("something that was not requested")
		}
	}
}

// without is Next where there is no packet to look at.
func (r *Reader) without(ok bool, err error) (Event, error) {
	switch {
	case r.broken != nil:
	case err != nil:
		r.broken = err
	case ok:
		return r.fail("an empty packet")
	}
	if r.broken != nil {
		r.in = nil
	}
	return More, r.broken
}

func (r *Reader) fail(what string) (Event, error) {
	r.broken, r.in = malformed(what), nil
	return More, r.broken
}

// refused ends the answer with the server's error.
func (r *Reader) refused(p []byte) (Event, error) {
	if r.asked != nil {
		r.asked.ready = false // whether the server has noted the types is not known
	}
	err := parseError(p)
	if _, ok := err.(*Error); !ok { //nolint:errorlint // it comes from parseError as it is
		r.broken, r.in = err, nil
		return More, err
	}
	r.finish()
	return More, err
}

func (r *Reader) done() (Event, error) {
	r.finish()
	return Done, nil
}

// finish ends the answer. A server sends more than was asked for only to say why it closes the connection: that is kept
// for the next command, which cannot be answered.
func (r *Reader) finish() {
	r.state, r.any = idle, true
	if len(r.in) == 0 && !r.partial {
		return
	}
	p, ok, err := r.next()
	switch {
	case ok && len(p) > 0 && p[0] == 0xff:
		r.broken = parseError(p)
	case err != nil:
		r.broken = err
	default:
		r.broken = malformed("more than was requested")
	}
	r.in = nil
}

// further makes ready for the next result of the same command, whose columns are not those of the statement.
func (r *Reader) further() {
	r.result++
	r.state, r.stmt = head, &r.plain
}

// count reads the number of columns of a result.
func (r *Reader) count(p []byte) bool {
	n, rest, ok := lenenc(p)
	if !ok || n == 0 || n > maxColumns {
		return false
	}
	if r.Caps.Has(CacheMetadata) && len(rest) > 0 && rest[0] == 0 {
		if int(n) != len(r.stmt.Columns) || r.stmt != r.asked {
			return false
		}
		if r.state = columnsEOF; r.Caps.Has(DeprecateEOF) {
			r.begin()
		}
		return true
	}
	r.left, r.state = int(n), columns
	r.stmt.Columns, r.stmt.plan = r.stmt.Columns[:0], r.stmt.plan[:0]
	return true
}

// begin makes ready for rows.
func (r *Reader) begin() {
	r.state = rows
	n := len(r.stmt.plan)
	if cap(r.row) < n {
		r.row = make([]Value, n)
	}
	r.row = r.row[:n]
}

// header reads the first packet of the answer to a prepare.
func (r *Reader) header(p []byte) (done, ok bool) {
	if len(p) < 9 || p[0] != 0 {
		return false, false
	}
	r.stmt.ID = uint32(p[1]) | uint32(p[2])<<8 | uint32(p[3])<<16 | uint32(p[4])<<24
	r.left = int(p[5]) | int(p[6])<<8 // columns, till the parameters are through
	r.stmt.Params = int(p[7]) | int(p[8])<<8
	r.ok = OK{}
	if len(p) >= 12 {
		r.ok.Warnings = uint16(p[10]) | uint16(p[11])<<8
	}
	if r.stmt.Params == 0 {
		return r.afterParams(), true
	}
	r.later, r.left, r.state = r.left, r.stmt.Params, params
	return false, true
}

// afterParams goes on with the columns, and reports whether there are none.
func (r *Reader) afterParams() bool {
	if r.stmt.Params > 0 {
		r.left = r.later
	}
	r.state = preparedColumns
	return r.left == 0
}

// ends reports whether a packet that begins with 0xfe is the end of rows, and not a row whose first value is very long.
func (r *Reader) ends(p []byte) bool {
	if r.Caps.Has(DeprecateEOF) {
		return len(p) < maxPayload
	}
	return isEOF(p)
}

func isEOF(p []byte) bool { return p[0] == 0xfe && len(p) < 9 }

// end reads an OK packet, or EOF in its place.
func (r *Reader) end(p []byte) bool {
	if p[0] == 0xfe && !r.Caps.Has(DeprecateEOF) {
		if len(p) < 5 {
			return false
		}
		r.ok = OK{Warnings: uint16(p[1]) | uint16(p[2])<<8, Status: Status(p[3]) | Status(p[4])<<8}
		return true
	}
	var ok bool
	p = p[1:]
	if len(p) >= 6 && p[0]|p[1] < 0x80 { // the usual: two small numbers
		r.ok.Affected, r.ok.InsertID = uint64(p[0]), uint64(p[1])
		p = p[2:]
	} else {
		if r.ok.Affected, p, ok = lenenc(p); !ok {
			return false
		}
		if r.ok.InsertID, p, ok = lenenc(p); !ok || len(p) < 4 {
			return false
		}
	}
	r.ok.Status = Status(p[0]) | Status(p[1])<<8
	r.ok.Warnings = uint16(p[2]) | uint16(p[3])<<8
	return true
}
