package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/schema"
)

func TestGrant(t *testing.T) {
	ref := schema.Ref{Schema: "my_shop", Table: "t`1"}
	f := func(line string, gives, takes bool) {
		t.Helper()
		if g, k := grant(line, "ALTER", ref); g != gives || k != takes {
			t.Errorf("%s: got %v %v", line, g, k)
		}
	}
	f("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", true, false)
	f("GRANT SELECT, ALTER, DROP ON *.* TO `u`@`%`", true, false)
	f("GRANT SELECT, ALTER ROUTINE ON *.* TO `u`@`%`", false, false)
	f("GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*ALTER, ON *.*'", false, false)
	f("GRANT ALTER ON `my\\_shop`.* TO `u`@`%`", true, false)
	f("GRANT ALTER ON `my_shop`.* TO `u`@`%`", true, false)
	f("GRANT ALTER ON `my%`.* TO `u`@`%`", true, false)
	f("GRANT ALTER ON `my\\%`.* TO `u`@`%`", false, false)
	f("GRANT ALTER ON `other`.* TO `u`@`%`", false, false)
	f("GRANT ALTER ON `my_shop`.`t``1` TO `u`@`%`", true, false)
	f("GRANT ALTER ON `my_shop`.`t2` TO `u`@`%`", false, false)
	f("GRANT ALTER ON `my%`.`t``1` TO `u`@`%`", false, false)
	f("GRANT SELECT (`a`), UPDATE (`ALTER`, `b`) ON `my_shop`.`t``1` TO `u`@`%`", false, false)
	f("GRANT `r`@`%` TO `u`@`localhost`", false, false)
	f("GRANT PROXY ON ``@`%` TO `root`@`localhost` WITH GRANT OPTION", false, false)
	f("REVOKE ALTER ON `my_shop`.* FROM `u`@`%`", false, true)
	f("REVOKE ALTER ON `other`.* FROM `u`@`%`", false, false)
	f("SET DEFAULT ROLE `r` FOR `ru`@`localhost`", false, false)
	f("", false, false)
	f("GRANT SELECT (` ON `), ALTER ON `my_shop`.`t``1` TO `u`@`%`", true, false)
	f("GRANT SELECT (`x ON *.* TO `, ALTER) ON `my_shop`.`t``1` TO `u`@`%`", false, false)
	f("GRANT ALTER ON FUNCTION `my_shop`.`t``1` TO `u`@`%`", false, false)
	f("GRANT ALTER /* x */ ON *.* TO `u`@`%`", false, false)
	f("REVOKE ALTER /* x */ ON `other`.* FROM `u`@`%`", false, true)
}

// TestPatternsCostNoYears: the way to try where each % ends, one after the other, has no end.
func TestPatternsCostNoYears(t *testing.T) {
	gives := make(chan bool, 1)
	go func() {
		g, _ := grant("GRANT ALTER ON `"+strings.Repeat("%a", 30)+"b`.* TO `u`@`%`", "ALTER",
			schema.Ref{Schema: strings.Repeat("a", 64), Table: "t"})
		gives <- g
	}()
	select {
	case g := <-gives:
		if g {
			t.Error("no name of a's ends in b")
		}
	case <-time.After(time.Minute):
		t.Error("no answer")
	}
}
