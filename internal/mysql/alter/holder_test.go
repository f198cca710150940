package alter

import (
	"strings"
	"testing"
)

// TestShown: of a statement that sql_mode NO_BACKSLASH_ESCAPES reads differently no literal is shown.
func TestShown(t *testing.T) {
	f := func(sql, want string) {
		t.Helper()
		if got := shown(sql); got != want {
			t.Errorf("%s: %s", sql, got)
		}
	}
	f("UPDATE t SET a='x', b=2", "update t set a=?, b=?")
	f(`SET a='c:\', b='order # 12'`, "set a=? …")
	long := shown("SELECT " + strings.Repeat("abc, ", 500) + "1")
	if len(long) > statementLimit+len(" …") || !strings.HasSuffix(long, " …") {
		t.Error(long)
	}
}
