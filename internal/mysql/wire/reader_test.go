package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// stream builds packets numbered from 1.
func stream(payloads ...string) []byte {
	var b []byte
	for i, p := range payloads {
		start := len(b)
		b = seal(append(append(b, 0, 0, 0, 0), p...), start, byte(1+i))
	}
	return b
}

const (
	okPacket   = "\x00\x00\x00\x02\x00\x00\x00"
	endPacket  = "\xfe\x00\x00\x02\x00\x00\x00"
	moreEnd    = "\xfe\x00\x00\x0a\x00\x00\x00"
	eofPacket  = "\xfe\x00\x00\x02\x00"
	textColumn = "\x00\x00\x00\x00\x00\x00\x0c\x2d\x00\xff\x00\x00\x00\xfd\x00\x00\x00\x00\x00"
	intColumn  = "\x00\x00\x00\x00\x00\x00\x0c\x3f\x00\x0b\x00\x00\x00\x03\x00\x00\x00\x00\x00"
)

func TestReaderTells(t *testing.T) {
	f := func(caps Caps, want string, payloads ...string) {
		t.Helper()
		r := &Reader{Caps: caps}
		r.ExpectText()
		story, _ := play(t, r, stream(payloads...), 1<<20)
		if story = strings.Join(strings.Fields(story), " "); !strings.HasPrefix(story, want) {
			t.Errorf("%.80q: %s, want %s", payloads, story, want)
		}
	}
	f(0, "done {Affected:0 InsertID:0 Status:2 Warnings:0}", okPacket)
	f(0, "done {Affected:300 InsertID:251 Status:2 Warnings:7}", "\x00\xfc\x2c\x01\xfc\xfb\x00\x02\x00\x07\x00rows "+
		"matched")
	f(0, "malformed", "\x00\x00\x00\x02\x00\x00")
	f(0, "malformed", "\x00\xfc\x2c")
	f(0, "malformed", "")
	f(0, "malformed", "\xfe\x00\x00\x02\x00")
	f(0, "malformed", "\xfb/etc/passwd") // a file is asked for
	f(0, "malformed", "\xfd\xff\xff\xff")
	f(0, "refused Error 1064 (42000): no", "\xff\x28\x04#42000no")
	f(0, "refused Error 1064: no", "\xff\x28\x04no")
	f(0, "malformed", "\xff\x28")
	f(0, `0: "a"|7 done`, "\x02", textColumn, intColumn, eofPacket, "\x01a\x017", eofPacket)
	f(0, `done`, "\x01", textColumn, eofPacket, eofPacket)
	f(0, `0: "a"|7 done`, "\x02", textColumn+"", intColumn, eofPacket, "\x01a\x017", "\xfe\x00\x00\x02\x00")
	f(DeprecateEOF, `0: "a"|7 done`, "\x02", textColumn, intColumn, "\x01a\x017", endPacket)
	f(DeprecateEOF, `0: "a" 1: 5 done`, "\x01", textColumn, "\x01a", moreEnd, "\x01", intColumn,
		"\x015", moreEnd, okPacket)
	f(DeprecateEOF, `0: "a" refused Error 1317 (70100): stopped`, "\x01", textColumn, "\x01a",
		"\xff\x25\x05#70100stopped")
	f(DeprecateEOF, `malformed`, "\x01", textColumn[:12], endPacket)
	f(DeprecateEOF, `malformed`, "\x01", strings.Replace(textColumn, "\x0c", "\x0d", 1), endPacket)
	f(DeprecateEOF, `malformed`, "\x01", textColumn, "\x02a", endPacket)
	f(DeprecateEOF, `malformed`, "\x01", textColumn, "\xfe\x00")
	f(0, `malformed`, "\x01", textColumn, "\x01a")
	// Nothing is left out where there is nothing to leave out.
	f(DeprecateEOF|CacheMetadata, `malformed`, "\x01\x00", "\x01a", endPacket)
	f(DeprecateEOF|CacheMetadata, `0: "a" done`, "\x01\x01", textColumn, "\x01a", endPacket)
}

