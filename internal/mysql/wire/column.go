package wire

// Column is what the server tells of a column, as far as reading its values needs it.
type Column struct {
	Type     byte // MYSQL_TYPE_…, as the protocol numbers them
	Decimals byte // digits after the point; 31 when it varies
	Unsigned bool
}

// op is how a column's values are read. Those up to opBytes are the same in both protocols, but for the numbers' form.
type op byte

const (
	opBytes op = iota
	opInt8
	opUint8
	opInt16
	opUint16
	opInt32
	opUint32
	opInt64
	opUint64
	opFloat
	opDouble
	opDate
	opDateTime
	opTime
)

// Types of columns that are not read as bytes.
const (
	typeTiny      = 1
	typeShort     = 2
	typeLong      = 3
	typeFloat     = 4
	typeDouble    = 5
	typeTimestamp = 7
	typeLongLong  = 8
	typeInt24     = 9
	typeDate      = 10
	typeTime      = 11
	typeDateTime  = 12
	typeYear      = 13
	typeNewDate   = 14
)

const unsignedFlag = 0x20

// op returns how to read values of the column. What is not known is read as bytes, as every type is that came after the
// first.
func (c Column) op() op {
	u := op(0)
	if c.Unsigned {
		u = 1
	}
	switch c.Type {
	case typeTiny:
		return opInt8 + u
	case typeShort, typeYear:
		return opInt16 + u
	case typeLong, typeInt24:
		return opInt32 + u
	case typeLongLong:
		return opInt64 + u
	case typeFloat:
		return opFloat
	case typeDouble:
		return opDouble
	case typeDate, typeNewDate:
		return opDate
	case typeDateTime, typeTimestamp:
		return opDateTime
	case typeTime:
		return opTime
	}
	return opBytes
}

// columnTail is the part of fixed length at the end of a column's description: length of what follows, character set 2,
// length 4, type 1, flags 2, decimals 1, filler 2.
const columnTail = 13

// parseColumn reads a column's description. Names come before the tail and are not looked at: the shortest has six
// empty ones.
func parseColumn(p []byte) (c Column, ok bool) {
	if len(p) < columnTail+6 {
		return c, false
	}
	t := p[len(p)-columnTail:]
	if t[0] != columnTail-1 {
		return c, false
	}
	return Column{Type: t[7], Decimals: t[10], Unsigned: t[8]&unsignedFlag != 0}, true
}
