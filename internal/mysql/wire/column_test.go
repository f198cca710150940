package wire

import "testing"

func TestParseColumn(t *testing.T) {
	f := func(p string, want Column, ok bool) {
		t.Helper()
		if got, good := parseColumn([]byte(p)); got != want || good != ok {
			t.Errorf("%q: %+v %v", p, got, good)
		}
	}
	f(textColumn, Column{Type: 0xfd}, true)
	f("\x03def\x01d\x01t\x01t\x02id\x02id\x0c\x3f\x00\x14\x00\x00\x00\x08\x21\x42\x00\x00\x00",
		Column{Type: 8, Unsigned: true}, true)
	f("\x03def\x00\x00\x00\x01d\x00\x0c\x3f\x00\x17\x00\x00\x00\x0c\x80\x00\x06\x00\x00", Column{Type: 12, Decimals: 6},
		true)
	f(textColumn[1:], Column{}, false)
	f(textColumn+"\x00", Column{}, false)
	f("", Column{}, false)
}
