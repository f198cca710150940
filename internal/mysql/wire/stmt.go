package wire

import "encoding/binary"

// Stmt is a prepared statement of one connection. ExpectPrepare fills it in.
type Stmt struct {
	ID      uint32
	Params  int      // how many values AppendExecute takes
	Columns []Column // of its rows, as the server told them last; empty for a statement without rows

	ready bool     // the server knows types
	types []uint16 // of the parameters, as sent last
	plan  []op     // how to read Columns
}

// Types of parameters, with the flag of unsigned numbers in the upper byte.
const (
	paramNull  = 0x06
	paramInt   = 0x08
	paramUint  = 0x08 | 0x80<<8
	paramFloat = 0x05
	paramBytes = 0xfe
)

var paramTypes = [...]uint16{Null: paramNull, Int: paramInt, Uint: paramUint, Float: paramFloat, Bytes: paramBytes}

// AppendExecute appends the command that executes the statement with args, of which there must be Params. The types go
// with it only when they are others than before. The answer is ExpectRows's, also where there are no rows.
func (s *Stmt) AppendExecute(dst []byte, args []Value) []byte {
	if len(args) != s.Params {
		panic("wire: a statement is executed with the wrong number of values") // the caller counts them
	}
	start := len(dst)
	id := s.ID
	// no cursor, once
	dst = append(dst, 0, 0, 0, 0, comExecute, byte(id), byte(id>>8), byte(id>>16), byte(id>>24), 0, 1, 0, 0, 0)
	if len(args) == 0 {
		return seal(dst, start, 0)
	}
	nulls := len(dst)
	for range (len(args) + 7) / 8 {
		dst = append(dst, 0)
	}
	if s.sameTypes(args) {
		dst = append(dst, 0)
	} else {
		dst = append(dst, 1)
		for _, t := range s.types {
			dst = append(dst, byte(t), byte(t>>8))
		}
	}
	for i := range args {
		switch a := &args[i]; a.Kind {
		case Null:
			dst[nulls+i>>3] |= 1 << (i & 7)
		case Int, Uint, Float:
			dst = binary.LittleEndian.AppendUint64(dst, a.Bits)
		case Bytes:
			if n := len(a.Bytes); n < 0xfb {
				dst = append(dst, byte(n))
			} else {
				dst = appendLenenc(dst, uint64(n))
			}
			dst = append(dst, a.Bytes...)
		}
	}
	return seal(dst, start, 0)
}

// sameTypes reports whether the server knows the types of args, and notes them if not. NULL is of any type.
func (s *Stmt) sameTypes(args []Value) bool {
	same := s.ready
	if len(s.types) != len(args) {
		s.types, same = make([]uint16, len(args)), false
		for i := range s.types {
			s.types[i] = paramNull
		}
	}
	for i := range args {
		if k := args[i].Kind; k != Null {
			if t := paramTypes[k]; s.types[i] != t {
				s.types[i], same = t, false
			}
		}
	}
	s.ready = true
	return same
}