func TestReaderPrepares(t *testing.T) {
	f := func(caps Caps, want string, payloads ...string) {
		t.Helper()
		r, s := &Reader{Caps: caps}, &Stmt{}
		r.ExpectPrepare(s)
		story, _ := play(t, r, stream(payloads...), 1<<20)
		story = fmt.Sprintf("%.4s %d %d %d", story, s.ID, s.Params, len(s.Columns))
		if story != want {
			t.Errorf("%.80q: %s, want %s", payloads, story, want)
		}
	}
	f(DeprecateEOF, "done 5 0 0", "\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	f(DeprecateEOF, "done 5 2 0", "\x00\x05\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00", textColumn, textColumn)
	f(DeprecateEOF, "done 5 0 1", "\x00\x05\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00", intColumn)
	f(DeprecateEOF, "done 5 1 2", "\x00\x05\x00\x00\x00\x02\x00\x01\x00\x00\x00\x00", textColumn, intColumn, intColumn)
	f(0, "done 5 1 2", "\x00\x05\x00\x00\x00\x02\x00\x01\x00\x00\x00\x00", textColumn, eofPacket,
		intColumn, intColumn, eofPacket)
	f(0, "done 5 1 0", "\x00\x05\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", textColumn, eofPacket)
	f(0, "malf 5 1 0", "\x00\x05\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", textColumn, textColumn)
	f(0, "malf 0 0 0", "\x00\x05\x00\x00\x00\x00\x00\x01")
	f(0, "refu 0 0 0", "\xff\x28\x04#42000no")
}

func TestReaderReadsBinary(t *testing.T) {
	f := func(caps Caps, want string, payloads ...string) {
		t.Helper()
		r, s := &Reader{Caps: caps}, preparedOf()
		r.ExpectRows(s)
		story, _ := play(t, r, stream(payloads...), 1<<20)
		if story = strings.Join(strings.Fields(story), " "); !strings.HasPrefix(story, want) {
			t.Errorf("%.80q: %s, want %s", payloads, story, want)
		}
	}
	f(0, `0: "a" done`, "\x01", textColumn, eofPacket, "\x00\x00\x01a", eofPacket)
	// another type than it was prepared with
	f(0, `0: 7 done`, "\x01", intColumn, eofPacket, "\x00\x00\x07\x00\x00\x00", eofPacket)
	f(0, `done`, okPacket)
	f(0, `malformed`, "\x01", textColumn, eofPacket, "\x01a", eofPacket) // a row of the text protocol
	f(0, `malformed`, "\x01", textColumn, eofPacket, "\x00\x00\x02a")
	f(0, `malformed`, "\x01", textColumn, textColumn)
	f(0, `malformed`, "\x01", textColumn, eofPacket, "\xfe\x00")
	f(DeprecateEOF|CacheMetadata, `0: "a" done`, "\x01\x00", "\x00\x00\x01a", endPacket)
	f(CacheMetadata, `0: "a" done`, "\x01\x00", eofPacket, "\x00\x00\x01a", eofPacket)
	// two, of which one is known
	f(DeprecateEOF|CacheMetadata, `malformed`, "\x02\x00", "\x00\x00\x01a", endPacket)
	// no end is an answer's beginning
	f(DeprecateEOF|CacheMetadata, `malformed`, moreEnd, "\x01\x00", "\x00\x00\x01a", endPacket)
	// What is known are the statement's own columns, not those of a further result.
	f(DeprecateEOF|CacheMetadata, `0: "a" malformed`, "\x01\x00", "\x00\x00\x01a", moreEnd, "\x01\x00",
		"\x00\x00\x01a", endPacket)
}

func TestReaderWantsOK(t *testing.T) {
	f := func(want string, payloads ...string) {
		t.Helper()
		r := &Reader{}
		r.ExpectOK()
		if story, _ := play(t, r, stream(payloads...), 1<<20); !strings.HasPrefix(story, want) {
			t.Errorf("%.80q: %s, want %s", payloads, story, want)
		}
	}
	f("done", okPacket)
	f("malformed", "\x01")
	f("malformed", eofPacket)
	f("malformed", "\x00\x00")
	f("refused Error 1053", "\xff\x1d\x04#08S01shutdown")
}

// TestReaderIsBroken: after what is no protocol, nothing more is read.
func TestReaderIsBroken(t *testing.T) {
	r := &Reader{}
	r.ExpectText()
	r.Feed(stream(""))
	if _, err := r.Next(); !errors.Is(err, ErrMalformed) {
		t.Fatal(err)
	}
	r.ExpectText()
	r.Feed(stream(okPacket))
	if _, err := r.Next(); !errors.Is(err, ErrMalformed) {
		t.Errorf("it goes on: %v", err)
	}
	r.Reset(0)
	r.ExpectText()
	r.Feed(stream(okPacket))
	if ev, err := r.Next(); ev != Done || err != nil {
		t.Errorf("another connection: %v %v", ev, err)
	}
}

// TestReaderHearsGoodbye: a server that ends a connection says why after an answer, or when nothing was asked.
func TestReaderHearsGoodbye(t *testing.T) {
	bye := "\xff\x1d\x04#08S01shutdown"
	r := &Reader{}
	r.ExpectText()
	r.Feed(append(stream(okPacket), seal(append(make([]byte, headSize), bye...), 0, 0)...))
	if ev, err := r.Next(); ev != Done || err != nil {
		t.Fatalf("the answer before it: %v %v", ev, err)
	}
	r.ExpectText()
	r.Feed(nil)
	if _, err := r.Next(); number(err) != 1053 {
		t.Errorf("after the answer: %v", err)
	}
	r.Reset(0)
	r.ExpectOK()
	r.Feed(stream(okPacket))
	r.Next()
	r.Feed(seal(append(make([]byte, headSize), bye...), 0, 0))
	if _, err := r.Next(); number(err) != 1053 {
		t.Errorf("idle: %v", err)
	}
	r.Reset(0)
	r.ExpectOK()
	r.Feed(append(stream(okPacket, okPacket), 1))
	if ev, err := r.Next(); ev != Done || err != nil {
		t.Fatal(ev, err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrMalformed) {
		t.Errorf("two answers to one command: %v", err)
	}
}

// TestReaderIdleWantsNothing: bytes that nobody asked for are no answer to the next command.
func TestReaderIdleWantsNothing(t *testing.T) {
	r := &Reader{}
	r.ExpectOK()
	r.Feed(stream(okPacket))
	r.Next()
	r.Feed([]byte("\x07\x00\x00\x02" + okPacket))
	if _, err := r.Next(); !errors.Is(err, ErrMalformed) {
		t.Errorf("nothing was asked: %v", err)
	}
}

// TestLongRowsAreNoEnd: a row that begins with the byte of an end is one when it is long enough.
func TestLongRowsAreNoEnd(t *testing.T) {
	long := strings.Repeat("x", 1<<24)
	value := string(appendLenenc(nil, 1<<24)) + long
	for _, caps := range []Caps{0, DeprecateEOF} {
		r := &Reader{Caps: caps}
		r.ExpectText()
		answer := stream("\x01", textColumn, eofPacket)
		next := byte(4)
		if caps != 0 {
			answer, next = stream("\x01", textColumn), 3
		}
		row := seal(append(make([]byte, headSize), value...), 0, next)
		end := seal(append(make([]byte, headSize), endPacket...), 0, next+2)
		if caps == 0 {
			end = seal(append(make([]byte, headSize), eofPacket...), 0, next+2)
		}
		r.Feed(append(append(answer, row...), end...))
		if ev, err := r.Next(); ev != Row || err != nil || len(r.Row()[0].Bytes) != 1<<24 {
			t.Fatalf("%x: %v %v", caps, ev, err)
		}
		if ev, err := r.Next(); ev != Done || err != nil {
			t.Errorf("%x: %v %v", caps, ev, err)
		}
	}
}
