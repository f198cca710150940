package workload

import (
	"testing"
)

func TestAppendText(t *testing.T) {
	f := func(sql, want string, args ...any) {
		t.Helper()
		got, err := Statement{SQL: sql}.AppendText(nil, args)
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
	f("a=? AND b=?", "a=-5 AND b=1.25", int64(-5), 1.25)
	f("a=?", `a='it\'s \\ "x"'`, `it's \ "x"`)
	f("a=?", `a='b\0c'`, []byte("b\x00c"))
	f("a='?' AND `b?`=? AND c=\"?\"", "a='?' AND `b?`=7 AND c=\"?\"", int64(7))
	f("a=?", "")
	f("a=1", "", int64(1))
	f("a=?", "", 1)
	f("a=?", "", nil)
}
