package sqlshape

import (
	"strings"
	"testing"
)

func TestCalls(t *testing.T) {
	f := func(sql, want string) {
		t.Helper()
		got, err := Calls(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if s := strings.Join(got, ","); s != want {
			t.Errorf("%s: got %q, want %q", sql, s, want)
		}
	}
	f("select a from t", "")
	f("SELECT Now(), now (), NOW/* x */(), count( * ) from t where (a) and (b)", "now,now ,count,where ,and ")
	f("select 'abs(' , \"sin(\", `cos(`, 'it''s exp(', 'a\\' pi(' from t -- tan(\n where a = # ln(\n log(1)", "log")
	f("select a -- pi()", "")
	f("select a--pi()", "pi")
	f("select a from t where b in(1) /* pi( */ or abs(a) > 'x'", "in,abs")
}
