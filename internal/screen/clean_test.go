package screen

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

func TestCleanMakesTextHarmless(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f("SELECT 1", "SELECT 1")
	f("", "")
	f("a\tb\r\nc", "a b  c")
	f("\x1b[31mred\x1b]0;title\a", "␛[31mred␛]0;title␇")
	f("a\x00b\x7f", "a␀b␡")
	f("c1 \u009b31m", "c1 \ufffd31m")
	f("bad \xff\xfe bytes", "bad \ufffd\ufffd bytes")
	f("admin\u202etxt.exe", "admin\ufffdtxt.exe")
	f("\u2066iso\u2069", "\ufffdiso\ufffd")
	f("line\u2028sep", "line\ufffdsep")
	f("soft\u00adhyphen zero\u200bwidth\ufeff", "soft\ufffdhyphen zero\ufffdwidth\ufffd")
	f("名前 = '東京'", "名前 = '東京'")
	f("e\u0301", "e\u0301")
	f("\u0301x", "x")
	f("z"+strings.Repeat("\u0300", 50), "z"+strings.Repeat("\u0300", maxMarks))
	f("👨\u200d👩\u200d👧", "👨👩👧")
	f("👍\U0001f3fd ❤\ufe0f", "👍 ❤")
	f("nbsp\u00a0x\u3000y", "nbsp x y")
	f("tag\U000e0041s", "tags")
	f("private\ue000", "private\ufffd")
	if got := squeeze("  SELECT\n\t a  FROM b "); got != "SELECT a FROM b" {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(cleanLines("a\tb\r\n\x1b\n12345678\tx\n"), "|"); got != "a       b|␛|12345678        x" {
		t.Errorf("got %q", got)
	}
}

// TestCleanOfAnything looks at random texts of all of Unicode: nothing that steers a terminal is left, cutting and
// padding give exactly the width that was asked for, and our count of cells is never below that of terminals.
func TestCleanOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	pools := [][2]rune{
		{0, 0x20},
		{0x20, 0x7f},
		{0x80, 0x250},
		{0x300, 0x370},
		{0x590, 0x700},
		{0x900, 0x980},
		{0x1100, 0x1200},
		{0x2000, 0x2070},
		{0x3000, 0x3100},
		{0x4e00, 0x5000},
		{0xac00, 0xad00},
		{0xfe00, 0xffff},
		{0x1f1e6, 0x1f200},
		{0x1f300, 0x1f700},
		{0xe0000, 0xe0200},
		{0, unicode.MaxRune},
	}
	for range 600 {
		var b strings.Builder
		for range r.IntN(40) {
			p := pools[r.IntN(len(pools))]
			b.WriteRune(p[0] + r.Int32N(p[1]-p[0]+1))
			if r.IntN(20) == 0 {
				b.WriteByte(byte(r.IntN(256)))
			}
		}
		in := b.String()
		s := clean(in)
		if !utf8.ValidString(s) {
			t.Fatalf("%q: %q is not UTF-8", in, s)
		}
		for _, c := range s {
			if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Bidi_Control, c) {
				t.Fatalf("%q: %q holds %U", in, s, c)
			}
		}
		if clean(s) != s {
			t.Fatalf("%q: cleaning %q again gives %q", in, s, clean(s))
		}
		if w := lipgloss.Width(s); cells(s) < w {
			t.Fatalf("%q takes %d cells, not %d", s, w, cells(s))
		}
		n := r.IntN(30)
		for _, x := range []string{pad(s, n), padLeft(s, n)} {
			if cells(x) != n {
				t.Fatalf("%q in %d cells: %q takes %d", s, n, x, cells(x))
			}
		}
		for _, l := range wrap(s, n) {
			if cells(l) > max(n, 4) {
				t.Fatalf("%q wrapped at %d: %q", s, n, l)
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(wrap(s, n), ""), " ", ""),
			strings.ReplaceAll(s, " ", ""); got != want {
			t.Fatalf("%q wrapped at %d lost text: %q", s, n, got)
		}
	}
}

func TestCutAndWrap(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(cut("abcdef", 6), "abcdef")
	f(cut("abcdef", 5), "abcd…")
	f(cut("東京都", 5), "東京…")
	f(cut("東京都", 4), "東…")
	f(pad("東京都", 4), "東… ")
	f(padLeft("12", 4), "  12")
	f(cut("abc", 0), "")
	f(strings.Join(wrap("UPDATE orders SET state = 1 WHERE id", 16), "|"), "UPDATE orders|SET state = 1|WHERE id")
	f(strings.Join(wrap(strings.Repeat("x", 10), 4), "|"), "xxxx|xxxx|xx")
	f(strings.Join(wrap("東京都京都", 5), "|"), "東京|都京|都")
}
