package workload

import (
	"fmt"
	"math"
	"strconv"
)

// DatumKind tells what a Datum holds.
type DatumKind uint8

const (
	NullDatum DatumKind = iota
	IntDatum
	UintDatum
	FloatDatum
	BytesDatum // text, decimals and times too, as the server writes them
)

// Datum is one argument of a call, one column of an answer or of a row to load: NULL, a number or bytes. It is a plain
// value, so that handing it on allocates nothing; bytes are not copied. The zero value is NULL.
type Datum struct {
	kind  DatumKind
	num   uint64
	bytes []byte
}

// Int returns a whole number.
func Int(v int64) Datum { return Datum{kind: IntDatum, num: uint64(v)} }

// Uint returns a whole number from 0.
func Uint(v uint64) Datum { return Datum{kind: UintDatum, num: v} }

// Float returns a floating point number.
func Float(v float64) Datum { return Datum{kind: FloatDatum, num: math.Float64bits(v)} }

// Bytes returns a text. The bytes belong to the caller.
func Bytes(b []byte) Datum { return Datum{kind: BytesDatum, bytes: b} }

// String returns a text.
func String(s string) Datum { return Datum{kind: BytesDatum, bytes: []byte(s)} }

// Kind tells what d holds.
func (d Datum) Kind() DatumKind { return d.kind }

// IsNull reports whether d is NULL.
func (d Datum) IsNull() bool { return d.kind == NullDatum }

// Raw returns the bytes of a text, nil for everything else. They are valid as long as the Datum is.
func (d Datum) Raw() []byte { return d.bytes }

// Bits returns a number as the binary protocol sends it: two's complement or IEEE 754.
func (d Datum) Bits() uint64 { return d.num }

// Int returns d as a whole number, whatever the protocol made of it: a number in text is read. It fails for NULL and
// for what is no whole number.
func (d Datum) Int() (int64, error) {
	switch d.kind {
	case IntDatum:
		return int64(d.num), nil
	case UintDatum:
		if d.num > math.MaxInt64 {
			return 0, fmt.Errorf("%d does not fit a signed number", d.num)
		}
		return int64(d.num), nil
	case FloatDatum:
		if f := math.Float64frombits(d.num); f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), nil
		}
	case BytesDatum:
		if n, ok := parseInt(d.bytes); ok {
			return n, nil
		}
	case NullDatum:
	}
	return 0, fmt.Errorf("%s is not a whole number", d)
}

// parseInt reads digits with an optional sign, without the copy that strconv would need.
func parseInt(b []byte) (n int64, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 { // 18 digits fit whatever they are
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// String writes d for people, bytes as they are and NULL as NULL.
func (d Datum) String() string {
	switch d.kind {
	case IntDatum:
		return strconv.FormatInt(int64(d.num), 10)
	case UintDatum:
		return strconv.FormatUint(d.num, 10)
	case FloatDatum:
		return strconv.FormatFloat(math.Float64frombits(d.num), 'g', -1, 64)
	case BytesDatum:
		return string(d.bytes)
	case NullDatum:
	}
	return "NULL"
}

// AppendLiteral appends d as SQL writes it. Texts are quoted for a session whose sql_mode lacks NO_BACKSLASH_ESCAPES
// and whose character set is ASCII-compatible in every byte, such as utf8mb4.
func (d Datum) AppendLiteral(dst []byte) []byte {
	switch d.kind {
	case IntDatum:
		return strconv.AppendInt(dst, int64(d.num), 10)
	case UintDatum:
		return strconv.AppendUint(dst, d.num, 10)
	case FloatDatum:
		return strconv.AppendFloat(dst, math.Float64frombits(d.num), 'g', -1, 64)
	case BytesDatum:
		return appendQuoted(dst, d.bytes)
	case NullDatum:
	}
	return append(dst, "NULL"...)
}
