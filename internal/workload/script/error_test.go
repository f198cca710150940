package script

import "testing"

func TestPlaces(t *testing.T) {
	f := func(src string, offset int, want string) {
		t.Helper()
		if got := placeOf("s", src, offset).errorf("do this", "%d wrong", 3).Error(); got != "s:"+
			want+": 3 wrong (do this)" {
			t.Errorf("%q at %d: %s, want %s", src, offset, got, want)
		}
	}
	f("", 0, "1:1")
	f("ab", 1, "1:2")
	f("ab\ncd", 3, "2:1")
	f("ab\ncd", 99, "2:3")
	f("üb\nüd", 2, "1:2")
	f("a\nüd", 4, "2:2")
	if got := (&Error{Script: "s", Line: 1, Column: 2, Text: "wrong"}).Error(); got != "s:1:2: wrong" {
		t.Errorf("without a hint: %s", got)
	}
}
