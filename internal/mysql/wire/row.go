package wire

import (
	"encoding/binary"
	"math"
	"strconv"
)

// binaryRow decodes a row of the binary protocol into r.row: 0, a bit for each column that is NULL, from the third on,
// and the values.
func (r *Reader) binaryRow(p []byte) bool {
	plan := r.stmt.plan
	row := r.row[:len(plan)]
	bits := (len(plan) + 9) / 8
	if len(p) < 1+bits {
		return false
	}
	nulls, p := p[1:1+bits], p[1+bits:]
	r.text = r.text[:0]
	for i, o := range plan {
		if nulls[(i+2)>>3]&(1<<((i+2)&7)) != 0 {
			row[i] = Value{}
			continue
		}
		if o == opBytes {
			if len(p) > 0 && p[0] < 0xfb {
				n := 1 + int(p[0])
				if n > len(p) {
					return false
				}
				row[i] = Value{Kind: Bytes, Bytes: p[1:n:n]}
				p = p[n:]
				continue
			}
			b, rest, ok := lenencBytes(p)
			if !ok {
				return false
			}
			row[i], p = Value{Kind: Bytes, Bytes: b}, rest
			continue
		}
		size := fixed[o]
		if len(p) < size {
			return false
		}
		v := Value{Kind: Int}
		switch o {
		case opInt8:
			v.Bits = uint64(int8(p[0]))
		case opUint8:
			v.Bits = uint64(p[0])
		case opInt16:
			v.Bits = uint64(int16(binary.LittleEndian.Uint16(p)))
		case opUint16:
			v.Bits = uint64(binary.LittleEndian.Uint16(p))
		case opInt32:
			v.Bits = uint64(int32(binary.LittleEndian.Uint32(p)))
		case opUint32:
			v.Bits = uint64(binary.LittleEndian.Uint32(p))
		case opInt64:
			v.Bits = binary.LittleEndian.Uint64(p)
		case opUint64:
			v = whole(binary.LittleEndian.Uint64(p))
		case opFloat:
			v = Value{Kind: Float, Bits: math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(p))))}
		case opDouble:
			v = Value{Kind: Float, Bits: binary.LittleEndian.Uint64(p)}
		default:
			size = 1 + int(p[0])
			if len(p) < size {
				return false
			}
			start, ok := len(r.text), false
			if o == opTime {
				r.text, ok = appendTime(r.text, p[1:size], r.stmt.Columns[i].Decimals)
			} else {
				r.text, ok = appendDate(r.text, p[1:size], o == opDateTime, r.stmt.Columns[i].Decimals)
			}
			if !ok {
				return false
			}
			v = Value{Kind: Bytes, Bytes: r.text[start:len(r.text):len(r.text)]}
		}
		row[i], p = v, p[size:]
	}
	return len(p) == 0
}

// fixed is how many bytes a value takes at least; dates and times begin with the number of theirs.
var fixed = [...]int{
	opBytes: 1, opInt8: 1, opUint8: 1, opInt16: 2, opUint16: 2, opInt32: 4, opUint32: 4, opInt64: 8, opUint64: 8,
	opFloat: 4, opDouble: 8,
	opDate: 1, opDateTime: 1, opTime: 1,
}

// whole returns a number from 0.
func whole(n uint64) Value {
	if n > math.MaxInt64 {
		return Value{Kind: Uint, Bits: n}
	}
	return Value{Kind: Int, Bits: n}
}

// textRow decodes a row of the text protocol into r.row: every value is a text, NULL is 0xfb.
func (r *Reader) textRow(p []byte) bool {
	plan := r.stmt.plan
	row := r.row[:len(plan)]
	for i, o := range plan {
		if len(p) == 0 {
			return false
		}
		var b []byte
		switch c := p[0]; {
		case c < 0xfb:
			n := 1 + int(c)
			if n > len(p) {
				return false
			}
			b, p = p[1:n:n], p[n:]
		case c == 0xfb:
			row[i], p = Value{}, p[1:]
			continue
		default:
			var ok bool
			if b, p, ok = lenencBytes(p); !ok {
				return false
			}
		}
		switch o {
		case opInt8, opUint8, opInt16, opUint16, opInt32, opUint32, opInt64, opUint64:
			v, ok := parseWhole(b)
			if !ok {
				return false
			}
			row[i] = v
		case opFloat, opDouble:
			size := 64
			if o == opFloat {
				size = 32 // as the binary protocol sends it
			}
			f, err := strconv.ParseFloat(string(b), size)
			if err != nil {
				return false
			}
			row[i] = Value{Kind: Float, Bits: math.Float64bits(f)}
		default:
			row[i] = Value{Kind: Bytes, Bytes: b}
		}
	}
	return len(p) == 0
}

// parseWhole reads a whole number, with leading zeros as ZEROFILL makes them.
func parseWhole(b []byte) (Value, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 {
		return Value{}, false
	}
	n := uint64(0)
	for i, c := range b {
		d := uint64(c - '0')
		if d > 9 {
			return Value{}, false
		}
		if i >= 18 && (n > math.MaxUint64/10 || n*10 > math.MaxUint64-d) {
			return Value{}, false
		}
		n = n*10 + d
	}
	if neg {
		if n > 1<<63 {
			return Value{}, false
		}
		return Value{Kind: Int, Bits: -n}, true
	}
	return whole(n), true
}
