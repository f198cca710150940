package wire

import (
	"errors"
	"testing"
)

func TestParseGreeting(t *testing.T) {
	// MariaDB leaves the lowest capability out and tells its own in the last four bytes before the second half of the
	// scramble.
	const head = "\x0a5.5.5-10.11.19-MariaDB\x00\x05\x01\x00\x00abcdefgh\x00"
	const tail = "\x15\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00"
	f := func(p string, want Greeting) {
		t.Helper()
		g, err := parseGreeting([]byte(p))
		if err != nil || string(g.scramble) != "abcdefghijklmnopqrst" {
			t.Errorf("%q: scramble %q, %v", p, g.scramble, err)
		}
		g.scramble = nil
		if g.Version != want.Version || g.ID != want.ID || g.Caps != want.Caps || g.Plugin != want.Plugin {
			t.Errorf("%q: %+v, want %+v", p, g, want)
		}
	}
	f(head+"\xfe\xf7\x08\x02\x00\xff\x81"+tail+"mysql_native_password\x00",
		Greeting{Version: "5.5.5-10.11.19-MariaDB", ID: 261, Caps: 0x1d_81ff_f7fe, Plugin: nativePassword})
	f(head+"\xff\xf7\x08\x02\x00\xff\x81"+tail+"caching_sha2_password\x00",
		Greeting{Version: "5.5.5-10.11.19-MariaDB", ID: 261, Caps: 0x81ff_f7ff, Plugin: cachingSHA2})
	f(head+"\xff\xf7\x08\x02\x00\xff\x81"+tail+"mysql_native_password", // without its end
		Greeting{Version: "5.5.5-10.11.19-MariaDB", ID: 261, Caps: 0x81ff_f7ff, Plugin: nativePassword})
	f(head+"\xff\xf7\x08\x02\x00\x00\x00"+tail, // before there were plugins
		Greeting{Version: "5.5.5-10.11.19-MariaDB", ID: 261, Caps: 0xf7ff, Plugin: nativePassword})
	whole := head + "\xff\xf7\x08\x02\x00\xff\x81" + tail
	for i := range len(whole) - 1 {
		if _, err := parseGreeting([]byte(whole[:i])); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes will do: %v", i, err)
		}
	}
	if _, err := parseGreeting([]byte(head + "\xff\x77\x08\x02\x00\xff\x81" + tail)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a server before 4.1: %v", err)
	}
}
