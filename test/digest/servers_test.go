package digest_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/peer"
)

// TestLikePtQueryDigest has real servers log statements of all kinds and holds every class against pt-query-digest's:
// id, fingerprint, item, count, and sum, least, largest and average of every attribute; median, 95 % and deviation
// against the log's own values; the number of statements against mysqldumpslow and against the server's own counter.
func TestLikePtQueryDigest(t *testing.T) {
	everywhere(t, func(t *testing.T, l *logger) {
		logged := work(t, l, 4)
		ours := likePeers(t, l.log)
		if ours.Global.Entries != logged {
			t.Errorf("%d entries, the server says it has logged %d", ours.Global.Entries, logged)
		}
		if ours.Global.Count < 1000 || len(ours.Classes) < 80 {
			t.Errorf("only %d statements in %d classes", ours.Global.Count, len(ours.Classes))
		}
	})
}

// likePeers holds a log of a real server against both peers and the truth.
func likePeers(t *testing.T, log string) report {
	t.Helper()
	ours := digest(t, 0, log)
	sameAsPt(t, ours, peer.Options{}, log)
	sameAsDumpslow(t, ours, log)
	closeToTruth(t, ours, readTruth(read(t, log)))
	if ours.Global.Skipped != 0 {
		t.Errorf("skipped %d parts of a good log: %+v", ours.Global.Skipped, ours.Skipped)
	}
	return ours
}

// TestKeptLogs does the same with logs that this project's workload left on servers which are too large to fetch for
// every run. Test TestOlderServers makes them (docs/development.md).
func TestKeptLogs(t *testing.T) {
	needProgram(t)
	kept, err := filepath.Glob("testdata/*.log.gz")
	if err != nil || len(kept) == 0 {
		t.Fatalf("no kept logs: %v", err)
	}
	for _, path := range kept {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".log.gz"), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			likePeers(t, write(t, "slow.log", string(text)))
		})
	}
}
