package wire

import (
	"strings"
	"testing"
)

// reading returns a Reader in the middle of rows of such columns.
func reading(binary bool, cols ...Column) *Reader {
	r := &Reader{Caps: DeprecateEOF, binary: binary}
	r.stmt = &r.plain
	for _, c := range cols {
		r.plain.Columns, r.plain.plan = append(r.plain.Columns, c), append(r.plain.plan, c.op())
	}
	r.begin()
	return r
}

func TestBinaryRow(t *testing.T) {
	f := func(p, want string, types ...byte) {
		t.Helper()
		var cols []Column
		for _, c := range types {
			cols = append(cols, Column{Type: c & 0x7f, Unsigned: c&0x80 != 0})
			if c >= 0xf0 {
				cols[len(cols)-1] = Column{Type: c}
			}
		}
		got, r := "malformed", reading(true, cols...)
		if r.binaryRow([]byte(p)) {
			got = show(r.Row())
		}
		if got != want {
			t.Errorf("% x as %x: %s, want %s", p, types, got, want)
		}
		if want != "malformed" {
			for i := range len(p) {
				if reading(true, cols...).binaryRow([]byte(p[:i])) {
					t.Errorf("% x as %x: %d bytes will do", p, types, i)
				}
			}
			if reading(true, cols...).binaryRow([]byte(p + "x")) {
				t.Errorf("% x as %x: may be longer", p, types)
			}
		}
	}
	f("\x00\x00\xff", "-1", typeTiny)
	f("\x00\x00\xff", "255", typeTiny|0x80)
	f("\x00\x00\xfe\xff", "-2", typeShort)
	f("\x00\x00\xff\xff\xff\xff", "4294967295", typeLong|0x80)
	f("\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "u18446744073709551615", typeLongLong|0x80)
	f("\x00\x04\x01a", `NULL|"a"`, typeLong, 0xfd)
	f("\x00\x0c", "NULL|NULL", typeLong, 0xfd)
	f("\x00\x00\xfc\x02\x00ab", `"ab"`, 0xfc)
	f("\x00\x00\x04\xe8\x07\x02\x1d", `"2024-02-29"`, typeDate)
	f("\x00\x00\x00\x08\x00\x00\x00\x00\x00\x01\x02\x03", `"0000-00-00"|"01:02:03"`, typeDate, typeTime)
	f("\x00\x00\x03\xe8\x07\x02", "malformed", typeDate)
	f("\x00\x00\xfb", "malformed", 0xfd)
	f("\x00\x00\xff\x01", "malformed", 0xfd)
	f("\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xffa", "malformed", 0xfd)
}

func TestTextRow(t *testing.T) {
	f := func(p, want string, types ...byte) {
		t.Helper()
		var cols []Column
		for _, c := range types {
			cols = append(cols, Column{Type: c})
		}
		got, r := "malformed", reading(false, cols...)
		if r.textRow([]byte(p)) {
			got = show(r.Row())
		}
		if got != want {
			t.Errorf("% x as %x: %s, want %s", p, types, got, want)
		}
	}
	f("\x01a", `"a"`, 0xfd)
	f("\x00", `""`, 0xfd)
	f("\xfb\x01a", `NULL|"a"`, 0xfd, 0xfd)
	f("\x0242\x04-007", "42|-7", typeLong, typeLongLong)
	f("\x0318.", "malformed", typeLong)
	f("\x041.25\x041e-9", "f1.25|f1e-09", typeFloat, typeDouble)
	f("\x05x1.25", "malformed", typeDouble)
	f("\x051e400", "malformed", typeDouble)
	f("\x01a", "malformed", 0xfd, 0xfd)
	f("\x01ab", "malformed", 0xfd)
	f("\x02a", "malformed", 0xfd)
	f("\xff", "malformed", 0xfd)
	f("", "malformed", 0xfd)
}

func TestParseWhole(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		v, ok := parseWhole([]byte(s))
		if got := show([]Value{v}); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s %v, want %s", s, got, ok, want)
		}
	}
	f("0", "0")
	f("-0", "0")
	f("00042", "42")
	f("9223372036854775807", "9223372036854775807")
	f("9223372036854775808", "u9223372036854775808")
	f("-9223372036854775808", "-9223372036854775808")
	f("18446744073709551615", "u18446744073709551615")
	f(strings.Repeat("0", 40)+"1", "1")
	f("-9223372036854775809", "")
	f("18446744073709551616", "")
	f("99999999999999999999", "")
	f("184467440737095516150", "")
	f("", "")
	f("-", "")
	f("+1", "")
	f(" 1", "")
	f("1.0", "")
}
