package sqlshape

import (
	"strings"
	"testing"
)

func TestMoved(t *testing.T) {
	f := func(sql, want string) {
		t.Helper()
		got, err := Moved(sql)
		if err != nil || strings.Join(got, ",") != want {
			t.Errorf("%s: got %v, %v; want %s", sql, got, err, want)
		}
	}
	f("UPDATE t SET seen = 5, n = n + 1 WHERE id = 7", "seen,n")
	f("UPDATE t SET id = 7, name = 'x' WHERE id = 7", "name")                // the row as an object, written back
	f("UPDATE t SET state = 'done' WHERE state = 'new' AND id = 7", "state") // moves on
	f("UPDATE t SET id = '7', a = a, b = 1 WHERE id = 7", "b")
	f("update t set id = ?, name = ? where id = ?", "name") // nobody knows
	f("update t set seen = ?, n = ? where id between ? and ?", "seen,n")
	f("UPDATE t SET id = 8 WHERE id > 7", "id")
	f("UPDATE t SET id = NOW() WHERE id = 7", "")
	f("UPDATE t, u SET t.a = u.b WHERE t.id = u.id", "")
	f("DELETE FROM t WHERE id = 7", "")
	f("SELECT 1", "")
	if _, err := Moved("nonsense"); err == nil {
		t.Error("nonsense was understood")
	}
}
