package load

import (
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	x, err := newTail()
	if err != nil {
		t.Fatal(err)
	}
	f := func(said, want string) {
		t.Helper()
		x.reset()
		if _, err := x.w.WriteString(said); err != nil {
			t.Fatal(err)
		}
		if got := x.text(); got != want {
			t.Errorf("%q gives %q, want %q", said, got, want)
		}
	}
	f("", "")
	f("one\n", "one")
	f("one\r\ntwo\n\n", "one; two")
	f("1\n2\n3\n4\n5\n6\n7\n", "3; 4; 5; 6; 7")
	f("a\xffb", "a�b")
	f(strings.Repeat("x", 5_000_000), strings.Repeat("x", tailBytes))
	x.close()
}
