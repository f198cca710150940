package workload

import (
	"testing"
)

func TestAppendText(t *testing.T) {
	f := func(sql, want string, args ...Datum) {
		t.Helper()
		got, err := (&Statement{SQL: sql}).AppendText(nil, args)
		if want == "" {
			if err == nil {
				t.Errorf("%s with %v gives %s, want an error", sql, args, got)
			}
			return
		}
		if err != nil || string(got) != want {
			t.Errorf("%s with %v gives %s, %v; want %s", sql, args, got, err, want)
		}
	}
	f("BEGIN", "BEGIN")
	f("a=? AND b=?", "a=-5 AND b=1.25", Int(-5), Float(1.25))
	f("a=?", `a='it\'s \\ "x"'`, String(`it's \ "x"`))
	f("a=?", `a='b\0c'`, Bytes([]byte("b\x00c")))
	f("a='?' AND `b?`=? AND c=\"?\"", "a='?' AND `b?`=7 AND c=\"?\"", Uint(7))
	f("a=?", "")
	f("a=1", "", Int(1))
	f("a=?", "a=NULL", Datum{})
}
