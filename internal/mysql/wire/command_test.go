package wire

import (
	"bytes"
	"testing"
)

func TestCommands(t *testing.T) {
	f := func(what string, got []byte, want string) {
		t.Helper()
		if string(got) != "ab"+want {
			t.Errorf("%s: %q", what, got)
		}
	}
	ab := func() []byte { return []byte("ab") } // commands are appended to what is there
	f("query", AppendQuery(ab(), "DO 1"), "\x05\x00\x00\x00\x03DO 1")
	f("query of bytes", AppendQuery(ab(), []byte("DO 1")), "\x05\x00\x00\x00\x03DO 1")
	f("prepare", AppendPrepare(ab(), "DO ?"), "\x05\x00\x00\x00\x16DO ?")
	f("close", AppendClose(ab(), &Stmt{ID: 0x01020304}), "\x05\x00\x00\x00\x19\x04\x03\x02\x01")
	f("ping", AppendPing(ab()), "\x01\x00\x00\x00\x0e")
	f("quit", AppendQuit(ab()), "\x01\x00\x00\x00\x01")
}

// TestLongCommandsComeBack puts long payloads into packets and together again.
func TestLongCommandsComeBack(t *testing.T) {
	pattern := bytes.Repeat([]byte("0123456789abcdef!"), 2*maxPayload/17+10)
	for _, n := range []int{
		maxPayload - 2, maxPayload - 1, maxPayload, maxPayload + 1,
		2*maxPayload - 1, 2*maxPayload + 7,
	} {
		b := AppendQuery([]byte("before"), pattern[:n])
		if want := 6 + 1 + n + headSize*(1+(n+1)/maxPayload); len(b) != want {
			t.Errorf("%d: %d bytes, want %d", n, len(b), want)
		}
		var p packets
		p.Feed(b[6:])
		got, ok, err := p.next()
		if !ok || err != nil || len(got) != n+1 || got[0] != comQuery || !bytes.Equal(got[1:], pattern[:n]) {
			t.Errorf("%d: %d bytes come back, %v %v", n, len(got), ok, err)
		}
		if int(p.seq) != 1+(n+1)/maxPayload || len(p.in) != 0 {
			t.Errorf("%d: packet %d is next, %d bytes are left", n, p.seq, len(p.in))
		}
	}
}
