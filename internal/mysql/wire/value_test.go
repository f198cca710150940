package wire

import (
	"bytes"
	"math"
	"testing"
)

func floatBits(x float64) uint64 { return math.Float64bits(x) }

func TestLenenc(t *testing.T) {
	f := func(n uint64, want ...byte) {
		t.Helper()
		b := appendLenenc(nil, n)
		if !bytes.Equal(b, want) {
			t.Errorf("%d: % x", n, b)
		}
		got, rest, ok := lenenc(append(b, 7))
		if got != n || !ok || !bytes.Equal(rest, []byte{7}) {
			t.Errorf("%d comes back as %d with % x", n, got, rest)
		}
		for i := range b {
			if _, _, ok := lenenc(b[:i]); ok {
				t.Errorf("%d bytes of % x will do", i, b)
			}
		}
	}
	f(0, 0)
	f(250, 250)
	f(251, 0xfc, 251, 0)
	f(65535, 0xfc, 255, 255)
	f(65536, 0xfd, 0, 0, 1)
	f(1<<24-1, 0xfd, 255, 255, 255)
	f(1<<24, 0xfe, 0, 0, 0, 1, 0, 0, 0, 0)
	f(1<<64-1, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255)
	for _, c := range []byte{0xfb, 0xff} {
		if _, _, ok := lenenc([]byte{c, 1, 1, 1, 1, 1, 1, 1, 1}); ok {
			t.Errorf("%x begins a number", c)
		}
	}
	if _, _, ok := lenencBytes([]byte{0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 'a'}); ok {
		t.Error("a text of 2^64-1 bytes fits in one")
	}
}
