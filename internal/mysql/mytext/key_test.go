package mytext

import (
	"testing"

	classes "github.com/dyno-perf/dyno/internal/class"
)

func TestKeyMeets(t *testing.T) {
	f := func(sql, digest string) {
		t.Helper()
		if a, b := classes.Key(Fingerprint(sql)), classes.Key(FromDigestText(digest)); a != b {
			t.Errorf("%s\n %s\n %s", sql, a, b)
		}
	}
	f("SELECT c FROM sbtest1 WHERE id=5 /* app */", "SELECT `c` FROM `sbtest1` WHERE `id` = ?")
	f("UPDATE `sbtest1` SET k=k+1 WHERE id<>5", "UPDATE `sbtest1` SET `k` = `k` + ? WHERE ID != ? ")
	f("select count( * ),max(k) from t where a='O''Brien' ;", "SELECT COUNT ( * ) , MAX ( `k` ) FROM `t` WHERE `a` = ?")
	f("select a from t where a in(1,2)and b=-3", "SELECT `a` FROM `t` WHERE `a` IN (...) AND `b` = - ? ")
	f("update t set k=k-1,j=+5", "UPDATE `t` SET `k` = `k` - ?, `j` = + ?")
	if classes.Key("select a from t where b = ?") == classes.Key("select a from t where c = ?") {
		t.Error("two classes have one key")
	}
}
