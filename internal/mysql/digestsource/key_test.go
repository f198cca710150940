package digestsource

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

func TestKeyJoinsTextAndDigest(t *testing.T) {
	f := func(text, digest string, want bool) {
		t.Helper()
		a, b := class.Key(mytext.Fingerprint(text)), class.Key(mytext.FromDigestText(digest))
		if (a == b) != want {
			t.Errorf("%s\n%s\n%s", text, a, b)
		}
	}
	f("SELECT v FROM t WHERE id=1", "SELECT `v` FROM `t` WHERE ID = ? ", true)
	f("select v from `t` where id = 1", "SELECT `v` FROM `t` WHERE `id` = ?", true)
	f("UPDATE t SET v=v+1, id=id-1 WHERE id=-7 AND v<>3 AND v IN (1,2)", "UPDATE `t` SET `v` = `v` + ? , ID = ID - ? "+
		"WHERE ID = - ? AND `v` != ? AND `v` IN (...) ", true)
	f("INSERT INTO d.t VALUES (1,2),(3,4)", "INSERT INTO `d` . `t` VALUES (...) /* , ... */ ", true)
	f("SELECT v FROM t WHERE id<1", "SELECT `v` FROM `t` WHERE ID = ? ", false)
	f("SELECT v FROM t WHERE id<1", "SELECT `v` FROM `t` WHERE ID > ? ", false)
	f("SELECT v FROM t", "SELECT `w` FROM `t`", false)
}

func TestPreparedTexts(t *testing.T) {
	f := func(in, statement string, execute bool, admin string) {
		t.Helper()
		if s, ok := cutExecute(in); s != statement || ok != execute {
			t.Errorf("%s: %s %v", in, s, ok)
		}
		if got := command(in); got != admin {
			t.Errorf("%s: %q", in, got)
		}
	}
	f("EXECUTE SELECT ?", "SELECT ?", true, "")
	f("EXECUTE `a` USING @`b`", "EXECUTE `a` USING @`b`", false, "")
	f("PREPARE INSERT INTO `t` VALUES (...)", "PREPARE INSERT INTO `t` VALUES (...)", false,
		"administrator command: Prepare")
	f("PREPARE `a` FROM ?", "PREPARE `a` FROM ?", false, "")
	f("DEALLOCATE SELECT ?", "DEALLOCATE SELECT ?", false, "administrator command: Close stmt")
	f("DEALLOCATE PREPARE `a`", "DEALLOCATE PREPARE `a`", false, "")
	f("SELECT ?", "SELECT ?", false, "")
}
