package finding

import (
	"regexp"
	"testing"
)

func TestIDDependsOnRuleAndSubjectOnly(t *testing.T) {
	a := MakeID("missing-index", "db.t", "status")
	if a != MakeID("missing-index", "db.t", "status") {
		t.Fatal("not stable")
	}
	if !regexp.MustCompile(`^missing-index-[0-9a-f]{8}$`).MatchString(a) {
		t.Fatalf("got %q", a)
	}
	for _, b := range []string{
		MakeID("missing-index", "db.tstatus"), MakeID("missing-inde", "xdb.t", "status"),
		MakeID("missing-index", "db.t", "state"),
	} {
		if a == b {
			t.Fatalf("another subject has the same id %s", b)
		}
	}
}

func TestSeverityRank(t *testing.T) {
	if Critical.Rank() <= Warning.Rank() || Warning.Rank() <= Notice.Rank() || Notice.Rank() <= Severity("").Rank() {
		t.Fatal("severities are out of order")
	}
}
