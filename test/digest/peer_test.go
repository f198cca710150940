package digest_test

import (
	"regexp"
	"testing"

	"github.com/dyno-perf/dyno/test/peer"
)

type (
	report = peer.Report
	class  = peer.Class
	skip   = peer.Skip
)

// sameAsPt fails the test for every point in which the digest of logs differs from pt-query-digest's.
func sameAsPt(t *testing.T, ours report, o peer.Options, logs ...string) {
	t.Helper()
	theirs, err := peer.PtDigest(t.Context(), logs...)
	if err != nil {
		t.Fatal(err)
	}
	d := peer.Compare(ours, theirs, o)
	for i, x := range d {
		if i == 40 {
			t.Errorf("… and %d more differences", len(d)-i)
			break
		}
		t.Error(x)
	}
}

// sameAsDumpslow fails the test when mysqldumpslow counts another number of entries, where this machine has it. It
// counts an administrator command twice when a SET timestamp stands before it.
func sameAsDumpslow(t *testing.T, ours report, log string) {
	t.Helper()
	if peer.Dumpslow() == nil {
		return
	}
	n, err := peer.DumpslowCount(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	twice := uint64(len(timedCommand.FindAllString(read(t, log), -1)))
	if n != ours.Global.Entries+twice {
		t.Errorf("%d entries, mysqldumpslow counts %d, %d of them twice", ours.Global.Entries, n, twice)
	}
}

var timedCommand = regexp.MustCompile(`(?m)^SET timestamp=.*;\n# administrator command: `)

func cut(s string) string { return s[:min(len(s), 120)] }
