package wire

import "testing"

func TestAppendExecute(t *testing.T) {
	s := &Stmt{ID: 0x0a, Params: 2}
	f := func(want string, args ...Value) {
		t.Helper()
		got := s.AppendExecute([]byte("x"), args)
		if want = "x" + string([]byte{byte(len(want)), 0, 0, 0}) + want; string(got) != want {
			t.Errorf("% x\nwant % x", got, want)
		}
	}
	const head = "\x17\x0a\x00\x00\x00\x00\x01\x00\x00\x00"
	one, text, null := Value{Kind: Int, Bits: 1}, Value{Kind: Bytes, Bytes: []byte("ab")}, Value{}
	f(head+"\x00\x01\x08\x00\xfe\x00"+"\x01\x00\x00\x00\x00\x00\x00\x00"+"\x02ab", one, text)
	f(head+"\x00\x00"+"\x01\x00\x00\x00\x00\x00\x00\x00"+"\x02ab", one, text) // the types are known
	f(head+"\x02\x00"+"\x01\x00\x00\x00\x00\x00\x00\x00", one, null)          // NULL is of any type
	f(head+"\x03\x00", null, null)
	f(head+"\x00\x00"+"\x01\x00\x00\x00\x00\x00\x00\x00"+"\x02ab", one, text)
	f(head+"\x00\x01\x08\x80\xfe\x00"+"\x01\x00\x00\x00\x00\x00\x00\x00"+"\x02ab", Value{Kind: Uint, Bits: 1}, text)
	f(head+"\x00\x01\x05\x00\xfe\x00"+"\x00\x00\x00\x00\x00\x00\xf0\x3f"+"\x02ab",
		Value{Kind: Float, Bits: floatBits(1)}, text)
	s.ready = false // as after an error
	f(head+"\x02\x01\x05\x00\xfe\x00"+"\x00\x00\x00\x00\x00\x00\xf0\x3f", Value{Kind: Float, Bits: floatBits(1)}, null)
	s = &Stmt{ID: 0x0a, Params: 2}
	f(head+"\x03\x01\x06\x00\x06\x00", null, null)
	f(head+"\x01\x01\x06\x00\xfe\x00"+"\x02ab", null, text)
	s = &Stmt{ID: 0x0a}
	f(head)
	// The ninth value's bit is in the second byte.
	s = &Stmt{ID: 0x0a, Params: 9}
	nine := make([]Value, 9)
	nine[0] = one
	got := s.AppendExecute(nil, nine)
	if got[14] != 0xfe || got[15] != 0x01 || len(got) != 4+10+2+1+18+8 {
		t.Errorf("% x", got)
	}
}

func TestAppendExecuteWantsAllValues(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a statement is executed without its values")
		}
	}()
	(&Stmt{Params: 2}).AppendExecute(nil, []Value{{}})
}
