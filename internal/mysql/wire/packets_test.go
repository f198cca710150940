package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestPackets(t *testing.T) {
	f := func(stream string, piece int, want string) {
		t.Helper()
		var p packets
		got := ""
		for b := []byte(stream); len(b) > 0; b = b[min(piece, len(b)):] {
			p.Feed(bytes.Clone(b[:min(piece, len(b))]))
			for {
				payload, ok, err := p.next()
				if err != nil {
					got += "error "
					b = b[:0]
					break
				}
				if !ok {
					break
				}
				got += fmt.Sprintf("%q ", payload)
			}
			if len(p.in) > 0 && !strings.Contains(got, "error") {
				t.Errorf("%q: %d bytes are neither used nor kept", stream, len(p.in))
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%q in pieces of %d: %s, want %s", stream, piece, got, want)
		}
	}
	for _, piece := range []int{1, 2, 3, 4, 5, 7, 100} {
		f("\x01\x00\x00\x00a", piece, `"a"`)
		f("\x00\x00\x00\x00", piece, `""`)
		f("\x03\x00\x00\x00abc\x00\x00\x00\x01\x02\x00\x00\x02de", piece, `"abc" "" "de"`)
		f("\x03\x00\x00\x00abc\x01\x00\x00\x02d", piece, `"abc" error`)
		f("\x03\x00\x00\x00ab", piece, "")
		f("\x01\x00\x00", piece, "")
	}
}

// TestPacketsWrapAround counts beyond 255.
func TestPacketsWrapAround(t *testing.T) {
	var p packets
	for i := range 600 {
		p.Feed([]byte{1, 0, 0, byte(i), 'x'})
		if got, ok, err := p.next(); !ok || err != nil || string(got) != "x" {
			t.Fatal(i, got, ok, err)
		}
	}
}

// TestPacketsTakeNoRoomInAdvance claims the longest packet and sends a byte of it.
func TestPacketsTakeNoRoomInAdvance(t *testing.T) {
	var p packets
	p.Feed([]byte("\xff\xff\xff\x00x"))
	if _, ok, err := p.next(); ok || err != nil || cap(p.own) > 1024 {
		t.Errorf("%v %v, room for %d bytes", ok, err, cap(p.own))
	}
}

// TestPacketsEndSomewhere sends full packets forever.
func TestPacketsEndSomewhere(t *testing.T) {
	p := packets{most: 40 << 20}
	full := append([]byte("\xff\xff\xff\x00"), make([]byte, maxPayload)...)
	for i := range 3 {
		full[3] = byte(i)
		p.Feed(full)
		if _, ok, err := p.next(); ok || errors.Is(err, ErrMalformed) != (i == 2) {
			t.Fatal(i, ok, err)
		}
	}
}

func TestPacketsGiveLongRoomBack(t *testing.T) {
	var p packets
	long := make([]byte, 1<<20)
	p.Feed(append(seal(append(make([]byte, headSize), long...), 0, 0), 1, 0))
	if got, ok, err := p.next(); !ok || err != nil || len(got) != len(long) {
		t.Fatal(ok, err)
	}
	if _, ok, err := p.next(); ok || err != nil { // a part of the next
		t.Fatal(ok, err)
	}
	p.Feed([]byte{0, 1, 'x'})
	if got, ok, err := p.next(); !ok || err != nil || string(got) != "x" {
		t.Fatal(got, ok, err)
	}
	p.Feed(append([]byte{0, 0, 16, 2}, long[:100]...))
	p.next()
	p.Feed(long[100:])
	if got, ok, _ := p.next(); !ok || len(got) != len(long) {
		t.Fatal(ok)
	}
	p.Feed([]byte{1, 0})
	p.next()
	if cap(p.own) > keep {
		t.Errorf("room for %d bytes is kept", cap(p.own))
	}
}
